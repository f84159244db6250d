"""NumPy's differences, integrals, interpolation, convolutions and polynomials of traced arrays, against its own."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.numpy_calls import Call, assert_same, calls, check, check_values
from xpand_extensions.autodiff import grad
from xpand_extensions.jit import jit
from xpand_extensions.plugins.numpy.traced_arrays._functions import functions_of_numpy

V = np.array([0.31, 1.2, 0.73, 2.1, 1.5, 0.9])
W = np.array([0.5, -1.0, 2.0, 1.5, 0.7, -0.3])
CONSTANTS = {
    "V": V,
    "W": W,
    "C": np.exp(1j * np.arange(6.0)),
    "P": np.arange(6.0),
    "M": np.arange(12.0).reshape(3, 4) ** 2,
}

DIFFERENCES = (
    *("np.diff(x)", "np.diff(x, 2)", "np.diff(x, n=0)", "np.diff(x, prepend=0.0)", "np.diff(x, append=[1.0, 2.0])"),
    *("np.diff(np.stack([x, x**2]), axis=0)", "np.diff(np.stack([x, x**2]), prepend=1, append=x[0])", "np.diff(x > 1)"),
    *("np.diff(np.stack([x, x**2]), axis=0, prepend=[[0.0] * 6])", "np.diff(V, prepend=x[:2])", "np.diff(x, n=7)"),
    *("np.diff(x > 1, n=2)", "np.diff(x, 1, 0, 0.0, 1.0)", "np.ediff1d(x)"),
    *("np.ediff1d(x, to_begin=0.0, to_end=[1.0, 2.0])", "np.ediff1d(np.stack([x, W]), 1.0)"),
    *("np.ediff1d(V, to_end=x[0])", "np.gradient(x)", "np.gradient(x, 0.5)", "np.gradient(x, np.cumsum(W**2))"),
    *("np.gradient(x, edge_order=2)", "np.gradient(W, np.cumsum(x))", "np.gradient(np.stack([x, x**2, x * W]))"),
    *("np.gradient(np.stack([x, x**2, x * W]), axis=1)", "np.gradient(x, 2)"),
    "np.gradient(np.stack([x, x**2, x * W]), 0.5, P, edge_order=2)",
    *("np.gradient(np.stack([x, x * W]), axis=(0, 1))", "np.gradient(x * C, 0.5)"),
    *("np.gradient(x, np.array([0, 1, 3, 4, 6, 7]))", "np.gradient(W, x[0])"),
    *("np.gradient(np.stack([x, x**2]), [0.0, 2.0], axis=0)", "np.gradient(np.stack([x, x**2]), axis=(1,))"),
)
INTEGRALS = (
    *("np.trapezoid(x)", "np.trapezoid(x, dx=0.5)", "np.trapezoid(x, W)", "np.trapezoid(W, x)"),
    *("np.trapezoid(M * x[0])", "np.trapezoid(M * x[0], axis=0)", "np.trapezoid(M * x[0], dx=2, axis=0)"),
    *("np.trapezoid(M, x[:4])", "np.trapezoid(x[:1])", "np.trapezoid(W, dx=x[0])", "np.trapezoid(M, M * x[0])"),
    *("np.trapezoid(x * C, P)", "np.trapezoid([1, 2, 3], x[:3])", "np.trapezoid(x, dx=np.arange(5.0))"),
    *("np.trapezoid(x, [0, 1, 3, 4, 6, 7])", "np.trapezoid(x > 1)", "np.interp(np.array([0.5, 1.5, 9.0, -1.0]), P, x)"),
    *("np.interp(x, P, W)", "np.interp(x, P, W, left=0.0, right=-1.0)", "np.interp(x, P, W, period=1.7)"),
    *("np.interp(1.5, P, x)", "np.interp(x[0], P, W)", "np.interp(x, [0, 1, 2, 3], [4, 6, 5, 1])"),
    *("np.interp(x * 3 - 1, P, W, left=x[0] * 2, right=7)", "np.interp(V + 0.05, np.cumsum(x), W)"),
    *("np.interp(x, P, x * C)", "np.interp(x * 3 - 1, P, C, 1j, 2.0)", "np.interp(x.reshape((2, 3)), P, W)"),
    *("np.interp(x * 9, P, W, period=-5)", "np.interp([0.5, 1.5], x[:1], W[:1])", "np.interp(2, P, x, left=1.0)"),
    "np.interp(x, P[::-1], W, period=5.5)",
)
CONVOLUTIONS = (
    *(
        f"np.convolve(x, {v}{mode})"
        for v in ("[1.0, 2.0, 3.0]", "[1, 2]", "W", "x")
        for mode in ("", ", 'same'", ", 'valid'")
    ),
    *(
        f"np.convolve({v}, x{mode})"
        for v in ("[1.0, 2.0, 3.0]", "[1, 2]", "3.0")
        for mode in ("", ", 'same'", ", 'valid'")
    ),
    *(
        f"np.correlate(x, {v}{mode})"
        for v in ("[1.0, 2.0, 3.0]", "[1, 2]", "W", "C", "x[:4]")
        for mode in ("", ", 'same'", ", 'full'")
    ),
    *(
        f"np.correlate({v}, x{mode})"
        for v in ("[1.0, 2.0, 3.0]", "[1, 2]", "C[:3]", "C[:4]")
        for mode in ("", ", 'same'", ", 'full'")
    ),
    *("np.convolve(x * C, C[:3])", "np.convolve(x[0], W)"),
)
PHASES = (
    *("np.unwrap(x * 4)", "np.unwrap(x * 9, discont=4.0)", "np.unwrap(x * 9, period=3)"),
    *("np.unwrap(np.stack([x * 9, W]), axis=0)", "np.unwrap((x * 9.1).astype(np.int64), period=5)"),
    *("np.unwrap((x * 9.1).astype(np.int64))", "np.unwrap(x * 9, period=2.5, discont=2)"),
)


@pytest.mark.parametrize("call", calls(CONSTANTS, V, *DIFFERENCES, *INTEGRALS, *CONVOLUTIONS, *PHASES))
def test_calculus(call: Call) -> None:
    check(call)


POLYNOMIALS = (
    *("np.vander(x[:3])", "np.vander(x[:3], 4, increasing=True)", "np.vander(x, 0)", "np.vander(x * C, N=2)"),
    *("np.vander(x > 1, 2)", "np.polyval(x, 0.5)", "np.polyval([1.0, 2.0, 3.0], x)", "np.polyval(x, x)"),
    *("np.polyval(x, x.reshape((2, 3)))", "np.polyval([1, 2], x)", "np.polyval(x, C)", "np.polyval(x, 2)"),
    *("np.polyval([], x)", "np.polyadd(x, [1.0, 2.0])", "np.polysub([1.0, 2.0], x)", "np.polyadd(x, 3)"),
    *("np.polysub(x[:2], W)", "np.polymul(x, [1.0, 2.0])", "np.polymul([1, 2], x)", "np.polymul(x, x[:2])"),
    *("np.polymul(x, C)", "np.polymul(2, x)", "np.polyder(x)", "np.polyder(x, 2)", "np.polyder(x, m=0)"),
    *("np.polyder(x, 7)", "np.polyint(x)", "np.polyint(x, 2)", "np.polyint(x, m=2, k=[1.0, 2.0])"),
    *("np.polyint(x, k=3)", "np.polyint(x, 2, 1.5)", "np.polyint(x, k=1j)", "np.polydiv(x, [1.0, 2.0])"),
    *("np.polydiv(W, x[:3])", "np.polydiv(x[:2], W)", "np.polydiv(x, 2.0)", "np.polyfit(P, x, 2)"),
    *("np.polyfit(x, W, 1)", "np.polyfit(P, np.stack([x, x**2], 1), 2)", "np.polyfit(P, x, 1, w=W**2)"),
    *("np.polyfit(P, W, 2, w=x)", "np.polyfit(P, x, 2, cov=True)", "np.polyfit(x, W, 1, cov='unscaled')"),
    *("np.polyfit([0, 1, 2, 3, 4, 5], x, 1)", "np.polyfit(P, np.stack([x, x**2], 1), 1, cov=True)"),
    *("np.polyfit(P, x > 1, 1)", "np.polyfit(P, W, 1, w=x, cov=True)", "np.poly(x[:3])", "np.poly(x)"),
    *("np.poly(x[:2] * C[:2])", "np.poly(x[:1])"),
)


OF_TWO_VARIABLES = (
    *("np.polynomial.polynomial.polyval2d(x[:2], x[2:4], V.reshape((2, 3)))", "polyval2d(V, W, x.reshape((3, 2)))"),
    *("polyval2d(x[0], 2, M)", "polyval2d(V, x, [[1, 2], [3, 4]])", "polyval2d(V, W, x.reshape((1, 2, 3)))"),
    *("polygrid2d(x[:2], x[2:5], V.reshape((2, 3)))", "polygrid2d(V[:2], W[:4], x.reshape((1, 2, 3)))"),
    "polygrid2d(x.reshape((2, 3)), W[:2], M)",
)
CONSTANTS |= {"polyval2d": np.polynomial.polynomial.polyval2d, "polygrid2d": np.polynomial.polynomial.polygrid2d}


if "polynomial.polynomial.polyval2d" in functions_of_numpy():  # since NumPy 2.4
    POLYNOMIALS += OF_TWO_VARIABLES


@pytest.mark.parametrize("call", calls(CONSTANTS, V, *POLYNOMIALS, tolerance=1e-10))
def test_polynomials(call: Call) -> None:
    check(call)


RANK = "np.polyfit: the size of its result depends on values"
KNOWN_POINTS = (
    *("np.polyfit(P, x, 2, full=True)", "np.polyfit(P, x**2, 1, 0.1, True)"),
    "np.polyfit(P, np.stack([x, x**2], 1), 1, full=True)",
)
OTHER_POINTS = ("np.polyfit(P, W, 1, w=x, full=True)", "np.polyfit(x * 0 + 1, W, 1, full=True)")


@pytest.mark.parametrize(
    "call",
    [
        *calls(CONSTANTS, V, *KNOWN_POINTS, stops={"jit": RANK}),
        *calls(CONSTANTS, V, *OTHER_POINTS, stops={"jit": RANK, "vmap": RANK}),
    ],
)
def test_residuals_of_a_fit(call: Call) -> None:
    check(call)


# The data type of the roots depends on values in NumPy. A program has complex numbers.
ROOTS = (
    *("np.roots(x[:3]) + 0j", "np.roots(x)", "np.roots(np.stack([x[0], x[1], 0.1 * x[2]])) + 0j"),
    *("np.sort(np.roots(x * C))", "np.poly(x[:4].reshape((2, 2))) + 0j"),
)


@pytest.mark.parametrize("call", calls(CONSTANTS, V, *ROOTS, tolerance=1e-10))
def test_roots(call: Call) -> None:
    check(call)


def test_zero_coefficients_of_known_values() -> None:
    p = np.array([0.0, 0.0, 1.0, -3.0, 2.0, 0.0])
    functions = (np.roots, lambda p: np.polymul(p, p), lambda p: np.polydiv(p[2:], p[2:]), lambda p: np.roots(p * 0.0))
    results: list[Any] = []

    def collect(like: Any) -> Any:
        results.extend(function(np.asarray(p, like=like)) for function in functions)
        return like

    grad(collect)(1.0)
    for result, function in zip(results, functions):
        assert_same(result, function(p), 1e-12)


OF_OTHERS = (
    *("np.diff(x)", "np.ediff1d(x)", "np.gradient(x)", "np.trapezoid(x)", "np.trapezoid(x, P)", "np.interp(2.5, P, x)"),
    *("np.convolve(x, [1, 2])", "np.correlate(x, [1, 2])", "np.convolve(x, x, 'same')", "np.vander(x, 3)"),
    *("np.unwrap(x)", "np.polyval(x, 2)", "np.polyadd(x, x)", "np.polymul(x, x)", "np.polyder(x)", "np.polyint(x)"),
    *("np.interp(x, P, W)", "np.polydiv(x, [1, 2])", "np.polyfit(P, x, 1)", "np.polyval([1, 2], x)", "np.poly(x)"),
)


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint8, np.float32])
@pytest.mark.parametrize("call", calls(CONSTANTS, V, *OF_OTHERS))
def test_other_data_types(call: Call, dtype: type) -> None:
    x = np.array([3, 4, 2, 5, 5, 1]).astype(dtype)
    if dtype is np.uint8 and "unwrap" in call.text:
        return  # NumPy's differences of unsigned numbers wrap around
    check_values(call._replace(x=x, tolerance=2e-5 if dtype is np.float32 else 1e-10))


@pytest.mark.parametrize(
    ("function", "match"),
    [
        (lambda x: np.diff(x[0]), "np.diff: the array must have at least one axis"),
        (lambda x: np.interp(x, V[:2], W), "np.interp: xp and fp must have one axis and the same size"),
        (lambda x: np.interp(x, V, W, period=0), "np.interp: period must not be zero"),
        (lambda x: np.convolve(x, np.ones((2, 2))), "np.convolve: takes arrays with one axis"),
        (lambda x: np.convolve(x, []), "np.convolve: takes arrays with one axis and at least one element"),
        (lambda x: np.vander(np.stack([x, x])), "np.vander: x must have one axis"),
        (lambda x: np.roots(np.stack([x, x])), "coefficients of a polynomial must have one axis"),
        (lambda x: np.polyfit(V[:2], x[:2], 1, cov=True), "np.polyfit: the number of points must exceed"),
        (lambda x: np.polyder(x, -1), "m"),
    ],
)
def test_errors(function: Callable[[Any], Any], match: str) -> None:
    with pytest.raises((TypeError, ValueError), match=match):
        jit(function)(V)
