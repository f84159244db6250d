"""Elementwise functions of two arguments: promotion, scalars on either side, unsigned integers.

PyTorch promotes like the standard, with two exceptions: a 0-d array never widens the other array, and uint16 to uint64
are not promoted. Arrays of one data type need no promotion and go straight to the native function.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .._common.integers import COMPARISONS, FLOATING, LARGEST, LOGICAL, REFLECTED, SMALLEST, compare
from ..typing import DType, LibraryArray as Array
from ._concrete import is_finite
from ._differentiated import is_all_false, is_differentiated
from ._dtypes import LIMITS, SIGNED, as_tensor, fitting, from_ordered, promote_types, to_ordered, to_signed

__all__ = [
    "add",
    "atan2",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "copysign",
    "divide",
    "equal",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "less",
    "less_equal",
    "logaddexp",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "nextafter",
    "not_equal",
    "pow",
    "remainder",
    "subtract",
]

_Function = Callable[..., Array]
_Operand = Any
"""An array or a Python scalar."""


def promote(x1: Array, x2: Array) -> tuple[Array, Array]:
    """Convert two arrays of different data types where PyTorch's promotion differs from the standard's."""
    d1, d2 = x1.dtype, x2.dtype
    if d1 in SIGNED or d2 in SIGNED or (x1.ndim == 0) is not (x2.ndim == 0):
        dtype = promote_types(d1, d2)
        return x1.to(dtype), x2.to(dtype)
    return x1, x2


def same_type(x1: _Operand, x2: _Operand) -> tuple[Array, Array]:
    """Return both arguments as arrays of their common data type."""
    if not isinstance(x1, Tensor):
        x1 = as_tensor(x1, x2)
    elif not isinstance(x2, Tensor):
        x2 = as_tensor(x2, x1)
    if x1.dtype is x2.dtype:
        return x1, x2
    dtype = promote_types(x1.dtype, x2.dtype)
    return x1.to(dtype), x2.to(dtype)


def _binary(
    name: str,
    native: _Function,
    unsigned: _Function | None = None,
    *,
    swapped: _Function | None = None,
    scalars: bool = True,
) -> _Function:
    """Make a function of the standard from PyTorch's function.

    Args:
        name: The function's name.
        native: PyTorch's function, which is correct for two arrays of the same data type.
        unsigned: The function for two arrays of uint16, uint32 or uint64, if `native` does not support them.
        swapped: The function with the arguments exchanged, if the first argument of `native` cannot be a scalar.
        scalars: Whether `native` accepts Python scalars.
    """

    def function(x1: _Operand, x2: _Operand, /, **kwargs: Any) -> Array:
        if isinstance(x1, Tensor):
            dtype = x1.dtype
            if not isinstance(x2, Tensor):
                if type(x2) is int and not SMALLEST <= x2 <= LARGEST:
                    if name in COMPARISONS and dtype in LIMITS:
                        other, x2 = compare(name, x2, LIMITS[dtype], False, _COMPARISON_OF.__getitem__)
                        if other is not function:
                            return other(x1, x2, **kwargs)
                    else:
                        x2 = _operand(name, x2, dtype)
                if not scalars:
                    x2 = as_tensor(x2, x1)
            elif x2.dtype is not dtype:
                x1, x2 = promote(x1, x2)
                dtype = x1.dtype
        elif isinstance(x2, Tensor):
            dtype = x2.dtype
            if type(x1) is int and not SMALLEST <= x1 <= LARGEST:
                if name in COMPARISONS:
                    return _COMPARISON_OF[REFLECTED[name]](x2, x1, **kwargs)
                x1 = _operand(name, x1, dtype)
            if not scalars:
                x1 = as_tensor(x1, x2)
            elif swapped is not None and dtype not in SIGNED:
                return swapped(x2, x1, **kwargs)
        else:
            raise TypeError(
                f"{name}: expected at least one array, got {type(x1).__name__} and {type(x2).__name__}; "
                "convert one of them with `asarray`"
            )
        if unsigned is not None and dtype in SIGNED:
            x1, x2 = same_type(x1, x2)
            if x1.dtype in SIGNED:
                return output(unsigned(x1, x2), kwargs) if kwargs else unsigned(x1, x2)
        return native(x1, x2, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"The standard's `{name}`: `torch.{native.__name__.lstrip('_')}` with the standard's promotion, Python scalars "
        "on either side, and every unsigned integer type."
    )
    return function


def _operand(name: str, number: int, dtype: DType) -> int | float:
    """Return a Python integer that is no comparison's operand, as PyTorch's function accepts it."""
    if name in LOGICAL:
        return int(number != 0)
    if name in FLOATING and dtype in LIMITS:
        return float(number)
    return fitting(name, number, dtype)


def refuse_names(function: str, kwargs: dict[str, Any]) -> None:
    """Raise for PyTorch's names of `axis` and `keepdims`. PyTorch would report arguments given twice."""
    for theirs, ours in (("dim", "axis"), ("keepdim", "keepdims")):
        if theirs in kwargs:
            raise TypeError(f"{function}: got {theirs}={kwargs[theirs]!r}; write {ours}={kwargs[theirs]!r}")


def output(result: Array, kwargs: dict[str, Any]) -> Array:
    """Copy a result into `out=`, which no kernel of PyTorch has written."""
    out = kwargs.pop("out", None)
    if kwargs:
        raise TypeError(f"expected only the keyword `out` for these data types, got {', '.join(map(repr, kwargs))}")
    return result if out is None else out.copy_(result)


def _modular(native: _Function) -> _Function:
    """Compute with signed integers, for functions whose result has the same bits: arithmetic is modulo 2**n."""
    return lambda x1, x2: native(to_signed(x1), to_signed(x2)).view(x1.dtype)


def _comparison(native: _Function) -> _Function:
    return lambda x1, x2: native(to_ordered(x1), to_ordered(x2))


def _logical(native: _Function) -> _Function:
    return lambda x1, x2: native(to_signed(x1), to_signed(x2))


def _extremum(native: _Function) -> _Function:
    return lambda x1, x2: from_ordered(native(to_ordered(x1), to_ordered(x2)), x1.dtype)


def _widened(native: _Function) -> _Function:
    """Compute with int64, which has the operands' values, or for uint64 the same bits. The result wraps around."""
    return lambda x1, x2: native(x1.to(torch.int64), x2.to(torch.int64)).to(x1.dtype)


def _right_shift(x1: Array, x2: Array) -> Array:
    if x1.dtype is not torch.uint64:
        return _widened(torch.bitwise_right_shift)(x1, x2)
    # Shift by one bit first, and clear the sign bit, which the signed shift copies. Then the signed shift is correct.
    a, positions = to_signed(x1), to_signed(x2)
    halved = (a >> 1) & (2**63 - 1)
    return torch.where(positions == 0, a, halved >> (positions - 1).clamp(min=0)).view(torch.uint64)


def _divide_uint64(x1: Array, x2: Array) -> tuple[Array, Array]:
    """Return the quotient and remainder of uint64, as int64 with the same bits. Divide half the dividend, signed."""
    a, b = to_signed(x1), to_signed(x2)
    huge = b < 0  # the divisor is 2**63 or more, so the quotient is 0 or 1
    divisor = torch.where(huge, 1, b)
    quotient = torch.floor_divide((a >> 1) & (2**63 - 1), divisor) << 1
    rest = (a - quotient * divisor).view(torch.uint64)
    quotient = quotient + (to_ordered(rest) >= to_ordered(divisor.view(torch.uint64)))
    quotient = torch.where(huge, (to_ordered(x1) >= to_ordered(x2)).to(torch.int64), quotient)
    return quotient, a - quotient * b


def _floor_divide_unsigned(x1: Array, x2: Array) -> Array:
    if x1.dtype is torch.uint64:
        return _divide_uint64(x1, x2)[0].view(torch.uint64)
    return _widened(torch.floor_divide)(x1, x2)


def _remainder_unsigned(x1: Array, x2: Array) -> Array:
    if x1.dtype is torch.uint64:
        return _divide_uint64(x1, x2)[1].view(torch.uint64)
    return _widened(torch.remainder)(x1, x2)


_WIDER = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.float32: torch.float64}


def _floor_divide(x1: _Operand, x2: _Operand, **kwargs: Any) -> Array:
    """Compute `floor_divide` with the standard's special cases, which PyTorch's function lacks.

    Infinity divided by a finite number is infinite. A finite number divided by infinity is a zero with the sign of the
    quotient. `divide` has both special cases, but can round up to an integer: 1.0 / 0.1 is 10, while 1.0 // 0.1 is 9.
    """
    x1, x2 = same_type(x1, x2)
    if not x1.dtype.is_floating_point:
        return torch.floor_divide(x1, x2, **kwargs)
    wider = _WIDER.get(x1.dtype)
    if wider is not None and x1.device.type != "mps":
        # With twice the digits, no quotient is rounded to an integer. This takes two thirds of the time of the native
        # function. It is enough to widen one operand, unless this operand is 0-d.
        dtype = x1.dtype
        if x1.ndim:
            x1 = x1.to(wider)
        else:
            x2 = x2.to(wider)
        return output(torch.divide(x1, x2).floor_().to(dtype), kwargs)
    if is_finite(x1) and is_finite(x2):
        return torch.div(x1, x2, rounding_mode="floor", **kwargs)
    quotient = torch.divide(x1, x2)
    # The exact quotient minus its floor. NaN, for infinite operands, is replaced by 0.
    fraction = torch.remainder(x1, x2).div_(x2).abs_().nan_to_num_(nan=0.0)
    return output(quotient.sub_(fraction).round_(), kwargs)


def _remainder(x1: _Operand, x2: _Operand, **kwargs: Any) -> Array:
    """Compute `remainder`. Zeros get the sign of the divisor, as in the standard. PyTorch uses the dividend's sign."""
    if not isinstance(x1, Tensor):
        x1 = as_tensor(x1, x2)  # PyTorch has no derivative if the dividend is a scalar
    result = torch.remainder(x1, x2, **kwargs)
    if not result.dtype.is_floating_point:
        return result
    if isinstance(x2, Tensor):
        if not is_differentiated(result):
            return result.copysign_(x2)
        # Without differentiation: at zeros, the derivative of `copysign` is 0, but that of the remainder is 1.
        result.detach().copysign_(x2.detach())
        return result
    # For a scalar divisor, adding 0.0 sets the sign, since -0.0 + 0.0 is 0.0. It needs no array of signs.
    return result.add_(0.0) if x2 > 0 else result.neg_().add_(0.0).neg_()


def _pow(x1: _Operand, x2: _Operand, **kwargs: Any) -> Array:
    """Compute `torch.pow`, with correct second derivatives where the base or the exponent is 0.

    PyTorch's mixed second derivative of `4**0` is 0, and its second derivatives of `0**2` and `0**0` are NaN.
    """
    found = torch.pow(x1, x2, **kwargs)
    if kwargs or not is_differentiated(found) or not (isinstance(x1, Tensor) and isinstance(x2, Tensor)):
        return found
    zero = x2 == 0
    edge = (x1 == 0) & (x2.real >= 0)
    if not (found.is_floating_point() or found.is_complex()) or is_all_false(zero | edge):
        return found
    size = torch.abs(x1)
    regular = zero & (size < math.inf) & ((size > 0) if found.is_complex() else (x1 > 0))
    at_zero = torch.exp(x2 * torch.log(torch.where(regular, x1, 1.0)))
    at_edge = torch.pow(torch.where(edge & ~zero, x1, 1.0), x2.detach())
    elsewhere = torch.pow(torch.where(edge, 1.0, x1), x2)
    return torch.where(regular, at_zero, torch.where(edge, at_edge, elsewhere))


def _logaddexp(x1: Array, x2: Array, **kwargs: Any) -> Array:
    """Compute `torch.logaddexp`. If the arguments are far apart, PyTorch's second derivatives overflow to NaN."""
    if kwargs or not (is_differentiated(x1) or is_differentiated(x2)):
        return torch.logaddexp(x1, x2, **kwargs)
    apart = torch.abs(x1 - x2) > math.log(torch.finfo(x1.dtype).max) / 2
    if is_all_false(apart):
        return torch.logaddexp(x1, x2)
    near = torch.logaddexp(torch.where(apart, 0.0, x1), torch.where(apart, 0.0, x2))
    y1, y2 = torch.where(apart, x1, 0.0), torch.where(apart, x2, 0.0)
    larger = torch.maximum(y1, y2)
    far = larger + torch.log1p(torch.exp(torch.minimum(y1, y2) - larger))
    return torch.where(apart, far, near)


add = _binary("add", torch.add, _modular(torch.add))
subtract = _binary("subtract", torch.subtract, _modular(torch.subtract))
multiply = _binary("multiply", torch.multiply, _modular(torch.multiply))
divide = _binary("divide", torch.divide)
floor_divide = _binary("floor_divide", _floor_divide, _floor_divide_unsigned)
remainder = _binary("remainder", _remainder, _remainder_unsigned)
pow = _binary("pow", _pow, _widened(torch.pow))

bitwise_and = _binary("bitwise_and", torch.bitwise_and, _modular(torch.bitwise_and))
bitwise_or = _binary("bitwise_or", torch.bitwise_or, _modular(torch.bitwise_or))
bitwise_xor = _binary("bitwise_xor", torch.bitwise_xor, _modular(torch.bitwise_xor))
bitwise_left_shift = _binary("bitwise_left_shift", torch.bitwise_left_shift, _modular(torch.bitwise_left_shift))
bitwise_right_shift = _binary("bitwise_right_shift", torch.bitwise_right_shift, _right_shift)

equal = _binary("equal", torch.eq, _comparison(torch.eq), swapped=torch.eq)
not_equal = _binary("not_equal", torch.not_equal, _comparison(torch.not_equal), swapped=torch.not_equal)
less = _binary("less", torch.less, _comparison(torch.less), swapped=torch.greater)
less_equal = _binary("less_equal", torch.less_equal, _comparison(torch.less_equal), swapped=torch.greater_equal)
greater = _binary("greater", torch.greater, _comparison(torch.greater), swapped=torch.less)
greater_equal = _binary(
    "greater_equal", torch.greater_equal, _comparison(torch.greater_equal), swapped=torch.less_equal
)

_COMPARISON_OF = {
    function.__name__: function for function in (equal, greater, greater_equal, less, less_equal, not_equal)
}

logical_and = _binary("logical_and", torch.logical_and, _logical(torch.logical_and), scalars=False)
logical_or = _binary("logical_or", torch.logical_or, _logical(torch.logical_or), scalars=False)
logical_xor = _binary("logical_xor", torch.logical_xor, _logical(torch.logical_xor), scalars=False)

maximum = _binary("maximum", torch.maximum, _extremum(torch.maximum), scalars=False)
minimum = _binary("minimum", torch.minimum, _extremum(torch.minimum), scalars=False)
atan2 = _binary("atan2", torch.atan2, scalars=False)
copysign = _binary("copysign", torch.copysign, scalars=False)
hypot = _binary("hypot", torch.hypot, scalars=False)
logaddexp = _binary("logaddexp", _logaddexp, scalars=False)
nextafter = _binary("nextafter", torch.nextafter, scalars=False)
