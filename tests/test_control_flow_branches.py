"""Choices between functions: the one chosen, what is called, transformations, bad input."""

from typing import Any

import jax
import numpy as np
import pytest
import torch

import xpand
from tests.libraries import EAGER_LIBRARIES, LIBRARIES, Library
from tests.operations import Case, Check, check_values, checked
from tests.test_derivatives import NAMESPACE, total
from xpand_extensions.autodiff import grad, hessian, jvp
from xpand_extensions.control_flow import cond, switch, while_loop
from xpand_extensions.jit import jit
from xpand_extensions.vmap import vmap

TRANSFORMED = LIBRARIES
X = np.asarray([0.5, -1.5, 2.0])


def cube_or_sine(x: Any, y: Any) -> Any:
    xp = xpand.array_namespace(x)
    return cond(xp.sum(x) > 0, lambda x, y: x**3 * y, lambda x, y: xp.sin(x) + y, x, y)


def cube_or_sine_in_numpy(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return x**3 * y if x.sum() > 0 else np.sin(x) + y


def chosen(number: Any, x: Any) -> Any:
    xp = xpand.array_namespace(number, x)
    branches = (lambda x: x * x, xp.sin, lambda x: x * 5.0, xp.exp)
    return switch(number, branches, x)


def chosen_in_numpy(number: np.ndarray, x: np.ndarray) -> np.ndarray:
    return (np.square, np.sin, lambda x: 5 * x, np.exp)[np.clip(number, 0, 3)](x)


CASES = {
    "cond true": Case(cube_or_sine, (X, X + 3), cube_or_sine_in_numpy, (0, 1)),
    "cond false": Case(cube_or_sine, (-X, X), cube_or_sine_in_numpy, (0, 1)),
} | {
    f"switch {number}": Case(chosen, (np.asarray(number), X), chosen_in_numpy, (1,)) for number in (-5, 0, 2, 7)
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values(library: Library, case: Case) -> None:
    check_values(library, case)


@checked({"cond": CASES["cond true"], "switch": CASES["switch 2"]})
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32", "complex128"])
def test_trees_and_data_types(library: Library, dtype: str) -> None:
    x, y = library.asarray([1, 0], dtype), library.asarray([0, 0, 1], dtype)
    pred = library.asarray(False)
    same = lambda tree: {"x": tree["pair"][0], "y": [tree["pair"][1], None]}
    found = cond(
        pred, lambda tree: pytest.fail("called") if library.id == "numpy" else same(tree), same, {"pair": (x, y)}
    )
    library.assert_equal(found["x"], np.asarray([1, 0], dtype))
    library.assert_equal(found["y"][0], np.asarray([0, 0, 1], dtype))
    assert found["y"][1] is None
    library.assert_equal(
        switch(library.asarray(1, "int8"), [lambda x: x, lambda x: library.xp.flip(x)], x), np.asarray([0, 1], dtype)
    )


def test_choices_of_python(library: Library) -> None:
    """Nothing but the one chosen is called."""
    x = library.asarray(X)
    library.assert_equal(cond(True, lambda x: x * 2.0, lambda x: pytest.fail("called"), x), 2 * X)
    library.assert_equal(cond(False, lambda: pytest.fail("called"), lambda: x), X)
    library.assert_equal(switch(9, [lambda x: pytest.fail("called"), lambda x: x * 2.0], x), 2 * X)
    library.assert_equal(switch(-9, [lambda: x, lambda: pytest.fail("called")]), X)
    library.assert_equal(switch(np.int64(1), [lambda x: pytest.fail("called"), lambda x: x * 2.0], x), 2 * X)


def test_empty_arrays_numbers_and_closures(library: Library) -> None:
    x = library.asarray(np.zeros((0, 2)))
    library.assert_equal(cond(library.asarray(True), lambda: x, lambda: x * 2.0), np.zeros((0, 2)))
    one, two = cond(library.asarray(True), lambda x: (1.0, x), lambda x: (2.0, x), 3)
    assert float(library.to_numpy(one)) == 1.0
    assert int(library.to_numpy(two)) == 3


def test_conditions_that_are_booleans_of_numpy(library: Library) -> None:
    x = library.asarray(X)
    for pred in (np.bool_(True), np.bool_(False)):
        library.assert_equal(cond(pred, lambda x: x, lambda x: -x, x), X if pred else -X)
        library.assert_equal(vmap(lambda x: cond(pred, lambda x: x, lambda x: -x, x))(x), X if pred else -X)  # noqa: B023
    library.assert_equal(while_loop(lambda x: np.bool_(False), lambda x: x + 1.0, x), X)


def test_lazy_conditions_are_not_computed() -> None:
    dask = next(library for library in LIBRARIES if library.lazy)
    pred = dask.asarray([True]).map_blocks(lambda block: pytest.fail("computed"), meta=np.zeros(0, bool))
    f = lambda x: cond(dask.xp.all(pred), lambda x: x, lambda x: -x, x)
    x = dask.asarray(X)
    for function in (f, vmap(f), grad(lambda x: total(f(x))), lambda x: jvp(f, (x,), (x,))[1]):
        assert function(x).shape == (3,)


# Transformations

BATCH = np.stack([X, -X, X * 2, X - 3])


def test_vmap_takes_each_lane_as_if_alone(library: Library) -> None:
    found = vmap(cube_or_sine)(library.asarray(BATCH), library.asarray(BATCH))
    library.assert_equal(found, [cube_or_sine_in_numpy(x, x) for x in BATCH], rtol=1e-14)
    numbers = np.asarray([3, -1, 1, 9])
    found = vmap(chosen)(library.asarray(numbers), library.asarray(BATCH))
    library.assert_equal(found, [chosen_in_numpy(n, x) for n, x in zip(numbers, BATCH)], rtol=1e-14)
    for number in (-1, 1, 9):  # one for all
        found = vmap(chosen, (None, 0))(library.asarray(number), library.asarray(BATCH))
        library.assert_equal(found, [chosen_in_numpy(number, x) for x in BATCH], rtol=1e-14)
        found = vmap(chosen)(library.asarray(np.full(4, number)), library.asarray(BATCH))
        library.assert_equal(found, [chosen_in_numpy(number, x) for x in BATCH], rtol=1e-14)


@pytest.mark.parametrize("library", [x for x in LIBRARIES if x.xp is not xpand.namespace("torch")], ids=str)
def test_what_all_branches_return_unchanged_is_not_mapped(library: Library) -> None:
    """PyTorch's own maps can't tell."""
    xs, y = library.asarray([1.0, -2.0]), library.asarray(3.0)
    branches = [lambda x, y: (x, y), lambda x, y: (-x, y), lambda x, y: (x * x, y)]
    functions = {
        "cond": lambda x, y: cond(x > 0, *branches[:2], x, y),
        "switch": lambda x, y: switch(NAMESPACE(x).astype(x > 0, NAMESPACE(x).int32), branches, x, y),
        "captured": lambda x, y: cond(x > 0, lambda x: (x, y), lambda x: (-x, y), x),
        "one condition for all lanes": lambda x, y: cond(y > 0, lambda x, y: (x, y), lambda x, y: (x, 2.0 * y), x, y),
        "nested": lambda x, y: cond(x > 0, lambda x, y: cond(x > 1, *branches[:2], x, y), branches[1], x, y),
    }
    for name, function in functions.items():
        mapped = vmap(function, in_axes=(0, None), out_axes=(0, None))
        for call in (mapped, jit(mapped)) if library.id == "numpy" else (mapped,):
            own, same = call(xs, y)
            assert own.shape == (2,), name
            library.assert_equal(same, np.float64(3.0))
    with pytest.raises(ValueError, match="vmap: out_axes has None for a result that differs"):
        vmap(lambda x, y: cond(x > 0, branches[0], lambda x, y: (x, 2.0 * y), x, y), (0, None), (0, None))(xs, y)


def test_vmap_of_vmap(library: Library) -> None:
    signs = vmap(vmap(lambda x: cond(x > 0, lambda x: x, lambda x: -x * 2.0, x)))
    library.assert_equal(signs(library.asarray(BATCH)), np.where(BATCH > 0, BATCH, -2 * BATCH))


def test_derivatives_as_jax_has_them(library: Library) -> None:
    def f(cond: Any) -> Any:
        def g(x: Any) -> Any:
            xp = xpand.array_namespace(x)
            return cond(xp.sum(x) > 0, lambda x: xp.sum(x**3.0), lambda x: xp.sum(xp.sin(x)), x)

        return g

    batch = library.asarray(BATCH)
    wanted = jax.vmap(jax.grad(f(jax.lax.cond)))(BATCH)
    library.assert_equal(vmap(grad(f(cond)))(batch), np.asarray(wanted), rtol=1e-13)
    found = grad(lambda x: total(vmap(f(cond))(x)))(batch)
    library.assert_equal(found, np.asarray(wanted), rtol=1e-13)
    wanted = jax.hessian(f(jax.lax.cond))(-X)
    library.assert_equal(hessian(f(cond))(library.asarray(-X)), np.asarray(wanted), rtol=1e-13)


def test_the_branch_not_taken_does_not_reach_gradients(library: Library) -> None:
    f = lambda x: cond(x > 0, xpand.array_namespace(x).sqrt, lambda x: x * 2.0, x)
    x = library.asarray(0.0)
    # Of lazy arrays both branches are computed, and NumPy warns of the one that is not taken.
    with np.errstate(divide="ignore" if library.lazy else "warn"):
        library.assert_equal(grad(f)(x), 2.0)
        library.assert_equal(jvp(f, (x,), (x + 1.0,))[1], 2.0)


def test_closures_are_differentiated(library: Library) -> None:
    x = library.asarray(X)
    f = lambda a: total(cond(x[0] > 0, lambda: a * x, lambda: a + x))
    library.assert_equal(grad(f)(library.asarray(2.0)), X.sum())


def test_compiled_on_torch_and_differentiated_inside() -> None:
    torch.compiler.reset()
    f = lambda x: cube_or_sine(x, x).sum()
    compiled = torch.compile(torch.func.grad(f), fullgraph=True, backend="eager")
    for x in (X, -X):
        x = torch.asarray(x)
        np.testing.assert_allclose(compiled(x), torch.func.grad(f)(x), rtol=1e-14)


# Bad input


def test_bad_input(library: Library) -> None:
    x = library.asarray(X)
    same = lambda x: x
    other = np.ones(2) if library.id != "numpy" else torch.ones(2)
    for function, error, match in (
        (lambda: cond(1, same, same, x), TypeError, "cond: pred must be one bool, True, False or an array .* got int"),
        (lambda: cond(x > 0, same, same, x), TypeError, r"pred must be one bool, .* of shape \(3,\); reduce it"),
        (lambda: cond(x[0], same, same, x), TypeError, "pred must be one bool, .*float64 .*; compare it"),
        (lambda: cond(True, 3, same, x), TypeError, "cond: true_fun must be a function, got int"),
        (lambda: cond(True, same, 3, x), TypeError, "cond: false_fun must be a function, got int"),
        (lambda: cond(True, same, same, "text"), TypeError, "cond: the operands hold str"),
        (lambda: cond(True, lambda x: "text", same, x), TypeError, "cond: what the functions return holds str"),
        (lambda: cond(library.asarray(True), same, same, other), TypeError, "cond: takes arrays of one library"),
        (lambda: switch(1.0, [same], x), TypeError, "switch: index must be an integer, got 1.0"),
        (lambda: switch(x[0], [same], x), TypeError, "switch: index must be an integer, or an array of one, got"),
        (lambda: switch(library.asarray([0]), [same], x), TypeError, r"index must be .* an array of one, got .*\(1,\)"),
        (lambda: switch(0, same, x), TypeError, "switch: branches must be a tuple or a list"),
        (lambda: switch(0, [], x), ValueError, "switch: branches must hold at least one function, got none"),
        (lambda: switch(0, [same, 3], x), TypeError, r"switch: branches\[1\] must be a function, got int"),
        (lambda: switch(0, [same], x, other), TypeError, "switch: takes arrays of one library"),
    ):  # fmt: skip
        with pytest.raises(error, match=match):
            function()


@pytest.mark.parametrize("name", ["jax", "dask"])
def test_branches_that_differ(name: str) -> None:
    """Seen where both functions are called."""
    library = next(library for library in LIBRARIES if library.id == name)
    x = library.asarray(X)
    with pytest.raises(TypeError, match=r"cond: what the functions return must have one shape .*\(3,\) and .*\(2,\)"):
        cond(x[0] > 0, lambda x: x, lambda x: x[:2], x)
    with pytest.raises(TypeError, match="switch: what the functions return must have one structure"):
        switch(library.asarray(0), [lambda x: x, lambda x: (x, x)], x)


# Lanes that choose differently: both functions are computed, and what isn't chosen, NaN here, has no derivative


def of_sign(x: Any, w: Any) -> Any:
    return cond(x > 0, lambda x: NAMESPACE(x).sqrt(x) * w, lambda x: x * x * w * w, x)


def of_size(x: Any, w: Any) -> Any:
    xp = NAMESPACE(x)
    root = lambda x: xp.sqrt(x) * w
    return switch(sum(xp.astype(x > i, xp.int64) for i in (0, 1)), [lambda x: x * x * w * w, root, root], x)


LANES, FACTOR = np.asarray([0.3, -0.7, 1.2, 2.5]), 1.5
ROOTS = np.sqrt(np.abs(LANES))
BY_LANE, BY_FACTOR, MIXED, SECOND = (
    np.where(LANES > 0, of_root, of_square)
    for of_root, of_square in (
        (FACTOR / (2 * ROOTS), 2 * LANES * FACTOR**2),
        (ROOTS, 2 * LANES**2 * FACTOR),
        (1 / (2 * ROOTS), 4 * LANES * FACTOR),
        (-FACTOR / (4 * ROOTS**3), np.full(4, 2 * FACTOR**2)),
    )
)


def all_of(function: Any) -> Any:
    return lambda xs, w: total(vmap(lambda x: function(x, w))(xs))


UNCHOSEN: dict[str, tuple[Any, np.ndarray]] = {
    "vmap of grad": (lambda f: vmap(grad(f), (0, None)), BY_LANE),
    "grad of vmap": (lambda f: grad(all_of(f)), BY_LANE),
    "grad of vmap, by what is used": (lambda f: grad(all_of(f), 1), np.asarray(BY_FACTOR.sum())),
    "vmap of both": (lambda f: vmap(grad(grad(f, 1)), (0, None)), MIXED),
    "vmap of jvp of grad": (lambda f: vmap(lambda x, w: jvp(grad(f, 1), (x, w), (x / x, 0 * w))[1], (0, None)), MIXED),
    "grad of grad of vmap": (lambda f: grad(lambda xs, w: total(grad(all_of(f))(xs, w))), SECOND),
}


def test_each_branch_is_called_once_for_derivatives_of_lanes() -> None:
    calls: list[str] = []
    root, double = (lambda x: calls.append("root") or torch.sqrt(x)), (lambda x: calls.append("double") or 2.0 * x)
    found = vmap(grad(lambda x: cond(x > 0.0, root, double, x)))(torch.asarray([0.0, 4.0]))
    assert (found.tolist(), sorted(calls)) == ([2.0, 0.25], ["double", "root"])


@pytest.mark.parametrize("name", UNCHOSEN)
@pytest.mark.parametrize("function", [of_sign, of_size])
@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_what_is_not_chosen_has_no_derivative(library: Library, function: Any, name: str) -> None:
    transform, expected = UNCHOSEN[name]
    xs, w = library.asarray(LANES), library.asarray(FACTOR)
    transformed = transform(function)
    with np.errstate(invalid="ignore"):  # of the square root that is computed for nothing
        library.assert_equal(transformed(xs, w), expected, rtol=1e-14)
        if library.id not in ("torch", "jax"):
            library.assert_equal(jit(transformed)(xs, w), expected, rtol=1e-14)


@pytest.mark.parametrize("library", [x for x in EAGER_LIBRARIES if x.id not in ("torch", "jax")], ids=str)
def test_second_derivatives_of_what_is_compiled_trace_one_branch(library: Library) -> None:
    second = jit(grad(grad(of_sign, 1)))
    for i in (0, 1):  # with no warning of a root that isn't asked for
        library.assert_equal(second(library.asarray(LANES[i]), library.asarray(FACTOR)), MIXED[i], rtol=1e-14)
