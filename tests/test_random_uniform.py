"""Uniform and normal numbers, integers, truth values, orders and choices, against `jax.random`."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

from tests.libraries import Library
from xpand import namespace
from xpand_extensions import autodiff, jit, random, vmap
from xpand_extensions.plugins.numpy.random._blocks import _make_normal

KEY = jax.random.PRNGKey(5)
BOUNDS = [(0.0, 1.0), (-1.0, 1.0), (-1.3, 2.7), (0.1, 0.2), (1e-30, 1.0), (1e10, 1e10 + 7), (3.0, 3.0), (5.0, 2.0)]


def key_of(library: Library) -> Any:
    return random.key(5, xp=library.xp, device=library.device)


@pytest.mark.parametrize("shape", [(), (0, 3), (40,)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_uniform(library: Library, shape: tuple[int, ...], dtype: str) -> None:
    found = random.uniform(key_of(library), shape, getattr(library.xp, dtype))
    library.assert_equal(found, jax.random.uniform(KEY, shape, dtype))


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_uniform_between_bounds_is_rounded_once(library: Library, bounds: tuple[float, float], dtype: str) -> None:
    expected = jax.random.uniform(KEY, (200,), dtype, *bounds)
    found = random.uniform(key_of(library), (200,), getattr(library.xp, dtype), *bounds)
    library.assert_equal(found, expected)
    arrays = [library.asarray(np.asarray(x, dtype)) for x in bounds]
    library.assert_equal(random.uniform(key_of(library), (200,), getattr(library.xp, dtype), *arrays), expected)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_upper_bound_is_excluded(library: Library, dtype: str) -> None:
    """Between neighbouring numbers, and near a bound that is far from 0, JAX rounds samples to the upper bound."""
    if not hasattr(library.xp, dtype):
        return
    key = key_of(library)
    epsilon = float(np.finfo(dtype).eps)
    bounds = [
        (1.0, 1.0 + epsilon),
        (1.0, 1.0 + 2 * epsilon),
        (-1.0, -1.0 + epsilon),
        (6.0, 8.0),
        (7.5, 8.0),
        (0.5, 1.0),
        (0.0, 3.0),
    ]
    for low, high in (*bounds, (-0.3, 1.0)):
        of_numbers = random.uniform(key, (10_000,), getattr(library.xp, dtype), low, high)
        arrays = (library.asarray(np.asarray(x), dtype) for x in (low, high))
        of_arrays = random.uniform(key, (10_000,), getattr(library.xp, dtype), *arrays)
        np.testing.assert_array_equal(library.to_numpy(of_numbers), library.to_numpy(of_arrays))
        low_, high_ = np.asarray([low, high], dtype)
        assert np.all((low_ <= library.to_numpy(of_numbers)) & (library.to_numpy(of_numbers) < high_)), (low, high)
    for low, high in ((1.0, 1.0), (2.0, 1.0)):
        found = random.uniform(key, (20,), getattr(library.xp, dtype), low, high)
        np.testing.assert_array_equal(library.to_numpy(found), np.full(20, low, dtype))


def test_half_precision() -> None:
    for name in ("numpy", "torch"):
        key = random.key(5, xp=name)
        library = __import__(name)
        for bounds in BOUNDS[:4]:
            found = random.uniform(key, (50,), library.float16, *bounds)
            np.testing.assert_array_equal(np.asarray(found), jax.random.uniform(KEY, (50,), np.float16, *bounds))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_normal(library: Library, dtype: str) -> None:
    found = random.normal(key_of(library), (300,), getattr(library.xp, dtype))
    # JAX's log1p in float64 is off by up to 26 ulps for results around 0.5, which samples inherit.
    rtol = 5e-7 if dtype in ("float32", "complex64") else 8e-15
    library.assert_equal(found, jax.random.normal(KEY, (300,), dtype), rtol=rtol, atol=rtol / 10)


INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_randint(library: Library, dtype: str) -> None:
    info = np.iinfo(dtype)
    least, most = max(info.min, -(2**63)), min(info.max, 2**63 - 2)
    for low, high in [(0, 10), (3, 3), (5, 2), (0, 64), (least, most + 1), (least, 7)]:
        expected = jax.random.randint(KEY, (20,), low, high, dtype)
        found = random.randint(key_of(library), (20,), low, high, getattr(library.xp, dtype))
        library.assert_equal(found, expected)
    arrays = [library.asarray(np.asarray([x] * 20)) for x in (3, 100)]
    expected = jax.random.randint(KEY, (20,), np.asarray([3] * 20), np.asarray([100] * 20), dtype)
    library.assert_equal(random.randint(key_of(library), (20,), *arrays, getattr(library.xp, dtype)), expected)


def test_bernoulli_and_rademacher(library: Library) -> None:
    key = key_of(library)
    for mode in ("low", "high"):
        library.assert_equal(random.bernoulli(key, 0.3, (50,), mode), jax.random.bernoulli(KEY, 0.3, (50,), mode))
    p = np.linspace(0, 1, 50, dtype=np.float32)
    library.assert_equal(random.bernoulli(key, library.asarray(p)), jax.random.bernoulli(KEY, p))
    library.assert_equal(random.rademacher(key, (50,)), jax.random.rademacher(KEY, (50,)))


def test_permutation(library: Library) -> None:
    key, x = key_of(library), np.arange(24.0).reshape(6, 4)
    for size in (20, 1625, 1626, 5000):  # larger ones are sorted in two rounds
        library.assert_equal(random.permutation(key, size), jax.random.permutation(KEY, size))
    for axis in (0, -1):
        for independent in (False, True):
            expected = jax.random.permutation(KEY, x, axis, independent)
            library.assert_equal(random.permutation(key, library.asarray(x), axis, independent), expected)
    expected = jax.random.permutation(KEY, x, independent=True)
    library.assert_equal(random.shuffle(key, library.asarray(x)), expected)


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("p", [None, [0.1, 0.2, 0.3, 0.15, 0.25]])
def test_choice(library: Library, replace: bool, p: Any) -> None:
    key, x = key_of(library), np.arange(20.0).reshape(4, 5)
    weights = None if p is None else library.asarray(p)
    expected = jax.random.choice(KEY, 5, (2, 2), replace, None if p is None else np.asarray(p))
    library.assert_equal(random.choice(key, 5, (2, 2), replace, weights), expected)
    expected = jax.random.choice(KEY, x, (2, 2), replace, None if p is None else np.asarray(p), 1)
    library.assert_equal(random.choice(key, library.asarray(x), (2, 2), replace, weights, 1), expected)


ENDS = {"uint8": (0, 256), "int8": (-128, 128), "int16": (-3, 2**15), "int32": (0, 10**9), "int64": (-5, 10**15)}


@pytest.mark.parametrize("dtype", ENDS)
def test_integers_between_arrays_with_wide_bounds(library: Library, dtype: str) -> None:
    """Up to the largest of the data type, and for numbers whose squares have more bits."""
    low, high = (np.asarray(x) for x in ENDS[dtype])
    expected = jax.random.randint(KEY, (60,), jax.numpy.asarray(low), jax.numpy.asarray(high), dtype)
    bounds = library.asarray(low), library.asarray(high)
    library.assert_equal(random.randint(key_of(library), (60,), *bounds, getattr(library.xp, dtype)), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_many_normal_numbers(dtype: str) -> None:
    """Far ones, too, of which there are few."""
    expected = np.asarray(jax.random.normal(KEY, (200_000,), dtype))
    found = random.normal(random.key(5), (200_000,), getattr(np, dtype))
    assert np.abs(found).max() > 4.5
    np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(dtype).eps if dtype == "float32" else 1e-14)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_far_normal_numbers(dtype: str) -> None:
    """Those of the smallest and largest uniform numbers, which hardly occur, in NumPy's blocks."""
    least = np.finfo(dtype).eps
    near = 2.0 ** -np.arange(1, 23 if dtype == "float32" else 52)
    u = np.concatenate([np.arange(50) * least, near, 1.0 - near, np.linspace(0.0, 0.99, 1000)]).astype(dtype)
    expected = np.sqrt(2.0) * np.asarray(jax.lax.erf_inv(2 * u + np.asarray(least / 2 - 1.0, dtype)))
    _make_normal(u, u.itemsize * 8, np.empty_like(u), np.empty_like(u))
    np.testing.assert_allclose(u, expected, rtol=1e-6 if dtype == "float32" else 1e-13)


def test_the_low_bits_of_probabilities(library: Library) -> None:
    """In the mode "high", numbers that are equal in the first bits are compared in further ones."""
    both = np.asarray(jax.random.uniform(KEY, (2, 400), "float32"))
    near = both[0] + np.float32(2.0**-24)
    found = random.bernoulli(key_of(library), library.asarray(near), (400,), mode="high")
    library.assert_equal(found, jax.random.bernoulli(KEY, near, (400,), mode="high"))
    exact = both[0] < 0.5  # where the sum is exact
    np.testing.assert_array_equal(library.to_numpy(found)[exact], (both[1] < 0.5)[exact])


@pytest.mark.parametrize("total", [0.5, 1.0, 3.0])
def test_weights_that_do_not_sum_to_one(total: float, eager_library: Library) -> None:
    """Values that are not known are not checked; they count in proportion, as in JAX."""
    p = total * np.asarray([0.1, 0.2, 0.3, 0.4])
    draw = jit.jit(lambda key, p: random.choice(key, 4, (300,), p=p))
    expected = jax.random.choice(KEY, 4, (300,), p=p)
    eager_library.assert_equal(draw(key_of(eager_library), eager_library.asarray(p)), expected)


MAPPED: dict[str, Callable[[Any, Any], Any]] = {
    "uniform": lambda xp, key: random.uniform(key, (3,), xp.float64, -1.3, 2.7),
    "normal": lambda xp, key: random.normal(key, (3,), xp.float64),
    "randint": lambda xp, key: random.randint(key, (3,), 0, 10),
}


@pytest.mark.parametrize("name", MAPPED)
def test_vmap_of_keys(library: Library, name: str) -> None:
    keys = random.split(key_of(library), 3)
    function = lambda key: MAPPED[name](library.xp, key)
    each = [library.to_numpy(function(keys[i, ...])) for i in range(3)]
    library.assert_equal(vmap.vmap(function)(keys), np.stack(each), rtol=1e-14)


def test_derivatives_in_the_bounds(library: Library) -> None:
    xp, key = library.xp, key_of(library)
    low, high = (library.asarray(x) for x in (0.1, 0.7))
    u = library.to_numpy(random.uniform(key, (), xp.float64))
    slopes = autodiff.grad(lambda low, high: random.uniform(key, (), xp.float64, low, high), (0, 1))(low, high)
    for found, expected in zip(slopes, (1 - u, u)):
        library.assert_equal(found, expected, rtol=1e-14)


BAD: dict[str, tuple[Callable[[Any, Any], Any], type[Exception], str]] = {
    "uniform of integers": (lambda k, x: random.uniform(k, (2,), x.int64), TypeError, "uniform: dtype must be a real"),
    "a negative size": (lambda k, x: random.normal(k, (-1,)), ValueError, "normal: shape must be at least 0"),
    "bounds": (lambda k, x: random.uniform(k, (2,), None, "a"), TypeError, "uniform: minval must be a real number"),
    "a broad bound": (
        lambda k, x: random.uniform(k, (2,), None, x.zeros(3, device=k.device)),
        ValueError,
        "uniform: a parameter of shape",
    ),
    "real bounds": (lambda k, x: random.randint(k, (2,), 0.5, 2), TypeError, "randint: minval must be an integer"),
    "probability": (lambda k, x: random.bernoulli(k, 1.5), ValueError, "bernoulli: p must hold probabilities"),
    "mode": (lambda k, x: random.bernoulli(k, 0.5, mode="medium"), ValueError, "bernoulli: mode must be one of"),
    "signs": (lambda k, x: random.rademacher(k, (2,), x.uint8), TypeError, "rademacher: dtype must be"),
    "too many": (lambda k, x: random.choice(k, 3, (4,), False), ValueError, "choice: takes at most 3"),
    "nothing": (lambda k, x: random.choice(k, 0, (4,)), ValueError, "choice: a has nothing to choose from"),
    "a sum": (
        lambda k, x: random.choice(k, 2, (), p=x.ones(2, device=k.device)),
        ValueError,
        "choice: p must sum to 1",
    ),
    "a size": (lambda k, x: random.choice(k, 2, (), p=x.ones(3, device=k.device)), ValueError, "choice: p must have"),
    "an axis": (lambda k, x: random.permutation(k, 3, 1), ValueError, "permutation: axis=1 is out of range"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(eager_library: Library, name: str) -> None:
    function, error, message = BAD[name]
    with pytest.raises(error, match=message):
        function(key_of(eager_library), eager_library.xp)


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_bfloat16_as_on_jax(name: str) -> None:
    xp = namespace(name)
    key = random.key(7, xp=xp)
    theirs = jax.random.key(7)
    dtype = getattr(xp, "bfloat16", None) or jax.numpy.bfloat16
    for ours, expected, rtol in (
        (random.uniform(key, (64,), dtype=dtype), jax.random.uniform(theirs, (64,), jax.numpy.bfloat16), 0.0),
        (random.normal(key, (64,), dtype=dtype), jax.random.normal(theirs, (64,), jax.numpy.bfloat16), 2**-7),
    ):
        assert ours.dtype == dtype
        found = np.asarray(xp.astype(ours, xp.float32))
        np.testing.assert_allclose(found, np.asarray(expected, dtype=np.float32), rtol=rtol)
