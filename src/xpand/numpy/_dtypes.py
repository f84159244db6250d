"""Data types: conversion, limits, and the capabilities of the namespace."""

import sys
from functools import lru_cache
from typing import Any

import numpy as np

from .._common.creation import defaults_set
from .._common.limits import FloatInfo
from .._namespace import namespace_of_traced
from ..typing import Device, DType, LibraryArray as Array

_ARRAY = (np.ndarray, np.generic)


def check_device(function: str, device: Device | None) -> None:
    """Raise a `ValueError` unless `device` is None or "cpu", NumPy's only device."""
    if device is not None and device != "cpu":
        # The first words are array-api-compat's. Packages such as scikit-learn look for them in tests.
        raise ValueError(f"{function}: Unsupported device for NumPy: {device!r}; its only device is 'cpu'")


def astype(x: Array, dtype: DType, /, *, copy: bool = True, device: Device | None = None) -> Array:
    """Convert `x` to `dtype`; with `copy=False`, return `x` itself if it has this data type."""
    if device is not None:
        check_device("astype", device)
    return x.astype(dtype, copy=copy)


@lru_cache(maxsize=256, typed=True)
def _float_info(dtype: DType) -> FloatInfo:
    return FloatInfo(np.finfo, dtype)


@lru_cache(maxsize=256, typed=True)
def _integer_info(dtype: DType) -> Any:
    return np.iinfo(dtype)


def finfo(type: DType | Array, /) -> FloatInfo:
    """Return the limits of a floating-point or complex data type, or of an array's, as Python floats."""
    try:
        return _float_info(type.dtype if isinstance(type, _ARRAY) else type)
    except TypeError:  # traced arrays have no hash
        if namespace_of_traced(type) is None:
            raise
        return _float_info(type.dtype)


def iinfo(type: DType | Array, /) -> Any:
    """Return the limits of an integer data type, or of an array's."""
    try:
        return _integer_info(type.dtype if isinstance(type, _ARRAY) else type)
    except TypeError:
        if namespace_of_traced(type) is None:
            raise
        return _integer_info(type.dtype)


_XP: Any = sys.modules[__package__]
_Info: Any = type(np.__array_namespace_info__())
_DEFAULTS = _Info().default_dtypes()


class __array_namespace_info__(_Info):  # type: ignore[misc]
    """The inspection functions of the standard: NumPy's, with the default data types of the current precision."""

    def capabilities(self) -> dict[str, Any]:
        """Return the optional capabilities of the standard."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def devices(self) -> tuple[str, ...]:
        """Return the devices."""
        return ("cpu",)

    def default_dtypes(self, *, device: Device | None = None) -> dict[str, DType]:
        """Return the default data type of each kind."""
        if device is not None:
            check_device("default_dtypes", device)
        return defaults_set(_XP, dict(_DEFAULTS))
