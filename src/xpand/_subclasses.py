"""Subclasses of NumPy's arrays whose meaning is more than their data."""

import sys
from typing import Any


def more_than_data(cls: type) -> str:
    """Return which arrays of a class mean more than their data, and how to convert them; '' for other classes.

    These are NumPy's masked arrays, whose mask a compiled or scattered result would lose, matrices, whose operators are
    not those of arrays, and arrays with units.
    """
    numpy: Any = sys.modules.get("numpy")
    if numpy is None or not issubclass(cls, numpy.ndarray) or cls in (numpy.ndarray, numpy.memmap):
        return ""
    if issubclass(cls, numpy.ma.MaskedArray):
        return "numpy.ma.MaskedArray; fill it first, with `x.filled(value)`"
    return f"{cls.__module__}.{cls.__qualname__}; convert it first, with `numpy.asarray(x)`"
