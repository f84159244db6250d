"""Data types and devices: everything that is asked without looking at an array's values."""

import builtins
import math
import sys
from typing import Any

import dask.array as da
import numpy as np
from array_api_compat.dask.array import __array_namespace_info__ as _Info

from ..._common.creation import defaults_set
from ...numpy._dtypes import finfo as _finfo, iinfo as _iinfo
from ...typing import Device, DType, LibraryArray as Array

DEVICES = _Info().devices()

_XP: Any = sys.modules[__package__]


class __array_namespace_info__(_Info):  # type: ignore[misc]
    """The inspection functions of the standard: array-api-compat's, but for the precision that is set."""

    def default_dtypes(self, *, device: Device | None = None) -> dict[str, DType]:
        """Return the default data type of each kind."""
        return defaults_set(_XP, super().default_dtypes(device=device))


def check_device(function: str, device: Device | None) -> None:
    """Raise ValueError for a device that Dask arrays can't be on."""
    if device is not None and device not in DEVICES:
        raise ValueError(f"{function}: device must be one of {DEVICES} or None for a Dask array, got {device!r}")


def _dtype_of(x: Any) -> Any:
    return x.dtype if isinstance(x, da.Array) else x


def astype(x: Array, dtype: DType, /, *, copy: bool = True, device: Device | None = None) -> Array:
    """Cast an array to a data type. No cast writes to what another array reads, with or without `copy`."""
    check_device("astype", device)
    if dtype == x.dtype:
        return x.copy() if copy else x
    return x.astype(dtype)


def can_cast(from_: DType | Array, to: DType, /, casting: Any = "safe") -> builtins.bool:
    """Return whether one data type casts to another by the promotion rules."""
    return bool(np.can_cast(_dtype_of(from_), to, casting=casting))


def finfo(type: DType | Array, /) -> Any:
    """Return the machine limits of a floating-point data type, or of an array's."""
    return _finfo(_dtype_of(type))


def iinfo(type: DType | Array, /) -> Any:
    """Return the machine limits of an integer data type, or of an array's."""
    return _iinfo(_dtype_of(type))


def result_type(*arrays_and_dtypes: Array | DType) -> DType:
    """Return the data type that promotion gives for arrays, data types and weakly typed Python scalars."""
    return np.result_type(*map(_dtype_of, arrays_and_dtypes))


def broadcast_shapes(*shapes: tuple[float | None, ...]) -> tuple[float | None, ...]:
    """Return the shape that arrays of these shapes broadcast to.

    Dimensions of unknown size are propagated, as the standard has it: None stays None, and NaN, which is how Dask
    writes an unknown size, stays NaN.

    Raises:
        ValueError: The shapes don't broadcast.
    """
    ndim = max(map(len, shapes), default=0)
    result: list[float | None] = []
    for position in range(-ndim, 0):
        sizes = [shape[position] for shape in shapes if len(shape) >= -position]
        unknown = [size for size in sizes if size is None or math.isnan(size)]
        known = {size for size in sizes if size is not None and not math.isnan(size) and size != 1}
        if len(known) > 1:
            raise ValueError(f"broadcast_shapes: shapes {', '.join(map(str, shapes))} do not broadcast")
        result.append(unknown[0] if unknown else known.pop() if known else 1)
    return tuple(result)
