"""Distributions of real numbers by transformed uniform and normal numbers."""

import jax
import mpmath
import numpy as np
import pytest
from scipy import stats

from tests.distributions import SEED, Distribution, check_agrees, check_law, spread
from tests.libraries import LIBRARIES, Library
from tests.operations import Case, Check, checked
from xpand import array_namespace
from xpand._arguments import device_of
from xpand_extensions import random
from xpand_extensions.generic.random._continuous import _from_any_sides
from xpand_extensions.jit import jit
from xpand_extensions.vmap import vmap

DISTRIBUTIONS = {
    "cauchy": Distribution(law=stats.cauchy(), takes_shape=True, scale=1.0),
    "exponential": Distribution(law=stats.expon(), takes_shape=True),
    "gumbel": Distribution(law=stats.gumbel_r(), takes_shape=True, scale=1.0),
    "laplace": Distribution(law=stats.laplace(), takes_shape=True),
    "logistic": Distribution(law=stats.logistic(), takes_shape=True, scale=1.0),
    "maxwell": Distribution(law=stats.maxwell(), takes_shape=True),
    "lognormal": Distribution((spread(0.5, 1.0, 2.0),), stats.lognorm(0.5)),
    "pareto": Distribution((spread(2.0, 1.0, 5.0),), stats.pareto(2.0)),
    "rayleigh": Distribution((spread(0.5, 1.0, 2.0),), stats.rayleigh(scale=0.5)),
    "triangular": Distribution((-1.0, spread(0.0, 1.0, -1.0), 1.0), stats.triang(0.5, -1.0, 2.0), scale=1.0),
    "truncated_normal": Distribution(
        (spread(-1.0, 0.0, -np.inf, 1.1), spread(2.0, 3.0, 1.0, 2.0)), stats.truncnorm(-1.0, 2.0), scale=1.0
    ),
    "wald": Distribution((spread(1.0, 3.0, 0.2),), stats.invgauss(1.0), scale=1.0),
    "weibull_min": Distribution((2.0, spread(1.5, 1.0, 4.0)), stats.weibull_min(1.5, scale=2.0), takes_shape=True),
}
NUMPY, TORCH = LIBRARIES[:2]


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_samples_are_those_of_jax(library: Library, name: str) -> None:
    check_agrees(library, name, DISTRIBUTIONS[name])


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", ["exponential", "gumbel", "truncated_normal", "wald"])
def test_samples_of_narrower_types_are_those_of_jax(name: str, dtype: str) -> None:
    for library in (NUMPY, TORCH):
        check_agrees(library, name, DISTRIBUTIONS[name], dtype)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_samples_follow_the_law(name: str) -> None:
    case = DISTRIBUTIONS[name]
    check_law(name, tuple(x.flat[0] if isinstance(x, np.ndarray) else x for x in case.parameters), case.law)


@pytest.mark.parametrize("mode", ["high", "highest"])
def test_gumbel_of_more_bits(library: Library, mode: str) -> None:
    for dtype, ulps in (("float32", 64), ("float64", 256)):
        if dtype == "float64" and mode == "highest":
            continue  # "high" there
        expected = np.asarray(jax.random.gumbel(jax.random.PRNGKey(SEED), (300,), dtype, mode))
        key = library.asarray(np.asarray([0, SEED], dtype=np.uint32))
        found = library.to_numpy(random.gumbel(key, (300,), getattr(library.xp, dtype), mode))
        np.testing.assert_allclose(found, expected, rtol=0, atol=ulps * np.finfo(dtype).eps)


def test_highest_mode_reaches_further() -> None:
    # Of 24 bits the smallest number above 0 is 2⁻²³, and -log of it 16.
    samples = random.gumbel(random.key(5), (2**20,), np.float32, "highest")
    assert stats.kstest(samples[:50_000], stats.gumbel_r.cdf).pvalue > 1e-3
    assert np.all(np.isfinite(samples))


def test_double_sided_maxwell_is_that_of_jax(library: Library) -> None:
    key = library.asarray(np.asarray([0, SEED], dtype=np.uint32))
    scale = np.asarray([0.5, 1.0, 2.0])
    for shape in ((), (4,)):
        expected = jax.random.double_sided_maxwell(jax.random.PRNGKey(SEED), 2.0, scale, shape)
        found = library.to_numpy(
            random.double_sided_maxwell(key, 2.0, library.asarray(scale), shape, library.xp.float64)
        )
        np.testing.assert_allclose(found, np.asarray(expected), rtol=1e-13, atol=1e-13)


def test_double_sided_maxwell_follows_the_law() -> None:
    samples = random.double_sided_maxwell(random.key(1), 2.0, 3.0, (20_000,))
    assert stats.kstest(np.abs(samples - 2.0) / 3.0, stats.maxwell.cdf).pvalue > 1e-3
    assert stats.binomtest(int((samples > 2.0).sum()), 20_000).pvalue > 1e-3


def test_truncated_normal_is_inside() -> None:
    low = np.asarray([-1.0, 5.0, 9.0, -np.inf, 0.0])
    high = np.asarray([1.0, 5.5, 10.0, -8.0, 1e-6])
    samples = random.truncated_normal(random.key(0), low, high, (5000, 5))
    assert np.all((low < samples) & (samples < high))


TAILS = [(3.5, np.inf), (3.5, 4.0), (9.0, np.inf), (-np.inf, -9.0), (-5.5, -5.0), (30.0, 31.0), (100.0, np.inf)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_truncated_normal_in_tails(library: Library, dtype: str) -> None:
    """The formula that JAX uses returns the largest number, or repeats a few, where the distribution function is 1."""
    key = library.asarray(np.asarray([0, SEED], dtype=np.uint32))
    low, high = (np.asarray(bounds) for bounds in zip(*TAILS))
    given = (library.asarray(bounds, dtype) for bounds in (low, high))
    samples = library.to_numpy(random.truncated_normal(key, *given, (2000, len(TAILS)))).astype(np.float64)
    assert np.all((low < samples) & (samples < high))
    for i, (a, b) in enumerate(TAILS):
        assert stats.kstest(samples[:, i], stats.truncnorm(a, b).cdf).pvalue > 1e-3, (a, b)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_quantiles_of_tails(dtype: type) -> None:
    """The smallest and the largest fractions, and bounds next to the limit of the tail, against mpmath."""
    epsilon = float(np.finfo(dtype).eps)
    u = np.asarray([0.0, epsilon, 0.25, 0.5, 1.0 - 8 * epsilon, 1.0 - epsilon], dtype)
    for low, high in [(0.99, np.inf), (1.0, np.inf), (1.01, np.inf), (1.5, 1.75), (9.0, np.inf), (37.0, 37.05)]:
        expected = [_quantile(float(dtype(low)), high, float(x)) for x in u]
        found = _from_any_sides(u, np.asarray(low, dtype), np.asarray(high, dtype))
        # Below the limit, the distribution function has the resolution of numbers next to 1.
        ulps = 4 if low > 1.0 else 4 / (1.0 - u.astype(np.float64)) if dtype != np.float16 else 200
        np.testing.assert_array_less(np.abs(found - expected), ulps * epsilon * np.asarray(expected), str((low, high)))
        mirrored = _from_any_sides(1.0 - u[2:5], np.asarray(-high, dtype), np.asarray(-low, dtype))
        if low > 1.0:
            np.testing.assert_array_equal(mirrored, -found[2:5])


def _quantile(low: float, high: float, u: float) -> float:
    with mpmath.workdps(40):
        root = mpmath.sqrt(2)
        of_high = mpmath.erfc(high / root) if np.isfinite(high) else mpmath.mpf(0)
        goal = mpmath.log((1 - mpmath.mpf(u)) * mpmath.erfc(low / root) + u * of_high)
        start = mpmath.sqrt(low * low - 2 * (goal - mpmath.log(mpmath.erfc(low / root))))
        return float(mpmath.findroot(lambda x: mpmath.log(mpmath.erfc(x / root)) - goal, start))


ENDPOINTS = {
    "cauchy": ((), -np.inf, np.inf),
    "exponential": ((), -1.0, np.inf),
    "gumbel": ((), -np.inf, np.inf),
    "laplace": ((), -np.inf, np.inf),
    "logistic": ((), -np.inf, np.inf),
    "normal": ((), -np.inf, np.inf),
    "rayleigh": ((1.0,), 0.0, np.inf),
    "t": ((3.0,), -np.inf, np.inf),
    "triangular": ((0.0, 0.5, 1.0), -1.0, 1.0),
    "triangular of small numbers": ((0.0, 3e-6, 6e-6), -1.0, 6e-6),
    "truncated_normal": ((-np.inf, 1.0), -100.0, 1.0),
    "truncated_normal of all": ((-np.inf, np.inf), -100.0, 100.0),
    "truncated_normal of a tail": ((3.5, np.inf), 3.5, 100.0),
    "truncated_normal of a low tail": ((-np.inf, -3.5), -100.0, -3.5),
    "weibull_min": ((1.0, 1.0), -1.0, np.inf),
}
"""Parameters of samplers, and the numbers between which samples must be."""


@pytest.mark.parametrize("library", [each for each in LIBRARIES if hasattr(each.xp, "float16")], ids=str)
@pytest.mark.parametrize("case", ENDPOINTS)
def test_no_sample_is_an_excluded_endpoint(library: Library, case: str) -> None:
    """In float16, some samples come from each of the 1,024 fractions, so also from the first and the last one."""
    parameters, low, high = ENDPOINTS[case]
    key = library.asarray(np.asarray([0, SEED], dtype=np.uint32))
    dtype = library.xp.float16
    arrays = [library.asarray(np.asarray(x), "float16") for x in parameters]
    samples = library.to_numpy(getattr(random, case.partition(" ")[0])(key, *arrays, (10_000,), dtype=dtype))
    assert np.all((low < samples) & (samples < high))
    assert np.unique(samples).size > 50


def test_triangular_of_very_small_and_large_numbers(library: Library) -> None:
    key = library.asarray(np.asarray([0, SEED], dtype=np.uint32))
    dtype = library.xp.float32
    expected = library.to_numpy(random.triangular(key, 0.0, 0.25, 1.0, (500,), dtype))
    for scale in (2.0**-100, 2.0**100):
        found = library.to_numpy(random.triangular(key, 0.0, 0.25 * scale, scale, (500,), dtype))
        np.testing.assert_array_equal(found / np.float32(scale), expected)


def test_nan_parameters_make_nan(library: Library) -> None:
    key = library.asarray(np.asarray([0, SEED], dtype=np.uint32))
    x = library.asarray(np.asarray([np.nan, 1.0]))
    for name in ("lognormal", "pareto", "rayleigh", "wald"):
        found = library.to_numpy(getattr(random, name)(key, x))
        np.testing.assert_array_equal(np.isnan(found), [True, False])
    found = library.to_numpy(random.truncated_normal(key, x, 2.0))
    np.testing.assert_array_equal(np.isnan(found), [True, False])


@pytest.mark.parametrize("mean", [1e6, 1e25])
def test_wald_of_a_large_mean(library: Library, mean: float) -> None:
    """The law tends to the Lévy distribution. The formula that JAX uses returns negative numbers here."""
    key = library.asarray(np.asarray([0, SEED], dtype=np.uint32))
    samples = library.to_numpy(random.wald(key, mean, (1000,), library.xp.float32))
    assert stats.kstest(samples, stats.levy.cdf).pvalue > 1e-3


def test_empty_shapes_and_default_types(library: Library) -> None:
    key = library.asarray(np.asarray([0, SEED], dtype=np.uint32))
    assert tuple(random.exponential(key, (2, 0)).shape) == (2, 0)
    assert tuple(random.pareto(key, library.asarray(np.ones((0, 3)))).shape) == (0, 3)
    assert random.exponential(key).shape == ()
    x = library.asarray(np.ones(3, dtype=np.float64))
    assert random.pareto(key, x).dtype == library.xp.float64
    assert random.pareto(key, x, dtype=library.xp.float32).dtype == library.xp.float32
    assert random.pareto(key, library.asarray(np.ones(3, dtype=np.int64)), (2, 3)).shape == (2, 3)


@pytest.mark.parametrize("name", ["numpy", "torch", "strict"])
def test_mapped_and_compiled_over_keys(name: str) -> None:
    library = next(each for each in LIBRARIES if each.id == name)
    keys = random.split(library.asarray(np.asarray([0, SEED], dtype=np.uint32)), 3)
    x = library.asarray(np.asarray([0.5, 2.0]))

    def draw(key: object) -> object:
        return random.truncated_normal(key, -x, x) + random.gumbel(key, (2,), x.dtype)

    expected = np.stack([library.to_numpy(draw(keys[i, ...])) for i in range(3)])
    np.testing.assert_allclose(library.to_numpy(vmap(draw)(keys)), expected, rtol=1e-14)
    if name != "torch":  # whose compiler takes its time
        np.testing.assert_allclose(library.to_numpy(jit(draw)(keys[1, ...])), expected[1], rtol=1e-14)


def _keyed(function: object) -> object:
    """Make a function of parameters alone."""

    def run(x: object, y: object) -> object:
        xp = array_namespace(x)
        return function(xp.asarray([0, SEED], dtype=xp.uint32, device=device_of(x)), x, y)  # type: ignore[operator]

    return run


CASES = {
    "truncated_normal": Case(
        _keyed(random.truncated_normal),
        (np.asarray([-1.0, 0.2]), np.asarray([0.5, 3.0])),
        differentiable=(0, 1),
        rtol=1e-11,
    ),
    "truncated_normal of a tail": Case(
        _keyed(random.truncated_normal), (np.asarray([0.5, 8.0]), np.asarray([8.5, 9.0])), differentiable=(0, 1)
    ),
    "truncated_normal of a low tail": Case(
        _keyed(random.truncated_normal), (np.asarray([-3.0, -2.5]), np.asarray([-2.0, -1.5])), differentiable=(0, 1)
    ),
    "weibull_min": Case(
        _keyed(random.weibull_min), (np.asarray([1.0, 2.0]), np.asarray([0.7, 3.0])), differentiable=(0, 1)
    ),
}


@checked(CASES)
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


KEY = random.key(0)
BAD = {
    "key": (lambda: random.exponential(np.zeros(2)), TypeError, "exponential: key must be a key"),
    "keys": (lambda: random.exponential(np.zeros((3, 2), np.uint32)), ValueError, "for several keys use `vmap`"),
    "shape": (lambda: random.laplace(KEY, (-1,)), ValueError, "laplace: shape must be at least 0"),
    "dtype": (lambda: random.gumbel(KEY, (2,), np.int32), TypeError, "gumbel: dtype must be a real floating-point"),
    "mode": (lambda: random.gumbel(KEY, (2,), mode="hihg"), ValueError, "did you mean 'high'"),
    "bounds": (lambda: random.truncated_normal(KEY, 1.0, 1.0), ValueError, "lower must be below upper"),
    "exponent": (lambda: random.pareto(KEY, 0.0), ValueError, "pareto: b must be above 0"),
    "scale": (lambda: random.rayleigh(KEY, np.asarray([1.0, -1.0])), ValueError, "scale must not be negative"),
    "mean": (lambda: random.wald(KEY, -1.0), ValueError, "wald: mean must be above 0"),
    "peak": (lambda: random.triangular(KEY, 0.0, 3.0, 2.0), ValueError, "mode must lie between left and right"),
    "sigma": (lambda: random.lognormal(KEY, -1.0), ValueError, "sigma must not be negative"),
    "concentration": (lambda: random.weibull_min(KEY, 1.0, 0.0), ValueError, "concentration must be above 0"),
    "maxwell": (lambda: random.double_sided_maxwell(KEY, 0.0, -1.0), ValueError, "scale must not be negative"),
    "broadcast": (lambda: random.pareto(KEY, np.ones(3), (2,)), ValueError, "pareto: a parameter of shape"),
    "list": (lambda: random.pareto(KEY, [1.0]), TypeError, "pareto: b must be a real number or an array"),
    "complex": (lambda: random.pareto(KEY, np.ones(2, complex)), TypeError, "pareto: b must have"),
    "bool": (lambda: random.pareto(KEY, True), TypeError, "pareto: b must be a real number"),
}


@pytest.mark.parametrize("case", BAD.values(), ids=BAD)
def test_bad_input(case: tuple) -> None:
    call, error, match = case
    with pytest.raises(error, match=match):
        call()


def test_parameters_of_another_library_or_device() -> None:
    with pytest.raises(TypeError, match="takes arrays of one library"):
        random.pareto(KEY, TORCH.asarray(np.ones(2)))
    first, second = (each for each in LIBRARIES if each.id.startswith("strict"))
    key = first.asarray(np.asarray([0, 1], dtype=np.uint32))
    with pytest.raises(ValueError, match="on one device"):
        random.pareto(key, second.asarray(np.ones(2)))
