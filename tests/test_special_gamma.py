"""The gamma function's logarithm, its derivatives, zeta, factorials: accuracy, edges, gradients on every library."""

import math
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
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def is_pole(x: Any) -> bool:
    return x <= 0 and x == mp.floor(x)


def gammaln(x: Any) -> Any:
    if mp.isnan(x):
        return x
    if mp.isinf(x) or is_pole(x):
        return mp.inf
    return mp.loggamma(x).real


def digamma(x: Any) -> Any:
    if mp.isnan(x) or x == mp.inf:
        return x
    if x == 0:
        return mp.nan  # the sign of zero decides: see below
    return mp.nan if x == -mp.inf or is_pole(x) else mp.digamma(x)


def polygamma(n: int) -> Any:
    def reference(x: Any) -> Any:
        if mp.isnan(x) or x == -mp.inf:
            return mp.nan
        sign = 1 if n % 2 else -1
        if x == mp.inf:
            return mp.mpf(0)
        return sign * mp.inf if is_pole(x) else sign * mp.factorial(n) * mp.zeta(n + 1, x)

    return reference


def zeta(s: Any, q: Any) -> Any:
    if mp.isnan(s) or mp.isnan(q) or s < 1 or q < 0:
        return mp.nan
    if s == 1 or q == 0:
        return mp.inf if s != mp.inf or q < 1 else mp.nan
    if mp.isinf(s):
        return mp.inf if q < 1 else mp.mpf(1 if q == 1 else 0)
    if mp.isinf(q):
        return mp.mpf(0)
    return mp.zeta(s, q)


def factorial(x: Any) -> Any:
    if mp.isnan(x) or x == mp.inf:
        return x
    return mp.mpf(0) if x < 0 else mp.inf if x > 200 else mp.gamma(1 + x)


NEAR_ZEROS = np.concatenate(
    [z + np.append(-d, d) for d in [magnitudes(-15, -0.6, 20)] for z in (1.0, 1.4616321449, 2.0)]
)
ROOT = [1.4616321449683622, 1.4616321449683625, 1.46163213]
POSITIVE = np.concatenate([reals(0.001, 12, 160), magnitudes(-305, 305, 80), NEAR_ZEROS, ROOT])
NEGATIVE = np.concatenate([-reals(0.001, 30, 160), -magnitudes(-305, 0, 30)])
EDGES = np.asarray([np.inf, -np.inf, np.nan, -1.0, -2.0, -1e20, -1e300])
# No value is near underflow, where JAX's terms are zero.
PARAMETERS = np.concatenate([magnitudes(-30, 9, 60), reals(0.05, 4, 60)])
ORDERS = np.concatenate([1 + magnitudes(-6, 0.3, 60)[::-1], reals(1.1, 40, 60, seed=1)])
ZETA_EDGES = np.asarray(
    [[a, b] for a in (-1.0, 0.5, 1.0, 2.0, 2.5, np.inf, np.nan) for b in (-0.5, 0.0, 0.5, 1, np.inf)]
)

ACCURACY = {
    "gammaln": Accuracy(special.gammaln, gammaln, (np.concatenate([POSITIVE, EDGES, [0.0]]),), 10, argument_ulps=2),
    "gammaln, negative": Accuracy(special.gammaln, gammaln, (NEGATIVE,), 4, argument_ulps=2, absolute=4),
    "digamma": Accuracy(special.digamma, digamma, (np.concatenate([POSITIVE, EDGES]),), 5, argument_ulps=2),
    "digamma, negative": Accuracy(special.digamma, digamma, (NEGATIVE,), 5, argument_ulps=3, absolute=5),
    "zeta": Accuracy(
        special.zeta,
        zeta,
        (np.concatenate([ORDERS, ZETA_EDGES[:, 0]]), np.concatenate([PARAMETERS, ZETA_EDGES[:, 1]])),
        8,
        argument_ulps=3,
    ),
    "factorial": Accuracy(
        special.factorial,
        factorial,
        (np.concatenate([reals(0, 34, 100), reals(0, 170.6, 100), magnitudes(-300, -1, 20), EDGES, [171.0, 34.1]]),),
        8,
    ),
}


def of_order(n: int) -> Any:
    return lambda x: special.polygamma(n, x)


for n in (1, 2, 3, 10):
    order = of_order(n)
    size = max(math.pi ** (n + 1), math.factorial(n))
    some = np.concatenate([magnitudes(-20, 30 / n, 40), reals(0.01, 20, 40), EDGES])
    ACCURACY[f"polygamma {n}"] = Accuracy(order, polygamma(n), (some,), 12, argument_ulps=2)
    ACCURACY[f"polygamma {n}, negative"] = Accuracy(
        order, polygamma(n), (-reals(0.01, 20, 60),), 24, argument_ulps=3, absolute=24 * size
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_logarithms_of_subnormal_numbers(library: Library, dtype: str) -> None:
    """They are finite, though 1 / x is not. XLA takes such numbers for zeros."""
    info = np.finfo(dtype)
    tiny = [info.smallest_subnormal, info.smallest_normal / 8] if not library.id.startswith("jax") else []
    x = np.asarray([*tiny, info.smallest_normal], dtype)
    x = np.concatenate([x, -x, [0.0, -0.0, -3.0, -np.inf, np.inf]]).astype(dtype)
    with np.errstate(divide="ignore"):
        expected = np.where(np.abs(x) < 1, -np.log(np.abs(x).astype(float)), np.inf).astype(dtype)
    library.assert_equal(special.gammaln(library.asarray(x)), expected, rtol=float(4 * info.eps))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ACCURACY)
def test_accuracy(library: Library, name: str, dtype: str) -> None:
    check_ulps(library, ACCURACY[name], dtype)


@pytest.mark.parametrize("name", ["gammaln, negative", "digamma, negative", "factorial", "polygamma 1, negative"])
def test_accuracy_at_any_points(library: Library, name: str) -> None:
    @settings(max_examples=8 if library.id in ("dask", "jax") else 25)
    @given(st.lists(st.floats(-40, 40, width=32).filter(bool) | st.floats(0.5, 2.0**99, width=32), max_size=6))
    def check(points: list[float]) -> None:
        for dtype in DTYPES:
            check_ulps(library, ACCURACY[name].at(np.asarray(points)), dtype)

    check()


def test_digamma_at_zero_has_the_other_sign(library: Library) -> None:
    for dtype in DTYPES:
        result = special.digamma(library.asarray([0.0, -0.0], dtype=dtype))
        assert library.to_numpy(result).tolist() == [-np.inf, np.inf]


def test_polygamma_of_order_zero_is_digamma(library: Library) -> None:
    x = library.asarray([0.5, 1.0, -1.5])
    library.assert_equal(special.polygamma(0, x), library.to_numpy(special.digamma(x)), rtol=1e-15)


def test_polygamma_of_high_order(library: Library) -> None:
    points = np.asarray([0.5, 1.0, 20.0, -0.25, 3e5])
    with mp.workdps(50):
        expected = np.asarray([float(polygamma(30)(mp.mpf(float(x)))) for x in points])
    library.assert_equal(special.polygamma(30, library.asarray(points)), expected, rtol=1e-13)


def test_zeta_of_riemann(library: Library) -> None:
    s = np.asarray([[1.5, 2.0], [3.0, 4.0]])
    library.assert_equal(special.zeta(library.asarray(s)), scipy.special.zeta(s), rtol=1e-14)
    library.assert_equal(special.zeta(2.0, library.asarray(s)), scipy.special.zeta(2.0, s), rtol=1e-14)
    # float32 and float64 promote
    q = library.asarray(s, dtype="float32")
    library.assert_equal(special.zeta(library.asarray(s), q), scipy.special.zeta(s, s), rtol=1e-14)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_factorial_of_integers(library: Library, dtype: str) -> None:
    info = np.iinfo(dtype)
    points = [n for n in (*range(-2, 26), 100, info.max, info.min) if info.min <= n <= info.max]
    expected = [0 if n < 0 else info.max if n > 25 else min(math.factorial(n), info.max) for n in points]
    result = special.factorial(library.asarray(np.asarray(points, dtype=dtype)))
    library.assert_equal(result, np.asarray(expected, dtype=dtype))
    assert np.asarray(library.to_numpy(special.factorial(library.asarray(np.asarray(4, dtype=dtype))))).shape == ()
    assert library.to_numpy(special.factorial(library.asarray(np.zeros((0, 2), dtype=dtype)))).shape == (0, 2)


# --- transformations ------------------------------------------------------------------------------------------------

POINTS = np.asarray([[0.5, 0.3, 7.0], [2.5, 1.9, 12.0]])
MIXED = np.asarray([[0.5, -0.3, 7.0], [2.5, -1.7, 1.46]])


def of_integers(x: Any) -> Any:
    return special.factorial(x)


CASES = {
    "gammaln": Case(special.gammaln, (MIXED,), reference=scipy.special.gammaln, differentiable=(0,), rtol=1e-13),
    "digamma": Case(
        special.digamma, (MIXED,), reference=scipy.special.digamma, differentiable=(0,), rtol=1e-12, gradient_rtol=1e-5
    ),
    "polygamma 1": Case(
        lambda x: special.polygamma(1, x),
        (MIXED,),
        reference=lambda x: scipy.special.polygamma(1, x),
        differentiable=(0,),
        gradient_rtol=1e-5,
    ),
    "zeta": Case(
        special.zeta,
        (POINTS + 1.0, POINTS[::-1].copy()),
        reference=scipy.special.zeta,
        differentiable=(0, 1),
        gradient_rtol=1e-5,
    ),
    "factorial": Case(
        special.factorial, (POINTS,), reference=lambda x: scipy.special.gamma(1 + x), differentiable=(0,)
    ),
    "factorial of integers": Case(
        of_integers,
        (np.asarray([[0, 3], [7, 30]]),),
        reference=lambda x: np.asarray([[1, 6], [5040, np.iinfo(np.int64).max]]),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_values(library: Library, name: str) -> None:
    check_values(library, CASES[name])


@checked(CASES)
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


@pytest.mark.parametrize(
    ("function", "derivative"),
    [
        (special.gammaln, scipy.special.digamma),
        (special.digamma, lambda x: scipy.special.polygamma(1, x)),
        (lambda x: special.polygamma(1, x), lambda x: scipy.special.polygamma(2, x)),
        (special.factorial, lambda x: scipy.special.gamma(1 + x) * scipy.special.digamma(1 + x)),
    ],
    ids=["gammaln", "digamma", "polygamma", "factorial"],
)
def test_derivatives_at_seams_and_far_out(function: Any, derivative: Any) -> None:
    import jax
    import torch

    points = np.asarray([1e-20, 0.25, 1.0, 1.4616321449683622, 2.0, 3.0, 3.5, 50.0, 140.0])
    expected = derivative(points)
    found = jax.vmap(jax.grad(function))(jax.numpy.asarray(points))
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-8, atol=1e-13)
    found = torch.func.vmap(torch.func.grad(function))(torch.asarray(points, dtype=torch.float64))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-8, atol=1e-13)


@pytest.mark.parametrize("name", ["gammaln", "digamma", "polygamma 1", "zeta", "factorial"])
def test_second_derivatives(name: str) -> None:
    import torch

    case = CASES[name]
    arrays = tuple(torch.asarray(x).requires_grad_() for x in case.arrays)
    assert torch.autograd.gradgradcheck(case.function, arrays)


# --- layouts, types, bad input --------------------------------------------------------------------------------------

UNARY = {
    "gammaln": special.gammaln,
    "digamma": special.digamma,
    "polygamma": lambda x: special.polygamma(2, x),
}


@pytest.mark.parametrize("name", [*UNARY, "zeta", "factorial"])
def test_shapes(library: Library, name: str) -> None:
    check_shapes(library, UNARY.get(name) or getattr(special, name), 1.25, operands=2 if name == "zeta" else 1)


@pytest.mark.parametrize("name", [*UNARY, "zeta", "factorial"])
def test_narrow_types(name: str) -> None:
    check_narrow_types(UNARY.get(name) or getattr(special, name), 1.25, operands=2 if name == "zeta" else 1)


@pytest.mark.parametrize("name", [*UNARY, "zeta", "factorial"])
def test_dask_stays_lazy(name: str) -> None:
    function = UNARY.get(name) or getattr(special, name)
    check_lazy(function, np.asarray([1.1, 2.2, 4.9]), operands=2 if name == "zeta" else 1)


@pytest.mark.parametrize("name", UNARY)
def test_bad_input(library: Library, name: str) -> None:
    check_bad_input(library, name, UNARY[name])


def test_bad_orders(library: Library) -> None:
    x = library.asarray([1.0])
    with pytest.raises(TypeError, match="^polygamma: n must be an integer, got 1.5"):
        special.polygamma(1.5, x)
    with pytest.raises(ValueError, match="^polygamma: n must be at least 0, got -1"):
        special.polygamma(-1, x)
    with pytest.raises(ValueError, match="^polygamma: n must be at most 30, got 31"):
        special.polygamma(31, x)


def test_bad_arguments_of_zeta(library: Library) -> None:
    x = library.asarray([1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match="^zeta: q must be an array, got"):
        special.zeta(x, [1.0])
    with pytest.raises(TypeError, match="^zeta: s must have a real floating-point data type"):
        special.zeta(library.asarray([1, 2, 3]), x)
    with pytest.raises(TypeError, match="^zeta: takes at least one array"):
        special.zeta(2.0)
    with pytest.raises(ValueError, match="^zeta: takes arrays that broadcast"):
        special.zeta(x, library.asarray([1.0, 2.0]))


def test_bad_arguments_of_factorial(library: Library) -> None:
    with pytest.raises(TypeError, match="^factorial: x must be an array, got"):
        special.factorial(3)
    for dtype in ("bool", "complex128"):
        with pytest.raises(TypeError, match="^factorial: x must have an integer or real floating-point data type"):
            special.factorial(library.asarray(np.ones(2), dtype=dtype))
