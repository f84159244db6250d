"""Limits of data types with the standard's attributes, and the capabilities of the namespace."""

import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import jax.numpy as jnp

from .._common.creation import defaults_set
from ..typing import Device, DType, LibraryArray as Array

__all__ = ["__array_namespace_info__", "finfo", "iinfo"]

_XP: Any = sys.modules[__package__]


@dataclass(frozen=True)
class FloatInfo:
    """Limits of a floating-point type as Python floats. Other attributes are those of JAX's `finfo`."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType

    def __getattr__(self, name: str) -> Any:
        # Only called for attributes that the dataclass lacks. While an object is copied, it has no `dtype` yet.
        if name.startswith("_") or name == "dtype":
            raise AttributeError(name)
        return getattr(jnp.finfo(self.dtype), name)


@dataclass(frozen=True)
class IntInfo:
    """Limits of an integer type as Python integers."""

    bits: int
    max: int
    min: int
    dtype: DType

    @property
    def kind(self) -> str:
        """`"i"` or `"u"`, as in JAX's `iinfo`."""
        return str(self.dtype.kind)


@lru_cache(maxsize=64)
def _float_info(dtype: DType) -> FloatInfo:
    native = jnp.finfo(dtype)
    eps, largest, lowest, smallest = map(float, (native.eps, native.max, native.min, native.smallest_normal))
    return FloatInfo(int(native.bits), eps, largest, lowest, smallest, jnp.dtype(native.dtype))


@lru_cache(maxsize=64)
def _int_info(dtype: DType) -> IntInfo:
    native = jnp.iinfo(dtype)
    return IntInfo(int(native.bits), int(native.max), int(native.min), jnp.dtype(dtype))


def finfo(type: DType | Array, /) -> FloatInfo:
    """Return the limits of a floating-point type, or of an array's. A complex type has the limits of its parts.

    The limits are Python floats, as the standard requires; JAX's are NumPy scalars.
    """
    return _float_info(getattr(type, "dtype", type))


def iinfo(type: DType | Array, /) -> IntInfo:
    """Return the limits of an integer type, or of an array's."""
    return _int_info(getattr(type, "dtype", type))


Kinds: TypeAlias = str | tuple[str, ...] | None


class NamespaceInfo:
    """The inspection object of the standard: JAX's own, except for the type and contents of `devices`."""

    def __init__(self) -> None:
        self._native = jnp.__array_namespace_info__()

    def capabilities(self) -> dict[str, bool | int | None]:
        """Return the optional capabilities. Boolean indexing and data-dependent shapes work eagerly, not under jit."""
        return dict(self._native.capabilities())

    def default_device(self) -> Device:
        """Return None: an array of JAX has no fixed device until it is combined with an array that has one."""
        return self._native.default_device()

    def devices(self) -> tuple[Device, ...]:
        """Return the devices of all backends as a tuple, as the standard requires. JAX's list starts with None."""
        return tuple(device for device in self._native.devices() if device is not None)

    def default_dtypes(self, *, device: Device = None) -> dict[str, DType]:
        """Return the default data type of each kind.

        They depend on the current precision, or without one on `jax_enable_x64`.
        """
        return defaults_set(_XP, dict(self._native.default_dtypes(device=device)), device)

    def dtypes(self, *, device: Device = None, kind: Kinds = None) -> dict[str, DType]:
        """Return the standard's data types by name: all, or those of some kinds. They depend on `jax_enable_x64`."""
        return dict(self._native.dtypes(device=device, kind=kind))


def __array_namespace_info__() -> NamespaceInfo:
    """Return the standard's inspection object for JAX."""
    return NamespaceInfo()
