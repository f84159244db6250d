"""Limits of data types, which are NumPy's, and the capabilities of the namespace."""

import sys
from functools import lru_cache
from typing import Any

import cupy as cp
import numpy as np
from array_api_compat.cupy import __array_namespace_info__ as _Info

from .._common.creation import defaults_set
from .._common.limits import FloatInfo
from ..typing import Device, DType, LibraryArray as Array

_XP: Any = sys.modules[__package__]
_ARRAY = (cp.ndarray, np.ndarray, np.generic)


@lru_cache(maxsize=256, typed=True)
def _float_info(dtype: DType) -> FloatInfo:
    return FloatInfo(np.finfo, dtype)


def finfo(type: DType | Array, /) -> FloatInfo:
    """Return the limits of a floating-point or complex data type, or of an array's, as Python floats."""
    return _float_info(type.dtype if isinstance(type, _ARRAY) else type)


def iinfo(type: DType | Array, /) -> Any:
    """Return the limits of an integer data type, or of an array's."""
    return np.iinfo(type.dtype if isinstance(type, _ARRAY) else type)


class __array_namespace_info__(_Info):  # type: ignore[misc]
    """The inspection functions of the standard: array-api-compat's, with other defaults."""

    def default_device(self) -> Device:
        """Return the current device, on which new arrays are created by default. It is not always the first device."""
        return cp.cuda.Device()

    def default_dtypes(self, *, device: Device | None = None) -> dict[str, DType]:
        """Return the default data type of each kind, which depends on the current precision."""
        return defaults_set(_XP, super().default_dtypes(device=device))
