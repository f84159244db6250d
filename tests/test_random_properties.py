"""Properties of random numbers for any key: equal on all libraries, in bounds, permutations, no repetitions."""

from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.libraries import LIBRARIES, Library
from xpand_extensions import random
from xpand_extensions.vmap import vmap

SEEDS = st.integers(-(2**63), 2**64 - 1)
# Few are hashed as one integer, others in blocks.
SIZES = st.one_of(st.integers(0, 20), st.integers(250, 262))
OTHERS = [each for each in LIBRARIES if each.id in ("torch", "strict", "dask")]
# JAX compiles a function anew for each shape.
few = settings(max_examples=8, deadline=None)
many = settings(max_examples=25, deadline=None)


@pytest.mark.parametrize("library", OTHERS, ids=str)
def test_all_libraries_make_the_same_bits(library: Library) -> None:
    @(few if library.lazy else many)
    @given(SEEDS, SIZES, st.sampled_from(["uint8", "uint16", "uint32", "uint64"]))
    def check(seed: int, size: int, dtype: str) -> None:
        expected = random.bits(random.key(seed), (size,), getattr(np, dtype))
        key = random.key(seed, xp=library.xp)
        library.assert_equal(random.bits(key, (size,), getattr(library.xp, dtype)), expected)

    check()


@few
@given(SEEDS, st.integers(0, 2**32 - 1))
def test_keys_and_bits_are_those_of_jax(seed: int, data: int) -> None:
    key, theirs = random.key(seed), random.key(seed, xp="jax")
    np.testing.assert_array_equal(random.fold_in(key, data), jax.random.fold_in(theirs, data))
    for size in (5, 300):
        np.testing.assert_array_equal(random.bits(key, (size,), np.uint32), jax.random.bits(theirs, (size,), np.uint32))
    np.testing.assert_array_equal(random.split(key, 3), jax.random.split(theirs, 3))


@many
@given(SEEDS, st.integers(0, 400), st.integers(0, 400))
def test_numbers_are_those_of_places(seed: int, first: int, second: int) -> None:
    """However many there are, and in whatever shape."""
    key = random.key(seed)
    shorter, longer = sorted((first, second))
    whole = random.bits(key, (longer,), np.uint32)
    np.testing.assert_array_equal(random.bits(key, (shorter,), np.uint32), whole[:shorter])
    np.testing.assert_array_equal(random.bits(key, (longer, 1, 1), np.uint32).ravel(), whole)
    np.testing.assert_array_equal(random.split(key, longer)[:shorter], random.split(key, shorter))


@many
@given(SEEDS, st.floats(-1e30, 1e30), st.floats(0.0, 1e30), st.sampled_from([np.float32, np.float64]))
def test_uniform_numbers_are_between_their_bounds(seed: int, low: float, width: float, dtype: Any) -> None:
    low, high = dtype(low), dtype(low + width)
    found = random.uniform(random.key(seed), (50,), dtype, float(low), float(high))
    assert np.all((low <= found) & (found <= high))
    unit = random.uniform(random.key(seed), (50,), dtype)
    assert np.all((unit >= 0) & (unit < 1))


@many
@given(SEEDS, st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_integers_are_between_their_bounds(seed: int, one: int, other: int) -> None:
    low, high = sorted((one, other))
    found = random.randint(random.key(seed), (50,), low, high, np.int64)
    assert np.all(low <= found)
    assert np.all(found < max(high, low + 1))


@many
@given(SEEDS, st.integers(0, 60), st.data())
def test_orders_and_choices(seed: int, size: int, data: Any) -> None:
    key = random.key(seed)
    np.testing.assert_array_equal(np.sort(random.permutation(key, size)), np.arange(size))
    count = data.draw(st.integers(0, size))
    chosen = random.choice(key, size, (count,), replace=False)
    assert len(set(chosen.tolist())) == count
    weights = np.arange(1.0, size + 1) / max(size * (size + 1) / 2, 1)
    if size:
        weighted = random.choice(key, size, (count,), replace=False, p=weights)
        assert len(set(weighted.tolist())) == count
        assert np.all((weighted >= 0) & (weighted < size))


@many
@given(SEEDS, st.integers(1, 300))
def test_new_keys_are_different(seed: int, size: int) -> None:
    key = random.key(seed)
    keys = {tuple(each) for each in (*random.split(key, size).tolist(), key.tolist())}
    assert len(keys) == size + 1


@pytest.mark.parametrize("library", [each for each in LIBRARIES if each.id in ("numpy", "torch")], ids=str)
def test_each_of_many_keys_makes_what_it_makes_alone(library: Library) -> None:
    @few
    @given(SEEDS, st.integers(1, 5), st.integers(0, 20))
    def check(seed: int, count: int, size: int) -> None:
        keys = random.split(random.key(seed, xp=library.xp), count)
        draw = lambda key: random.bits(key, (size,), library.xp.uint32)
        found = library.to_numpy(vmap(draw)(keys))
        np.testing.assert_array_equal(found, [library.to_numpy(draw(keys[i, ...])) for i in range(count)])

    check()


@few
@given(SEEDS, st.integers(0, 30))
def test_a_generator_goes_on_from_its_state(seed: int, calls: int) -> None:
    generator, other = random.Generator(seed), random.Generator(0)
    for _ in range(calls):
        generator.next_key()
    other.__setstate__(generator.__getstate__())
    np.testing.assert_array_equal(generator.uniform((3,)), other.uniform((3,)))
    assert generator.next_key().tolist() == other.next_key().tolist()
