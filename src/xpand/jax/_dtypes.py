"""Limits of data types with the attributes that the standard asks for, and the capabilities of the namespace."""

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
    """Limits of a floating-point type as Python floats; other attributes are those of JAX's own `finfo`."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType

    def __getattr__(self, name: str) -> Any:
        # Reached only for what the dataclass lacks; a copy in the making has no `dtype` yet.
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
        """`"i"` or `"u"`, which JAX's `iinfo` has too."""
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
    """Return the limits of a floating-point type, or of an array's. A complex type has those of its parts.

    The standard wants Python floats and accepts arrays; JAX gives NumPy scalars.
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
        """None: JAX leaves the choice open until an array meets one that is committed to a device."""
        return self._native.default_device()

    def devices(self) -> tuple[Device, ...]:
        """Every device of every backend, as `x.device` returns them and `device=` takes them.

        The standard asks for a tuple; JAX returns a list that starts with None.
        """
        return tuple(device for device in self._native.devices() if device is not None)

    def default_dtypes(self, *, device: Device = None) -> dict[str, DType]:
        """Return the data type of each kind that a creation function gives when none is named.

        It is that of the precision that is set, else depends on `jax_enable_x64`.
        """
        return defaults_set(_XP, dict(self._native.default_dtypes(device=device)), device)

    def dtypes(self, *, device: Device = None, kind: Kinds = None) -> dict[str, DType]:
        """Return the standard's data types by name, all or those of some kinds. They depend on `jax_enable_x64`."""
        return dict(self._native.dtypes(device=device, kind=kind))


def __array_namespace_info__() -> NamespaceInfo:
    """Return the standard's inspection object for JAX."""
    return NamespaceInfo()
