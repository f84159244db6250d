"""Generators that hold a key, the shared ones, and those of libraries themselves."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.libraries import Library
from xpand_extensions import UnsupportedError, random


def test_a_generator_is_keys_one_after_another(library: Library) -> None:
    generator = random.Generator(5, xp=library.xp, device=library.device)
    key = random.key(5)
    for i in range(3):
        expected = random.randint(random.fold_in(key, i), (3,), 0, 10)
        library.assert_equal(generator.randint((3,), 0, 10), expected)


def test_generators_of_a_key_and_of_a_split() -> None:
    keys = random.split(random.Generator(5).next_key())
    for found, key in zip(random.Generator(5).split(), keys):
        np.testing.assert_array_equal(found.uniform((3,)), random.Generator(key).uniform((3,)))


def test_a_generator_goes_on_after_pickling() -> None:
    generator = random.Generator(5)
    generator.uniform()
    other = pickle.loads(pickle.dumps(generator))
    np.testing.assert_array_equal(generator.normal((3,)), other.normal((3,)))


def test_threads_get_numbers_of_their_own() -> None:
    generator = random.Generator(5)
    with ThreadPoolExecutor(8) as pool:
        keys = list(pool.map(lambda _: tuple(generator.next_key().tolist()), range(200)))
    assert len(set(keys)) == 200


def test_what_is_no_method() -> None:
    with pytest.raises(AttributeError, match="Generator: no method 'key'; it has"):
        random.Generator(5).key
    assert "normal" in dir(random.Generator(5))


def test_seed(library: Library) -> None:
    random.seed(3)
    first = library.to_numpy(random.default_generator(library.xp).uniform((2,)))
    assert random.default_generator(library.xp) is random.default_generator(library.xp)
    random.seed(3, xp=library.xp)
    # The shared generators are on each library's default device.
    np.testing.assert_array_equal(library.to_numpy(random.default_generator(library.xp).uniform((2,))), first)
    with pytest.raises(TypeError, match="key: seed must be an integer"):
        random.seed(1.5)


@pytest.mark.parametrize("name", ["numpy", "torch", "jax", "dask"])
def test_native_generators(name: str) -> None:
    source = random.native_generator(3, xp=name)
    uniform = np.asarray(source.uniform((1000,), minval=-1.0, maxval=3.0))
    assert uniform.min() >= -1.0
    assert uniform.max() < 3.0
    assert abs(uniform.mean() - 1.0) < 0.2  # the deviation of a mean is 0.04
    assert abs(np.asarray(source.normal((1000,))).std() - 1.0) < 0.15
    assert set(np.asarray(source.randint((1000,), 2, 5)).tolist()) == {2, 3, 4}
    assert 200 < np.asarray(source.bernoulli(0.3, (1000,))).sum() < 400
    assert sorted(np.asarray(source.permutation(9)).tolist()) == list(range(9))


def test_libraries_without_a_source() -> None:
    with pytest.raises(UnsupportedError, match="array_api_strict has no source of random numbers"):
        random.native_generator(3, xp="array_api_strict")
    with pytest.raises(ValueError, match="native_generator: seed must be at least 0"):
        random.native_generator(-3)
    with pytest.raises(ValueError, match=r"native_generator: seed must be below 2\*\*63"):
        random.native_generator(2**64, xp="torch")
