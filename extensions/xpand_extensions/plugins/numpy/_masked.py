"""Masked arrays, which are NumPy arrays by type and would lose their mask."""

import numpy as np

from xpand import UnsupportedError
from xpand.extend import Array


def no_mask(function: str, x: Array) -> None:
    """Refuse masked arrays, whose mask would be lost: a ufunc's `at` ignores it."""
    if isinstance(x, np.ma.MaskedArray):
        raise UnsupportedError(
            f"{function}: not available for numpy.ma.MaskedArray; fill it first, with `x.filled(value)`"
        )
