"""The bits of integers on NumPy: NumPy's functions, and views."""

from typing import Any

import numpy as np

import xpand.numpy as xp
from xpand.extend import DType, LibraryArray as Array
from xpand_extensions.arithmetic import integer_width
from xpand_extensions.generic import bits as generic


def bitcast(x: Array, /, dtype: DType) -> Array:
    dtype = np.dtype(dtype)
    if dtype.itemsize == x.itemsize:
        return x.view(dtype)
    x = x.copy() if not x.ndim else np.ascontiguousarray(x)
    return x[..., None].view(dtype) if dtype.itemsize < x.itemsize else x.view(dtype)[..., 0]


def population_count(x: Array, /) -> Array:
    # Use unsigned numbers, since NumPy counts the bits of absolute values.
    return np.bitwise_count(_unsigned(x)).astype(x.dtype)


def count_leading_zeros(x: Array, /) -> Array:
    # The exponent is the number of bits. Clear the second highest bit, so that rounding does not change the highest
    # one.
    x, dtype = _unsigned(x), x.dtype
    exponents = np.frexp((x & ~(x >> x.dtype.type(1))).astype(np.float64))[1]
    return (integer_width(xp, dtype) - exponents).astype(dtype)


def _unsigned(x: Array) -> Array:
    return x.view(f"u{x.itemsize}")


# NumPy has the required meaning for all numbers of positions, also negative ones.
shift_left = np.left_shift
shift_right = np.right_shift


def shift_right_logical(x: Array, n: Array, /) -> Array:
    return np.right_shift(_unsigned(x), _unsigned(n)).view(x.dtype)


def packbits(x: Array, /, *, axis: int | None = None, bitorder: Any = "big") -> Array:
    # Convert to booleans, since NumPy takes no integers wider than a byte.
    return np.packbits(x.astype(bool, copy=False), axis=axis, bitorder=bitorder)


def unpackbits(x: Array, /, *, axis: int | None = None, count: int | None = None, bitorder: Any = "big") -> Array:
    if not x.size and count:  # NumPy does not pad empty arrays
        return generic.unpackbits(x, axis=axis, count=count, bitorder=bitorder)
    return np.unpackbits(np.atleast_1d(x), axis=axis, count=count, bitorder=bitorder)
