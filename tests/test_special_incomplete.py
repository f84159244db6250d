"""Incomplete gamma and beta functions: accuracy in ulps, edges, transformations and gradients on every library."""

from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings, strategies as st

from tests.libraries import Library
from tests.operations import Case, Check, check_values, checked
from tests.special import check_lazy, check_narrow_types
from tests.ulps import Accuracy, check_ulps, magnitudes, reals
from xpand_extensions import special

DTYPES = ["float32", "float64"]


def gammainc(*, upper: bool) -> Any:
    def reference(a: Any, x: Any) -> Any:
        if mp.isnan(a) or mp.isnan(x) or a < 0 or x < 0:
            return mp.nan
        if (a == 0 and x == 0) or (mp.isinf(a) and mp.isinf(x)):
            return mp.nan
        if x == 0 or mp.isinf(a):
            return mp.mpf(upper)
        if a == 0 or mp.isinf(x):
            return mp.mpf(not upper)
        return mp.gammainc(a, x, regularized=True) if upper else mp.gammainc(a, 0, x, regularized=True)

    return reference


def betaln(a: Any, b: Any) -> Any:
    if mp.isnan(a) or mp.isnan(b) or a < 0 or b < 0:
        return mp.nan
    if mp.isinf(a) or mp.isinf(b):
        return mp.nan if a == 0 or b == 0 else -mp.inf
    if a == 0 or b == 0:
        return mp.inf
    return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def betainc(a: Any, b: Any, x: Any) -> Any:
    if any(mp.isnan(each) for each in (a, b, x)) or a < 0 or b < 0 or not 0 <= x <= 1:
        return mp.nan
    if (a == 0 and b == 0) or (mp.isinf(a) and mp.isinf(b)) or (a == 0 and mp.isinf(a)):
        return mp.nan
    if x in (0, 1):
        return x
    if a == 0 or mp.isinf(b):
        return mp.mpf(1)
    if b == 0 or mp.isinf(a):
        return mp.mpf(0)
    return mp.betainc(a, b, 0, x, regularized=True)


RANDOM = np.random.default_rng(0)
A = np.concatenate([magnitudes(-3, 2.5, 30), reals(0.5, 30, 30)])
B = RANDOM.permutation(A)
# Around the mean by some standard deviations, where neither tail is nothing
X = np.abs(A + RANDOM.normal(size=A.size) * np.sqrt(A) * 2)
MEAN = A / (A + B)
Y = np.clip(MEAN + RANDOM.normal(size=A.size) * np.sqrt(MEAN * (1 - MEAN) / (A + B + 1)), 1e-3, 1 - 1e-3)
VALUES = (-1.0, 0.0, 0.5, 2.0, np.inf, np.nan)
EDGES = np.asarray([[a, b] for a in VALUES for b in VALUES])
BETA_EDGES = np.asarray([[a, b, x] for a in VALUES for b in VALUES for x in (-1.0, 0.0, 0.5, 1.0, 2.0, np.nan)])


def with_edges(edges: np.ndarray, *arguments: np.ndarray) -> tuple[np.ndarray, ...]:
    return tuple(np.concatenate([x, edge]) for x, edge in zip(arguments, edges.T))


ACCURACY = {
    "gammainc": Accuracy(special.gammainc, gammainc(upper=False), with_edges(EDGES, A, X), 40, argument_ulps=10),
    "gammaincc": Accuracy(special.gammaincc, gammainc(upper=True), with_edges(EDGES, A, X), 40, argument_ulps=10),
    "betaln": Accuracy(special.betaln, betaln, with_edges(EDGES, A, B), 8, absolute=8),
    "betainc": Accuracy(special.betainc, betainc, with_edges(BETA_EDGES, A, B, Y), 32, argument_ulps=8, absolute=2),
}
NAMES = list(ACCURACY)
OPERANDS = {"gammainc": 2, "gammaincc": 2, "betaln": 2, "betainc": 3}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_accuracy(library: Library, name: str, dtype: str) -> None:
    check_ulps(library, ACCURACY[name], dtype)


@pytest.mark.parametrize("name", ["gammainc", "betainc"])
def test_agrees_with_scipy_at_any_points(library: Library, name: str) -> None:
    numbers = st.floats(0.0625, 50, width=32)

    @settings(max_examples=6 if library.id in ("dask", "jax") else 15)
    @given(st.lists(st.tuples(numbers, numbers, st.floats(0, 1, width=32)), min_size=3, max_size=3))
    def check(points: list[tuple[float, float, float]]) -> None:
        arguments = np.asarray(points).T[: OPERANDS[name]]
        expected = getattr(scipy.special, name)(*arguments)
        result = getattr(special, name)(*map(library.asarray, arguments))
        library.assert_equal(result, expected, rtol=1e-11, atol=1e-15)

    check()


def test_large_parameters(library: Library) -> None:
    a = np.asarray([1e5, 1e5, 1e8, 1e8])
    x = a + np.asarray([-2.0, 1.0, 0.5, -1.0]) * np.sqrt(a)
    with mp.workdps(30):
        density = [normal_expansion(*map(float, pair)) for pair in zip(a, x)]
    result = library.to_numpy(special.gammainc(library.asarray(a), library.asarray(x)))
    np.testing.assert_allclose(result, density, rtol=1e-7)
    half = library.asarray(np.asarray([1e3, 1e6, 1e9]))
    result = library.to_numpy(special.betainc(half, half, 0.5))
    np.testing.assert_allclose(result, 0.5, rtol=1e-13)


def normal_expansion(a: float, x: float) -> float:
    """Wilson and Hilferty's approximation would be too rough: Simpson's rule on the density."""
    t = np.linspace(max(0.0, a - 12 * np.sqrt(a)), x, 200_001)
    log = (a - 1) * np.log(t / a) - (t - a)
    weights = np.ones(t.size)
    weights[1:-1:2], weights[2:-1:2] = 4.0, 2.0
    scale = np.exp(-1 / (12 * a)) / np.sqrt(2 * np.pi * a)
    return float(np.sum(weights * np.exp(log)) * (t[1] - t[0]) / 3 * scale)


def test_broadcasting_and_numbers(library: Library) -> None:
    a, x = np.asarray([[0.5], [2.0]]), np.asarray([0.25, 1.0, 4.0])
    library.assert_equal(
        special.gammainc(library.asarray(a), library.asarray(x)), scipy.special.gammainc(a, x), rtol=1e-13
    )
    library.assert_equal(special.gammaincc(2.0, library.asarray(x)), scipy.special.gammaincc(2.0, x), rtol=1e-13)
    library.assert_equal(special.betaln(library.asarray(x), 3), scipy.special.betaln(x, 3.0), rtol=1e-13)
    expected = scipy.special.betainc(a, 2.0, x / 5)
    library.assert_equal(special.betainc(library.asarray(a), 2.0, library.asarray(x / 5)), expected, rtol=1e-13)


P = np.asarray([[0.5, 0.3, 7.0], [2.5, 1.9, 12.0]])
Q = np.asarray([[1.5, 0.2, 5.0], [2.5, 4.0, 16.0]])
U = np.asarray([[0.25, 0.6, 0.5], [0.4, 0.3, 0.5]])
CASES = {
    "gammainc": Case(
        special.gammainc,
        (P, Q),
        scipy.special.gammainc,
        differentiable=(0, 1),
        rtol=1e-12,
        gradient_rtol=1e-5,
        as_one_program=False,
    ),
    "gammaincc": Case(
        special.gammaincc,
        (P, Q),
        scipy.special.gammaincc,
        differentiable=(0, 1),
        rtol=1e-12,
        gradient_rtol=1e-5,
        as_one_program=False,
    ),
    "betaln": Case(special.betaln, (P, Q), scipy.special.betaln, differentiable=(0, 1), gradient_rtol=1e-5),
    "betainc": Case(
        special.betainc,
        (P, Q, U),
        scipy.special.betainc,
        differentiable=(0, 1, 2),
        rtol=1e-12,
        gradient_rtol=1e-5,
        as_one_program=False,
    ),
}


@pytest.mark.parametrize("name", NAMES)
def test_values(library: Library, name: str) -> None:
    check_values(library, CASES[name])


@checked({name: CASES[name] for name in NAMES})
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


def test_derivatives_in_closed_form() -> None:
    import jax
    import torch

    a, b = np.asarray([0.5, 3.0, 40.0, 40.0, 1000.0]), np.asarray([2.0, 0.7, 40.0, 5.0, 900.0])
    x = np.asarray([0.5, 3.0, 30.0, 60.0, 1010.0])
    u = np.asarray([0.5, 0.9, 0.5, 0.95, 0.52])
    of_gamma = np.exp((a - 1) * np.log(x) - x - scipy.special.gammaln(a))
    of_beta = np.exp((a - 1) * np.log(u) + (b - 1) * np.log1p(-u) - scipy.special.betaln(a, b))
    for function, arguments, expected in (
        (special.gammainc, (a, x), of_gamma),
        (special.gammaincc, (a, x), -of_gamma),
        (special.betainc, (a, b, u), of_beta),
    ):
        last = len(arguments) - 1
        found = jax.vmap(jax.grad(function, last))(*map(jax.numpy.asarray, arguments))
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-10)
        found = torch.func.vmap(torch.func.grad(function, last))(*map(torch.asarray, arguments))
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_shapes(library: Library, name: str) -> None:
    # Fewer than for other functions: JAX compiles this one for each shape, in a second.
    for dtype, shape in (("float64", ()), ("float32", (0,)), ("float32", (2, 1, 3))):
        x = library.asarray(np.full(shape, 0.25, dtype=dtype))
        result = np.asarray(library.to_numpy(getattr(special, name)(*[x] * OPERANDS[name])))
        assert result.shape == shape
        assert str(result.dtype) == dtype


@pytest.mark.parametrize("name", NAMES)
def test_narrow_types(name: str) -> None:
    check_narrow_types(getattr(special, name), 0.25, operands=OPERANDS[name])


@pytest.mark.parametrize("name", NAMES)
def test_dask_stays_lazy(name: str) -> None:
    check_lazy(getattr(special, name), np.asarray([0.1, 0.2, 0.9]), operands=OPERANDS[name])


@pytest.mark.parametrize("name", NAMES)
def test_bad_input(library: Library, name: str) -> None:
    function = getattr(special, name)
    x = library.asarray(np.ones(3))
    others = [x] * (OPERANDS[name] - 1)
    for dtype in ("bool", "int32", "uint64", "complex128"):
        with pytest.raises(TypeError, match=rf"^{name}: a must have a real floating-point data type, got .*{dtype}"):
            function(library.asarray(np.ones(3), dtype=dtype), *others)
    for value in ([1.0], "1", None):
        with pytest.raises(TypeError, match=rf"^{name}: a must be an array, got"):
            function(value, *others)
    for number in (True, 1j):
        with pytest.raises(
            TypeError, match=rf"^{name}: a is the {type(number).__name__} .*, which does not promote to"
        ):
            function(number, *others)
    with pytest.raises(TypeError, match=rf"^{name}: takes at least one array"):
        function(*[1.0] * OPERANDS[name])
    with pytest.raises(ValueError, match=rf"^{name}: takes arrays that broadcast together"):
        function(library.asarray(np.ones(2)), *others)
