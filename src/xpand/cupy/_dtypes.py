"""The limits of data types, which are NumPy's."""

from functools import lru_cache
from typing import Any

import cupy as cp
import numpy as np

from .._common.limits import FloatInfo
from .._typing import DType
from .._typing import LibraryArray as Array

_ARRAY = (cp.ndarray, np.ndarray, np.generic)


@lru_cache(maxsize=256, typed=True)
def _float_info(dtype: DType) -> FloatInfo:
    return FloatInfo(np.finfo(dtype))


def finfo(type: DType | Array, /) -> FloatInfo:
    """The limits of a floating-point or complex data type, or of an array's; numbers are Python floats."""
    return _float_info(type.dtype if isinstance(type, _ARRAY) else type)


def iinfo(type: DType | Array, /) -> Any:
    """The limits of an integer data type, or of an array's."""
    return np.iinfo(type.dtype if isinstance(type, _ARRAY) else type)
