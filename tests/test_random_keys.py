"""Keys and bits, against `jax.random`: every library makes the same."""

import io
import pickle
from typing import Any

import jax
import numpy as np
import pytest
import torch

import xpand
from tests.libraries import Library
from xpand_extensions import autodiff, control_flow, jit, random, vmap
from xpand_extensions.generic.random import _keys as generic
from xpand_extensions.plugins.numpy.random import _blocks as blocks
from xpand_extensions.plugins.torch import random as of_torch

SEEDS = [0, 7, -1, 2**32 + 5, 2**63 - 1, -(2**63)]


def key_of(library: Library, seed: int = 5) -> Any:
    return random.key(seed, xp=library.xp, device=library.device)


@pytest.mark.parametrize("seed", SEEDS)
def test_key_of_a_number(library: Library, seed: int) -> None:
    library.assert_equal(key_of(library, seed), jax.random.PRNGKey(seed))


def test_key_of_a_number_without_a_sign(library: Library) -> None:
    library.assert_equal(key_of(library, 2**64 - 1), jax.random.PRNGKey(np.uint64(2**64 - 1)))


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8])
def test_numpys_integers_are_numbers_for_every_library(library: Library, kind: Any) -> None:
    library.assert_equal(random.key(kind(3), xp=library.xp, device=library.device), jax.random.PRNGKey(3))
    if library.device is None:
        found = random.Generator(kind(3), xp=library.xp).uniform((2,))
        library.assert_equal(found, random.Generator(3, xp=library.xp).uniform((2,)))
    with pytest.raises(TypeError, match="seed"):
        random.key(np.bool_(True), xp=library.xp)
    with pytest.raises(TypeError, match="seed"):
        random.key(True, xp=library.xp)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint32", "uint64"])
@pytest.mark.parametrize("seed", [3, -3])
def test_key_of_an_array(library: Library, dtype: str, seed: int) -> None:
    value = np.asarray(seed).astype(dtype)
    library.assert_equal(random.key(library.asarray(value)), jax.random.PRNGKey(value))


@pytest.mark.parametrize("num", [2, 0, 20, (2, 3), ()])
def test_split(library: Library, num: Any) -> None:
    library.assert_equal(random.split(key_of(library), num), jax.random.split(jax.random.PRNGKey(5), num))


@pytest.mark.parametrize("data", [0, 7, 2**32 - 1])
def test_fold_in(library: Library, data: int) -> None:
    expected = jax.random.fold_in(jax.random.PRNGKey(5), data)
    library.assert_equal(random.fold_in(key_of(library), data), expected)
    for dtype in ("uint32", "uint64", "int64"):
        library.assert_equal(random.fold_in(key_of(library), library.asarray(np.asarray(data, dtype))), expected)


def test_negative_data_is_taken_in_twos_complement(library: Library) -> None:
    expected = jax.random.fold_in(jax.random.PRNGKey(5), 2**32 - 3)
    for dtype in ("int8", "int32", "int64"):
        library.assert_equal(random.fold_in(key_of(library), library.asarray(np.asarray(-3, dtype))), expected)


# Small shapes are made of Python's integers, larger ones in blocks.
@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (4, 7)])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_bits(library: Library, shape: tuple[int, ...], dtype: str) -> None:
    found = random.bits(key_of(library), shape, getattr(library.xp, dtype))
    library.assert_equal(found, jax.random.bits(jax.random.PRNGKey(5), shape, dtype))


def test_bits_are_as_wide_as_integers_are(library: Library) -> None:
    library.assert_equal(random.bits(key_of(library), (3,)), jax.random.bits(jax.random.PRNGKey(5), (3,)))


def test_bits_of_many_blocks() -> None:
    size = 2 * blocks.BLOCK + 17
    expected = np.asarray(jax.random.bits(jax.random.PRNGKey(5), (size,), np.uint32))
    np.testing.assert_array_equal(random.bits(random.key(5), (size,), np.uint32), expected)
    found = random.bits(random.key(5, xp="torch"), (size,), torch.uint32)
    np.testing.assert_array_equal(found.numpy(), expected)


# More than 2³² numbers: the counters of the places around there, since so many can't be made here.


def _threefry(first: int, count: int) -> np.ndarray:
    """Hash counters by JAX's own primitive."""
    from jax.extend.random import threefry2x32_p

    places = np.arange(first, first + count, dtype=np.uint64)
    high, low = (places >> np.uint64(32)).astype(np.uint32), places.astype(np.uint32)
    x, y = threefry2x32_p.bind(np.uint32(0), np.uint32(5), high, low)
    return np.asarray(x) ^ np.asarray(y)


@pytest.mark.parametrize("count", [9, 100, 300])
@pytest.mark.parametrize("first", [2**31 - 4, 2**32 - 4, 2**32 + 3, 2**40 - 4])
def test_counters_beyond_32_bits(first: int, count: int) -> None:
    expected = _threefry(first, count)
    found = np.empty(count, dtype=np.uint32)
    blocks.fill((0, 5), found, blocks.one_word, first)
    np.testing.assert_array_equal(found, expected)
    xp = xpand.namespace("numpy")
    key = random.key(5)
    x, y = generic.hashed(xp, key, *generic.counters(xp, key, first, first + count))
    np.testing.assert_array_equal(x ^ y, expected)
    key = random.key(5, xp="torch")
    x, y = of_torch._hashed(key, *of_torch._counters(key, first, first + count))
    np.testing.assert_array_equal((x ^ y).numpy().view(np.uint32), expected)


# Transformations


def _all(key: Any) -> Any:
    keys = random.split(key)
    first, second = keys[0, ...], keys[1, ...]
    wide = xpand.array_namespace(key).uint64
    return random.bits(first, (3,), wide), random.fold_in(second, 4), random.split(second, (2, 2))


def test_vmap_of_keys(library: Library) -> None:
    keys = random.split(key_of(library), 3)
    for found, *each in zip(vmap.vmap(_all)(keys), *(_all(keys[i, ...]) for i in range(3))):
        library.assert_equal(found, np.stack([library.to_numpy(x) for x in each]))


def test_vmap_of_seeds_and_data(library: Library) -> None:
    numbers = library.asarray(np.arange(3))
    expected = [library.to_numpy(key_of(library, i)) for i in range(3)]
    library.assert_equal(vmap.vmap(random.key)(numbers), np.stack(expected))
    key = key_of(library)
    expected = [library.to_numpy(random.fold_in(key, i)) for i in range(3)]
    library.assert_equal(vmap.vmap(lambda i: random.fold_in(key, i))(numbers), np.stack(expected))


def test_vmap_of_vmap() -> None:
    keys = random.split(random.key(5), (2, 3))
    found = vmap.vmap(vmap.vmap(lambda key: random.bits(key, (4,), np.uint32)))(keys)
    expected = [[random.bits(keys[i, j], (4,), np.uint32) for j in range(3)] for i in range(2)]
    np.testing.assert_array_equal(found, expected)


def test_vmap_of_keys_and_data_over_axes_of_their_own(library: Library) -> None:
    keys, numbers = random.split(key_of(library), 2), library.asarray(np.arange(3))
    over_keys = vmap.vmap(random.fold_in, in_axes=(0, None))
    found = vmap.vmap(over_keys, in_axes=(None, 0))(keys, numbers)
    expected = [[library.to_numpy(random.fold_in(keys[j, ...], i)) for j in range(2)] for i in range(3)]
    library.assert_equal(found, np.stack(expected))
    found = vmap.vmap(over_keys)(xpand.array_namespace(keys).stack([keys, keys]), numbers[:2])
    library.assert_equal(found, np.stack(expected[:2]))


def test_jit(library: Library) -> None:
    key = key_of(library)
    compiled = jit.jit(_all)
    for found, expected in zip(compiled(key), _all(key)):
        library.assert_equal(found, library.to_numpy(expected))


def test_a_graph_holds_one_operation_for_all_bits() -> None:
    text = jit.jit(lambda key: random.bits(key, (1000,), np.uint32)).lower(random.key(0)).as_text()
    assert text.count("random.bits") == 1
    assert "bitwise_xor" not in text


def test_scan(library: Library) -> None:
    def step(key: Any, _: Any) -> tuple[Any, Any]:
        keys = random.split(key)
        return keys[0, ...], random.bits(keys[1, ...], (2,), library.xp.uint32)

    key = key_of(library)
    last, found = control_flow.scan(step, key, None, 3)
    expected = []
    for _ in range(3):
        key, bits = step(key, None)
        expected.append(library.to_numpy(bits))
    library.assert_equal(found, np.stack(expected))
    library.assert_equal(last, library.to_numpy(key))


def test_torch_compile() -> None:
    torch.compiler.reset()
    key = random.key(5, xp="torch")
    compiled = torch.compile(_all, fullgraph=True, backend="aot_eager")
    for found, expected in zip(compiled(key), _all(key)):
        assert torch.equal(found, expected)


def test_keys_inside_of_derivatives() -> None:
    key = random.key(5, xp="torch")
    slope = torch.func.grad(lambda x: (x * random.split(key)[0, 0].to(x.dtype)).sum())(torch.ones(()))
    assert slope == random.split(key)[0, 0].to(slope.dtype)
    assert autodiff.grad(lambda x: x * float(random.split(random.key(5))[0, 0]))(np.asarray(1.0)) > 0


# JAX's typed keys


def test_typed_keys() -> None:
    key = jax.random.key(5)
    assert random.split(key, 3).dtype == key.dtype
    assert random.fold_in(key, 3) == jax.random.fold_in(key, 3)
    np.testing.assert_array_equal(random.key_data(key), jax.random.key_data(key))
    np.testing.assert_array_equal(random.bits(key, (3,)), random.bits(jax.random.PRNGKey(5), (3,)))
    np.testing.assert_array_equal(random.normal(key, (3,)), random.normal(jax.random.PRNGKey(5), (3,)))
    with pytest.raises(ValueError, match="split: key must be one key"):
        random.split(jax.random.split(key))


def test_key_data_of_plain_keys(library: Library) -> None:
    keys = random.split(key_of(library), (2, 2))
    library.assert_equal(random.key_data(keys), library.to_numpy(keys))


def test_keys_can_be_pickled() -> None:
    for name in ("numpy", "jax"):
        key = pickle.loads(pickle.dumps(random.key(5, xp=name)))
        np.testing.assert_array_equal(np.asarray(random.bits(key, (3,))), random.bits(random.key(5), (3,)))


def test_keys_of_pytorch_can_be_saved() -> None:
    file = io.BytesIO()  # PyTorch 2.13 can't unpickle tensors of uint32 itself
    torch.save(random.key(5, xp="torch"), file)
    file.seek(0)
    np.testing.assert_array_equal(np.asarray(random.bits(torch.load(file), (3,))), random.bits(random.key(5), (3,)))


# Bad input


@pytest.mark.parametrize("name", ["split", "fold_in", "bits"])
def test_what_is_no_key(library: Library, name: str) -> None:
    function = {"split": random.split, "fold_in": lambda key: random.fold_in(key, 1), "bits": random.bits}[name]
    with pytest.raises(TypeError, match=f"{name}: key must be a key.*got .*int64 of shape"):
        function(library.asarray([1, 2]))
    with pytest.raises(ValueError, match=f"{name}: key must be one key.*; for several keys use `vmap`"):
        function(library.asarray(np.zeros((3, 2), dtype=np.uint32)))
    with pytest.raises(ValueError, match=f"{name}: key must be one key.*make one with"):
        function(library.asarray(np.zeros(3, dtype=np.uint32)))
    with pytest.raises(TypeError, match=f"{name}: key must be a key, .*got int; make one with `random.key"):
        function(5)


def test_bad_seeds(library: Library) -> None:
    with pytest.raises(TypeError, match="key: seed must be an integer, got 1.5"):
        random.key(1.5, xp=library.xp)
    for seed in (2**64, -(2**63) - 1):
        with pytest.raises(OverflowError, match="key: seed must be from"):
            random.key(seed, xp=library.xp)
    with pytest.raises(TypeError, match="key: seed must have an integer data type"):
        random.key(library.asarray(1.0))
    with pytest.raises(ValueError, match="key: takes one seed"):
        random.key(library.asarray([1, 2]))


def test_a_seed_of_another_library() -> None:
    with pytest.raises(TypeError, match="key: seed is .*another library"):
        random.key(np.asarray(1), xp="torch")


def test_bad_options(library: Library) -> None:
    key = key_of(library)
    with pytest.raises(ValueError, match="split: num must be at least 0"):
        random.split(key, -1)
    with pytest.raises(TypeError, match="split: num must be an integer"):
        random.split(key, 1.5)
    for number in (-1, 2**32, 2**64):
        with pytest.raises(OverflowError, match="fold_in: data must be from 0"):
            random.fold_in(key, number)
    for seed in (-(2**63) - 1, 2**64):
        with pytest.raises(OverflowError, match=r"key: seed must be from -2\*\*63 to 2\*\*64 - 1"):
            random.key(seed, xp=library.xp)
    with pytest.raises(ValueError, match="fold_in: takes one number"):
        random.fold_in(key, library.asarray([1, 2]))
    with pytest.raises(TypeError, match="fold_in: data must have an integer data type"):
        random.fold_in(key, library.asarray(1.0))
    with pytest.raises(TypeError, match="bits: dtype must be an unsigned integer data type"):
        random.bits(key, (2,), library.xp.int32)
    with pytest.raises(ValueError, match="bits: shape must be at least 0"):
        random.bits(key, (2, -1))
    with pytest.raises(TypeError, match="key_data: key must hold keys"):
        random.key_data(library.asarray([1.0, 2.0]))
