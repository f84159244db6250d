"""Data types: promotion, casting, `finfo`, `iinfo`, and helpers for unsigned integers.

PyTorch has few kernels for `uint16`, `uint32` and `uint64`, but the standard requires all functions to support them. So
this namespace computes with the signed integers of the same width if the result has the same bits. To compare, it uses
a signed copy with the same order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import torch
from torch import Tensor

from .._common.integers import overflow
from ..typing import Device, DType, LibraryArray as Array

__all__ = ["astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]

SIGNED: dict[DType, DType] = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}
"""The unsigned types that lack kernels, and the signed type of the same width."""

_LOWEST = {torch.uint16: -(2**15), torch.uint32: -(2**31), torch.uint64: -(2**63)}

_SIGNED_INTEGERS = (torch.int8, torch.int16, torch.int32, torch.int64)
_UNSIGNED_INTEGERS = (torch.uint8, torch.uint16, torch.uint32, torch.uint64)
INTEGERS = frozenset(_SIGNED_INTEGERS + _UNSIGNED_INTEGERS)
_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_COMPLEX = (torch.complex32, torch.complex64, torch.complex128)

KINDS: dict[str, frozenset[DType]] = {
    "bool": frozenset({torch.bool}),
    "signed integer": frozenset(_SIGNED_INTEGERS),
    "unsigned integer": frozenset(_UNSIGNED_INTEGERS),
    "integral": INTEGERS,
    "real floating": frozenset(_FLOATS),
    "complex floating": frozenset(_COMPLEX),
    "numeric": INTEGERS | frozenset(_FLOATS + _COMPLEX),
}


def to_signed(x: Array) -> Array:
    """Return the same bits as signed integers. Arithmetic modulo 2**n gives the same bits for both."""
    return x.view(SIGNED[x.dtype])


def to_ordered(x: Array) -> Array:
    """Return signed integers with the same order as the unsigned `x`, by flipping the top bit."""
    return torch.bitwise_xor(x.view(SIGNED[x.dtype]), _LOWEST[x.dtype])


def from_ordered(x: Array, dtype: DType) -> Array:
    """Return the inverse of `to_ordered`."""
    return torch.bitwise_xor(x, _LOWEST[dtype]).view(dtype)


def _promote(x: DType, y: DType) -> DType | None:
    """Return one entry of the promotion table, or None if neither the standard nor PyTorch promotes the types."""
    if x in _UNSIGNED_INTEGERS and y in _UNSIGNED_INTEGERS:
        return x if x.itemsize >= y.itemsize else y
    unsigned, other = (x, y) if x in SIGNED else (y, x)
    if unsigned not in SIGNED:
        return torch.promote_types(x, y)
    if other is torch.bool:
        return unsigned
    if other not in _SIGNED_INTEGERS:
        return other
    enough = [d for d in _SIGNED_INTEGERS if d.itemsize > unsigned.itemsize and d.itemsize >= other.itemsize]
    return enough[0] if enough else None


_ALL = (torch.bool, *_UNSIGNED_INTEGERS, *_SIGNED_INTEGERS, *_FLOATS, *_COMPLEX)
_PROMOTION: dict[tuple[DType, DType], DType | None] = {(x, y): _promote(x, y) for x in _ALL for y in _ALL}


def promote_types(x: DType, y: DType, /) -> DType:
    """Return the data type that `x` and `y` promote to by the standard, or for mixed kinds by PyTorch's rules."""
    try:
        result = _PROMOTION[x, y]
    except KeyError:
        return torch.promote_types(x, y)
    if result is None:
        raise TypeError(f"result_type: {x} and {y} have no common data type; convert one of them with `astype`")
    return result


def _weak(scalar: bool | int | float | complex, dtype: DType) -> DType:
    """Return the data type of a Python scalar in an operation with an array of `dtype`."""
    if isinstance(scalar, bool):
        return dtype
    if isinstance(scalar, int):
        return torch.int64 if dtype is torch.bool else dtype
    if isinstance(scalar, float):
        return dtype if dtype.is_floating_point or dtype.is_complex else torch.get_default_dtype()
    if isinstance(scalar, complex):
        return dtype if dtype.is_complex else torch.promote_types(_weak(1.0, dtype), torch.complex32)
    raise TypeError(
        f"result_type: expected arrays, data types and Python scalars, got {type(scalar).__name__}; "
        "convert it with `asarray`"
    )


def result_type(*arrays_and_dtypes: Array | DType | complex) -> DType:
    """Return the data type of an operation on the arguments; Python scalars are weakly typed, 0-d arrays are not.

    Raises:
        ValueError: There is no array or data type among the arguments, and these are not two Python scalars.
        TypeError: An argument is something else, or the data types are not promoted.
    """
    dtype = None
    scalars = []
    for x in arrays_and_dtypes:
        if isinstance(x, Tensor):
            other = x.dtype
        elif isinstance(x, torch.dtype):
            other = x
        else:
            scalars.append(x)
            continue
        dtype = other if dtype is None or dtype is other else promote_types(dtype, other)
    if dtype is None:
        if len(scalars) != 2:
            got = ", ".join(type(x).__name__ for x in scalars) or "no arguments"
            raise ValueError(
                f"result_type: expected at least one array or data type, got {got}; pass an array or a data type too"
            )
        # Like `torch.result_type`, promote two scalars to the default data type of the wider kind.
        dtype = torch.bool
    return reduce(lambda found, scalar: _weak(scalar, found), scalars, dtype)


def as_tensor(scalar: complex, like: Array) -> Array:
    """Return a Python scalar as a 0-d array of the data type and device that it gets in operations with `like`."""
    dtype = _weak(scalar, like.dtype)
    if type(scalar) is int and dtype not in LIMITS:
        scalar = float(scalar)  # PyTorch accepts no integers above 64 bits
    return torch.scalar_tensor(scalar, dtype=dtype, device=like.device)


def can_cast(from_: Array | DType, to: DType, /) -> bool:
    """Return whether `from_` promotes to `to`; PyTorch allows all casts within a kind, such as int64 to int8."""
    from_ = from_.dtype if isinstance(from_, Tensor) else from_
    try:
        return _PROMOTION[from_, to] is to
    except KeyError:
        return bool(torch.can_cast(from_, to))


def isdtype(dtype: DType, kind: DType | str | tuple[DType | str, ...]) -> bool:
    """Return whether `dtype` is of a kind such as "signed integer", equals a data type, or matches one of a tuple."""
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ValueError(f"isdtype: unknown kind {kind!r}; expected one of {', '.join(map(repr, KINDS))}")
        return dtype in KINDS[kind]
    if isinstance(kind, tuple):
        for k in kind:
            if isinstance(k, tuple):
                raise TypeError("isdtype: `kind` is a nested tuple; expected a flat tuple of kinds and data types")
        return any(isdtype(dtype, k) for k in kind)
    if not isinstance(kind, torch.dtype):
        raise TypeError(f"isdtype: `kind` is {kind!r}; expected a data type, a kind's name, or a tuple of those")
    return dtype is kind


def astype(x: Array, dtype: DType, /, *, copy: bool = True, device: Device | None = None) -> Array:
    """Convert `x` to `dtype`, and move it to `device` if given; `copy=False` may return `x` itself."""
    if device is None:
        return x.to(dtype=dtype, copy=copy)
    return x.to(device, dtype, copy=copy)


@dataclass(frozen=True, slots=True)
class _FloatInfo:
    """Machine limits of a floating-point type, or of the components of a complex type."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType
    tiny: float
    resolution: float


@dataclass(frozen=True, slots=True)
class _IntegerInfo:
    """Machine limits of an integer type."""

    bits: int
    max: int
    min: int
    dtype: DType


def _float_info(dtype: DType) -> _FloatInfo:
    real = dtype.to_real()
    info = torch.finfo(real)
    return _FloatInfo(
        info.bits, info.eps, info.max, info.min, info.smallest_normal, real, tiny=info.tiny, resolution=info.resolution
    )


def _integer_info(dtype: DType) -> _IntegerInfo:
    info = torch.iinfo(dtype)
    return _IntegerInfo(info.bits, info.max, info.min, dtype)


# Tables instead of caches: torch.compile can look up a dictionary, but traces a cached function, with a warning.
_FLOAT_INFO = {dtype: _float_info(dtype) for dtype in _FLOATS + _COMPLEX}
_INTEGER_INFO = {dtype: _integer_info(dtype) for dtype in _SIGNED_INTEGERS + _UNSIGNED_INTEGERS}


LIMITS = {dtype: (info.min, info.max) for dtype, info in _INTEGER_INFO.items()}
"""The smallest and the largest number of each integer type."""
LIMITS[torch.bool] = LIMITS[torch.int64]  # booleans and integers promote to int64


def fitting(function: str, number: int, dtype: DType) -> int | float:
    """Return a Python integer that becomes an element of an array of `dtype`, as PyTorch accepts it.

    Raises:
        OverflowError: The integer data type does not hold it. PyTorch would wrap around, or raise a `RuntimeError`.
    """
    limits = LIMITS.get(dtype)
    if limits is None:
        return number if -(2**63) <= number < 2**63 else float(number)
    if not limits[0] <= number <= limits[1]:
        raise overflow(function, number, dtype, limits)
    return number


def finfo(type: DType | Array, /) -> _FloatInfo:
    """Return the limits of a floating-point type or of an array's. Their `dtype` is a data type, not a string."""
    dtype = type.dtype if isinstance(type, Tensor) else type
    info = _FLOAT_INFO.get(dtype)
    if info is not None:
        return info
    if isinstance(dtype, torch.dtype) and dtype.is_floating_point:
        return _float_info(dtype)
    raise TypeError(f"finfo: expected a floating-point data type or an array of one, got {dtype!r}")


def iinfo(type: DType | Array, /) -> _IntegerInfo:
    """Return the limits of an integer type or of an array's. Their `dtype` is a data type, not a string."""
    info = _INTEGER_INFO.get(type.dtype if isinstance(type, Tensor) else type)
    if info is None:
        raise TypeError(f"iinfo: expected an integer data type or an array of one, got {type!r}")
    return info
