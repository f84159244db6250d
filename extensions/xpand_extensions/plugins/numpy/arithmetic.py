"""Division on NumPy: NumPy's truncating functions, without divisors for which they warn."""

import numpy as np

from xpand.extend import LibraryArray as Array


def divide_no_nan(x: Array, y: Array, /) -> Array:
    shape = np.broadcast_shapes(x.shape, y.shape)
    return np.divide(x, y, out=np.zeros(shape, dtype=y.dtype), where=y != 0)


def truncated_remainder(x: Array, y: Array, /) -> Array:
    is_real = x.dtype.kind == "f"
    if not is_real and y.all():
        return np.fmod(x, y)
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = np.fmod(x, y)
    return rest if is_real else np.where(y == 0, x, rest)
