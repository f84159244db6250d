"""Functions of one array, element by element.

They take a named array, and return one with the same axes. A number or an array without names is computed by position.
Source: the functions of the same names in NumPy.
"""

from typing import Any, TypeVar

from . import _elementwise as _elementwise  # fills the table
from ._calls import call

__all__ = [
    "abs",
    "absolute",
    "angle",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "around",
    "bitwise_count",
    "bitwise_invert",
    "bitwise_not",
    "cbrt",
    "ceil",
    "conj",
    "conjugate",
    "copy",
    "cos",
    "cosh",
    "deg2rad",
    "degrees",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "fix",
    "floor",
    "frexp",
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
    "log",
    "log10",
    "log1p",
    "log2",
    "logical_not",
    "ndim",
    "negative",
    "positive",
    "rad2deg",
    "radians",
    "real",
    "reciprocal",
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
    "tan",
    "tanh",
    "trunc",
]

A = TypeVar("A")
"""A named array, a number, or an array without names."""


def abs(a: A) -> A:
    """Compute the absolute value of each element."""
    return call.abs(a)


def absolute(a: A) -> A:
    """Compute the absolute value of each element."""
    return call.absolute(a)


def angle(a: A) -> A:
    """Compute the argument of complex numbers, in radians, of each element."""
    return call.angle(a)


def arccos(a: A) -> A:
    """Compute the inverse cosine of each element."""
    return call.arccos(a)


def arccosh(a: A) -> A:
    """Compute the inverse hyperbolic cosine of each element."""
    return call.arccosh(a)


def arcsin(a: A) -> A:
    """Compute the inverse sine of each element."""
    return call.arcsin(a)


def arcsinh(a: A) -> A:
    """Compute the inverse hyperbolic sine of each element."""
    return call.arcsinh(a)


def arctan(a: A) -> A:
    """Compute the inverse tangent of each element."""
    return call.arctan(a)


def arctanh(a: A) -> A:
    """Compute the inverse hyperbolic tangent of each element."""
    return call.arctanh(a)


def bitwise_count(a: A) -> A:
    """Count the bits that are 1 in each element."""
    return call.bitwise_count(a)


def bitwise_invert(a: A) -> A:
    """Compute the bitwise complement of each element."""
    return call.bitwise_invert(a)


def bitwise_not(a: A) -> A:
    """Compute the bitwise complement of each element."""
    return call.bitwise_not(a)


def cbrt(a: A) -> A:
    """Compute the cube root of each element."""
    return call.cbrt(a)


def ceil(a: A) -> A:
    """Round each element up to an integer."""
    return call.ceil(a)


def conj(a: A) -> A:
    """Compute the complex conjugate of each element."""
    return call.conj(a)


def conjugate(a: A) -> A:
    """Compute the complex conjugate of each element."""
    return call.conjugate(a)


def copy(a: A) -> A:
    """Return a copy of an array."""
    return call.copy(a)


def cos(a: A) -> A:
    """Compute the cosine of each element."""
    return call.cos(a)


def cosh(a: A) -> A:
    """Compute the hyperbolic cosine of each element."""
    return call.cosh(a)


def deg2rad(a: A) -> A:
    """Convert degrees to radians."""
    return call.deg2rad(a)


def degrees(a: A) -> A:
    """Convert radians to degrees."""
    return call.degrees(a)


def exp(a: A) -> A:
    """Compute the exponential of each element."""
    return call.exp(a)


def exp2(a: A) -> A:
    """Compute 2 to the power of each element."""
    return call.exp2(a)


def expm1(a: A) -> A:
    """Compute the exponential of each element, minus 1."""
    return call.expm1(a)


def fabs(a: A) -> A:
    """Compute the absolute value of each element."""
    return call.fabs(a)


def fix(a: A) -> A:
    """Compute the integer next to it towards zero of each element."""
    return call.fix(a)


def floor(a: A) -> A:
    """Round each element down to an integer."""
    return call.floor(a)


def i0(a: A) -> A:
    """Compute the modified Bessel function of the first kind, of order 0, for each element."""
    return call.i0(a)


def imag(a: A) -> A:
    """Return the imaginary part of each element; zero for real numbers."""
    return call.imag(a)


def invert(a: A) -> A:
    """Compute the bitwise complement of each element."""
    return call.invert(a)


def iscomplex(a: A) -> A:
    """Return whether the imaginary part of each element isn't zero."""
    return call.iscomplex(a)


def isfinite(a: A) -> A:
    """Return whether each element is neither infinite nor NaN."""
    return call.isfinite(a)


def isinf(a: A) -> A:
    """Return whether each element is infinite."""
    return call.isinf(a)


def isnan(a: A) -> A:
    """Return whether each element is NaN."""
    return call.isnan(a)


def isneginf(a: A) -> A:
    """Return whether each element is negative infinity."""
    return call.isneginf(a)


def isposinf(a: A) -> A:
    """Return whether each element is positive infinity."""
    return call.isposinf(a)


def isreal(a: A) -> A:
    """Return whether the imaginary part of each element is zero."""
    return call.isreal(a)


def log(a: A) -> A:
    """Compute the natural logarithm of each element."""
    return call.log(a)


def log10(a: A) -> A:
    """Compute the decimal logarithm of each element."""
    return call.log10(a)


def log1p(a: A) -> A:
    """Compute log(1 + a) of each element."""
    return call.log1p(a)


def log2(a: A) -> A:
    """Compute the binary logarithm of each element."""
    return call.log2(a)


def logical_not(a: A) -> A:
    """Compute the logical not of each element."""
    return call.logical_not(a)


def negative(a: A) -> A:
    """Compute the negative of each element."""
    return call.negative(a)


def positive(a: A) -> A:
    """Return each element unchanged."""
    return call.positive(a)


def rad2deg(a: A) -> A:
    """Convert radians to degrees."""
    return call.rad2deg(a)


def radians(a: A) -> A:
    """Convert degrees to radians."""
    return call.radians(a)


def real(a: A) -> A:
    """Return the real part of each element."""
    return call.real(a)


def reciprocal(a: A) -> A:
    """Compute the reciprocal of each element."""
    return call.reciprocal(a)


def rint(a: A) -> A:
    """Round each element to the nearest integer, to the even one of two."""
    return call.rint(a)


def rsqrt(a: A) -> A:
    """Compute the reciprocal of the square root of each element."""
    return call.rsqrt(a)


def sign(a: A) -> A:
    """Compute the sign of each element: -1, 0 or 1, and the direction of a complex number."""
    return call.sign(a)


def signbit(a: A) -> A:
    """Return whether the sign bit of each element is set."""
    return call.signbit(a)


def sin(a: A) -> A:
    """Compute the sine of each element."""
    return call.sin(a)


def sinc(a: A) -> A:
    """Compute the normalized sinc function of each element: sin(pi a) / (pi a)."""
    return call.sinc(a)


def sinh(a: A) -> A:
    """Compute the hyperbolic sine of each element."""
    return call.sinh(a)


def square(a: A) -> A:
    """Compute the square of each element."""
    return call.square(a)


def sqrt(a: A) -> A:
    """Compute the square root of each element."""
    return call.sqrt(a)


def tan(a: A) -> A:
    """Compute the tangent of each element."""
    return call.tan(a)


def tanh(a: A) -> A:
    """Compute the hyperbolic tangent of each element."""
    return call.tanh(a)


def trunc(a: A) -> A:
    """Compute the integer next to it towards zero of each element."""
    return call.trunc(a)


def round(a: A, decimals: int = 0) -> A:
    """Round each element to a number of decimals, the even one of two; negative ones round to tens, hundreds, …."""
    return call.round(a, decimals=decimals)


def around(a: A, decimals: int = 0) -> A:
    """Round each element to a number of decimals, as `round` does."""
    return call.round(a, decimals=decimals)


def frexp(a: Any) -> tuple[Any, Any]:
    """Split each number into a mantissa of absolute value in [0.5, 1) and an exponent of 2, a 32-bit integer."""
    return call.frexp(a)


def ndim(a: Any) -> int:
    """Return the number of axes."""
    return call.ndim(a)
