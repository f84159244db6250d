"""Counts and choices: samples, laws, edges."""

from typing import Any

import jax
import numpy as np
import pytest
from scipy import stats

from tests.distributions import SEED, Distribution, check_agrees, check_counts, spread
from tests.libraries import LIBRARIES, Library
from xpand_extensions import random
from xpand_extensions.generic import random as generic
from xpand_extensions.jit import jit
from xpand_extensions.vmap import vmap

NUMPY, TORCH, JAX, STRICT = LIBRARIES[:4]
DISTRIBUTIONS = {
    "poisson": Distribution((spread(0.5, 3.0, 0.0, 9.9),)),
    "poisson of large means": Distribution((spread(0.5, 12.0, 50.0, np.nan),)),
    "binomial": Distribution((spread(10.0, 100.0, 1000.0, np.nan), spread(0.3, 0.01, 0.999))),
    "binomial of large means": Distribution((spread(100.0, 1000.0, 5.0), spread(0.3, 0.7, 0.5))),
    "geometric": Distribution((spread(0.1, 0.9, 0.5),)),
}


def _key(library: Library, seed: int = SEED) -> Any:
    return library.asarray(np.asarray([0, seed], dtype=np.uint32))


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_samples_are_those_of_jax(library: Library, name: str) -> None:
    check_agrees(library, name.split()[0], DISTRIBUTIONS[name], "float64" if "binomial" in name else None)


@pytest.mark.parametrize("axis", [0, 1])
def test_categorical_is_that_of_jax(library: Library, axis: int) -> None:
    logits = np.log(np.asarray([[0.1, 0.2, 0.7], [0.3, 0.6, 0.1]]))
    batch = logits.shape[1 - axis]
    for shape, replace in ((None, True), ((5, batch), True), ((2, batch), False)):
        expected = jax.random.categorical(jax.random.PRNGKey(SEED), logits, axis, shape, replace)
        found = library.to_numpy(random.categorical(_key(library), library.asarray(logits), axis, shape, replace))
        np.testing.assert_array_equal(found, np.asarray(expected))
        assert found.dtype == np.int64


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_probabilities_that_are_numbers(library: Library, dtype: str) -> None:
    """They count in float64 on every library, whatever its default and the data type of the result."""
    count = (40,)
    key = jax.random.PRNGKey(SEED)
    expected = np.asarray(jax.random.binomial(key, np.float64(30), np.float64(0.3), count))
    found = random.binomial(_key(library), 30, 0.3, count, dtype=getattr(library.xp, dtype))
    library.assert_equal(found, expected.astype(dtype))
    expected = np.asarray(jax.random.geometric(key, np.float64(0.01), count))
    for width in ("int16", "int64"):
        found = random.geometric(_key(library), 0.01, count, dtype=getattr(library.xp, width))
        library.assert_equal(found, expected.astype(width))


def test_without_float64_samples_are_drawn_in_the_default_type() -> None:
    with jax.enable_x64(False):
        assert random.binomial(random.key(0, xp=JAX.xp), 30, 0.3, (4,)).dtype == np.float32
        assert random.geometric(random.key(0, xp=JAX.xp), 0.3, (4,)).dtype == np.int32


def test_multinomial_is_that_of_jax(library: Library) -> None:
    n, p = np.asarray([10.0, 200.0]), np.asarray([[0.2, 0.3, 0.5], [0.1, 0.0, 0.9]])
    expected = np.asarray(jax.random.multinomial(jax.random.PRNGKey(SEED), n, p))
    found = library.to_numpy(random.multinomial(_key(library), library.asarray(n), library.asarray(p)))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found.sum(axis=-1), n)


def test_multinomial_without_the_last_outcomes(library: Library) -> None:
    p = np.asarray([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.3, 0.0, 0.7]])
    found = library.to_numpy(random.multinomial(_key(library), 10.0, library.asarray(p)))
    np.testing.assert_array_equal(found.sum(axis=-1), [10.0] * 4)
    np.testing.assert_array_equal(found[p == 0.0], 0.0)
    np.testing.assert_array_equal(found[1:3], [[10.0, 0.0, 0.0], [0.0, 10.0, 0.0]])


BEYOND_A_BLOCK = {
    "poisson": (5.0,),
    "poisson of large means": (50.0,),
    "binomial": (20.0, 0.1),
    "binomial of large means": (300.0, 0.4),
    "gamma": (0.5,),
    "loggamma": (3.0,),
}


@pytest.mark.parametrize("name", BEYOND_A_BLOCK)
def test_more_elements_than_a_block(name: str) -> None:
    """NumPy's samplers work on blocks of 2**15 elements."""
    count = 2**15 + 300
    parameters = [np.full(count, x) for x in BEYOND_A_BLOCK[name]]
    function = name.split()[0]
    expected = np.asarray(getattr(jax.random, function)(jax.random.PRNGKey(SEED), *parameters))
    found = getattr(random, function)(_key(NUMPY), *parameters)
    assert np.mean(np.isclose(found, expected, rtol=1e-5, atol=1e-6)) > 0.999  # in float32, rounding decides for a few
    assert np.mean(np.isclose(found[-300:], expected[-300:], rtol=1e-5, atol=1e-6)) > 0.98


def test_the_loops_of_all_elements_make_the_same() -> None:
    lam = np.resize(np.asarray([0.5, 4.0, 15.0, 80.0], np.float32), 2000)
    found = generic.poisson_elements(random.key(3), lam)
    # In float32 rounding decides for a few in a million.
    assert np.mean(found == random.poisson(random.key(3), lam)) > 0.998
    n, p = np.resize([20.0, 300.0, 50.0], 2000), np.resize([0.1, 0.4, 0.9], 2000)
    np.testing.assert_array_equal(generic.binomial_elements(random.key(3), n, p), random.binomial(random.key(3), n, p))


@pytest.mark.parametrize("lam", [0.3, 9.0, 11.0, 200.0])
def test_poisson_follows_the_law(lam: float) -> None:
    check_counts(random.poisson(random.key(1), lam, (50_000,)), stats.poisson(lam))


@pytest.mark.parametrize(("n", "p"), [(5, 0.5), (30, 0.2), (60, 0.3), (400, 0.9)])
def test_binomial_follows_the_law(n: int, p: float) -> None:
    check_counts(random.binomial(random.key(1), n, p, (50_000,)), stats.binom(n, p))


def test_others_follow_their_laws() -> None:
    check_counts(random.geometric(random.key(1), 0.2, (50_000,)), stats.geom(0.2))
    weights = np.asarray([0.1, 0.4, 0.05, 0.45])
    for mode in ("low", "high"):
        chosen = random.categorical(random.key(2), np.log(weights), shape=(50_000,), mode=mode)
        counts = np.bincount(chosen, minlength=4)
        assert stats.chisquare(counts, weights * 50_000).pvalue > 1e-3
    samples = random.multinomial(random.key(3), 40, weights, shape=(20_000,))
    for i, p in enumerate(weights):
        check_counts(samples[:, i], stats.binom(40, p))


def test_without_replacement_all_differ() -> None:
    chosen = random.categorical(random.key(0), np.zeros((50, 6)), shape=(6, 50), replace=False)
    np.testing.assert_array_equal(np.sort(chosen, axis=0), np.broadcast_to(np.arange(6)[:, None], (6, 50)))
    never = np.asarray([0.0, -np.inf, 0.0])
    assert not np.any(random.categorical(random.key(0), never, shape=(1000,)) == 1)


def test_edges(library: Library) -> None:
    key = _key(library)
    lam = library.asarray(np.asarray([0.0, np.nan]))
    np.testing.assert_array_equal(library.to_numpy(random.poisson(key, lam)), [0, -1])
    n = library.asarray(np.asarray([np.nan, 5.0, np.inf, 5.0, 5.0, 0.0]))
    p = library.asarray(np.asarray([0.5, np.nan, 0.3, 0.0, 1.0, 0.5]))
    np.testing.assert_array_equal(library.to_numpy(random.binomial(key, n, p)), [np.nan, np.nan, np.inf, 0.0, 5.0, 0.0])
    assert tuple(random.poisson(key, 3.0, (0, 2)).shape) == (0, 2)
    assert random.poisson(key, 3.0).shape == ()
    assert random.poisson(key, 3.0, (2,), library.xp.int32).dtype == library.xp.int32
    np.testing.assert_array_equal(library.to_numpy(random.geometric(key, 1.0, (3,))), [1, 1, 1])
    for name in ("uint8", "int32", "int64"):
        found = random.geometric(key, 1e-30, (3,), getattr(library.xp, name))
        library.assert_equal(found, np.full(3, np.iinfo(name).max, name))


@pytest.mark.parametrize("library", [NUMPY, TORCH, JAX, STRICT], ids=str)
def test_mapped(library: Library) -> None:
    keys = random.split(_key(library), 3)
    lam = library.asarray(np.asarray([3.0, 40.0, 0.0]))
    for draw in (
        lambda key: random.poisson(key, lam),
        lambda key: random.binomial(key, 60.0, lam / 80.0),
    ):
        expected = np.stack([library.to_numpy(draw(keys[i, ...])) for i in range(3)])
        np.testing.assert_array_equal(library.to_numpy(vmap(draw)(keys)), expected)


def test_compiled() -> None:
    lam = np.asarray([3.0, 40.0, 0.0])
    for seed in (1, 2):
        key = random.key(seed)
        np.testing.assert_array_equal(jit(random.poisson)(key, lam), random.poisson(key, lam))
        np.testing.assert_array_equal(jit(random.binomial)(key, lam, lam / 50.0), random.binomial(key, lam, lam / 50.0))


KEY = random.key(0)
LOGITS = np.zeros((2, 3))
BAD = {
    "mean": (lambda: random.poisson(KEY, -1.0), ValueError, "lam must not be negative or infinite"),
    "infinite": (lambda: random.poisson(KEY, np.inf), ValueError, "lam must not be negative or infinite"),
    "dtype": (lambda: random.poisson(KEY, 1.0, dtype=np.float64), TypeError, "dtype must be an integer data type"),
    "trials": (lambda: random.binomial(KEY, -1, 0.5), ValueError, "binomial: n must not be negative"),
    "probability": (lambda: random.binomial(KEY, 3, 1.5), ValueError, "p must hold probabilities, from 0 to 1"),
    "never": (lambda: random.geometric(KEY, 0.0), ValueError, "p must be above 0 and at most 1"),
    "weights": (lambda: random.multinomial(KEY, 3, np.asarray([0.5, -0.5])), ValueError, "p must not be negative"),
    "number": (lambda: random.multinomial(KEY, 3, 0.5), ValueError, "p must be an array with the numbers"),
    "axis": (lambda: random.categorical(KEY, LOGITS, 2), ValueError, "axis=2 is out of range"),
    "empty": (lambda: random.categorical(KEY, LOGITS[:, :0]), ValueError, "must have a category along axis 1"),
    "integers": (lambda: random.categorical(KEY, np.zeros(3, int)), TypeError, "must have a real floating-point"),
    "too many": (lambda: random.categorical(KEY, LOGITS, -1, (4, 2), False), ValueError, "at most 3 samples"),
    "shape": (lambda: random.categorical(KEY, LOGITS, -1, (4, 3)), ValueError, "categorical: "),
    "mode": (lambda: random.categorical(KEY, LOGITS, mode="best"), ValueError, "mode must be one of"),
}


@pytest.mark.parametrize("case", BAD.values(), ids=BAD)
def test_bad_input(case: tuple) -> None:
    call, error, match = case
    with pytest.raises(error, match=match):
        call()


def test_numbers_of_numpy_are_numbers(library: Library) -> None:
    key = _key(library)
    for number in (np.int64(5), np.uint8(5), np.asarray(5)):
        library.assert_equal(random.permutation(key, number), library.to_numpy(random.permutation(key, 5)))
        library.assert_equal(random.choice(key, number, (3,)), library.to_numpy(random.choice(key, 5, (3,))))
    with pytest.raises(ValueError, match="permutation: x must have at least one axis"):
        random.permutation(key, library.asarray(5.0))
