"""Limits of data types with the standard's attributes, and the capabilities of the namespace."""

import sys
from functools import lru_cache
from typing import Any

import jax.numpy as jnp

from .._common.creation import defaults_set
from .._common.limits import FloatInfo
from ..typing import Device, DType, LibraryArray as Array

__all__ = ["__array_namespace_info__", "finfo", "iinfo"]

_XP: Any = sys.modules[__package__]


@lru_cache(maxsize=64)
def _float_info(dtype: DType) -> FloatInfo:
    return FloatInfo(jnp.finfo, dtype)


def finfo(type: DType | Array, /) -> FloatInfo:
    """Return the limits of a floating-point type, or of an array's. A complex type has the limits of its parts.

    The limits are Python floats, as the standard requires; JAX's are NumPy scalars.
    """
    return _float_info(getattr(type, "dtype", type))


def iinfo(type: DType | Array, /) -> Any:
    """Return the limits of an integer type, or of an array's."""
    return jnp.iinfo(getattr(type, "dtype", type))


_Info: Any = type(jnp.__array_namespace_info__())


class __array_namespace_info__(_Info):  # type: ignore[misc]
    """The inspection functions of the standard: JAX's, except for the type and contents of `devices`."""

    def devices(self) -> tuple[Device, ...]:
        """Return the devices of all backends as a tuple, as the standard requires. JAX's list starts with None."""
        return tuple(device for device in super().devices() if device is not None)

    def default_dtypes(self, *, device: Device = None) -> dict[str, DType]:
        """Return the default data type of each kind.

        They depend on the current precision, or without one on `jax_enable_x64`.
        """
        return defaults_set(_XP, dict(super().default_dtypes(device=device)), device)
