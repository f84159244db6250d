"""Rules of functions that act element by element, and of facades for arithmetic and bits."""

import cmath
import math
from typing import Any, Final

from xpand.extend import device_of

from ... import arithmetic, bits
from ...arithmetic import element_width
from ...extend._derivatives import LINEAR, contribution, factor, scale
from .._core import Aval
from .._functions import BINARY, UNARY
from ._derived import Axes, same

_f = factor


def _share(xp: Any, out: Any, mine: Any, other: Any) -> Any:
    """Return 1 where a maximum or minimum is the argument `mine`, 1/2 if both are equal, and 0 elsewhere."""
    is_mine = xp.astype(xp.equal(out, mine), out.dtype)
    return is_mine / (1 + xp.astype(xp.equal(out, other), out.dtype))


_CHOSEN: Final = (factor(lambda xp, z, x, y: _share(xp, z, x, y)), factor(lambda xp, z, x, y: _share(xp, z, y, x)))


def _slope_of_abs(xp: Any, out: Any, x: Any) -> Any:
    """Return the derivative of the absolute value; at 0 it is 1, or 0 for complex numbers."""
    if x.dtype != out.dtype:  # complex: the tangent of the result is the real part of the product
        return xp.conj(xp.sign(x))
    return xp.where(x >= 0, xp.ones_like(x), -1)


def _sign_of_complex(xp: Any, t: Any, out: Any, x: Any) -> Any:
    """Push a tangent through z / |z|: divide the part perpendicular to z by |z|."""
    if not xp.isdtype(x.dtype, "complex floating"):
        return None
    size = xp.abs(x)
    size = xp.where(size == 0, xp.ones_like(size), size)
    along = xp.real(t * xp.conj(out))
    return (t - xp.astype(along, t.dtype) * out) * xp.astype(1 / size, t.dtype)


def _power_of_base(xp: Any, out: Any, x1: Any, x2: Any) -> Any:
    if not hasattr(x2, "dtype"):
        return 2 * x1 if x2 == 2 else x2 * xp.pow(x1, x2 - 1) if x2 != 0 else xp.zeros_like(x1)
    # Keep the exponent as a factor: at 0 the product is 0, but its derivative in the exponent is 1 / x1.
    undefined = (x2 == 0) & ~(xp.abs(x1) >= xp.finfo(x1.dtype).smallest_normal)
    return xp.where(undefined, 0, x2 * xp.pow(xp.where(undefined, xp.ones_like(x1), x1), x2 - 1.0))


def _power_of_exponent(xp: Any, out: Any, x1: Any, x2: Any) -> Any:
    if not hasattr(x1, "dtype"):
        return out * _logarithm(x1) if x1 else xp.zeros_like(out)
    zero = (x1 == 0) & ~_is_negative(xp, x2)  # the derivative is 0; for negative exponents it is infinite
    logarithm = xp.log(xp.where(zero, xp.ones_like(out), x1))  # in the data type of `out`, as `x1` may have integers
    return xp.where(zero, 0, out) * logarithm


def _is_negative(xp: Any, x: Any) -> Any:
    """Return a mask of the elements whose real part is negative or NaN."""
    return ~((xp.real(x) if xp.isdtype(x.dtype, "complex floating") else x) >= 0)


def _logarithm(x: complex) -> complex:
    if isinstance(x, complex):
        return cmath.log(x)
    return math.log(x) if x > 0 else math.nan


def _reciprocal(x: Any, xp: Any) -> Any:
    if hasattr(x, "dtype"):
        return 1 / x
    return 1 / x if x else float("inf")


def _hypotenuse(xp: Any, out: Any, x: Any) -> Any:
    zero = out == 0
    return xp.where(zero, 0.5, x / xp.where(zero, xp.ones_like(out), out))


def _over_square(xp: Any, x: Any, x1: Any, x2: Any) -> Any:
    """Compute x / (x1² + x2²) without overflow of the squares; 0 where both are 0."""
    size = xp.hypot(x1, x2)
    size = xp.where(size == 0, xp.ones_like(size), size)
    return x / size / size


def _softmax(xp: Any, out: Any, x: Any) -> Any:
    """Compute exp(x - out), 1 where both are infinite."""
    same = (x == out) & xp.isinf(out)
    return xp.exp(xp.where(same, 0, x) - xp.where(same, 0, out))


def _of_clipped(xp: Any, out: Any, x: Any, low: Any, high: Any) -> Any:
    raised = x if low is None else xp.maximum(x, low)
    found = 1 if low is None else _share(xp, raised, x, low)
    return found if high is None else found * _share(xp, out, raised, high)


def _of_low(xp: Any, out: Any, x: Any, low: Any, high: Any) -> Any:
    raised = xp.maximum(x, low)
    found = _share(xp, raised, low, x)
    return found if high is None else found * _share(xp, out, raised, high)


_LOG2: Final = 0.6931471805599453
_LOG10: Final = 2.302585092994046

_SHIFTS: Final = ("shift_left", "shift_right", "shift_right_logical")
_COUNTS: Final = ("count_leading_zeros", "population_count")
_BITS: Final = "a function of bits"


def _bitcast(namespace: Any, x: Any, dtype: Any) -> Aval:
    ours, theirs = (element_width(namespace.base, each) for each in (x.dtype, dtype))
    shape = (*x.shape, ours // theirs) if ours > theirs else x.shape if ours == theirs else x.shape[:-1]
    return Aval(shape, dtype, device_of(x))


_ELEMENTWISE: Final = (
    *(f"arithmetic.{name}" for name in ("divide_no_nan", "quotient", "truncated_remainder")),
    *(f"bits.{name}" for name in (*_COUNTS, *_SHIFTS)),
)


DERIVATIVES: Final[dict[str, Any]] = {
    "abs": (_f(_slope_of_abs),),
    "acos": (_f(lambda xp, y, x: -1 / xp.sqrt((1 - x) * (1 + x))),),
    "acosh": (_f(lambda xp, y, x: 1 / (xp.sqrt(x - 1) * xp.sqrt(x + 1))),),
    "add": (1, 1),
    "asin": (_f(lambda xp, y, x: 1 / xp.sqrt((1 - x) * (1 + x))),),
    "asinh": (_f(lambda xp, y, x: 1 / xp.sqrt(x * x + 1)),),
    "astype": (LINEAR,),
    "atan": (_f(lambda xp, y, x: 1 / (1 + x * x)),),
    "atan2": (_f(lambda xp, z, x, y: _over_square(xp, y, x, y)), _f(lambda xp, z, x, y: -_over_square(xp, x, x, y))),
    "atanh": (_f(lambda xp, y, x: 1 / ((1 - x) * (1 + x))),),
    "clip": (
        _f(_of_clipped),
        _f(_of_low),
        _f(lambda xp, out, x, low, high: _share(xp, out, high, x if low is None else xp.maximum(x, low))),
    ),  # like the minimum of a maximum, also at ties
    "conj": (LINEAR,),
    "copysign": (_f(lambda xp, out, x, y: xp.where(xp.equal(x >= 0, xp.signbit(out)), -1, xp.ones_like(out))), None),
    "cos": (_f(lambda xp, y, x: -xp.sin(x)),),
    "cosh": (_f(lambda xp, y, x: xp.sinh(x)),),
    "divide": (scale(lambda xp, z, x, y: _reciprocal(y, xp)), _f(lambda xp, z, x, y: -z / y)),
    "exp": (_f(lambda xp, y, x: y),),
    "expm1": (_f(lambda xp, y, x: y + 1),),
    "hypot": (_f(lambda xp, z, x, y: _hypotenuse(xp, z, x)), _f(lambda xp, z, x, y: _hypotenuse(xp, z, y))),
    "imag": (LINEAR,),
    "log": (_f(lambda xp, y, x: 1 / x),),
    "log10": (_f(lambda xp, y, x: 1 / (x * _LOG10)),),
    "log1p": (_f(lambda xp, y, x: 1 / (1 + x)),),
    "log2": (_f(lambda xp, y, x: 1 / (x * _LOG2)),),
    "logaddexp": (_f(lambda xp, z, x, y: _softmax(xp, z, x)), _f(lambda xp, z, x, y: _softmax(xp, z, y))),
    "maximum": _CHOSEN,
    "minimum": _CHOSEN,
    "multiply": (scale(lambda xp, z, x, y: y), scale(lambda xp, z, x, y: x)),
    "negative": (-1,),
    "nextafter": (1, None),  # it is the first argument, up to one ulp
    "positive": (1,),
    "pow": (_f(_power_of_base), _f(_power_of_exponent)),
    "real": (LINEAR,),
    "reciprocal": (_f(lambda xp, y, x: -y * y),),
    "remainder": (1, _f(lambda xp, z, x, y: -xp.floor_divide(x, y))),
    "sign": (contribution(_sign_of_complex),),
    "sin": (_f(lambda xp, y, x: xp.cos(x)),),
    "sinh": (_f(lambda xp, y, x: xp.cosh(x)),),
    "sqrt": (_f(lambda xp, y, x: 0.5 / y),),
    "square": (_f(lambda xp, y, x: 2 * x),),
    "stop_gradient": (None,),
    "subtract": (1, -1),
    "tan": (_f(lambda xp, y, x: 1 + y * y),),
    "tanh": (_f(lambda xp, y, x: 1 - y * y),),
    "to_device": (LINEAR,),
    "where": (None, LINEAR, LINEAR),
    "arithmetic.divide_no_nan": {
        "x": scale(lambda xp, z, x, y: arithmetic.divide_no_nan(1.0, y)),
        "y": factor(lambda xp, z, x, y: -arithmetic.divide_no_nan(z, y)),
    },
    # The remainder is x minus a multiple of y. Rounding corrects the quotient.
    "arithmetic.truncated_remainder": {"x": 1, "y": factor(lambda xp, z, x, y: -xp.round((x - z) / y))},
}

TRANSPOSES: Final[dict[str, Any]] = {
    "astype": (lambda xp, ct, x, dtype, **params: ct,),  # the caller converts it to the argument's data type
    "conj": (lambda xp, ct, x: xp.conj(ct),),
    "imag": (lambda xp, ct, x: xp.astype(ct, x.dtype) * -1j,),
    "real": (lambda xp, ct, x: xp.astype(ct, x.dtype),),
    "to_device": (lambda xp, ct, x, device: xp.asarray(ct, device=device_of(x)) if device_of(x) is not None else ct,),
    "where": (
        None,
        lambda xp, ct, i, c, x, y: xp.where(c, ct, xp.zeros_like(ct)),
        lambda xp, ct, i, c, x, y: xp.where(c, xp.zeros_like(ct), ct),
    ),
}

LINEAR_IN_ALL: Final = ("where",)


_STEP: Final = "piecewise constant"
_BOOLEAN: Final = "its result is boolean"
_INTEGER: Final = "a function of integers"

CONSTANT: Final[dict[str, str]] = {
    **dict.fromkeys(["ceil", "floor", "floor_divide", "round", "trunc"], _STEP),
    **dict.fromkeys(
        [
            "equal",
            "greater",
            "greater_equal",
            "isfinite",
            "isinf",
            "isnan",
            "less",
            "less_equal",
            "logical_and",
            "logical_not",
            "logical_or",
            "logical_xor",
            "not_equal",
            "signbit",
        ],
        _BOOLEAN,
    ),
    **dict.fromkeys(
        ["bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor"],
        _INTEGER,
    ),
    "arithmetic.quotient": "a function of integers",
    **{f"bits.{name}": _BITS for name in (*_COUNTS, *_SHIFTS, "bitcast", "packbits", "unpackbits")},
}


AXES: Final[dict[str, Axes]] = {
    **dict.fromkeys(UNARY, Axes("...->...")),
    **dict.fromkeys(BINARY, Axes("...,...->...")),
    **dict.fromkeys(("clip", "where"), Axes("...,...,...->...")),
    "astype": Axes(
        "...->...",
        dtype=lambda namespace, avals, params: params["dtype"],
        call=lambda xp: lambda x, dtype, **params: xp.astype(x, dtype, **params),
    ),
    **dict.fromkeys(("stop_gradient", "to_device"), Axes("...->...", dtype=same)),
    **dict.fromkeys(_ELEMENTWISE, Axes("*...->...")),
    "bits.packbits": Axes(
        "...[(axis)]->...[(axis:k)]",
        sizes=lambda lengths, **params: {"k": -(-lengths["axis"][0] // 8)},
        dtype=lambda namespace, avals, params: namespace.base.uint8,
        flat=True,
    ),
    "bits.unpackbits": Axes(
        "...[(axis)]->...[(axis:k)]",
        sizes=lambda lengths, count=None, **params: {"k": 8 * lengths["axis"][0] if count is None else count},
        dtype=same,
        flat=True,
    ),
}

# Whether there is a last axis of parts depends on both data types.
BATCHING: Final[dict[str, Any]] = {"bits.bitcast": lambda xp, mapped, x, dtype: bits.bitcast(x, dtype)}

SHAPES: Final[dict[str, Any]] = {"bits.bitcast": _bitcast}
