"""NumPy's functions that read and write at positions, and of elements, on traced arrays: against NumPy itself."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

from tests.numpy_calls import Call, calls, check, check_aliases, check_types
from xpand_extensions.autodiff import vjp
from xpand_extensions.jit import jit
from xpand_extensions.tracing import TracedError

X: Final = np.array([[0.31, 1.2, 0.73], [2.1, 1.5, 0.9]])
V: Final = np.array([0.31, 1.2, 0.73, 2.1, 1.5, 0.9])
W: Final = np.array([0.5, -1.0, 2.0, 1.5, 0.7, -0.3])
B: Final = X > 1
POSITIONS: Final = np.array([[0, 7], [2, -1]])


def written(x: Any, write: Callable[[Any], Any]) -> Any:
    """Return a copy of an array, and a view of it, after a write."""
    y = x * 1
    view = y[..., ::-1]
    write(y)
    return y, view * 1


def written_part(x: Any, write: Callable[[Any], Any]) -> Any:
    """Return a copy of an array after a write to a view of it."""
    y = x * 1
    write(y.T[1:])
    return y


CONSTANTS: Final = {"W": W, "X": X, "B": B, "POSITIONS": POSITIONS, "written": written, "written_part": written_part}
SIZES: Final = dict.fromkeys(("jit", "vmap"), "the size of its result depends")

READING_CALLS: Final = [
    *calls(
        CONSTANTS,
        V,
        "np.take(x, [0, 2])",
        "np.take(x, 3)",
        "np.take(x, np.int64(-1))",
        "np.take(x, [[0, 7], [2, -1]], mode='wrap')",
        "np.take(x, np.array([0, 9, -3]), mode='clip')",
        "np.take(x, [])",
        "np.take(x, [True, False])",
        "np.take(x, np.argsort(W))",
        "np.take(x, x.argmax())",
        "np.take(x, x.argsort()[:2] * 9, mode='wrap')",
        "np.take(x, x.argsort() * 2 - 3, mode='clip')",
        "np.take_along_axis(np.reshape(x, (2, 3)), np.reshape(x, (2, 3)).argsort(axis=1), 1)",
        "np.take_along_axis(W, x.argsort(), 0)",
        "np.take(np.reshape(x, (2, 3)), [1, 4])",
        "np.take(np.reshape(x, (2, 3)), [0, 2], axis=1)",
        "np.take(np.reshape(x, (2, 3)), POSITIONS, axis=-1, mode='wrap')",
        "np.take(np.reshape(x, (2, 3)), 1, 0)",
        "np.take(x, [0, 1], out=x[:2] * 0.0)",
        "np.take_along_axis(x, np.array([1, 0]), 0)",
        "np.take_along_axis(np.reshape(x, (2, 3)), np.array([[0], [2]]), 1)",
        "np.take_along_axis(np.reshape(x, (2, 3)), np.array([[0, 1, 1]]), axis=0)",
        "np.take_along_axis(np.reshape(x, (2, 3)), np.array([[0, -1], [1, 2]]))",
        "np.take_along_axis(np.reshape(x, (2, 3)), np.array([4, 1]), axis=None)",
        "np.where(x > 1, x, 0.0)",
        "np.where(x > 1, 1.0, 2.0)",
        "np.where(x > 1, 1, 2)",
        "np.where(x > 1, True, 2.0)",
        "np.where(W > 0, x, x * 2)",
        "np.where(W > 0, 1, x)",
        "np.where(x - x, x, W)",
        "np.where([True, False] * 3, x, W)",
        "np.where(W[:, None] > 0, x, W)",
        "np.where(x > 1, np.float32(1.5), np.ones(6, np.float32))",
    ),
    *calls(CONSTANTS, V, "np.where(x > 1)", stops=SIZES),
    *calls(CONSTANTS, X, "np.where(x > 1)", stops=SIZES),
]

WRITING_CALLS: Final = [
    *calls(
        CONSTANTS,
        X,
        "written(x, lambda y: np.put(y, [0, 4], [7.0, 8.0]))",
        "written(x, lambda y: np.put(y, [0, 4, -1], x[0, :2]))",
        "written(x, lambda y: np.put(y, [[1, 3]], 5))",
        "written(x, lambda y: np.put(y, [0, 0, 1], [1.0, 2.0, 3.0]))",
        "written(x, lambda y: np.put(y, 7, 2.0, mode='wrap'))",
        "written(x, lambda y: np.put(y, [9, -9], x[1], mode='clip'))",
        "written(x, lambda y: np.put(y, [0, 1], []))",
        "written(x, lambda y: np.put(y, [], x))",
        "written(x, lambda y: np.copyto(y, x[0]))",
        "written(x, lambda y: np.copyto(y, W.reshape(2, 3), where=B))",
        "written(x, lambda y: np.copyto(y, x[::-1], where=x > 1))",
        "written(x, lambda y: np.copyto(y, 3, where=[True, False, True]))",
        "written(x, lambda y: np.copyto(y, np.float32(2)))",
        "written(x, lambda y: np.putmask(y, B, [1.0, 2.0]))",
        "written(x, lambda y: np.putmask(y, x > 1, x[0]))",
        "written(x, lambda y: np.putmask(y, B, 5))",
        "written(x, lambda y: np.putmask(y, B, x * x))",
        "written(x, lambda y: np.place(y, B, [1.0, 2.0]))",
        "written(x, lambda y: np.place(y, x > 1, x[0]))",
        "written(x, lambda y: np.place(y, x > 9, 3.0))",
        "written(x, lambda y: np.fill_diagonal(y, 7.0))",
        "written(x, lambda y: np.fill_diagonal(y, x[0]))",
        "written(x.T, lambda y: np.fill_diagonal(y, [1.0, 2.0, 3.0]))",
        "written(np.tile(x[0], (7, 1)), lambda y: np.fill_diagonal(y, 0.0))",
        "written(np.tile(x[0], (7, 1)), lambda y: np.fill_diagonal(y, x, wrap=True))",
        "written(np.tile(x[0], (3, 3, 1)), lambda y: np.fill_diagonal(y, x[1]))",
        "written(x, lambda y: np.put_along_axis(y, np.array([[0], [2]]), 9.0, 1))",
        "written(x, lambda y: np.put_along_axis(y, np.array([[0], [2]]), x[:, :1] * 2, -1))",
        "written(x, lambda y: np.put_along_axis(y, np.array([[0, 1, 1]]), x[1], axis=0))",
        "written(x, lambda y: np.put_along_axis(y, np.array([4, 0]), [1.0, 2.0], None))",
        "written(x, lambda y: np.put(y, x.argmax(), 0.0))",
        "written(x, lambda y: np.put(y, x.argmax(axis=0), x[0], 'wrap'))",
        "written(x, lambda y: np.put_along_axis(y, x.argmax(axis=1, keepdims=True), x[:, :1], 1))",
        "written_part(x, lambda y: np.put(y, [0, 3], x[0]))",
        "written_part(x, lambda y: np.copyto(y, x[:, 0], where=[True, False]))",
        "written_part(x, lambda y: np.putmask(y, [[1, 0], [0, 1]], [2.0, 3.0, 4.0]))",
        "written_part(x, lambda y: np.place(y, [[1, 0], [0, 1]], [2.0, 3.0]))",
        "written_part(x, lambda y: np.fill_diagonal(y, x[0, 0]))",
        "written_part(x, lambda y: np.put_along_axis(y, np.array([[1, 0]]), 9.0, 0))",
        "written(x[:0], lambda y: np.putmask(y, x[:0] > 1, 5.0))",
        "written(x[:0], lambda y: np.copyto(y, 5.0))",
    ),
]

CLIP_CALLS: Final = [
    *calls(
        CONSTANTS,
        X,
        "np.clip(x, 0.5, 1.4)",
        "np.clip(x, None, 1.4)",
        "np.clip(x, 1, None)",
        "np.clip(x, a_min=0.5, a_max=None)",
        "np.clip(x, min=W[:3])",
        "np.clip(x, max=x[0] + 0.35)",
        "np.clip(x)",
        "np.clip(W[:3], a_min=x[0], a_max=2.5)",
        "np.clip(W[:3], x - 1, x + 1)",
        "np.clip(x, 1.0, 0.5)",
        "np.clip(x, 0.5, 1.4, out=x * 0.0)",
        "np.clip(x[0, 0], W - 0.1, 9)",
    ),
]

ELEMENT_CALLS: Final = [
    *calls(
        CONSTANTS,
        X,
        "np.round(x, 1)",
        "np.round(x + 0.013)",
        "np.around(x * 31, -1)",
        "np.round(x, decimals=2)",
        "np.fix(x * 3)",
        "np.fix(-x)",
        "np.real(x)",
        "np.imag(x)",
        "np.real(x + 2j * x)",
        "np.imag(x + 2j * x)",
        "np.angle(x)",
        "np.angle(-x)",
        "np.angle(x + 1j, deg=True)",
        "np.angle(-x - 1j * x * x)",
        "np.sinc(x)",
        "np.sinc(x + 0.5j)",
        "np.sinc(x * 0.0)",
        "np.i0(x)",
        "np.emath.sqrt(x + 1j)",
        "np.emath.power(2.0, x)",
    ),
    *calls(
        CONSTANTS,
        X,
        "np.emath.sqrt(x - 1)",
        "np.emath.sqrt(x)",
        "np.emath.log(x - 1)",
        "np.emath.log2(x)",
        "np.emath.log10(x - 1)",
        "np.emath.logn(2, x)",
        "np.emath.logn(x + 1, W[:3])",
        "np.emath.power(x - 1, 2)",
        "np.emath.power(x - 1, -2)",
        "np.emath.power(x, W[:3])",
        "np.emath.arccos(x)",
        "np.emath.arccos(0.9 - x)",
        "np.emath.arcsin(x)",
        "np.emath.arcsin(x / 3)",
        "np.emath.arcsin(0.4 - x)",
        "np.emath.arctanh(x)",
        stops=dict.fromkeys(("jit", "vmap"), "the data type of the result depends on values"),
        tolerance=1e-11,
    ),
]


ALL_CALLS: Final = [*READING_CALLS, *WRITING_CALLS, *CLIP_CALLS, *ELEMENT_CALLS]
DTYPES: Final = ("bool", "int8", "int64", "float32", "complex128")
REFUSED: Final = frozenset((call.values[0].text, "complex128") for call in CLIP_CALLS)
"""Calls that traced arrays of a data type refuse."""


@pytest.mark.parametrize("call", ALL_CALLS)
def test_values_and_derivatives(call: Call) -> None:
    check(call)


@pytest.mark.parametrize("call", ALL_CALLS)
def test_types(call: Call) -> None:
    check_types(call, *DTYPES, refused=REFUSED)


@pytest.mark.parametrize("call", ALL_CALLS)
def test_aliases(call: Call) -> None:
    check_aliases(call)


@pytest.mark.parametrize(
    "text",
    [
        "np.put(C, [0], x[0, 0])",
        "np.copyto(C, x)",
        "np.copyto(C, 1.0, where=x > 1)",
        "np.putmask(C, B, x)",
        "np.putmask(C, x > 1, 1.0)",
        "np.place(C, B, x)",
        "np.put_along_axis(C, np.array([[0]]), x[:, :1], 1)",
        "np.take(x, [0], out=C[0, :1])",
        "np.clip(x, 0.0, 1.0, out=C)",
    ],
)
def test_arrays_of_numpy_hold_no_traced_values(text: str) -> None:
    constant = np.zeros((2, 3))
    function = eval(f"lambda x: {text}", {"np": np, "C": constant, "B": B})
    for transform in (jit, lambda f: lambda x: vjp(f, x)[0]):
        with pytest.raises(TracedError, match=r"can't hold values .*np\.zeros_like"):
            transform(function)(X)
    assert not constant.any()


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("np.take(x, 9)", IndexError, "out of bounds"),
        ("np.take(x, [0.5])", TypeError, "integers"),
        ("np.take(x, 1, mode='near')", ValueError, "mode"),
        ("np.take(x[:0], 0, axis=0)", IndexError, "out of bounds"),
        ("np.take_along_axis(x, np.array([1]), 1)", ValueError, "as many axes"),
        ("np.take_along_axis(x, np.array([[0.5]]), 1)", IndexError, "integers"),
        ("(y := x * 1, np.put(y, 9, 0.0), y)[2]", IndexError, "out of bounds"),
        ("np.put(x * 1, 0, 1j)", TypeError, "complex"),
        ("np.putmask(x * 1, [True], 0.0)", ValueError, "as many elements"),
        ("np.place(x * 1, B, [])", ValueError, "empty"),
        ("np.copyto(x * 1, 1j)", TypeError, "cast"),
        ("np.copyto(x[0] * 1, x)", ValueError, "shape|broadcast"),
        ("np.fill_diagonal(x[0] * 1, 0.0)", ValueError, "two axes"),
        ("np.fill_diagonal(x[None] * 1, 0.0)", ValueError, "equal"),
        ("np.where(x > 1, x)", ValueError, "both"),
        ("np.clip(x, 0.0, 1.0, max=2.0)", (TypeError, ValueError), "a_min|both"),
        ("np.clip(x, 0.0, 1j)", TypeError, "complex"),
        ("np.i0(x * 1j)", TypeError, "real"),
    ],
)
def test_errors(text: str, error: Any, message: str) -> None:
    function = eval(f"lambda x: {text}", {"np": np, "B": B})
    for transform in (jit, lambda f: lambda x: vjp(f, x)[0]):
        with pytest.raises(error, match=message):
            transform(function)(X)
