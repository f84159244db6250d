"""Keys, and the random bits of which all random numbers are made."""

from numbers import Integral
from typing import Any

from xpand import array_namespace, to_device
from xpand.extend import Array, Device, DType, Key, Namespace, checks, describe, namespace_or_default

from .._dispatch import pluggable
from .._elsewhere import arguments_elsewhere
from ._arguments import check_key, is_typed, key_of, unsigned_dtype


def key(seed: Array | int, /, *, xp: Namespace | str | None = None, device: Device | None = None) -> Array:
    """Create a key from a seed.

    Args:
        seed: An integer from -2⁶³ to 2⁶⁴ - 1, or an array of integers of shape ().
        xp: The library of the key, a namespace or a name; None: that of `seed`, or the default library.
        device: The device of the key, and so of its random numbers; None: that of `seed`, or the library's default.

    Returns:
        An array of uint32 of shape (2,): the 64 bits of the seed, the upper half first.

    Raises:
        TypeError: `seed` is not an integer, or is an array of another library than `xp`. NumPy's integers count as
            numbers.
        ValueError: `seed` has axes. To make several keys, use `vmap`, or `split` a key.
        OverflowError: `seed` has more than 64 bits.

    Source: `jax.random.PRNGKey`, whose keys these are.

    >>> import numpy as np
    >>> key(2**32 + 5)
    array([1, 5], dtype=uint32)
    """
    if (
        xp is not None and isinstance(seed, Integral) and not isinstance(seed, bool)
    ):  # a number, also NumPy's, belongs to any library
        seed = int(seed)
    if not checks.is_array(seed):
        return _key_of_int(checks.integer("key", "seed", seed), namespace_or_default(xp, "key"), device)
    return _key_of_array(seed, xp, device)


def _key_of_array(seed: Array, xp: Namespace | str | None, device: Device | None) -> Array:
    library = checks.namespace_of("key", seed=seed)
    checks.dtype("key", "seed", library, seed, checks.INTEGERS)
    if xp is not None and namespace_or_default(xp, "key") is not library:
        raise TypeError(f"key: seed is {describe(seed)}, and xp another library; convert the seed first")
    if seed.ndim:
        raise ValueError(f"key: takes one seed, got an array of shape {tuple(seed.shape)}; for several use `vmap`")
    made = key_of_seed.native(seed)(seed)
    return made if device is None else to_device(made, device)


def _key_of_int(seed: int, xp: Namespace, device: Device | None) -> Array:
    if not -(2**63) <= seed < 2**64:
        raise OverflowError(f"key: seed must be from -2**63 to 2**64 - 1, got {seed}")
    return xp.asarray([seed >> 32 & 0xFFFFFFFF, seed & 0xFFFFFFFF], dtype=xp.uint32, device=device)


@pluggable
def key_of_seed(seed: Array, /) -> Array:
    """Make the key of a seed that is an integer array of shape ()."""
    return key_of_seed.native(seed)(seed)


@arguments_elsewhere()
@pluggable
def split(key: Key, /, num: Any = 2) -> Array:
    """Split a key into new, independent keys.

    Args:
        key: A key. Do not use it again.
        num: The number of keys, or their shape.

    Returns:
        An array of uint32 of shape (num, 2), or (*num, 2). For a typed key of JAX: typed keys of shape (num,).

    Raises:
        TypeError: `key` is not a key, or `num` is not an integer or a shape.
        ValueError: A key of the wrong shape, or a negative number.

    Source: `jax.random.split`, whose keys these are.

    >>> import numpy as np
    >>> first, second = split(key(0))
    >>> first
    array([1797259609, 2579123966], dtype=uint32)
    """
    _, key = key_of("split", key)
    return split.native(key)(key, checks.shape("split", "num", num))


@pluggable
def fold_in(key: Key, /, data: Array | int) -> Array:
    """Derive a new key from a key and a number, such as the number of a step.

    Args:
        key: A key.
        data: An integer from 0 to 2³² - 1, or an integer array of shape (), of which the lowest 32 bits are used.

    Returns:
        A key on the device of `key`.

    Raises:
        TypeError: `key` is not a key, or `data` is not an integer.
        ValueError: A key of the wrong shape, `data` with axes, or `data` on another device.
        OverflowError: A number that is negative, or has more than 32 bits.

    Source: `jax.random.fold_in`, whose keys these are.

    >>> import numpy as np
    >>> fold_in(key(0), 7)
    array([2716826189,  292468403], dtype=uint32)
    """
    _, key = key_of("fold_in", key)
    data = checks.plain_integer(data)
    if checks.is_array(data):
        _check_data(key, data)
        return fold_in.native(key, data)(key, data)
    number = checks.integer("fold_in", "data", data)
    if not 0 <= number < 2**32:
        raise OverflowError(f"fold_in: data must be from 0 to 2**32 - 1, got {number}")
    return fold_in.native(key)(key, number)


def _check_data(key: Key, data: Array) -> None:
    xp = checks.together("fold_in", key=key, data=data)
    checks.dtype("fold_in", "data", xp, data, checks.INTEGERS)
    if data.ndim:
        raise ValueError(f"fold_in: takes one number, got data of shape {tuple(data.shape)}; for several use `vmap`")


@arguments_elsewhere()
@pluggable
def bits(key: Key, /, shape: Any = (), dtype: DType | None = None) -> Array:
    """Generate random bits, as unsigned integers.

    Args:
        key: A key.
        shape: The shape of the result.
        dtype: uint8, uint16, uint32 or uint64; None: uint32 or uint64, as wide as the default integers.

    Returns:
        An array of that shape and data type, on the key's device. All numbers are equally likely.

    Raises:
        TypeError: `key` is not a key, `shape` is not a shape, or the data type is not supported.
        ValueError: A key of the wrong shape, or a negative size.

    Each number is Threefry-2x32, with 20 rounds, of its position in the array, in row-major order.

    Source: `jax.random.bits`, bit for bit. Salmon, Moraes, Dror and Shaw (2011), "Parallel random numbers: as easy as
    1, 2, 3".

    >>> import numpy as np
    >>> bits(key(0), (2,), np.uint32)
    array([4070199207, 4202968722], dtype=uint32)
    """
    implementation, shape = bits.planned(check_key, (key,), shape)
    return implementation(key, shape, unsigned_dtype("bits", array_namespace(key), dtype, key))


@pluggable
def key_data(key: Key, /) -> Array:
    """Return the data of keys: the data of JAX's typed keys, and other keys unchanged.

    Args:
        key: A key, or an array of keys of any shape.

    Returns:
        An array of uint32 of shape (…, 2).

    Raises:
        TypeError: `key` is not an array of keys.

    Source: `jax.random.key_data`.

    >>> import numpy as np
    >>> key_data(key(3))
    array([0, 3], dtype=uint32)
    """
    xp = checks.namespace_of("key_data", key=key)
    if not is_typed(key) and (key.dtype != xp.uint32 or not key.ndim or key.shape[-1] != 2):
        raise TypeError(
            f"key_data: key must hold keys, an array of uint32 of shape (…, 2), got {key.dtype} of shape "
            f"{tuple(key.shape)}"
        )
    return key_data.native(key)(key)


@pluggable
def split_each(keys: Array, /, *, num: int) -> Array:
    """Split each of many keys, after all checks.

    Args:
        keys: An array of uint32 of shape (…, 2).
        num: The number of new keys for each key.

    Returns:
        An array of shape (…, num, 2).
    """
    return split_each.native(keys)(keys, num=num)
