"""The bits of integers, and reinterpretation of arrays as another data type.

The namespace has `bitwise_and`, `bitwise_or`, `bitwise_xor` and `bitwise_invert`.
"""

from functools import partial
from typing import Final, Literal

from xpand.extend import Array, DType, checks

from ._dispatch import pluggable
from .arithmetic import check_operands, element_width

__all__ = [
    "bitcast",
    "count_leading_zeros",
    "packbits",
    "population_count",
    "shift_left",
    "shift_right",
    "shift_right_logical",
    "unpackbits",
]
__dir__ = __all__.copy


@pluggable
def bitcast(x: Array, /, dtype: DType | str) -> Array:
    """Reinterpret the bits of an array as another data type.

    Args:
        x: An array of a numeric data type, of any shape.
        dtype: The numeric data type of the result, of the library of `x`, or its name.

    Returns:
        A new array, or a view. If both types have the same width, its shape is that of `x`. If `dtype` is narrower by a
        factor n, an axis of size n is added at the end, with the lowest bits first. If `dtype` is wider by a factor n,
        the last axis of `x`, which must have size n, is removed. On JAX, complex numbers lose subnormal parts.

    Raises:
        TypeError: `x` is not an array, or one of the types isn't numeric.
        ValueError: `dtype` is wider, and the last axis of `x` does not have the required size.
        UnsupportedError: The library cannot reinterpret bits; the standard has no function for it.

    Source: `jax.lax.bitcast_convert_type`; `Nx.bitcast`.

    >>> import numpy as np
    >>> bitcast(np.asarray([1.0, -0.0], dtype=np.float32), np.int32)
    array([ 1065353216, -2147483648], dtype=int32)
    >>> bitcast(np.asarray([258], dtype=np.int16), np.int8)
    array([[2, 1]], dtype=int8)
    """
    xp = checks.namespace_of("bitcast", x=x)
    checks.dtype("bitcast", "x", xp, x, checks.NUMERIC)
    dtype = checks.named_dtype("bitcast", xp, dtype)
    try:
        known = checks.kind(xp, dtype) in checks.NUMERIC
    except (TypeError, AttributeError, ValueError):
        known = False
    if not known:
        raise TypeError(f"bitcast: dtype must be a numeric data type of the library of x, got {dtype!r}")
    old, new = element_width(xp, x.dtype), element_width(xp, dtype)
    if new > old and (not x.ndim or x.shape[-1] != new // old):
        raise ValueError(
            f"bitcast: {dtype} is {new // old} times as wide as {x.dtype}, so the last axis of x must have the size "
            f"{new // old}, got the shape {tuple(x.shape)}"
        )
    return bitcast.native(x)(x, dtype)


@pluggable
def population_count(x: Array, /) -> Array:
    """Count the bits of each integer that are one.

    Args:
        x: An array of integers, of any shape. Negative numbers count in two's complement.

    Returns:
        The counts, of the data type and shape of `x`.

    Raises:
        TypeError: `x` is not an array of integers.

    Source: `jax.lax.population_count`; `Nx.population_count`.

    >>> import numpy as np
    >>> population_count(np.asarray([0, 1, 7, -1], dtype=np.int8))
    array([0, 1, 3, 8], dtype=int8)
    """
    xp = checks.namespace_of("population_count", x=x)
    checks.dtype("population_count", "x", xp, x, checks.INTEGERS)
    return population_count.native(x)(x)


@pluggable
def count_leading_zeros(x: Array, /) -> Array:
    """Count the zero bits of each integer above its highest bit that is one.

    Args:
        x: An array of integers, of any shape.

    Returns:
        The counts, of the data type and shape of `x`: the width of the type for 0, and 0 for negative numbers.

    Raises:
        TypeError: `x` is not an array of integers.

    Source: `jax.lax.clz`; `Nx.count_leading_zeros`.

    >>> import numpy as np
    >>> count_leading_zeros(np.asarray([0, 1, 7, -1], dtype=np.int8))
    array([8, 7, 5, 0], dtype=int8)
    """
    xp = checks.namespace_of("count_leading_zeros", x=x)
    checks.dtype("count_leading_zeros", "x", xp, x, checks.INTEGERS)
    return count_leading_zeros.native(x)(x)


_CHECK_SHIFT: Final = partial(check_operands, checks.INTEGERS, ("x", "n"))


@pluggable
def shift_left(x: Array | int, n: Array | int, /) -> Array:
    """Shift bits to the left, by any number of positions.

    Args:
        x: An integer array, or a Python integer.
        n: The numbers of positions: an integer array whose shape broadcasts with that of `x`, or a Python integer. One
            of the two is an array.

    Returns:
        An array of the promoted data type. Bits shifted out are lost, zeros come in. The result is 0 if `n` is
        negative, or the width of the type or more; the standard's `bitwise_left_shift` is undefined there.

    Raises:
        TypeError: No array, arrays of two libraries, or data types that aren't integers or don't promote.
        ValueError: Shapes that don't broadcast, or arrays on two devices.

    Source: `jax.lax.shift_left`; `Nx.left_shift`.

    >>> import numpy as np
    >>> shift_left(np.asarray([1, 3], dtype=np.int8), np.asarray([4, 100], dtype=np.int8))
    array([16,  0], dtype=int8)
    """
    implementation, of_x, of_n = shift_left.planned(_CHECK_SHIFT, (x, n))
    return implementation(of_x(x), of_n(n))


@pluggable
def shift_right(x: Array | int, n: Array | int, /) -> Array:
    """Shift bits to the right by any number of positions, and keep the sign.

    Args:
        x: As for `shift_left`.
        n: As for `shift_left`.

    Returns:
        An array of the promoted data type. Copies of the sign bit come in, which is 0 for unsigned types. If `n` is
        negative, or the width of the type or more, only these are left: -1 for negative numbers, 0 for others.

    Raises:
        TypeError: No array, arrays of two libraries, or data types that aren't integers or don't promote.
        ValueError: Shapes that don't broadcast, or arrays on two devices.

    Source: `jax.lax.shift_right_arithmetic`; `Nx.right_shift`.

    >>> import numpy as np
    >>> shift_right(np.asarray([-16, -16, 16], dtype=np.int8), np.asarray([2, 100, 100], dtype=np.int8))
    array([-4, -1,  0], dtype=int8)
    """
    implementation, of_x, of_n = shift_right.planned(_CHECK_SHIFT, (x, n))
    return implementation(of_x(x), of_n(n))


@pluggable
def shift_right_logical(x: Array | int, n: Array | int, /) -> Array:
    """Shift bits to the right by any number of positions. Zeros come in, also for negative numbers.

    Args:
        x: As for `shift_left`.
        n: As for `shift_left`.

    Returns:
        An array of the promoted data type. 0 if `n` is negative, or the width of the type or more.

    Raises:
        TypeError: No array, arrays of two libraries, or data types that aren't integers or don't promote.
        ValueError: Shapes that don't broadcast, or arrays on two devices.

    Source: `jax.lax.shift_right_logical`.

    >>> import numpy as np
    >>> shift_right_logical(np.asarray([-16, 16], dtype=np.int8), 2)
    array([60,  4], dtype=int8)
    """
    implementation, of_x, of_n = shift_right_logical.planned(_CHECK_SHIFT, (x, n))
    return implementation(of_x(x), of_n(n))


@pluggable
def packbits(x: Array, /, *, axis: int | None = None, bitorder: Literal["big", "little"] = "big") -> Array:
    """Pack booleans into the bits of bytes, eight into each byte.

    Args:
        x: An array of booleans or integers. A nonzero element gives a bit that is one.
        axis: The axis to pack along. By default, the array is flattened first.
        bitorder: Whether the first of eight elements becomes the highest bit ("big") or the lowest ("little").

    Returns:
        An array of uint8, of the shape of `x`, except that the size of `axis` is divided by 8 and rounded up. Missing
        bits of the last byte are 0.

    Raises:
        TypeError: `x` is not an array of booleans or integers.
        ValueError: No such axis, an unknown bit order, or a shape not known yet.

    Source: `numpy.packbits`.

    >>> import numpy as np
    >>> packbits(np.asarray([True, False, False, False, False, False, True, True, True]))
    array([131, 128], dtype=uint8)
    """
    xp = checks.namespace_of("packbits", x=x)
    checks.dtype("packbits", "x", xp, x, checks.BITS)
    checks.choice("packbits", "bitorder", bitorder, ("big", "little"))
    checks.known_shape("packbits", "x", x)
    if axis is not None:
        axis = checks.axis("packbits", axis, x.ndim)
    return packbits.native(x)(x, axis=axis, bitorder=bitorder)


@pluggable
def unpackbits(
    x: Array, /, *, axis: int | None = None, count: int | None = None, bitorder: Literal["big", "little"] = "big"
) -> Array:
    """Unpack the bits of bytes into numbers, one for each bit.

    Args:
        x: An array of uint8.
        axis: The axis to unpack along. By default, the array is flattened first.
        count: The number of bits to return along the axis. Zeros are appended if there are fewer. A negative number
            removes that many bits from the end. By default, all bits are returned.
        bitorder: Whether the highest bit of each byte comes first ("big") or the lowest ("little").

    Returns:
        An array of uint8 with the values 0 and 1, of the shape of `x`, except that the size of `axis` is 8 times as
        large, or `count`.

    Raises:
        TypeError: `x` is not an array of uint8, or `count` is not an integer.
        ValueError: No such axis, an unknown bit order, a negative `count` beyond the size, or a shape not known yet.

    Source: `numpy.unpackbits`.

    >>> import numpy as np
    >>> unpackbits(np.asarray([131, 128], dtype=np.uint8), count=9)
    array([1, 0, 0, 0, 0, 0, 1, 1, 1], dtype=uint8)
    """
    xp = checks.namespace_of("unpackbits", x=x)
    if x.dtype != xp.uint8:
        raise TypeError(f"unpackbits: x must have uint8, got {x.dtype}; convert it with `xp.astype` first")
    checks.choice("unpackbits", "bitorder", bitorder, ("big", "little"))
    shape = checks.known_shape("unpackbits", "x", x)
    if axis is not None:
        axis = checks.axis("unpackbits", axis, x.ndim)
    if count is not None:
        size = 8
        for length in shape if axis is None else (shape[axis],):
            size *= length
        count = checks.integer("unpackbits", "count", count, minimum=-size)
        if count < 0:
            count += size
    return unpackbits.native(x)(x, axis=axis, count=count, bitorder=bitorder)
