"""Elementwise functions, and Python's operators.

Functions of one array return an array with the same axes. Functions of two arrays broadcast by name: an axis that one
array lacks is repeated for it. If one array has all axes, the result has them in its order. Otherwise the result has
the axes of the first array, then the others of the second. Numbers combine with any array. An array with axes but
without names is accepted alone; together with a named array, it raises a `TypeError`. Axes with the same name and
different sizes raise a `ValueError`. Source: the functions of the same names in NumPy.
"""

from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar

from xpand import array_namespace, default_namespace, elementwise as functions
from xpand.extend import is_array

from . import _positional as positional
from ._array import NamedArray, make
from ._methods import bind, method
from ._plans import ALIGNMENTS, NUMBERS, Positional, aligned, alignment, check_sizes, documented, stepped, without_axes

__all__ = [
    "abs",
    "absolute",
    "add",
    "angle",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "around",
    "bitwise_and",
    "bitwise_count",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "cbrt",
    "ceil",
    "conj",
    "conjugate",
    "copy",
    "cos",
    "cosh",
    "deg2rad",
    "degrees",
    "divide",
    "divmod",
    "equal",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "fix",
    "float_power",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "frexp",
    "greater",
    "greater_equal",
    "hypot",
    "i0",
    "imag",
    "invert",
    "iscomplex",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "isreal",
    "left_shift",
    "less",
    "less_equal",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "ndim",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "power",
    "rad2deg",
    "radians",
    "real",
    "reciprocal",
    "remainder",
    "right_shift",
    "rint",
    "round",
    "rsqrt",
    "sign",
    "signbit",
    "sin",
    "sinc",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "true_divide",
    "trunc",
]

_new = object.__new__

A = TypeVar("A")
"""A named array, a number, or an array without names."""
Source = str | Callable[..., Any]
"""The positional function of an operation, or its path (see `Positional`)."""

UNARY: Final[dict[str, Source]] = {}
"""The functions of one array."""
BINARY: Final[dict[str, Source]] = {}
"""The functions of two arrays that broadcast."""


class Unary(Protocol):
    """An elementwise function of one array."""

    def __call__(self, a: A) -> A:
        """Return an array with the same axes."""
        ...


class Binary(Protocol):
    """An elementwise function of two arrays."""

    def __call__(self, x1: Any, x2: Any) -> Any:
        """Return an array with the axes of both."""
        ...


def unary(name: str, doc: str, source: Source = "") -> Unary:
    """Make a function of one array, by default from the positional function of the same name."""
    UNARY[name] = source = source or name
    function = Positional(source)
    by_type = function.by_type
    find = function.found
    named = NamedArray
    new = _new

    def apply(a: Any) -> Any:
        if type(a) is named:
            x = a.array
            out = new(named)
            out.array = (by_type.get(type(x)) or find(x))(x)
            out.names = a.names
            return out
        x = a if is_array(a) else default_namespace().asarray(a)
        return function(x)

    return documented(name, f"{doc}\n\nThe result has the same axes.", apply)


def binary(name: str, doc: str, source: Source = "") -> Binary:
    """Make a function of two arrays that broadcast, by default from the positional function of the same name."""
    BINARY[name] = source = source or name
    function = Positional(source)
    by_type = function.by_type
    find = function.found
    named = NamedArray
    new = _new
    plans = ALIGNMENTS

    def apply(x1: Any, x2: Any) -> Any:
        if type(x1) is named and type(x2) is named:
            names = x1.names
            a, b = x1.array, x2.array
            if names is x2.names and type(a) is type(b) and a.shape == b.shape:
                out = new(named)
                out.array = (by_type.get(type(a)) or find(a))(a, b)
                out.names = names
                return out
            key = (names, x2.names)
            plan = plans.get(key) or alignment(key)
            shape1, shape2 = a.shape, b.shape
            if len(shape1) != len(names) or len(shape2) != len(x2.names):
                check_sizes(name, (), (x1, x2))
            for _, i, _, j in plan.same:
                if shape1[i] != shape2[j]:
                    check_sizes(name, plan.same, (x1, x2))
            step1, step2 = plan.steps
            if step1 is not None:
                a = stepped(a, step1)
            if step2 is not None:
                b = stepped(b, step2)
            out = new(named)
            if type(a) is type(b):
                out.array = (by_type.get(type(a)) or find(a))(a, b)
            else:
                array_namespace(a, b)
                out.array = function.among((a, b))(a, b)
            out.names = plan.names
            return out
        return _with_number(name, function, x1, x2)

    return documented(name, f"{doc}\n\nThe arrays broadcast by name, and the result has the axes of both.", apply)


def _with_number(name: str, function: Positional, x1: Any, x2: Any) -> Any:
    if isinstance(x1, NamedArray):
        if type(x2) in NUMBERS:
            return make(function(x1.array, x2), x1.names)
        without_axes(name, x2)
        return make(function.among((x1.array, x2))(x1.array, x2), x1.names)
    if isinstance(x2, NamedArray):
        if type(x1) in NUMBERS:
            return make(function.of(x2.array)(x1, x2.array), x2.names)
        without_axes(name, x1)
        return make(function.among((x1, x2.array))(x1, x2.array), x2.names)
    if not is_array(x1) and not is_array(x2):
        x1 = default_namespace().asarray(x1)
    return function.among((x1, x2))(x1, x2)


def elementwise(name: str, source: Source) -> Callable[..., Any]:
    """Make an operation on any number of arrays that broadcast. Static parameters are keyword arguments."""
    function = Positional(source)
    named = NamedArray

    def apply(*operands: Any, **params: Any) -> Any:
        first = operands[0]
        if type(first) is named:
            x, names = first.array, first.names
            kind, shape = type(x), x.shape
            for other in operands[1:]:
                if type(other) is not named or other.names is not names:
                    break
                if type(other.array) is not kind or other.array.shape != shape:
                    break
            else:
                return _renamed(function.of(x)(*[each.array for each in operands], **params), names)
        if not any(isinstance(x, NamedArray) for x in operands):
            if not any(is_array(x) for x in operands):
                operands = (default_namespace().asarray(operands[0]), *operands[1:])
            return function.among(operands)(*operands, **params)
        names, arrays = aligned(name, operands)
        return _renamed(function.among(arrays)(*arrays, **params), names)

    return apply


def _renamed(found: Any, names: tuple[str, ...]) -> Any:
    """Name the axes of an array, or of several."""
    return tuple([make(x, names) for x in found]) if type(found) is tuple else make(found, names)


# --- of one array ----------------------------------------------------------------------------------------------------

abs = unary("abs", "Compute the absolute value of each element.")
absolute = unary("absolute", "Compute the absolute value of each element.", "abs")
angle = unary("angle", "Compute the argument of each complex number, in radians.", functions.angle)
arccos = unary("arccos", "Compute the inverse cosine of each element.", "acos")
arccosh = unary("arccosh", "Compute the inverse hyperbolic cosine of each element.", "acosh")
arcsin = unary("arcsin", "Compute the inverse sine of each element.", "asin")
arcsinh = unary("arcsinh", "Compute the inverse hyperbolic sine of each element.", "asinh")
arctan = unary("arctan", "Compute the inverse tangent of each element.", "atan")
arctanh = unary("arctanh", "Compute the inverse hyperbolic tangent of each element.", "atanh")
bitwise_count = unary("bitwise_count", "Count the bits that are 1 in each element.", "bits.population_count")
bitwise_invert = unary("bitwise_invert", "Compute the bitwise complement of each element.")
bitwise_not = unary("bitwise_not", "Compute the bitwise complement of each element.", "bitwise_invert")
cbrt = unary("cbrt", "Compute the cube root of each element.", "special.cbrt")
ceil = unary("ceil", "Round each element up to an integer.")
conj = unary("conj", "Compute the complex conjugate of each element.")
conjugate = unary("conjugate", "Compute the complex conjugate of each element.", "conj")
copy = unary("copy", "Return a copy of an array.", positional.copy)
cos = unary("cos", "Compute the cosine of each element.")
cosh = unary("cosh", "Compute the hyperbolic cosine of each element.")
deg2rad = unary("deg2rad", "Convert degrees to radians.", functions.deg2rad)
degrees = unary("degrees", "Convert radians to degrees.", functions.rad2deg)
exp = unary("exp", "Compute the exponential of each element.")
exp2 = unary("exp2", "Compute 2 to the power of each element.", "special.exp2")
expm1 = unary("expm1", "Compute the exponential of each element, minus 1.")
fabs = unary("fabs", "Compute the absolute value of each element.", "abs")
fix = unary("fix", "Round each element towards zero.", "trunc")
floor = unary("floor", "Round each element down to an integer.")
i0 = unary("i0", "Compute the modified Bessel function of the first kind, of order 0, for each element.", "special.i0")
imag = unary("imag", "Return the imaginary part of each element; zero for real numbers.", positional.imag)
invert = unary("invert", "Compute the bitwise complement of each element.", "bitwise_invert")
iscomplex = unary("iscomplex", "Return whether the imaginary part of each element isn't zero.", positional.iscomplex)
isfinite = unary("isfinite", "Return whether each element is neither infinite nor NaN.")
isinf = unary("isinf", "Return whether each element is infinite.")
isnan = unary("isnan", "Return whether each element is NaN.")
isneginf = unary("isneginf", "Return whether each element is negative infinity.", positional.isneginf)
isposinf = unary("isposinf", "Return whether each element is positive infinity.", positional.isposinf)
isreal = unary("isreal", "Return whether the imaginary part of each element is zero.", positional.isreal)
log = unary("log", "Compute the natural logarithm of each element.")
log10 = unary("log10", "Compute the decimal logarithm of each element.")
log1p = unary("log1p", "Compute log(1 + a) of each element.")
log2 = unary("log2", "Compute the binary logarithm of each element.")
logical_not = unary("logical_not", "Compute the logical not of each element.")
negative = unary("negative", "Compute the negative of each element.")
positive = unary("positive", "Return each element unchanged.")
rad2deg = unary("rad2deg", "Convert radians to degrees.", functions.rad2deg)
radians = unary("radians", "Convert degrees to radians.", functions.deg2rad)
real = unary("real", "Return the real part of each element.", positional.real)
reciprocal = unary("reciprocal", "Compute the reciprocal of each element.")
rint = unary("rint", "Round each element to the nearest integer; halves to the even integer.", "round")
rsqrt = unary("rsqrt", "Compute the reciprocal of the square root of each element.", "special.rsqrt")
sign = unary("sign", "Compute the sign of each element: -1, 0 or 1; for a complex number, its direction.")
signbit = unary("signbit", "Return whether the sign bit of each element is set.")
sin = unary("sin", "Compute the sine of each element.")
sinc = unary("sinc", "Compute the normalized sinc function of each element: sin(pi a) / (pi a).", "special.sinc")
sinh = unary("sinh", "Compute the hyperbolic sine of each element.")
square = unary("square", "Compute the square of each element.")
sqrt = unary("sqrt", "Compute the square root of each element.")
tan = unary("tan", "Compute the tangent of each element.")
tanh = unary("tanh", "Compute the hyperbolic tangent of each element.")
trunc = unary("trunc", "Round each element towards zero.")

# --- of two arrays ---------------------------------------------------------------------------------------------------

add = binary("add", "Add two arrays.")
arctan2 = binary("arctan2", "Compute the angle of the point (x2, x1), from -pi to pi.", "atan2")
bitwise_and = binary("bitwise_and", "Compute the bitwise and of integers or booleans.")
bitwise_left_shift = binary("bitwise_left_shift", "Shift the bits of integers to the left.")
bitwise_or = binary("bitwise_or", "Compute the bitwise or of integers or booleans.")
bitwise_right_shift = binary("bitwise_right_shift", "Shift the bits of integers to the right.")
bitwise_xor = binary("bitwise_xor", "Compute the bitwise exclusive or of integers or booleans.")
divide = binary("divide", "Divide two arrays.")
equal = binary("equal", "Return whether elements are equal.")
float_power = binary("float_power", "Compute powers in double precision or better.", positional.float_power)
floor_divide = binary("floor_divide", "Divide two arrays and round down.")
fmax = binary("fmax", "Return the larger of two elements; if one is NaN, the other.", positional.fmax)
fmin = binary("fmin", "Return the smaller of two elements; if one is NaN, the other.", positional.fmin)
fmod = binary(
    "fmod", "Compute the remainder of a division, with the sign of the dividend.", "arithmetic.truncated_remainder"
)
greater = binary("greater", "Return whether elements of the first array are greater.")
greater_equal = binary("greater_equal", "Return whether elements of the first array are greater or equal.")
hypot = binary("hypot", "Compute the length of the hypotenuse.")
left_shift = binary("left_shift", "Shift the bits of integers to the left.", "bitwise_left_shift")
less = binary("less", "Return whether elements of the first array are less.")
less_equal = binary("less_equal", "Return whether elements of the first array are less or equal.")
logaddexp = binary("logaddexp", "Compute log(exp(x1) + exp(x2)).")
logaddexp2 = binary("logaddexp2", "Compute log2(2**x1 + 2**x2).", positional.logaddexp2)
logical_and = binary("logical_and", "Compute the logical and of booleans.")
logical_or = binary("logical_or", "Compute the logical or of booleans.")
logical_xor = binary("logical_xor", "Compute the logical exclusive or of booleans.")
maximum = binary("maximum", "Return the larger of two elements; NaN if one is NaN.")
minimum = binary("minimum", "Return the smaller of two elements; NaN if one is NaN.")
mod = binary("mod", "Compute the remainder of a division, with the sign of the divisor.", "remainder")
multiply = binary("multiply", "Multiply two arrays.")
nextafter = binary("nextafter", "Return the next number after x1 in the direction of x2.")
not_equal = binary("not_equal", "Return whether elements are different.")
power = binary("power", "Compute powers.", "pow")
remainder = binary("remainder", "Compute the remainder of a division, with the sign of the divisor.")
right_shift = binary("right_shift", "Shift the bits of integers to the right.", "bitwise_right_shift")
subtract = binary("subtract", "Subtract the second array from the first.")
true_divide = binary("true_divide", "Divide two arrays.", "divide")


# --- with several results, or parameters -----------------------------------------------------------------------------

_AROUND: Final = elementwise("round", positional.around)
_FREXP: Final = elementwise("frexp", positional.frexp)


@method
def round(a: A, decimals: int = 0) -> A:
    """Round each element to a number of decimals, halves to even. Negative numbers round to tens, hundreds, …."""
    return _AROUND(a, decimals=decimals)


def around(a: A, decimals: int = 0) -> A:
    """Round each element to a number of decimals, like `round`."""
    return round(a, decimals)


def frexp(a: Any) -> tuple[Any, Any]:
    """Split each number into a mantissa, with absolute value in [0.5, 1), and an exponent of 2, a 32-bit integer."""
    return _FREXP(a)


def ndim(a: Any) -> int:
    """Return the number of axes."""
    return len(a.names) if isinstance(a, NamedArray) else len(getattr(a, "shape", ()))


def divmod(x1: Any, x2: Any) -> tuple[Any, Any]:
    """Return the quotient, rounded down, and the remainder of a division."""
    return floor_divide(x1, x2), remainder(x1, x2)


# --- Python's operators ----------------------------------------------------------------------------------------------

_OPERATORS: Final[dict[str, Callable[..., Any]]] = {
    "add": add,
    "sub": subtract,
    "mul": multiply,
    "truediv": divide,
    "floordiv": floor_divide,
    "mod": remainder,
    "divmod": divmod,
    "pow": power,
    "and": bitwise_and,
    "or": bitwise_or,
    "xor": bitwise_xor,
    "lshift": bitwise_left_shift,
    "rshift": bitwise_right_shift,
}
_COMPARISONS: Final[dict[str, Callable[..., Any]]] = {
    "lt": less,
    "le": less_equal,
    "gt": greater,
    "ge": greater_equal,
    "eq": equal,
    "ne": not_equal,
}
_UNARY_OPERATORS: Final[dict[str, Callable[..., Any]]] = {
    "neg": negative,
    "pos": positive,
    "abs": abs,
    "invert": bitwise_invert,
}


def _reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: function(other, self)


for _name, _function in (_OPERATORS | _COMPARISONS | _UNARY_OPERATORS).items():
    bind(f"__{_name}__", _function)
for _name, _function in _OPERATORS.items():
    bind(f"__r{_name}__", _reflected(_function))
bind("conj", conj)
bind("conjugate", conjugate)
bind("copy", copy)
bind("real", property(real))
bind("imag", property(imag))
