"""The rules of `tracing` for functions that give arrays other shapes, put them together, or make them."""

from typing import Any

import numpy as np
import pytest

import xpand
from tests.cases import Case
from tests.libraries import LIBRARIES
from tests.operations import checked
from tests.traced import traced_forward, traced_grad, traced_second, traced_stage, traced_vmap
from xpand_extensions.autodiff import grad
from xpand_extensions.tracing import traced_namespace
from xpand_extensions.tracing._core import Aval
from xpand_extensions.tracing._staging import stage
from xpand_extensions.vmap import vmap

TRACED = [traced_stage, traced_vmap, traced_forward, traced_grad, traced_second]

X = np.asarray([[0.5, -1.25, 2.0], [3.0, 0.75, -0.5]])
Y = np.asarray([[1.5, -0.5, 0.25], [0.125, 2.5, -3.0]])
V = np.asarray([0.3, -1.2, 2.5])
BLOCK = np.sin(np.arange(24.0)).reshape(2, 3, 4)


def _of(name: str, *args: Any, **kwargs: Any) -> Any:
    """Make a function of one array that calls a function of the standard, squared so that it isn't linear."""
    return lambda x: getattr(xpand.array_namespace(x), name)(x * x, *args, **kwargs)


def _many(name: str, **kwargs: Any) -> Any:
    """Make a function of arrays that calls a function of the standard with a list of them."""
    return lambda *arrays: getattr(xpand.array_namespace(*arrays), name)([x * x for x in arrays], **kwargs)


def _with(function: Any) -> Any:
    """Give a function of arrays their namespace first."""
    return lambda *arrays: function(xpand.array_namespace(*arrays), *arrays)


def _case(function: Any, *arrays: np.ndarray, **options: Any) -> Case:
    return Case(function, arrays, differentiable=tuple(range(len(arrays))), **options)


ONE = {
    "broadcast_to": _case(_of("broadcast_to", (4, 2, 3)), X),
    "broadcast_to same": _case(_of("broadcast_to", (2, 3)), X),
    "broadcast_to ones": _case(_of("broadcast_to", (2, 5, 3)), X[:, None, :]),
    "broadcast_to 0-d": _case(_of("broadcast_to", (2, 2)), np.asarray(1.5)),
    "broadcast_to empty": _case(_of("broadcast_to", (0, 2, 3)), X),
    "expand_dims": _case(_of("expand_dims", axis=0), X),
    "expand_dims negative": _case(_of("expand_dims", axis=-1), X),
    "expand_dims before the last": _case(_of("expand_dims", axis=-2), X),
    "expand_dims first from the end": _case(_of("expand_dims", axis=-3), X),
    "expand_dims 0-d": _case(_of("expand_dims", axis=-1), np.asarray(2.0)),
    "flip": _case(_of("flip"), X),
    "flip axis": _case(_of("flip", axis=-1), X),
    "flip axes": _case(_of("flip", axis=(0, 2)), BLOCK),
    "flip 0-d": _case(_of("flip"), np.asarray(2.0)),
    "matrix_transpose": _case(_of("matrix_transpose"), BLOCK),
    "moveaxis": _case(_of("moveaxis", 0, -1), BLOCK),
    "moveaxis negative": _case(_of("moveaxis", -1, 0), BLOCK),
    "moveaxis several": _case(_of("moveaxis", (0, 2), (-1, 0)), BLOCK),
    "permute_dims": _case(_of("permute_dims", (2, 0, 1)), BLOCK),
    "permute_dims 0-d": _case(_of("permute_dims", ()), np.asarray(2.0)),
    "repeat": _case(_of("repeat", 2, axis=0), X),
    "repeat flat": _case(_of("repeat", 3), X),
    "repeat negative": _case(_of("repeat", 2, axis=-1), BLOCK),
    "repeat none": _case(_of("repeat", 0, axis=0), X),
    "repeat each": _case(_with(lambda xp, x: xp.repeat(x * x, xp.asarray([2, 0, 3]), axis=1)), X, compiles=False),
    "repeat each flat": _case(_with(lambda xp, x: xp.repeat(x * x, xp.asarray([2, 0, 3, 1, 1, 4]))), X, compiles=False),
    "reshape": _case(_of("reshape", (3, 2)), X),
    "reshape -1": _case(_of("reshape", (2, -1, 2)), BLOCK),
    "reshape flat": _case(_of("reshape", (-1,)), X),
    "reshape 0-d": _case(_of("reshape", ()), X[:1, :1]),
    "roll": _case(_of("roll", 2), X),
    "roll axis": _case(_of("roll", -1, axis=-1), X),
    "roll axes": _case(_of("roll", (1, -2), axis=(0, 2)), BLOCK),
    "roll twice": _case(_of("roll", (1, 2), axis=(1, 1)), BLOCK),
    "squeeze": _case(_of("squeeze", axis=1), X[:, None, :]),
    "squeeze several": _case(_of("squeeze", axis=(0, -1)), X[None, ..., None]),
    "tile": _case(_of("tile", (2, 3)), X),
    "tile fewer": _case(_of("tile", (2,)), X),
    "tile more": _case(_of("tile", (2, 1, 3)), X),
    "tile none": _case(_of("tile", (0, 1)), X),
    "tril": _case(_of("tril"), X),
    "tril k": _case(_of("tril", k=1), BLOCK),
    "triu": _case(_of("triu"), X),
    "triu k": _case(_of("triu", k=-1), BLOCK),
    "unstack": _case(_of("unstack"), X),
    "unstack axis": _case(_of("unstack", axis=-1), BLOCK),
    "unstack some": _case(_with(lambda xp, x: xp.unstack(x * x, axis=1)[1]), BLOCK),
    "iteration": _case(lambda x: [row * row for row in x][1:], BLOCK),
    "unpacking": _case(_with(lambda xp, x: (lambda a, b: xp.sin(a) * b)(*x)), X),
    "complex": _case(
        _with(lambda xp, x, y: xp.flip(xp.reshape(xp.tril(x + y * xp.asarray(1j)), (3, 2)), axis=0) ** 2), X, Y
    ),
}

SEVERAL = {
    "concat": _case(_many("concat"), X, Y),
    "concat axis": _case(_many("concat", axis=-1), X, X[:, :1], Y),
    "concat flat": _case(_many("concat", axis=None), X, V, BLOCK),
    "concat the same twice": _case(_with(lambda xp, x: xp.concat([x, x * x])), X),
    "concat with a constant": _case(
        _with(lambda xp, x: xp.concat([xp.ones_like(x), x * x, xp.asarray([[1.0, 2.0, 3.0]])])), X
    ),
    "concat empty": _case(_many("concat"), X, X[:0]),
    "concat data types": _case(_with(lambda xp, x, y: xp.concat([xp.astype(x, xp.float32), y * y])), X, Y, rtol=2e-6),
    "stack": _case(_many("stack"), X, Y),
    "stack axis": _case(_many("stack", axis=1), X, Y, X),
    "stack negative": _case(_many("stack", axis=-1), X, Y),
    "stack 0-d": _case(_many("stack"), np.asarray(1.5), np.asarray(2.5)),
    "broadcast_arrays": _case(_with(lambda xp, x, y: tuple(xp.broadcast_arrays(x * x, y, xp.sin(y)))), X, V),
    "meshgrid": _case(_with(lambda xp, x, y: tuple(xp.meshgrid(x * x, y * y))), V, X[0, :2]),
    "meshgrid ij": _case(_with(lambda xp, x, y: tuple(xp.meshgrid(x * x, y * y, indexing="ij"))), V, X[0, :2]),
    "meshgrid three": _case(_with(lambda xp, x, y, z: tuple(xp.meshgrid(x * x, y * y, z * z))), V, X[0, :2], X[1, 1:]),
    "asarray of a list": _case(
        _with(lambda xp, x, y: xp.stack([xp.asarray(x[0, 0] * y[0, 1]), xp.asarray(2.0), y[1, 1] ** 2])), X, Y
    ),
}

MADE = {
    "zeros": _case(_with(lambda xp, x: xp.zeros((2, 3)) + x * x), X),
    "arange": _case(_with(lambda xp, x: xp.astype(xp.arange(3), xp.float64) * x), X),
    "eye": _case(_with(lambda xp, x: xp.eye(3) * x), V),
    "like": _case(_with(lambda xp, x: xp.ones_like(x) * x + xp.zeros_like(x) + xp.full_like(x, 2.0) * x), X),
    "linspace": _case(_with(lambda xp, x: xp.linspace(0.0, 1.0, 3) * x), X),
    "full": _case(_with(lambda xp, x: xp.full((2, 3), 1.5) * x), X),
}


@checked(ONE | SEVERAL | MADE, TRACED)
def test_rules(case, transformation):
    transformation(case)


EAGER = [library for library in LIBRARIES if library.id in ("numpy", "strict", "strict-device1")]


@pytest.mark.parametrize("library", EAGER, ids=str)
def test_full_of_a_traced_value(library):
    xp = library.xp

    def total(x: Any, y: Any) -> Any:
        ns = xpand.array_namespace(x)
        return ns.sum(ns.full((2, 3), x) * y + ns.full_like(y, x * x))

    found = grad(total, (0, 1))(library.asarray(1.5), library.asarray(X))
    library.assert_equal(found[0], np.sum(X) + 6 * 2 * 1.5, rtol=1e-14)
    library.assert_equal(found[1], np.full((2, 3), 1.5))
    assert xp is xpand.array_namespace(found[0])


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("library", EAGER, ids=str)
def test_linspace_of_traced_ends(library, endpoint):
    def total(low: Any, high: Any) -> Any:
        ns = xpand.array_namespace(low)
        return ns.sum(ns.linspace(low, high, 5, endpoint=endpoint, device=library.device) ** 2)

    found = grad(total, (0, 1))(library.asarray(0.5), library.asarray(2.0))
    steps = np.linspace(0.0, 1.0, 5, endpoint=endpoint)
    values = np.linspace(0.5, 2.0, 5, endpoint=endpoint)
    library.assert_equal(found[0], np.sum(2 * values * (1 - steps)), rtol=1e-14)
    library.assert_equal(found[1], np.sum(2 * values * steps), rtol=1e-14)


@pytest.mark.parametrize("library", EAGER, ids=str)
def test_shapes_stay_on_the_device(library):
    x = library.asarray(BLOCK)

    def total(x: Any) -> Any:
        xp = xpand.array_namespace(x)
        rows = xp.unstack(xp.tile(xp.repeat(x, 2, axis=1), (1, 2, 1)), axis=0)
        return xp.sum(xp.stack([*rows, xp.roll(rows[0], 1)]) ** 2) + xp.sum(
            xp.concat(xp.meshgrid(x[0, 0, :], x[1, 0, :]))
        )

    found = grad(total)(x)
    assert xpand.device(found) == library.expected_device
    assert found.shape == x.shape


def _staged(function: Any, *shapes: tuple[int, ...]) -> Any:
    xp = xpand.namespace("numpy")
    return stage(
        traced_namespace(xp),
        "jit",
        lambda *a: ((function(xpand.array_namespace(*a), *a),), ()),
        [Aval(s, xp.float64) for s in shapes],
    )


WRONG = {
    "broadcast_to": (lambda xp, x: xp.broadcast_to(x, (2, 4)), ValueError, "broadcast"),
    "concat": (lambda xp, x: xp.concat([x, x[0, :]]), ValueError, "concat: shapes must agree"),
    "concat axis": (lambda xp, x: xp.concat([x, x], axis=2), IndexError, "axis 2 is out of bounds"),
    "stack": (lambda xp, x: xp.stack([x, x[:, :1]]), ValueError, "stack: arrays must have one shape"),
    "expand_dims": (lambda xp, x: xp.expand_dims(x, axis=3), IndexError, "axis 3 is out of bounds"),
    "flip": (lambda xp, x: xp.flip(x, axis=-3), IndexError, "axis -3 is out of bounds"),
    "matrix_transpose": (
        lambda xp, x: xp.matrix_transpose(x[0, :]),
        ValueError,
        r"x must hold matrices, \(..., m, n\)",
    ),
    "tril": (lambda xp, x: xp.tril(x[0, :]), ValueError, r"x must hold matrices, \(..., m, n\)"),
    "moveaxis": (lambda xp, x: xp.moveaxis(x, (0, 1), (0,)), ValueError, "the same length"),
    "moveaxis twice": (lambda xp, x: xp.moveaxis(x, (0, 0), (0, 1)), ValueError, "different"),
    "permute_dims": (lambda xp, x: xp.permute_dims(x, (0,)), ValueError, "each of the 2 axes"),
    "reshape": (lambda xp, x: xp.reshape(x, (4, 2)), ValueError, "can't have the shape"),
    "roll": (lambda xp, x: xp.roll(x, 1, axis=2), IndexError, "axis 2 is out of bounds"),
    "squeeze": (lambda xp, x: xp.squeeze(x, axis=0), ValueError, "the size of axis 0 is not 1"),
    "unstack": (lambda xp, x: xp.unstack(x, axis=2)[0], IndexError, "axis 2 is out of bounds"),
    "axis": (lambda xp, x: xp.flip(x, axis=1.5), TypeError, "axis must be an integer"),
    "meshgrid": (lambda xp, x: xp.meshgrid(x[0, :], x[0, :], indexing="xz")[0], ValueError, "indexing must be"),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_while_a_graph_is_written(name):
    function, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        _staged(function, (2, 3))


@pytest.mark.parametrize(
    "name", ["concat axis", "expand_dims", "flip", "matrix_transpose", "tril", "moveaxis twice", "roll", "unstack"]
)
def test_errors_of_lanes_of_a_batch(name):
    """Errors of a lane raise, although the batch has one more axis."""
    function, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        vmap(lambda x: function(xpand.array_namespace(x), x))(np.ones((2, 2, 3)))


def test_repeats_that_are_not_known():
    x, repeats = np.ones((2, 3)), np.ones((2, 3), dtype=np.int64)
    with pytest.raises(TypeError, match="total_repeat_length"):
        vmap(lambda x, n: xpand.array_namespace(x).repeat(x, n))(x, repeats)
    with pytest.raises(TypeError, match="total_repeat_length"):
        _staged(lambda xp, x, n: xp.repeat(x, xp.astype(n, xp.int64)), (3,), (3,))
