"""Powers, roots and sinc on NumPy."""

import numpy as np

from xpand.extend import Array
from xpand_extensions._width import widened


def cbrt(x: Array, /) -> Array:
    return np.cbrt(x)


def exp2(x: Array, /) -> Array:
    return np.exp2(x)


def rsqrt(x: Array, /) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return 1.0 / np.sqrt(x)


@widened
def sinc(x: Array, /) -> Array:
    # Zeros become numbers so small that the quotient is 1; that of the largest numbers, and infinities, is taken for 0.
    y = np.where(x == 0.0, x.dtype.type(1e-20), np.clip(x, -1e30, 1e30)) * np.pi
    return np.sin(y) / y * (np.abs(x) < 1e30)
