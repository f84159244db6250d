"""The error function's family: accuracy in ulps, edges, transformations and gradients on every library."""

from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings, strategies as st

from tests.libraries import Library
from tests.operations import Case, Check, check_values, checked
from tests.special import check_bad_input, check_lazy, check_narrow_types, check_shapes
from tests.ulps import Accuracy, check_ulps, magnitudes, reals
from xpand_extensions import special

DTYPES = ["float32", "float64"]


def erfc(x: Any) -> Any:
    return mp.erfc(x) if not abs(x) > 1000 else mp.mpf(0 if x > 0 else 2)


def erfinv(x: Any) -> Any:
    if mp.isnan(x) or abs(x) > 1:
        return mp.nan
    if abs(x) < mp.mpf(7) / 8:
        return mp.erfinv(x)
    return erfcinv(1 - x) if x > 0 else -erfcinv(1 + x)


def erfcinv(x: Any) -> Any:
    """Newton's method on the logarithm of erfc, from its asymptotic value: mpmath has the inverse for large x alone."""
    if mp.isnan(x) or not 0 <= x <= 2:
        return mp.nan
    if x > mp.mpf(1) / 8:
        return mp.erfinv(1 - x) if x < 2 else -mp.inf
    if x == 0:
        return mp.inf
    y = mp.sqrt(-mp.log(x))
    for _ in range(100):
        value = mp.erfc(y)
        step = (mp.log(value) - mp.log(x)) * value * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
        y += step
        if abs(step) < mp.mpf(10) ** -40:
            return y
    raise AssertionError(f"no convergence for {x}")


def ndtr(x: Any) -> Any:
    return erfc(-x / mp.sqrt(2)) / 2


def ndtri(x: Any) -> Any:
    return -mp.sqrt(2) * erfcinv(2 * x)


def log_ndtr(x: Any) -> Any:
    if mp.isnan(x) or mp.isinf(x):
        return x if x != mp.inf else mp.mpf(0)
    if x > 0:
        return mp.log1p(-ndtr(-x))
    if x > -1000:
        return mp.log(ndtr(x))
    return -x * x / 2 - mp.log(-x * mp.sqrt(2 * mp.pi)) + mp.log(1 - 1 / x**2 + 3 / x**4 - 15 / x**6 + 105 / x**8)


def both(x: np.ndarray) -> np.ndarray:
    return np.concatenate([-x, x])


EDGES = np.asarray([0.0, -0.0, np.inf, -np.inf, np.nan])
LINE = np.concatenate([reals(-6, 6, 160), both(magnitudes(-320, 2, 60)), both(magnitudes(2, 300, 8)), EDGES])
TAIL = np.concatenate([LINE, reals(0, 40, 120)])
INTERVAL = np.concatenate([reals(-1, 1, 160), both(magnitudes(-300, -1, 40)), both(1 - magnitudes(-15, -1, 40)), EDGES])
PROBABILITIES = np.concatenate([reals(0, 1, 160), magnitudes(-300, -1, 80), 1 - magnitudes(-15, -1, 40), EDGES])

ACCURACY = {
    "erf": Accuracy(special.erf, mp.erf, (np.append(LINE, 3.0156157),), 4),
    "erfc": Accuracy(special.erfc, erfc, (TAIL,), 9, argument_ulps=0.5),
    "erfinv": Accuracy(special.erfinv, erfinv, (np.append(INTERVAL, [1.5, -3e300]),), 4),
    "erfcinv": Accuracy(special.erfcinv, erfcinv, (np.append(2 * PROBABILITIES, [-1.0, 3e300]),), 8),
    "ndtr": Accuracy(special.ndtr, ndtr, (-TAIL,), 6, argument_ulps=2),
    "ndtri": Accuracy(special.ndtri, ndtri, (np.append(PROBABILITIES, [-1.7e308, 1.5]),), 8),
    "log_ndtr": Accuracy(special.log_ndtr, log_ndtr, (-np.append(TAIL, magnitudes(0, 19, 40)),), 7, argument_ulps=2),
}
UNARY = list(ACCURACY)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_accuracy(library: Library, name: str, dtype: str) -> None:
    check_ulps(library, ACCURACY[name], dtype)


@pytest.mark.parametrize("name", UNARY)
def test_accuracy_at_any_points(library: Library, name: str) -> None:
    bound = ACCURACY[name]
    numbers = st.floats(-1.25, 1.25, width=32) | st.floats(width=32)

    @settings(max_examples=8 if library.id in ("dask", "jax") else 25)
    @given(st.lists(numbers, max_size=6))
    def check(points: list[float]) -> None:
        for dtype in DTYPES:
            check_ulps(library, bound.at(np.asarray(points)), dtype)

    check()


def test_zeros_keep_their_sign(library: Library) -> None:
    result = library.to_numpy(special.erf(library.asarray([0.0, -0.0])))
    assert np.signbit(result).tolist() == [False, True]


# --- transformations ------------------------------------------------------------------------------------------------

CASES = {
    name: Case(
        getattr(special, name), (points,), reference=getattr(scipy.special, name), differentiable=(0,), rtol=1e-13
    )
    for name, points in {
        "erf": np.asarray([[0.0, -0.3, 1.0], [2.5, -0.9, -4.0]]),
        "erfc": np.asarray([[0.0, -0.3, 0.5], [2.5, -0.9, 4.0]]),
        "erfinv": np.asarray([[0.0, -0.3, 0.8], [0.97, -0.975, 0.5]]),
        "erfcinv": np.asarray([[1.0, 0.3, 0.1], [0.97, 1.9, 1.8]]),
        "ndtr": np.asarray([[0.0, -0.3, 0.75], [2.5, -0.9, -4.0]]),
        "ndtri": np.asarray([[0.5, 0.3, 0.1], [0.9, 0.8, 0.05]]),
        "log_ndtr": np.asarray([[0.0, -0.3, 0.75], [2.5, -0.9, -7.0]]),
    }.items()
}


@pytest.mark.parametrize("name", CASES)
def test_values(library: Library, name: str) -> None:
    check_values(library, CASES[name])


@checked(CASES)
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


# The derivatives in closed form, for values far out: they are finite, and right to a relative 1e-10.
DERIVATIVES = {
    "erf": (lambda x: 2 / np.sqrt(np.pi) * np.exp(-x * x), [-30.0, -5.0, 0.0, 1.0, 30.0]),
    "erfc": (lambda x: -2 / np.sqrt(np.pi) * np.exp(-x * x), [-30.0, -5.0, 0.5, 5.0, 20.0, 30.0]),
    "ndtr": (lambda x: np.exp(-x * x / 2) / np.sqrt(2 * np.pi), [-40.0, -20.0, -0.75, 0.75, 5.0, 40.0]),
    "log_ndtr": (
        lambda x: np.sqrt(2 / np.pi) / scipy.special.erfcx(-x / np.sqrt(2)),
        [-1e10, -1000.0, -20.0, -0.75, 0.75, 5.0, 36.0],
    ),
    "erfinv": (lambda x: np.sqrt(np.pi) / 2 * np.exp(scipy.special.erfinv(x) ** 2), [-0.999999, 0.0, 0.9]),
    "erfcinv": (lambda x: -np.sqrt(np.pi) / 2 * np.exp(scipy.special.erfcinv(x) ** 2), [1e-200, 1e-10, 1.0, 1.9]),
    "ndtri": (
        lambda x: np.sqrt(2 * np.pi) * np.exp(scipy.special.ndtri(x) ** 2 / 2),
        [1e-200, 1e-10, 0.5, 0.95],
    ),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_far_out(name: str) -> None:
    import jax
    import torch

    derivative, points = DERIVATIVES[name]
    function = getattr(special, name)
    expected = derivative(np.asarray(points))
    found = jax.vmap(jax.grad(function))(jax.numpy.asarray(points))
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-10)
    found = torch.func.vmap(torch.func.grad(function))(torch.asarray(points, dtype=torch.float64))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-10)


@pytest.mark.parametrize("name", CASES)
def test_second_derivatives(name: str) -> None:
    import warnings

    import jax
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from jax.test_util import check_grads

    function, (points,) = getattr(special, name), CASES[name].arrays
    x = jax.numpy.asarray(points[0])
    # Compiled, since the derivatives' many small operations would be compiled one by one.
    check_grads(jax.jit(lambda x: function(x)), (x,), order=2, modes=("rev",), rtol=1e-4)
    assert torch.autograd.gradgradcheck(function, (torch.asarray(points).requires_grad_(),))


# --- layouts, types, bad input --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", UNARY)
def test_shapes(library: Library, name: str) -> None:
    check_shapes(library, getattr(special, name), 0.25)


@pytest.mark.parametrize("name", UNARY)
def test_narrow_types(name: str) -> None:
    check_narrow_types(getattr(special, name), 0.25)


@pytest.mark.parametrize("name", UNARY)
def test_dask_stays_lazy(name: str) -> None:
    check_lazy(getattr(special, name), np.asarray([0.1, 0.2, 0.9]))


@pytest.mark.parametrize("name", UNARY)
def test_bad_input(library: Library, name: str) -> None:
    check_bad_input(library, name, getattr(special, name))
