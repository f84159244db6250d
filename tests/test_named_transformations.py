"""Transformations of functions of named arrays, and positional functions on them, on every library."""

from typing import Any

import numpy as np
import pytest

from tests.libraries import Library
from xpand import array_namespace
from xpand_extensions import autodiff, linalg, named as hax, special, vmap
from xpand_extensions.control_flow import while_loop
from xpand_extensions.jit import jit

VALUES = np.random.default_rng(0).normal(size=(2, 3, 4))
NAMES = ("batch", "row", "column")


def named(library: Library, values: Any = VALUES, names: Any = NAMES) -> hax.NamedArray:
    return hax.named(library.asarray(values), names)


def assert_named(library: Library, found: Any, names: Any, expected: Any) -> None:
    assert isinstance(found, hax.NamedArray)
    assert found.names == tuple(names)
    library.assert_equal(found.array, expected, rtol=1e-12, atol=1e-12)


# --- derivatives -----------------------------------------------------------------------------------------------------


def test_gradients_have_the_axes_of_the_argument(library: Library) -> None:
    x = named(library)
    assert_named(library, hax.grad(lambda x: (x * x * x).sum())(x), NAMES, 3 * VALUES**2)
    value, gradient = hax.value_and_grad(lambda x: (x * x).sum())(x)
    library.assert_equal(value, np.sum(VALUES**2), rtol=1e-12)
    assert_named(library, gradient, NAMES, 2 * VALUES)


def test_gradients_of_trees_and_auxiliary_data(library: Library) -> None:
    x = named(library)
    gradient, aux = hax.grad(lambda t, k: ((t["x"] * k).sum(), t["x"].sum("row")), has_aux=True)({"x": x}, 2.0)
    assert_named(library, gradient["x"], NAMES, np.full_like(VALUES, 2.0))
    assert_named(library, aux, ("batch", "column"), VALUES.sum(1))


@pytest.mark.parametrize("transformation", [hax.jacfwd, hax.jacrev])
def test_jacobians_name_the_axes_of_output_and_argument(library: Library, transformation: Any) -> None:
    x = named(library, VALUES[0], ("row", "column"))
    found = transformation(lambda x: {"s": (x * x).sum("column"), "t": x.sum()}, rename={"row": "row2"})(x)
    expected = np.einsum("ij,jk->ijk", np.eye(3), 2 * VALUES[0])
    assert_named(library, found["s"], ("row", "row2", "column"), expected)
    assert_named(library, found["t"], ("row2", "column"), np.ones((3, 4)))


def test_jacobians_of_several_arguments(library: Library) -> None:
    x, y = named(library, VALUES[0, 0], "i"), named(library, VALUES[0, 1], "i")
    left, right = hax.jacrev(lambda x, y: (x * y).sum(), argnums=(0, 1))(x, y)
    assert_named(library, left, ("i",), VALUES[0, 1])
    assert_named(library, right, ("i",), VALUES[0, 0])


def test_hessians(library: Library) -> None:
    x = named(library, VALUES[0, 0], "i")
    found = hax.hessian(lambda x: (x * x * x).sum(), rename={"i": "j"})(x)
    assert_named(library, found, ("i", "j"), np.diag(6 * VALUES[0, 0]))


def test_shared_names_in_jacobians_raise(eager_library: Library) -> None:
    x = named(eager_library, VALUES[0, 0], "i")
    with pytest.raises(ValueError, match=r"jacfwd: the axes 'i' .* rename=\{'i': 'i2'\}"):
        hax.jacfwd(lambda x: x * x)(x)
    with pytest.raises(ValueError, match="rename"):
        hax.hessian(lambda x: (x * x).sum())(x)
    with pytest.raises(TypeError, match=r"grad: the function must return a scalar, got .*\{'i': 4\}"):
        hax.grad(lambda x: x)(x)
    with pytest.raises(TypeError, match=r"jacrev: the argument has an array with 1 axes without names"):
        hax.jacrev(lambda x: x[0])(eager_library.asarray(VALUES[0, 0]))
    with pytest.raises(TypeError, match="rename must be a dictionary"):
        hax.jacrev(lambda x: x.sum(), rename=["i"])
    with pytest.raises(TypeError, match="return a pair"):
        hax.jacrev(lambda x: x.sum(), has_aux=True)(x)


def test_positional_transformations_take_named_arrays(library: Library) -> None:
    x = named(library)
    gradient = autodiff.grad(lambda x: (x * x).sum().array)(x)
    assert_named(library, gradient, NAMES, 2 * VALUES)
    assert_named(library, jit(lambda x: hax.exp(x).sum("row"))(x), ("batch", "column"), np.exp(VALUES).sum(1))


# --- maps and loops --------------------------------------------------------------------------------------------------


def test_vmap_over_an_axis(library: Library) -> None:
    x, y = named(library), named(library, VALUES[:, 0, 0], "batch")
    scaled, total = hax.vmap(lambda x, y: (x * y, x.sum("row")), "batch")(x, y)
    assert_named(library, scaled, NAMES, VALUES * VALUES[:, :1, :1])
    assert_named(library, total, ("batch", "column"), VALUES.sum(1))


def test_vmap_puts_the_axis_first(library: Library) -> None:
    found = hax.vmap(lambda x: x + 1.0, "column")(named(library))
    assert_named(library, found, ("column", "batch", "row"), np.moveaxis(VALUES, 2, 0) + 1)


def test_vmap_over_several_axes_and_shared_arguments(library: Library) -> None:
    weights = named(library, VALUES[0, 0], "column")
    found = hax.vmap(lambda x, w: (x * w).sum(), ("batch", "row"))(named(library), weights)
    assert_named(library, found, ("batch", "row"), VALUES @ VALUES[0, 0])


def test_vmap_of_arrays_without_names(library: Library) -> None:
    x, y = named(library), library.asarray(VALUES[:, 0, 0])
    multiplied = lambda x, y: x * y
    assert_named(library, hax.vmap(multiplied, "batch")(x, y), NAMES, VALUES * VALUES[:, :1, :1])
    shared = library.asarray(2.0)
    assert_named(library, hax.vmap(multiplied, "batch", args=(0, None))(x, shared), NAMES, 2 * VALUES)


def test_vmap_of_keyword_arguments(library: Library) -> None:
    x, plain = named(library), library.asarray(VALUES[0, 0])
    scaled = hax.vmap(lambda x, *, y, b: (x * y * b).sum(), "column", kwargs={"b": 0, "y": None})
    found = scaled(x, y=library.asarray(2.0), b=plain)
    assert_named(library, found, ("column",), 2 * VALUES.sum((0, 1)) * VALUES[0, 0])


def test_collectives_find_axes_of_arrays_and_of_maps(library: Library) -> None:
    x = named(library)
    assert_named(library, hax.psum(x, "batch"), ("row", "column"), VALUES.sum(0))
    assert_named(library, hax.pmax(x, "row"), ("batch", "column"), VALUES.max(1))
    found = hax.vmap(lambda x: x - hax.pmean(x, "batch"), "batch")(x)
    assert_named(library, found, NAMES, VALUES - VALUES.mean(0))
    found = hax.vmap(lambda x: x - vmap.pmin(x, "batch"), "batch")(x)
    assert_named(library, found, NAMES, VALUES - VALUES.min(0))
    with pytest.raises(NameError, match="nothing"):
        hax.psum(x, "nothing")


def test_scan_fold_and_map(library: Library) -> None:
    x, zero = named(library), named(library, np.zeros((2, 4)), ("batch", "column"))
    last, sums = hax.scan(lambda total, x: (total + x, total + x), "row")(zero, x)
    assert_named(library, last, ("batch", "column"), VALUES.sum(1))
    assert_named(library, sums, ("row", "batch", "column"), np.moveaxis(VALUES.cumsum(1), 1, 0))
    assert_named(library, hax.fold(lambda total, x: total + x, "row")(zero, x), ("batch", "column"), VALUES.sum(1))
    assert_named(library, hax.map(lambda x: x.sum(), "column")(x), ("column",), VALUES.sum((0, 1)))


def test_scan_in_reverse_with_a_shared_argument(library: Library) -> None:
    x, factor = named(library, VALUES[0, 0], "time"), named(library, VALUES[1, 0], "other")
    step = lambda c, x, factor: (c + x, (c * factor).sum())
    zero = named(library, 0.0, ())
    _, found = hax.scan(step, "time", reverse=True)(zero, x, factor)
    before = VALUES[0, 0, ::-1].cumsum()[::-1] - VALUES[0, 0]
    assert_named(library, found, ("time",), before * VALUES[1, 0].sum())


def test_loops_and_compiled_derivatives(library: Library) -> None:
    if library.lazy:
        pytest.skip("a loop without a bound needs values")
    x = named(library, VALUES[0, 0], "i")
    doubled = while_loop(lambda x: (x * x).sum().array < 1e3, lambda x: 2.0 * x, x)
    assert doubled.names == ("i",)
    gradient = jit(hax.grad(lambda x: hax.fold(lambda c, x: c * x, "i")(hax.sum(0 * x) + 1.0, x)))(x)
    assert_named(library, gradient, ("i",), np.prod(VALUES[0, 0]) / VALUES[0, 0])


def test_bad_arguments_of_maps(eager_library: Library) -> None:
    x = named(eager_library)
    with pytest.raises(ValueError, match=r"vmap: axis 'batch' has the sizes \[2\].* 3 is given"):
        hax.vmap(lambda x: x, hax.Axis("batch", 3))(x)
    with pytest.raises(ValueError, match=r"vmap: the function returns an array with the axes .*'batch'"):
        hax.vmap(lambda x: x.rename({"row": "batch"}), "batch")(x)
    with pytest.raises(ValueError, match=r"scan: no argument has the axis 'nothing'"):
        hax.scan(lambda c, x: (c, x), "nothing")(1.0, x)
    with pytest.raises(TypeError, match=r"scan: f must return a pair"):
        hax.scan(lambda c, x: x, "row")(1.0, x)
    with pytest.raises(TypeError, match="an axis must be a name or an Axis"):
        hax.vmap(lambda x: x, 3)
    with pytest.raises(
        ValueError, match=r"vmap: no argument has the axis 'nothing'; the arrays have the axes {'batch'"
    ):
        hax.vmap(lambda x: x, "nothing")(x)
    with pytest.raises(NameError, match=r"psum: no axis 'nothing': the array has the axes {'batch'.* mapped over"):
        hax.psum(x, "nothing")


# --- positional functions --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("broadcasts", [False, True])
def test_by_name_maps_the_other_axes(library: Library, broadcasts: bool) -> None:
    matrix = VALUES @ np.swapaxes(VALUES, 1, 2) + np.eye(3)
    a = named(library, np.moveaxis(matrix, 0, 1), ("i", "batch", "j"))
    b = named(library, VALUES[0].T, ("k", "i"))
    if broadcasts:
        product = hax.by_name(
            lambda a, b: linalg.einsum("...ij,...i->...j", a, b), [("i", "j"), "i"], "j", broadcasts=True
        )
    else:
        product = hax.by_name(lambda a, b: b @ a, [("i", "j"), "i"], "j")
    assert_named(library, product(a, b), ("batch", "k", "j"), np.einsum("bij,ik->bkj", matrix, VALUES[0]))


def test_by_name_of_elementwise_functions_and_reductions(library: Library) -> None:
    x = named(library)
    found = hax.by_name(special.expit, broadcasts=True)(x)
    assert_named(library, found, NAMES, 1 / (1 + np.exp(-VALUES)))
    found = hax.by_name(special.logsumexp, "row", out=())(x)
    assert_named(library, found, ("batch", "column"), np.log(np.exp(VALUES).sum(1)))


def test_by_name_of_several_results(library: Library) -> None:
    both = hax.by_name(lambda x: (x[0], array_namespace(x).flip(x)), "row", out=[(), "row"])
    first, flipped = both(named(library))
    assert_named(library, first, ("batch", "column"), VALUES[:, 0])
    assert_named(library, flipped, ("batch", "column", "row"), np.swapaxes(VALUES[:, ::-1], 1, 2))


def test_by_name_keeps_derivatives(library: Library) -> None:
    squares = hax.by_name(lambda x: array_namespace(x).sum(x * x), "row")
    assert_named(library, hax.grad(lambda x: squares(x).sum())(named(library)), NAMES, 2 * VALUES)


def test_by_name_of_bad_arguments(eager_library: Library) -> None:
    x = named(eager_library)
    inverse = hax.by_name(lambda x: x, [("row", "depth")])
    with pytest.raises(ValueError, match=r"depth.*\{'batch': 2, 'row': 3, 'column': 4\}"):
        inverse(x)
    with pytest.raises(ValueError, match=r"the result has 2 axes, which are not named; .*out="):
        hax.by_name(lambda x: array_namespace(x).expand_dims(x, axis=0), "row")(x)
    with pytest.raises(ValueError, match=r"don't fit the names"):
        hax.by_name(lambda x: x, "row", out=())(x)
    with pytest.raises(TypeError, match="have no names"):
        hax.by_name(lambda x, y: x, "row")(x, x.array)
    with pytest.raises(ValueError, match=r"axis 'row' has size 3 in one array and 2 in another"):
        hax.by_name(lambda x, y: x + y, "column")(x, x[{"row": slice(2)}])
    with pytest.raises(ValueError, match="axes of 1 arrays, and 2 are given"):
        hax.by_name(lambda x, y: x, ["row"])(x, x)
    with pytest.raises(TypeError, match="must be a function"):
        hax.by_name(3)
