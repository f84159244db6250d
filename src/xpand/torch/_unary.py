"""Elementwise functions of one argument, and `clip`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .._common import complex as special
from .._common.integers import LARGEST, SMALLEST
from ..typing import DType, LibraryArray as Array, Namespace
from ._binary import output, same_type
from ._concrete import is_finite
from ._dtypes import INTEGERS, LIMITS, SIGNED, as_tensor, fitting, from_ordered, promote_types, to_ordered, to_signed

__all__ = [
    "abs",
    "acos",
    "bitwise_invert",
    "clip",
    "conj",
    "expm1",
    "isin",
    "log1p",
    "logical_not",
    "negative",
    "round",
    "sign",
    "square",
    "tan",
    "tanh",
]


def _with_complex(native: Callable[..., Array], corrected: Callable[..., Array]) -> Callable[..., Array]:
    """Add the special cases of complex numbers to `native`. Real arguments cost only a check of the type."""

    def function(x: Array, /, *, out: Array | None = None) -> Array:
        if not x.dtype.is_complex:
            return native(x, out=out)
        result = corrected(x, torch, torch.complex)
        return result if out is None else out.copy_(result)

    function.__name__ = function.__qualname__ = name = native.__name__
    function.__doc__ = f"Compute `torch.{name}`, with the standard's special cases for complex numbers."
    return function


def _expm1(x: Array, xp: Namespace, combine: Callable[[Array, Array], Array]) -> Array:
    # "If a is either +0 or -0 and b is +0, the result is 0 + 0j": adding 0.0 makes zeros positive.
    return special.expm1(x, xp, combine, torch.expm1(torch.complex(x.real + 0.0, x.imag)))


acos = _with_complex(torch.acos, special.acos)
expm1 = _with_complex(torch.expm1, _expm1)
log1p = _with_complex(torch.log1p, special.log1p)
tan = _with_complex(torch.tan, special.tan)
tanh = _with_complex(torch.tanh, special.tanh)

# `torch.conj` only sets a bit, which other libraries that share the memory do not know.
conj = torch.conj_physical


def abs(x: Array, /, **kwargs: Any) -> Array:
    """Return the absolute value; for unsigned integers, which lack a kernel in PyTorch, a copy."""
    return output(x.clone(), kwargs) if x.dtype in SIGNED else torch.abs(x, **kwargs)


def negative(x: Array, /, **kwargs: Any) -> Array:
    """Return the negative; for unsigned integers modulo 2**n."""
    if x.dtype in SIGNED:
        return output(torch.negative(to_signed(x)).view(x.dtype), kwargs)
    return torch.negative(x, **kwargs)


def square(x: Array, /, **kwargs: Any) -> Array:
    """Return the square; for unsigned integers modulo 2**n."""
    if x.dtype in SIGNED:
        return output(torch.square(to_signed(x)).view(x.dtype), kwargs)
    return torch.square(x, **kwargs)


def bitwise_invert(x: Array, /, **kwargs: Any) -> Array:
    """Invert the bits."""
    if x.dtype in SIGNED:
        return output(torch.bitwise_not(to_signed(x)).view(x.dtype), kwargs)
    return torch.bitwise_not(x, **kwargs)


def logical_not(x: Array, /, **kwargs: Any) -> Array:
    """Return whether each element is False or zero."""
    return torch.logical_not(to_signed(x) if x.dtype in SIGNED else x, **kwargs)


def sign(x: Array, /) -> Array:
    """Return the sign: NaN for NaN, unlike PyTorch's 0; for complex numbers `x / abs(x)`, or 0 for 0."""
    if x.dtype.is_floating_point:
        if is_finite(x):
            return torch.sign(x)
        # Add zero times a bounded copy of `x`, which is NaN where `x` is. A search for NaNs takes four times as long.
        return torch.sign(x).add_(torch.clamp(x, -1, 1), alpha=0)
    if x.dtype.is_complex:
        return special.sign(x, torch, torch.complex, torch.sgn(x))
    return torch.ne(to_signed(x), 0).to(x.dtype) if x.dtype in SIGNED else torch.sign(x)


def round(x: Array, /, *, out: Array | None = None, **kwargs: Any) -> Array:
    """Round to the nearest integers, or to the even one at ties; also complex numbers, unlike PyTorch."""
    if not x.dtype.is_complex:
        return torch.round(x, out=out, **kwargs) if kwargs or out is not None else torch.round(x)
    result = torch.complex(torch.round(x.real, **kwargs), torch.round(x.imag, **kwargs))
    return result if out is None else out.copy_(result)


def clip(x: Array, /, min: float | Array | None = None, max: float | Array | None = None, **kwargs: Any) -> Array:
    """Limit `x` to values from `min` to `max`, each a scalar, an array or None.

    Integer limits outside the range of an integer type become its smallest or largest value. A limit of NaN gives NaN,
    as the standard requires.
    """
    dtype = x.dtype
    if not dtype.is_floating_point and dtype not in INTEGERS:
        raise TypeError(f"clip: `x` is of type {dtype}; expected an integer or a real floating-point type")
    if type(min) is int and not SMALLEST <= min <= LARGEST:
        min = _bound(min, dtype)
    if type(max) is int and not SMALLEST <= max <= LARGEST:
        max = _bound(max, dtype)
    if isinstance(min, Tensor) or isinstance(max, Tensor) or dtype in SIGNED or min != min or max != max:
        return _clip_by_arrays(x, min, max, **kwargs)  # also for NaN: not every version accepts it as a scalar
    if min is None and max is None:
        return output(x.clone(), kwargs)
    return torch.clamp(x, min, max, **kwargs)


def _bound(number: int, dtype: DType) -> int | float:
    if dtype not in LIMITS:
        return fitting("clip", number, dtype)
    low, high = LIMITS[dtype]
    return low if number < low else high if number > high else number


def _clip_by_arrays(x: Array, min: Any, max: Any, **kwargs: Any) -> Array:
    # torch.clamp does not accept a scalar and an array together.
    dtype = x.dtype
    if min is not None:
        if not isinstance(min, Tensor):
            min = as_tensor(min, x)
        if min.dtype is not dtype:
            dtype = promote_types(dtype, min.dtype)
    if max is not None:
        if not isinstance(max, Tensor):
            max = as_tensor(max, x)
        if max.dtype is not dtype:
            dtype = promote_types(dtype, max.dtype)
    if dtype not in SIGNED:
        return torch.clamp(x, min, max, **kwargs)
    if min is None and max is None:
        return output(x.clone(), kwargs)
    x, min, max = (a if a is None else to_ordered(a.to(dtype)) for a in (x, min, max))
    return output(from_ordered(torch.clamp(x, min, max), dtype), kwargs)


def isin(x1: Array | int, x2: Array | int, /, *, invert: bool = False, assume_unique: bool = False) -> Array:
    """Return whether each element of `x1` is in `x2`; for any integer type, with scalars on either side."""
    if isinstance(x1, Tensor):
        if not isinstance(x2, Tensor):
            x2 = _searched(x2, x1)
    elif isinstance(x2, Tensor):
        x1 = _searched(x1, x2)
        if x1.ndim:  # no array of this type has the integer
            x1, x2 = x2.new_zeros(()), x1
    if isinstance(x1, Tensor) and isinstance(x2, Tensor):
        if x1.dtype is not x2.dtype:
            x1, x2 = same_type(x1, x2)
        if x1.dtype in SIGNED:
            x1, x2 = to_signed(x1), to_signed(x2)
    return torch.isin(x1, x2, assume_unique=assume_unique, invert=invert)


def _searched(number: complex, other: Array) -> Array:
    """Return a scalar as an array of the type of `other`; an empty one if the type does not hold the integer."""
    limits = LIMITS.get(other.dtype)
    if type(number) is int and limits is not None and not limits[0] <= number <= limits[1]:
        return other.new_empty((0,))
    return as_tensor(number, other)
