"""NumPy's functions of shapes on traced arrays: against NumPy itself and central differences."""

from typing import Any, Final

import numpy as np
import pytest

from tests.numpy_calls import Call, calls, check, check_aliases, check_types, check_values
from xpand_extensions.autodiff import grad, vjp
from xpand_extensions.jit import jit
from xpand_extensions.tracing import TracedError
from xpand_extensions.vmap import vmap

X: Final = np.array([[0.31, 1.2, 0.73], [2.1, 1.5, 0.9]])
V: Final = np.array([0.31, 1.2, 0.73, 2.1, 1.5, 0.9])
W: Final = np.array([0.5, -1.0, 2.0, 1.5, 0.7, -0.3])
LAYOUT: Final = {"grad": "order must be", "jit": "order must be", "vmap": "order must be"}
SIZES: Final = {"jit": "size|depend|abstract", "vmap": "size|depend|abstract"}
CONSTANTS: Final = {"W": W, "V": V}

SHAPE_CALLS: Final = [
    *calls(
        CONSTANTS,
        X,
        "np.reshape(x, (3, 2))",
        "np.reshape(x, -1)",
        "np.reshape(x, [3, -1])",
        "np.reshape(x, np.array([3, 2]))",
        "np.reshape(x, (3, 2), order='F')",
        "np.reshape(x, (3, 2), 'C')",
        "np.reshape(x, shape=(6,), copy=True)",
        "np.reshape(x, (1, 6), copy=False)",
        "np.reshape(x[0], (3, 1), order='A')",
        "np.reshape(x.T, (2, 3))",
        "np.reshape(x.T, 6, order='F')",
        "np.ravel(x)",
        "np.ravel(x, 'F')",
        "np.ravel(x.T)",
        "np.ravel(x[0, 0])",
        "np.ravel(x[0], 'K')",
        "np.transpose(x)",
        "np.transpose(x, (1, 0))",
        "np.transpose(x[None], axes=[2, 0, 1])",
        "np.permute_dims(x, (1, 0))",
        "np.matrix_transpose(x)",
        "np.linalg.matrix_transpose(x[None])",
        "np.swapaxes(x, 0, 1)",
        "np.swapaxes(x[None], 0, -1)",
        "np.moveaxis(x, 0, 1)",
        "np.moveaxis(x[None], [0, 1], [-1, 0])",
        "np.rollaxis(x, 1)",
        "np.rollaxis(x[None], 2, 1)",
        "np.rollaxis(x[None], -3, 3)",
        "np.rollaxis(x[None], 0, -1)",
        "np.squeeze(x[None])",
        "np.squeeze(x[None, ..., None], axis=0)",
        "np.squeeze(x[None, ..., None], axis=(0, -1))",
        "np.squeeze(x[:1, :1])",
        "np.expand_dims(x, 1)",
        "np.expand_dims(x, (0, 3))",
        "np.expand_dims(x, [-1, 0])",
        "np.expand_dims(x[0, 0], 0)",
        "np.broadcast_to(x, (4, 2, 3))",
        "np.broadcast_to(x[0, 0], 3)",
        "np.broadcast_arrays(x, W[:3])",
        "np.broadcast_arrays(W[:3], x[:, :1], 2.0)",
        "np.flip(x)",
        "np.flip(x, 1)",
        "np.flip(x, axis=(0, 1))",
        "np.flipud(x)",
        "np.fliplr(x)",
        "np.rot90(x)",
        "np.rot90(x, 2)",
        "np.rot90(x, 3)",
        "np.rot90(x, 4)",
        "np.rot90(x, -1)",
        "np.rot90(x, 1, (1, 0))",
        "np.rot90(x[None], k=1, axes=(0, 2))",
        "np.roll(x, 2)",
        "np.roll(x, -1, axis=1)",
        "np.roll(x, (1, 2), axis=(0, 1))",
        "np.roll(x, (1, 2), axis=1)",
        "np.roll(x, 1, axis=(0, 1))",
        "np.roll(x, (1, 3))",
        "np.roll(x, x.argmax())",
        "np.roll(x, -x.argmax(), 1)",
        "np.roll(x, x.argmax(axis=1), (0, 1))",
        "np.roll(x, x.argmax(axis=1), 1)",
        "np.roll(x, x.argmax(), (0, 1))",
        "np.tile(x, 2)",
        "np.tile(x, (2, 1))",
        "np.tile(x, (2, 1, 2))",
        "np.tile(x[0, 0], 3)",
        "np.tile(x, 1)",
        "np.repeat(x, 2)",
        "np.repeat(x, 2, axis=1)",
        "np.repeat(x, np.int64(2), 0)",
        "np.repeat(x, [1, 2], axis=0)",
        "np.repeat(x, np.array([2]), axis=0)",
        "np.repeat(x[0, 0], 3)",
        "np.resize(x, (3, 3))",
        "np.resize(x, 4)",
        "np.resize(x, (0, 2))",
        "np.resize(x[:0], (2, 2))",
        "np.shape(x)",
        "np.ndim(x)",
        "np.size(x)",
        "np.size(x, 1)",
        "np.copy(x)",
        "np.copy(x, order='F')",
        "np.astype(x, float, copy=False)",
        "np.astype(x, 'int32')",
        "np.atleast_1d(x)",
        "np.atleast_1d(x[0, 0])",
        "np.atleast_1d(x[0, 0], W, 2.0)",
        "np.atleast_2d(x[0])",
        "np.atleast_2d(x[0, 0])",
        "np.atleast_2d(x[None], x)",
        "np.atleast_3d(x)",
        "np.atleast_3d(x[0])",
        "np.atleast_3d(x[0, 0])",
        "np.atleast_3d(x[None])",
        "np.lib.stride_tricks.sliding_window_view(x[0], 2)",
        "np.lib.stride_tricks.sliding_window_view(x, (2, 2))",
        "np.lib.stride_tricks.sliding_window_view(x, 2, axis=1)",
        "np.lib.stride_tricks.sliding_window_view(x, (2, 1), axis=(1, 0))",
        "np.reshape(x[:0], (3, 0))",
        "np.ravel(x[:0])",
        "np.flip(x[:0])",
        "np.tile(x[:0], 2)",
        "np.roll(x[:0], 1)",
        "np.repeat(x[:0], 2)",
    ),
]

JOINING_CALLS: Final = [
    *calls(
        CONSTANTS,
        X,
        "np.concatenate([x, W.reshape(2, 3)])",
        "np.concatenate([W.reshape(2, 3), x])",
        "np.concatenate((x, x), axis=1)",
        "np.concatenate([x, x], axis=None)",
        "np.concatenate([x, x, x], -1)",
        "np.concatenate([x])",
        "np.concatenate(x)",
        "np.concatenate([x, np.ones((2, 1), np.float32)], axis=1)",
        "np.concatenate([[x[0, 0], 2.0], x[1]])",
        "np.concatenate([x[0], x[1]], out=np.ravel(x) * 0.0)",
        "np.concat([x, x])",
        "np.stack([x, x])",
        "np.stack([x, np.ones((2, 3))], axis=-1)",
        "np.stack(x, axis=1)",
        "np.stack([x[0, 0], 2.0, x[1, 1]])",
        "np.vstack([x, W[:3]])",
        "np.vstack([x[0, 0], x[0, 1]])",
        "np.vstack(x)",
        "np.hstack([x, x])",
        "np.hstack([x[0], W])",
        "np.hstack([x[0, 0], W, 1.0])",
        "np.dstack([x, x])",
        "np.dstack([x[0], W[:3]])",
        "np.column_stack([x[0], W[:3]])",
        "np.column_stack([x, x])",
        "np.column_stack([W[:2], x])",
        "np.block([[x, x], [x, np.zeros((2, 3))]])",
        "np.block([x[0], W])",
        "np.block([[x[0, 0], 2.0], [3.0, x[1, 1]]])",
        "np.block([[[x], [x]]])",
        "np.block(x)",
        "np.append(x, W)",
        "np.append(W, x)",
        "np.append(x, x, axis=0)",
        "np.append(x, 1.0)",
        "np.append(x, [[x[0, 0], 1.0, 2.0]], axis=0)",
        "np.unstack(x)",
        "np.unstack(x, axis=1)",
        "np.split(x, 3, axis=1)",
        "np.split(x, [1], axis=1)",
        "np.split(x, np.array([1, 2]), axis=1)",
        "np.split(x, [1, 5], axis=-1)",
        "np.split(x, [-1], 1)",
        "np.array_split(x, 2, axis=1)",
        "np.array_split(x, 4, axis=1)",
        "np.array_split(x[0], [1])",
        "np.hsplit(x, 3)",
        "np.hsplit(x[0], [1])",
        "np.vsplit(x, 2)",
        "np.dsplit(x[None], 3)",
        "np.delete(x, 1, axis=1)",
        "np.delete(x, -1, axis=1)",
        "np.delete(x, [0, 2])",
        "np.delete(x, slice(0, 5, 2))",
        "np.delete(x, np.array([True, False, True]), axis=1)",
        "np.delete(x, [], axis=0)",
        "np.delete(x[0], np.argmin(W[:3]))",
        "np.insert(x, 1, 5.0)",
        "np.insert(x, 1, x[:, 0], axis=1)",
        "np.insert(x, 1, W[:3], axis=0)",
        "np.insert(x, [1], x[:, :1], axis=1)",
        "np.insert(x, 1, W.reshape(3, 2), axis=1)",
        "np.insert(x, [1, 1], W[:3], axis=0)",
        "np.insert(x, [2, 0], x[:, :2], axis=1)",
        "np.insert(x, [-1, 3], 7.0, axis=1)",
        "np.insert(x, [0, 3, 3, 1], [1.0, 2.0, 3.0, 4.0])",
        "np.insert(x, slice(0, 2), 4, axis=1)",
        "np.insert(x, np.array([True, False, True]), 9.0, axis=1)",
        "np.insert(x, [], 1.0, axis=0)",
        "np.insert(W, 2, x[0])",
        "np.insert(x[0], -1, 1.0)",
        "np.insert(x, x.argmax(), 1.0)",
        "np.insert(x, x.argmax(axis=0), x[1], axis=1)",
        "np.delete(x, x.argmax())",
        "np.delete(W, x.argmax())",
        "np.insert(W, x.argmax(), x[0, 0])",
        "np.delete(x, -x[0].argmax(), axis=1)",
    ),
]

PADDING_CALLS: Final = [
    *calls(
        CONSTANTS,
        X,
        "np.pad(x, 1)",
        "np.pad(x, 0)",
        "np.pad(x, (1, 2))",
        "np.pad(x, ((1, 0), (0, 2)), constant_values=((1.0, 2.0), (3.0, 4.0)))",
        "np.pad(x, [(1, 0)], 'constant', constant_values=(x[0, 0], 2.0))",
        "np.pad(x, np.array([[1, 1], [0, 2]]), constant_values=3)",
        "np.pad(x, {1: (1, 2)})",
        "np.pad(x, {-1: 2, 0: (0, 1)}, mode='edge')",
        "np.pad(x, ((1, 0), (0, 2)), mode='edge')",
        "np.pad(x, 1, mode='reflect')",
        "np.pad(x, (3, 4), mode='reflect', reflect_type='odd')",
        "np.pad(x, 1, mode='wrap')",
        "np.pad(x, (0, 7), mode='wrap')",
        "np.pad(x, 1, mode='symmetric')",
        "np.pad(x, 5, mode='symmetric', reflect_type='odd')",
        "np.pad(x, 2, mode='linear_ramp', end_values=1.0)",
        "np.pad(x, 2, mode='linear_ramp', end_values=((1.0, 2.0), (x[0, 1], 0.0)))",
        "np.pad(x, 1, mode='maximum')",
        "np.pad(x, ((0, 2), (1, 0)), mode='maximum', stat_length=2)",
        "np.pad(x, 2, mode='mean')",
        "np.pad(x, (1, 2), mode='mean', stat_length=((1, 2), (2, 5)))",
        "np.pad(x, 1, mode='median')",
        "np.pad(x, 1, mode='median', stat_length=2)",
        "np.pad(x, 1, mode='minimum')",
        "np.shape(np.pad(x, 2, mode='empty'))",
        "np.pad(x[:0], 1)",
    ),
]

GRID_CALLS: Final = [
    *calls(
        CONSTANTS,
        X,
        "np.meshgrid(x[0], W)",
        "np.meshgrid(x[0], W, indexing='ij')",
        "np.meshgrid(x[0], W, sparse=True)",
        "np.meshgrid(x[0], W, copy=False)",
        "np.meshgrid(x[0], W, copy=False, sparse=True)",
        "np.meshgrid(x[0])",
        "np.meshgrid(x[0], x[1], W[:2])",
        "np.meshgrid(x[0, 0], W)",
        "np.tril(x)",
        "np.triu(x, 1)",
        "np.tril(x[0])",
        "np.triu(x[None], k=-1)",
        "np.diag(x)",
        "np.diag(x, -1)",
        "np.diag(x[0])",
        "np.diag(x[0], 1)",
        "np.diag(x[0], k=-2)",
        "np.diag(x[0, :0], 1)",
        "np.diagflat(x)",
        "np.diagflat(x[0, 0], 1)",
        "np.diagonal(x)",
        "np.diagonal(x, 1)",
        "np.diagonal(x, -5)",
        "np.diagonal(x[None], 0, 1, 2)",
        "np.diagonal(x[None], offset=-1, axis1=2, axis2=1)",
        "np.trace(x)",
        "np.trace(x, 1)",
        "np.trace(x[None], 0, 1, 2)",
        "np.trace(x, dtype=complex)",
        "np.ix_(x[0] + 0.5, W)",
    ),
    *calls(CONSTANTS, X, "np.ix_(np.arange(2), x[0] > 1)", stops=SIZES),
]

LOW_PRECISION_CALLS: Final = calls(
    CONSTANTS,
    X,
    "np.concatenate([x[0], [1.0, 2.0]], dtype=np.float32)",
    "np.stack((x[0], W[:3]), dtype='float32')",
    "np.vstack([x, W[:3]], dtype='float32')",
    "np.hstack([x[0], [1, 2]], dtype=np.float32)",
    "np.astype(x, np.float32)",
    "np.trace(x, dtype=np.float32)",
)

LAYOUT_CALLS: Final = calls(CONSTANTS, X, "np.ravel(x, 'K')", "np.reshape(x, 6, order='A')", stops=LAYOUT)


ALL_CALLS: Final = [*SHAPE_CALLS, *JOINING_CALLS, *PADDING_CALLS, *GRID_CALLS]
DTYPES: Final = ("bool", "int8", "int64", "float32", "complex128")
REFUSED: Final = frozenset(
    (call.values[0].text, dtype)
    for call in PADDING_CALLS
    for word, dtype in (("odd", "bool"), ("median", "complex128"))
    if word in call.values[0].text
)
"""Calls that traced arrays of a data type refuse."""


@pytest.mark.parametrize("call", [*ALL_CALLS, *LAYOUT_CALLS])
def test_values_and_derivatives(call: Call) -> None:
    check(call)


@pytest.mark.parametrize("call", LOW_PRECISION_CALLS)
def test_values_of_low_precision(call: Call) -> None:
    check_values(call)


@pytest.mark.parametrize("call", [*ALL_CALLS, *LOW_PRECISION_CALLS])
def test_types(call: Call) -> None:
    check_types(call, *DTYPES, refused=REFUSED)


@pytest.mark.parametrize("call", ALL_CALLS)
def test_aliases(call: Call) -> None:
    check_aliases(call)


# Random padding

MODES: Final = (
    *("constant", "edge", "wrap", "symmetric", "reflect"),
    *("linear_ramp", "maximum", "mean", "median", "minimum"),
)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("mode", MODES)
def test_random_padding(mode: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 4, rng.integers(1, 4)).tolist())
    widths = rng.integers(0, 5, (len(shape), 2)).tolist()
    options: dict[str, Any] = {}
    if mode in ("maximum", "mean", "median", "minimum") and seed % 2:
        options["stat_length"] = rng.integers(1, 4, (len(shape), 2)).tolist()
    if mode in ("symmetric", "reflect") and seed % 2:
        options["reflect_type"] = "odd"
    if mode in ("constant", "linear_ramp") and seed % 2:
        name = "constant_values" if mode == "constant" else "end_values"
        options[name] = rng.normal(size=(len(shape), 2)).tolist()
    call = Call(mode, lambda x: np.pad(x, widths, mode=mode, **options), rng.normal(size=shape), {}, 1e-12)
    check(call)
    check_types(call, "int64", "float32")


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("np.reshape(x, (4, 4))", ValueError, "reshape"),
        ("np.reshape(x, 6, order='Q')", ValueError, "order"),
        ("np.moveaxis(x, 5, 0)", (IndexError, ValueError), "axis 5"),
        ("np.rollaxis(x, 0, 7)", ValueError, "start"),
        ("np.squeeze(x, 0)", ValueError, "size"),
        ("np.expand_dims(x, 7)", (IndexError, ValueError), "axis 7"),
        ("np.fliplr(x[0])", ValueError, "at least 2 axes"),
        ("np.rot90(x[0])", ValueError, "axis|axes"),
        ("np.resize(x, -1)", ValueError, "at least 0"),
        ("np.tile(x, 1.5)", (TypeError, AttributeError), "integer"),
        ("np.broadcast_to(x, (4, 4))", ValueError, "broadcast"),
        ("np.concatenate([])", ValueError, "at least one"),
        ("np.concatenate([x, x[0]])", ValueError, "shapes must agree|dimensions"),
        ("np.concatenate([x, x], dtype=int)", TypeError, "cast"),
        ("np.stack([x, x[0]])", ValueError, "shape"),
        ("np.block([x, [x]])", ValueError, "deep"),
        ("np.block([(x, x)])", TypeError, "tuple"),
        ("np.split(x, 2, axis=1)", ValueError, "do not divide"),
        ("np.array_split(x, 0)", ValueError, "at least 1"),
        ("np.dsplit(x, 1)", ValueError, "at least 3 axes"),
        ("np.delete(x, 7, axis=0)", IndexError, "out of bounds"),
        ("np.insert(x, 7, 0.0, axis=0)", IndexError, "out of bounds"),
        ("np.insert(x, -3, 0.0, axis=0)", IndexError, "out of bounds"),
        ("np.insert(x, [0, 3], 0.0, axis=0)", IndexError, "out of bounds"),
        ("np.insert(x, x.argmax() + 9, 0.0)", IndexError, "out of bounds"),
        ("np.insert(x, x.argmax() - 19, 0.0)", IndexError, "out of bounds"),
        ("np.delete(x, x.argmax() + 9)", IndexError, "out of bounds"),
        ("np.delete(x, x.argmax() - 19)", IndexError, "out of bounds"),
        ("np.insert(x, [[1]], 0.0)", ValueError, "list of them"),
        ("np.pad(x, -1)", ValueError, "negative"),
        ("np.pad(x, 1, mode='nearest')", ValueError, "pad: mode"),
        ("np.pad(x, 1, mode='edge', constant_values=1)", ValueError, "takes no constant_values"),
        ("np.pad(x, 1, mode='mean', stat_length=0)", ValueError, "at least 1"),
        ("np.pad(x[:0], 1, mode='edge')", ValueError, "empty"),
        ("np.pad(x[:0], 1, mode='mean')", ValueError, "empty"),
        ("np.pad(x, 1, mode=lambda *args: None)", TypeError, "function"),
        ("np.meshgrid(x, x, indexing='yx')", ValueError, "indexing"),
        ("np.ix_(x, x)", ValueError, "one axis"),
        ("np.diag(x[None])", ValueError, "one or two axes"),
        ("np.diagonal(x[0])", ValueError, "at least 2 axes"),
        ("np.stack([x, x], out=np.zeros((2, 2, 3)))", TracedError, "zeros_like"),
    ],
)
def test_errors(text: str, error: Any, message: str) -> None:
    function = eval(f"lambda x: {text}", {"np": np, **CONSTANTS})
    for transform in (jit, lambda f: lambda x: vjp(f, x)[0]):
        with pytest.raises(error, match=message):
            transform(function)(X)


@pytest.mark.parametrize("text", ["np.delete(x, x.argmax(axis=1))", "np.insert(x, x.ravel() > 1, 0.0)"])
def test_sizes_that_depend_on_values(text: str) -> None:
    call = eval(f"lambda x: np.sum({text})", {"np": np})

    def function(x: Any) -> Any:
        return call(x)

    assert grad(function)(X).shape == X.shape
    with pytest.raises(TracedError, match="determines the size of the result"):
        jit(function)(X)
    with pytest.raises(TracedError, match="determines the size of the result"):
        vmap(function)(X[None])
