"""Data types, devices, and shapes that broadcast."""

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
    """The inspection functions of the standard: array-api-compat's, with the data types of the current precision."""

    def default_dtypes(self, *, device: Device | None = None) -> dict[str, DType]:
        """Return the default data type of each kind."""
        return defaults_set(_XP, super().default_dtypes(device=device))


def check_device(function: str, device: Device | None) -> None:
    """Raise a ValueError for a device that Dask does not support."""
    if device is not None and device not in DEVICES:
        raise ValueError(f"{function}: device must be one of {DEVICES} or None for a Dask array, got {device!r}")


def _dtype_of(x: Any) -> Any:
    return x.dtype if isinstance(x, da.Array) else x


def astype(x: Array, dtype: DType, /, *, copy: bool = True, device: Device | None = None) -> Array:
    """Convert an array to a data type. Lazy arrays share no memory, so `copy` does not matter."""
    check_device("astype", device)
    if dtype == x.dtype:
        return x.copy() if copy else x
    return x.astype(dtype)


def can_cast(from_: DType | Array, to: DType, /, casting: Any = "safe") -> builtins.bool:
    """Return whether a data type can be cast to another by the promotion rules."""
    return bool(np.can_cast(_dtype_of(from_), to, casting=casting))


def finfo(type: DType | Array, /) -> Any:
    """Return the machine limits of a floating-point data type, or of an array's."""
    return _finfo(_dtype_of(type))


def iinfo(type: DType | Array, /) -> Any:
    """Return the machine limits of an integer data type, or of an array's."""
    return _iinfo(_dtype_of(type))


def result_type(*arrays_and_dtypes: Array | DType) -> DType:
    """Return the data type that arrays, data types and weakly typed Python scalars promote to."""
    return np.result_type(*map(_dtype_of, arrays_and_dtypes))


def broadcast_shapes(*shapes: tuple[float | None, ...]) -> tuple[float | None, ...]:
    """Return the shape that the given shapes broadcast to.

    Unknown sizes stay unknown, as the standard requires: None stays None, and NaN, Dask's unknown size, stays NaN.

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
