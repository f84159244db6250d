"""The rules of `tracing` for reductions and for what runs along an axis."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xpand
from tests.cases import Case
from tests.operations import Check, checked
from tests.traced import traced_forward, traced_grad, traced_second, traced_stage, traced_vmap
from xpand_extensions.autodiff import grad, jvp
from xpand_extensions.tracing import traced_namespace
from xpand_extensions.tracing._core import Aval
from xpand_extensions.tracing._staging import stage
from xpand_extensions.vmap import vmap

TRACED = [traced_stage, traced_vmap, traced_forward, traced_grad, traced_second]

X = np.asarray([[0.5, -1.25, 2.0], [3.0, 0.75, -0.5]])
Y = np.asarray([[1.5, -0.5, 0.25], [0.125, 2.5, -3.0]])
V = np.asarray([0.3, -1.2, 2.5, 0.7, -0.4])
BLOCK = np.sin(np.arange(24.0)).reshape(2, 3, 4)
SCALAR = np.asarray(1.5)
EMPTY = np.zeros((0, 3))
TIES = np.asarray([[2.0, 1.0, 2.0, 2.0], [0.0, -0.0, -1.0, 0.0]])
ZEROS = np.asarray([[2.0, 0.0, 3.0, 5.0], [0.0, 4.0, 0.0, 1.5], [1.0, 2.0, 3.0, 0.5]])
EQUAL = np.asarray([[2.0, 2.0, 2.0], [1.0, 2.0, 4.0]])


def _of(name: str, **options: Any) -> Callable[[Any], Any]:
    """Make a function of one array that calls a function of the standard with what isn't linear in it."""
    return lambda x: getattr(xpand.array_namespace(x), name)(x * x + x, **options)


def _plain(name: str, **options: Any) -> Callable[[Any], Any]:
    return lambda x: getattr(xpand.array_namespace(x), name)(x, **options)


def _complex(name: str, **options: Any) -> Callable[[Any, Any], Any]:
    """Make a function of the real and the imaginary parts."""

    def function(x: Any, y: Any) -> Any:
        xp = xpand.array_namespace(x, y)
        return getattr(xp, name)(xp.astype(x, xp.complex128) + 1j * xp.astype(y, xp.complex128), **options)

    return function


def _as_float32(name: str, **options: Any) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        xp = xpand.array_namespace(x)
        return getattr(xp, name)(xp.astype(x * x, xp.float32), dtype=xp.float64, **options)

    return function


def _case(function: Any, *arrays: np.ndarray, **options: Any) -> Case:
    return Case(function, arrays, differentiable=tuple(range(len(arrays))), **options)


AXES: dict[str, tuple[np.ndarray, dict[str, Any]]] = {
    "all axes": (X, {}),
    "one": (BLOCK, {"axis": 1}),
    "from the end": (BLOCK, {"axis": -1}),
    "two": (BLOCK, {"axis": (0, -1)}),
    "kept": (BLOCK, {"axis": (2, 0), "keepdims": True}),
    "all kept": (X, {"keepdims": True}),
    "of no axes": (SCALAR, {}),
}

REDUCTIONS = {
    f"{name} {axes}": _case(_of(name, **options), x)
    for name in ("sum", "max", "prod")
    for axes, (x, options) in AXES.items()
} | {
    f"{name} {axes}": _case(_of(name, **AXES[axes][1]), AXES[axes][0])
    for name in ("mean", "min", "var", "std")
    for axes in ("all axes", "from the end", "kept")
}

MORE = {
    "sum of complex": _case(_complex("sum", axis=0), X, Y),
    "mean of complex": _case(_complex("mean", axis=-1), X, Y),
    "prod of complex": _case(_complex("prod", axis=-1), X, Y),
    "sum in another type": _case(_as_float32("sum", axis=0), X),
    "prod in another type": _case(_as_float32("prod", axis=0), X),
    "sum of nothing": _case(_of("sum", axis=0), EMPTY),
    "mean along an empty axis of nothing": _case(_of("mean", axis=1), EMPTY),
    "prod of nothing": _case(_of("prod", axis=0), EMPTY),
    "max of nothing along another axis": _case(_of("max", axis=1), EMPTY),
    "var corrected": _case(_of("var", correction=1, axis=1), X),
    "var corrected by a fraction": _case(_of("var", correction=1.5), X),
    "std corrected": _case(_of("std", correction=1, axis=(0, 1), keepdims=True), X),
    "var of equal values": _case(_plain("var", axis=1), EQUAL),
    "max with ties": _case(_plain("max", axis=1), TIES),
    "min with ties": _case(_plain("min", axis=1), TIES),
    "max with ties of all": _case(_plain("max"), TIES),
    "max beside NaN": _case(
        _plain("max", axis=1), np.asarray([[1.0, np.nan, 2.0], [1.0, 3.0, 2.0]]), as_one_program=False
    ),
    "min beside infinities": _case(_plain("min", axis=1), np.asarray([[-np.inf, 1.0, -np.inf], [1.0, np.inf, 2.0]])),
    "prod with zeros": _case(_plain("prod", axis=1), ZEROS),
    "prod with zeros of all": _case(_plain("prod"), ZEROS[:, :2]),
    "prod with one zero": _case(_plain("prod"), ZEROS[0, :]),
    "prod of five": _case(_of("prod"), V),
    "cumulative_sum": _case(_of("cumulative_sum"), V),
    "cumulative_sum along the first": _case(_of("cumulative_sum", axis=0), BLOCK),
    "cumulative_sum from nothing": _case(_of("cumulative_sum", axis=-1, include_initial=True), BLOCK),
    "cumulative_sum in another type": _case(_as_float32("cumulative_sum", axis=1), X),
    "cumulative_sum of complex": _case(_complex("cumulative_sum", axis=1), X, Y),
    "cumulative_sum of no element": _case(_of("cumulative_sum", axis=0, include_initial=True), EMPTY),
    "cumulative_prod": _case(_of("cumulative_prod"), V),
    "cumulative_prod along the middle": _case(_of("cumulative_prod", axis=-2), BLOCK),
    "cumulative_prod from nothing": _case(_of("cumulative_prod", axis=0, include_initial=True), BLOCK),
    "cumulative_prod with zeros": _case(_plain("cumulative_prod", axis=1), ZEROS),
    "cumulative_prod of complex": _case(_complex("cumulative_prod", axis=0), X, Y),
    "cumulative_prod in another type": _case(_as_float32("cumulative_prod", axis=1), X),
    "cumulative_prod of no element": _case(_of("cumulative_prod", axis=0), EMPTY),
    "diff": _case(_of("diff"), X),
    "diff twice": _case(_of("diff", n=2, axis=1), BLOCK),
    "diff not at all": _case(_of("diff", n=0), X),
    "diff beyond the end": _case(_of("diff", n=5, axis=0), X),
    "diff between others": _case(
        lambda x, a, b: xpand.array_namespace(x, a, b).diff(x * x, axis=0, prepend=a * a, append=b), X, X[:1, :], Y
    ),
    "diff after another": _case(lambda x, a: xpand.array_namespace(x, a).diff(x * x, append=a), X, Y),
}

INTEGERS = np.asarray([[3, 0, 2], [0, 5, 5]])

VALUES = {
    **{
        f"{name} {axes}": Case(_plain(name, **options), (x > 0,) if name in ("all", "any") else (x,))
        for name in ("all", "any", "count_nonzero")
        for axes, (x, options) in AXES.items()
    },
    **{
        f"{name} {axes}": Case(_plain(name, **options), (x,))
        for name in ("argmax", "argmin")
        for axes, (x, options) in {
            "all axes": (BLOCK, {}),
            "one": (BLOCK, {"axis": 1}),
            "from the end": (BLOCK, {"axis": -1, "keepdims": True}),
            "all kept": (X, {"keepdims": True}),
            "of no axes": (SCALAR, {}),
            "ties": (TIES, {"axis": 1}),
        }.items()
    },
    **{
        f"{name} of {dtype}": Case(_plain(name, axis=1), (INTEGERS.astype(dtype),))
        for name in ("sum", "prod", "max", "min", "cumulative_sum", "cumulative_prod", "count_nonzero", "diff")
        for dtype in ("uint8", "int32", "uint64")
    },
    "sum of float32": Case(_plain("sum"), (X.astype(np.float32),)),
    "sum of integers in another type": Case(
        lambda x: xpand.array_namespace(x).sum(x, dtype=xpand.array_namespace(x).float32), (INTEGERS,)
    ),
    "cumulative_sum of no axes": Case(_plain("cumulative_sum"), (SCALAR,)),
    "cumulative_prod of no axes": Case(_plain("cumulative_prod", include_initial=True), (SCALAR,)),
}

CASES = {**REDUCTIONS, **MORE, **VALUES}


@checked(CASES, TRACED)
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_running_over_no_axes(name: str) -> None:
    """One value is one element, in JAX's version too, which differs in the shape."""
    function = _plain(name, include_initial=True)
    total = lambda x: xpand.array_namespace(x).sum(function(x * x))
    assert grad(total)(np.asarray(1.5)) == 3.0
    assert jvp(total, (np.asarray(1.5),), (np.asarray(1.0),))[1] == 3.0


def test_std_of_equal_values() -> None:
    """The derivative is the finite 0, where JAX's is NaN; that of other rows is as usual."""
    std = _plain("std", axis=1)
    total = lambda x: xpand.array_namespace(x).sum(std(x))
    expected = grad(total)(EQUAL[1:])[0]
    found = grad(total)(EQUAL)
    np.testing.assert_array_equal(found, [[0.0, 0.0, 0.0], expected])
    np.testing.assert_allclose(jvp(std, (EQUAL,), (X,))[1], [0.0, np.sum(expected * X[1])], rtol=1e-14)
    second = grad(lambda x: xpand.array_namespace(x).sum(grad(total)(x) * X))(EQUAL)
    np.testing.assert_array_equal(second[0], [0.0, 0.0, 0.0])
    assert np.isfinite(second).all()


def test_what_has_no_derivative() -> None:
    """Indices, numbers and truth values leave no derivative, and don't stand in the way of others."""

    def function(x: Any) -> Any:
        xp = xpand.array_namespace(x)
        return xp.sum(x) * xp.astype(xp.count_nonzero(x) + xp.argmax(x), x.dtype)

    np.testing.assert_array_equal(grad(function)(np.asarray([1.0, 0.0, 4.0])), [4.0, 4.0, 4.0])


def test_more_corrected_than_there_are() -> None:
    """The result isn't a number, and its derivative neither; NumPy warns of the first."""
    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning, match="Degrees of freedom"):
        found = grad(_plain("var", correction=3))(np.asarray([1.0, 2.0, 4.0]))
    assert np.isnan(found).all()


WRONG: dict[str, tuple[Callable[[Any, Any], Any], type[Exception], str]] = {
    "sum": (lambda xp, x: xp.sum(x, axis=2), IndexError, "sum: axis 2 is out of bounds"),
    "max": (lambda xp, x: xp.max(x, axis=(0, -2)), ValueError, "max: axes must be different"),
    "min of nothing": (lambda xp, x: xp.min(x[:, :0]), ValueError, "min: x has no elements"),
    "argmax of nothing": (lambda xp, x: xp.argmax(x[:, :0], axis=1), ValueError, "argmax: x has no elements"),
    "argmin": (lambda xp, x: xp.argmin(x, axis=-3), IndexError, "argmin: axis -3 is out of bounds"),
    "cumulative_sum": (lambda xp, x: xp.cumulative_sum(x), ValueError, "cumulative_sum: x has 2 axes"),
    "cumulative_prod": (lambda xp, x: xp.cumulative_prod(x, axis=2), IndexError, "cumulative_prod: axis 2 is out"),
    "diff": (lambda xp, x: xp.diff(x, axis=2), IndexError, "diff: axis 2 is out of bounds"),
    "diff backwards": (lambda xp, x: xp.diff(x, n=-1), ValueError, "diff: n must be non-negative"),
    "diff of a number": (lambda xp, x: xp.diff(x[0, 0]), ValueError, "diff: x must have at least one axis"),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_while_a_graph_is_written(name: str) -> None:
    function, error, message = WRONG[name]
    namespace = traced_namespace(xpand.array_namespace(X))
    with pytest.raises(error, match=message):
        stage(namespace, "jit", lambda x: ((function(namespace, x),), ()), [Aval((2, 3), X.dtype)])


@pytest.mark.parametrize("name", [name for name in WRONG if "nothing" not in name])
def test_errors_of_lanes_of_a_batch(name: str) -> None:
    """Errors of a lane raise, although the batch has one more axis."""
    function, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        vmap(lambda x: function(xpand.array_namespace(x), x))(BLOCK)
