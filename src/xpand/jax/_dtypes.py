"""`finfo` and `iinfo` with the attributes that the standard asks for."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax.numpy as jnp

from .._typing import DType
from .._typing import LibraryArray as Array

__all__ = ["finfo", "iinfo"]


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
    """Limits of a real or complex floating-point type, or of an array's; a complex type has those of its parts.

    The standard wants Python floats and accepts arrays; JAX gives NumPy scalars.
    """
    return _float_info(getattr(type, "dtype", type))


def iinfo(type: DType | Array, /) -> IntInfo:
    """Limits of an integer type, or of an array's."""
    return _int_info(getattr(type, "dtype", type))
