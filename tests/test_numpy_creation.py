"""NumPy's creation functions with traced arrays, and functions that compare, inspect and select, against its own."""

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.numpy_calls import Call, assert_same, calls, check, check_values
from xpand_extensions.autodiff import grad
from xpand_extensions.jit import jit
from xpand_extensions.vmap import vmap

X = np.array([[0.31, 1.2, 0.73], [2.1, 1.5, 0.9]])
V = np.array([0.31, 1.2, 0.73, 2.1, 1.5, 0.9])
W = np.array([0.5, -1.0, 2.0, 1.5, 0.7, -0.3])
B = W > 0
CONSTANTS = {
    "X": X,
    "V": V,
    "W": W,
    "B": B,
    "C": np.exp(1j * np.arange(6.0)),
    "I": np.array([[0, 1, 0], [1, 0, 2]]),
    "odd_complex": np.array([complex(0, np.nan), complex(np.inf, -np.inf), complex(np.nan, 1)]),
    "odd": np.array([[np.nan, 0.0, np.inf], [-np.inf, 0.0, 0.0]]),
}

LIKE = (
    *("np.zeros(3, like=x) + x[0]", "np.ones((2, 3), like=x) * x", "np.full((2, 3), x[0, 0], like=x)"),
    *("np.zeros((), like=x)", "np.full(3, 2, like=x)", "np.full((2,), 2.5, np.float32, like=x)"),
    *("np.zeros((2, 2), dtype=int, like=x)", "np.ones(2, bool, like=x)", "np.array([x[0], x[1] * 2], like=x)"),
    *("np.array([x[0, 0], 2.0, 3], like=x)", "np.array(x, like=x)", "np.array(2.0, like=x)"),
    *("np.array([[x[0, 0], 1], [2, x[1, 1]]], like=x)", "np.array(x[0], ndmin=3, like=x)", "np.array([1, 2], like=x)"),
    *("np.array(x, dtype=np.complex128, like=x)", "np.asarray([x[0], [1, 2, 3]], like=x)"),
    *("np.asarray((x, x), float, like=x)", "np.asanyarray([x[0, 0], x[1, 0]], like=x)"),
    *("np.ascontiguousarray([x[0], x[1]], like=x)", "np.ascontiguousarray(x[0, 0], like=x)"),
    *("np.asfortranarray([x[0], x[1]], like=x)", "np.asfortranarray(x, dtype=float, like=x)"),
    *("np.require(x, float, 'C', like=x)", "np.arange(3, like=x) * x", "np.arange(1, 7, 2, like=x)"),
    *("np.arange(0.0, 1.0, 0.25, like=x)", "np.arange(3, dtype=np.float32, like=x)", "np.eye(3, like=x) @ x[0]"),
    *("np.eye(2, 3, k=1, like=x)", "np.eye(2, dtype=int, like=x)", "np.identity(3, like=x)"),
    *("np.identity(2, dtype=np.float32, like=x)", "np.tri(3, like=x)", "np.tri(2, 3, k=1, dtype=int, like=x)"),
    "np.fromfunction(lambda i, j: i + 2 * j, (2, 3), like=x) * x",
    "np.fromfunction(lambda i, k: i * k, (3,), dtype=int, k=2, like=x)",
    *("np.fromiter([1.0, 2.0, 3.0], float, like=x) * x", "np.frombuffer(b'12345678', dtype=np.int32, like=x)"),
    *("np.fromstring('1 2 3', sep=' ', like=x)", "np.loadtxt(['1 2', '3 4'], like=x)"),
    *("np.genfromtxt(['1 2', '3 4'], like=x)", "np.zeros_like(x)", "np.ones_like(x, dtype=int)"),
    *("np.full_like(x, 2.0)", "np.full_like(x[0], x[0, 0])", "np.empty_like(x) * 0", "np.zeros_like(x, shape=(2, 2))"),
    *("np.ones_like(x, shape=4)", "np.full_like(x, 3, dtype=np.int8, shape=(1, 2))", "np.full_like(x, [1, 2, 3])"),
    *("np.empty_like(x, shape=(0,))", "np.empty_like(x, np.float32, shape=(2,)) * 0", "np.empty(2, like=x) * 0"),
    "np.zeros_like(x > 1)",
)
LIMITS = (
    *("np.linspace(x[0], x[1], 5)", "np.linspace(x[0], x[1], 3, endpoint=False)", "np.linspace(0.0, x, 3, axis=-1)"),
    *("np.linspace(x[0], 2.0, 4, retstep=True)", "np.linspace(x[0, 0], 3, 4)", "np.linspace(x[0], [1, 2, 3], 1)"),
    *("np.linspace(x[0], x[1], 0)", "np.linspace(x[0], x[1], 5, axis=1)"),
    *("np.linspace(x[0, 0] * 9, 7.3, 5, dtype=int)", "np.linspace(x[0], 1j, 4)", "np.logspace(x[0], x[1], 4)"),
    *("np.logspace(x[0, 0], 2, 3, base=2.0)", "np.logspace(0, x, 3, base=x + 1)"),
    *("np.logspace(0.0, 1, 4, False, x[0], axis=1)", "np.logspace(x[0], x[1], 4, axis=-1)"),
    *("np.geomspace(x[0], x[1], 4)", "np.geomspace(x[0, 0], 9, 3, endpoint=False)"),
    *("np.geomspace(-x, -2.0 * x, 4, axis=1)", "np.geomspace(x[0] * 1j, 2.0 + 1j, 4)", "np.geomspace(1, x[0], 3)"),
)


@pytest.mark.parametrize("call", calls(CONSTANTS, X, *LIKE, *LIMITS))
def test_creation(call: Call) -> None:
    check(call)


def test_arrays_read_from_files(tmp_path: Any) -> None:
    path = tmp_path / "numbers"
    V.tofile(path)
    check(Call("fromfile", lambda x: np.fromfile(str(path), like=x) * x, V, {}, 0.0))
    check(Call("loadtxt", lambda x: np.loadtxt(io.StringIO("1 2\n3 4"), like=x) + x[:2], V, {}, 0.0))


def test_created_arrays_are_written_to() -> None:
    def function(x: Any) -> Any:
        result = np.zeros(3, like=x)
        copy = np.array(x, like=x)
        for i in range(3):
            result[i] = x[i] ** 2
        copy[0] = 7.0
        filled = np.full(3, 2.0, like=x)
        filled[1] = x[1]
        other = np.zeros_like(x)
        other += x
        return np.sum(result * copy + filled * other)

    def reference(x: Any) -> Any:
        result = np.array([x[0] ** 2 * 7, x[1] ** 3, x[2] ** 3])
        return np.sum(result) + 2 * x[0] + x[1] ** 2 + 2 * x[2]

    x = np.array([2.0, 3.0, 5.0])
    assert function(x) == reference(x) == jit(function)(x)
    np.testing.assert_allclose(grad(function)(x), [30.0, 33.0, 77.0])


CHOICES = (
    *("np.select([x < 0.5, x < 1.3], [x**2, x**3], 7.0)", "np.select([x < 0.5, B.reshape((2, 3))], [x, 1.0])"),
    *("np.select([x > 1], [1])", "np.select([x[0] > 1, x > 1], [x, x[0] * 2], default=x[1])"),
    *("np.select([x > 1], [2], 1j)", "np.select([x > 1, x > 2], [1, 2])", "np.choose(I[:, :] % 2, [x, x**2])"),
    *("np.choose(I, [x, x**2, 1.0])", "np.choose(I + 1, [x, x**2], mode='wrap')"),
    *("np.choose(I - 1, (x, x**2), mode='clip')", "np.choose((x > 1).astype(int), [x[0], 2.0 * x])"),
    *("np.choose(1, [x, 2 * x])", "np.choose(I % 2, np.stack([x, x**2]))"),
    *("np.choose(I % 2, [x, x**2], out=np.zeros_like(x))", "np.piecewise(x, [x < 1, x >= 1], [lambda q: q**2, 5.0])"),
    "np.piecewise(x, [x < 0.8], [lambda q: q**2, lambda q: np.sin(q)])",
    "np.piecewise(x[0], x[0] > 1, [lambda q: q * 2])",
    "np.piecewise(x, [B.reshape((2, 3))], [lambda q, a, b: a * q + b, 1], 2.0, b=x[0, 0])",
    "np.piecewise(x[0, 0], x[0, 0] < 1, [lambda q: q**2, 2.0])",
    "np.piecewise(x, [x < 0, x > 9], [1.0, 2.0, np.exp])",
    "np.piecewise(x[0], [[True, False, True], [False, True, False]], [np.sin, np.cos])",
    *("np.piecewise(x, [x < 0], [np.log])", "np.apply_along_axis(lambda q: q.sum(), 0, x)"),
    *("np.apply_along_axis(lambda q: q**2, 1, x)", "np.apply_along_axis(np.sort, -1, x)"),
    "np.apply_along_axis(lambda q, p, s=1: np.stack([q[:2], q[1:] ** p]) * s, 1, x, 2, s=3)",
    *("np.apply_along_axis(np.mean, 0, x[0])", "np.apply_along_axis(lambda q: np.stack([q, q**2]), 0, x)"),
    *("np.apply_along_axis(lambda q: 1, 0, x) + x[0]", "np.apply_over_axes(np.sum, x, [0, 1])"),
    *("np.apply_over_axes(np.mean, x, 1)", "np.apply_over_axes(np.cumsum, x, (0, -1))"),
)
COMPARED = (
    *("np.isclose(x, x + 1e-9)", "np.isclose(x, 1.2)", "np.isclose([1, 2, 3], x, rtol=0.1)"),
    *("np.isclose(x, x + odd, equal_nan=True)", "np.isclose(x, X[0], atol=np.full(3, 0.1))"),
    *("np.isclose(x + odd, odd)", "np.isclose(x > 1, True)", "np.isclose(x, x * 1j)"),
    *("np.isclose(x + odd, x + odd, 0, np.array(0.1), True)", "np.iscomplex(x)", "np.isreal(x)"),
    *("np.iscomplex(x * C.reshape((2, 3)))", "np.isreal(x * C.reshape((2, 3)))", "np.iscomplexobj(x)"),
    *("np.isrealobj(x * 1j)", "np.isposinf(x + odd)", "np.isneginf(x + odd)", "np.isposinf(x > 1)", "np.nan_to_num(x)"),
    *("np.nan_to_num(x + odd)", "np.nan_to_num(x + odd, nan=x[0, 0], posinf=1.0, neginf=2)"),
    *("np.nan_to_num(x + odd_complex)", "np.nan_to_num(x * 1.0, copy=False)", "np.nan_to_num(x + odd, False, 1.0)"),
    *("np.real_if_close(x)", "np.ones(1, np.result_type(x, 1j), like=x)"),
    *("np.ones(1, np.result_type(x, np.float32, 2), like=x)", "np.can_cast(np.float32, x.dtype)"),
    *("np.can_cast(int, x.dtype)", "np.ones(1, np.common_type(x), like=x)", "np.ones(1, np.common_type(x, C), like=x)"),
    *("np.ones(1, np.min_scalar_type(x), like=x)", "np.tril_indices_from(x)", "np.triu_indices_from(x, k=1)"),
    *("np.diag_indices_from(x[:2, :2])", "np.unravel_index((x * 2.1).astype(int), (3, 4))"),
    "np.ravel_multi_index(((x > 1).astype(int), I), (2, 3))",
    "np.ravel_multi_index(((x > 1).astype(int), I), (2, 3), order='F')",
    "np.ravel_multi_index(((x * 2.1).astype(int), I - 1), (3, 2), mode=('clip', 'wrap'))",
    *("np.unravel_index((x * 2.1).astype(int), (3, 4), order='F')", "np.packbits(x > 1)"),
    *("np.packbits(x > 1, axis=1, bitorder='little')", "np.unpackbits((x * 9).astype(np.uint8), axis=0)"),
    "np.unpackbits((x * 9).astype(np.uint8), count=-3, bitorder='little')",
    "np.unpackbits((x * 9).astype(np.uint8), 1, 5)",
)


@pytest.mark.parametrize("call", calls(CONSTANTS, X, *CHOICES, *COMPARED))
def test_choices_and_comparisons(call: Call) -> None:
    check(call)


ABSTRACT = (
    "np.array_equal(x, x)",
    "np.allclose(x, x + 1e-9)",
    "np.array_equiv(x, x[0])",
    "np.array_equal(X, x, equal_nan=True)",
)
ABSTRACT += (
    "np.allclose(x, X * 2)",
    "np.array_equiv(x, X)",
    "np.ones(1, np.min_scalar_type(x[0, 0]), like=x)",
    "np.real_if_close(x * (1 + 0j))",
)


@pytest.mark.parametrize(
    "call",
    calls(CONSTANTS, X, *ABSTRACT, stops=dict.fromkeys(("jit", "vmap"), "is not known while|has one value for each")),
)
def test_values_that_must_be_known(call: Call) -> None:
    check(call)


def test_comparisons_of_shapes_need_no_values() -> None:
    assert jit(lambda x: np.array_equal(x, x[0]))(X) == False  # noqa: E712
    assert jit(lambda x: np.array_equiv(x, x[:, :2]))(X) == False  # noqa: E712


def test_shared_memory() -> None:
    def function(x: Any) -> Any:
        y = x * 1.0
        assert np.may_share_memory(y, y)
        assert np.shares_memory(y, y)
        assert np.may_share_memory(y, y[:1])
        assert np.may_share_memory(y[1:], y[:1])
        assert not np.may_share_memory(x, y)
        assert not np.shares_memory(x[0], y)
        assert not np.may_share_memory(X, y)
        with pytest.raises(TypeError, match="use `np.may_share_memory`"):
            np.shares_memory(y, y[:1])
        return y

    jit(function)(X)


def test_texts() -> None:
    results: list[str] = []

    def function(x: Any) -> Any:
        results.extend(
            [np.array_repr(x), np.array_str(x, precision=1), np.array2string(x, separator=";", max_line_width=20)]
        )
        return np.sum(x)

    grad(function)(X)
    assert results == [
        np.array_repr(X),
        np.array_str(X, precision=1),
        np.array2string(X, separator=";", max_line_width=20),
    ]
    results.clear()
    jit(function)(X)
    assert results == ["Traced(shape=(2, 3), dtype=float64, by=jit)"] * 3


OTHERS = [np.array([[3, 0, -2], [5, 5, 1]]), X > 1, X.astype(np.float32), X + 1j, np.zeros((0, 3)), np.array(2.5)]
OF_OTHERS = (
    *("np.zeros_like(x)", "np.ones_like(x)", "np.full_like(x, 2)", "np.linspace(x, 2, 3)", "np.logspace(x, 1, 3)"),
    *("np.isclose(x, x)", "np.iscomplex(x)", "np.isreal(x)", "np.nan_to_num(x)", "np.select([x == x], [x], 0)"),
    *("np.select([x == x], [x], 0.5)", "np.piecewise(x, [x == x], [lambda q: q * 3])", "np.array(x, ndmin=3, like=x)"),
    *("np.ascontiguousarray(x, like=x)", "np.ones(1, np.result_type(x, np.float32), like=x)", "np.choose(0, [x, x])"),
    "np.array([x, x], like=x)",
)


@pytest.mark.parametrize("x", OTHERS, ids=lambda x: f"{x.dtype}{x.shape}")
@pytest.mark.parametrize("call", calls(CONSTANTS, X, *OF_OTHERS))
def test_other_data_types(call: Call, x: np.ndarray) -> None:
    check_values(call._replace(x=x, tolerance=1e-6 if x.dtype == np.float32 else 1e-13))


@pytest.mark.parametrize(
    ("function", "error", "match"),
    [
        (lambda x: np.geomspace(x * 0, x), ValueError, "np.geomspace: start must not be zero"),
        (lambda x: np.linspace(x, x, -1), ValueError, "np.linspace: the number of samples must not be negative"),
        (lambda x: np.array([x, x[0]], like=x), ValueError, "a sequence of arrays becomes one array only if"),
        (lambda x: np.select([x > 1], [x, x]), ValueError, "np.select: takes a choice for each condition"),
        (lambda x: np.select([x], [x]), TypeError, "np.select: condition 0 must have booleans"),
        (lambda x: np.choose(np.full((2, 3), 2), [x, x]), ValueError, "np.choose: indices must be from 0 to 1"),
        (
            lambda x: np.piecewise(x, [x > 1], [1, 2, 3]),
            ValueError,
            "np.piecewise: 1 conditions take as many functions",
        ),
        (lambda x: np.isposinf(x * 1j), TypeError, "np.isposinf: complex numbers have no sign"),
        (lambda x: np.diag_indices_from(x), ValueError, "np.diag_indices_from: the array must have two or more axes"),
        (lambda x: np.tril_indices_from(x[0]), ValueError, "np.tril_indices_from: the array must have two axes"),
        (lambda x: np.zeros(3, device="gpu", like=x) + x[0], (TypeError, ValueError), "Device"),
    ],
)
def test_errors(function: Callable[[Any], Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        grad(lambda x: np.sum(x) + np.sum(function(x)))(X)


def test_comparisons_are_never_silently_false() -> None:
    for transform in (jit, vmap):
        for function in (np.array_equal, np.allclose, np.array_equiv):
            with pytest.raises(TypeError, match="is not known while|has one value for each"):
                transform(lambda x, function=function: x * function(x, x))(X)


def test_constants_of_the_same_class_are_equal() -> None:
    results: list[Any] = []
    grad(lambda x: (results.append(np.asarray(X, like=x)), np.sum(x))[1])(X)
    assert_same(results[0], X, 0.0)
