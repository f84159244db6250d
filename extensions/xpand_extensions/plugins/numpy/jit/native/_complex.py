"""LLVM instructions for complex numbers: pairs of real numbers, combined like in NumPy's loops."""

from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np
from llvmlite import ir

from ._ufuncs import fused, is_same, samples

Pair: TypeAlias = tuple[Any, Any]
"""The real and the imaginary part."""
Formula: TypeAlias = Callable[..., Pair]
"""A function of a builder and of complex numbers."""


def parts(b: ir.IRBuilder, x: Any) -> Pair:
    """Return the parts of a complex number in a register."""
    return b.extract_value(x, 0), b.extract_value(x, 1)


def joined(b: ir.IRBuilder, re: Any, im: Any) -> Any:
    """Make a complex number from its parts."""
    kind = ir.LiteralStructType([re.type, im.type])
    return b.insert_value(b.insert_value(ir.Constant(kind, ir.Undefined), re, 0), im, 1)


def intrinsic(b: ir.IRBuilder, name: str, *values: Any) -> Any:
    """Call one of LLVM's functions of real numbers."""
    kind = values[0].type
    function = ir.FunctionType(kind, [kind] * len(values))
    return b.call(b.module.declare_intrinsic(f"llvm.{name}", [kind], function), values)


class _OfArrays:
    """The methods of LLVM's builder that formulas use, for arrays, to compare formulas with NumPy's functions."""

    fadd, fsub, fmul, fdiv, fneg = np.add, np.subtract, np.multiply, np.divide, np.negative
    and_, select = np.logical_and, staticmethod(np.where)

    @staticmethod
    def fcmp_ordered(sign: str, x: Any, y: Any) -> Any:
        return {">=": np.greater_equal, "==": np.equal}[sign](x, y)


def _fma(b: Any, x: Any, y: Any, z: Any) -> Any:
    return fused(x, y, z) if isinstance(b, _OfArrays) else intrinsic(b, "fma", x, y, z)


def _fabs(b: Any, x: Any) -> Any:
    return np.abs(x) if isinstance(b, _OfArrays) else intrinsic(b, "fabs", x)


def _number(b: Any, value: float, like: Any) -> Any:
    return like.dtype.type(value) if isinstance(b, _OfArrays) else ir.Constant(like.type, value)


def _fused_product(b: Any, x: Pair, y: Pair) -> Pair:
    """Compute each part with a fused multiply-add, which rounds one of the two products together with the sum."""
    (re, im), (u, v) = x, y
    return _fma(b, re, u, b.fneg(b.fmul(im, v))), _fma(b, re, v, b.fmul(im, u))


def _product(b: Any, x: Pair, y: Pair) -> Pair:
    (re, im), (u, v) = x, y
    return b.fsub(b.fmul(re, u), b.fmul(im, v)), b.fadd(b.fmul(re, v), b.fmul(im, u))


def _quotient(b: Any, x: Pair, y: Pair) -> Pair:
    """Divide by the larger part of the divisor first (Smith's Algorithm 116, 1962), or by zero."""
    (re, im), (u, v) = x, y
    is_first = b.fcmp_ordered(">=", _fabs(b, u), _fabs(b, v))
    large, small = b.select(is_first, u, v), b.select(is_first, v, u)
    zero = _number(b, 0.0, u)
    is_zero = b.and_(is_first, b.and_(b.fcmp_ordered("==", u, zero), b.fcmp_ordered("==", v, zero)))
    one = _number(b, 1.0, u)
    ratio = b.fdiv(small, b.select(is_zero, one, large))
    scale = b.fdiv(one, b.select(is_zero, zero, b.fadd(large, b.fmul(small, ratio))))
    p, q = b.select(is_first, re, im), b.select(is_first, im, re)
    product = b.fmul(p, ratio)
    total = b.fadd(p, b.fmul(q, ratio))
    difference = b.fsub(b.select(is_first, q, product), b.select(is_first, product, q))
    return (
        b.fmul(b.select(is_zero, re, total), scale),
        b.fmul(b.select(is_zero, im, difference), scale),
    )


_FORMULAS: Final[dict[str, tuple[Formula, ...]]] = {
    "divide": (_quotient,),
    "multiply": (_fused_product, _product),
    "square": (lambda b, x: _fused_product(b, x, x), lambda b, x: _product(b, x, x)),
}
"""The formulas of NumPy's functions. On some processors, products and sums are rounded together."""


@cache
def _formula(name: str, code: str) -> Formula | None:
    """Return the formula with the values of NumPy's function, or None."""
    function, dtype = getattr(np, name), np.dtype(code)
    for formula in _FORMULAS[name]:
        # For large and special numbers, the sums for the comparison are not exact.
        special = formula is _quotient
        given = [samples(dtype, number) if special else _ordinary(dtype, number) for number in range(function.nin)]
        with np.errstate(all="ignore"):
            found = np.empty(given[0].shape, dtype)
            found.real, found.imag = formula(_OfArrays(), *[(x.real, x.imag) for x in given])
            if is_same(found, function(*given)):
                return formula
    return None


def _ordinary(dtype: np.dtype[Any], seed: int) -> Any:
    return np.random.default_rng(seed).normal(size=400).view(np.complex128).astype(dtype)


def _each_part(name: str) -> Callable[..., Any]:
    def of_parts(b: Any, dtype: Any, *given: Any) -> Any:
        pairs = [parts(b, x) for x in given]
        return joined(b, *[getattr(b, name)(*each) for each in zip(*pairs)])

    return of_parts


def _equal(b: Any, dtype: Any, x: Any, y: Any) -> Any:
    (re, im), (u, v) = parts(b, x), parts(b, y)
    return b.and_(b.fcmp_ordered("==", re, u), b.fcmp_ordered("==", im, v))


def _against_infinity(sign: str, combine: str) -> Callable[..., Any]:
    def compare(b: Any, dtype: Any, x: Any) -> Any:
        found = [b.fcmp_ordered(sign, _fabs(b, each), ir.Constant(each.type, float("inf"))) for each in parts(b, x)]
        return getattr(b, combine)(*found)

    return compare


def _conjugate(b: Any, dtype: Any, x: Any) -> Any:
    re, im = parts(b, x)
    return joined(b, re, b.fneg(im))


_INSTRUCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "add": _each_part("fadd"),
    "conj": _conjugate,
    "equal": _equal,
    "isfinite": _against_infinity("<", "and_"),
    "isinf": _against_infinity("==", "or_"),
    "isnan": lambda b, dtype, x: b.fcmp_unordered("uno", *parts(b, x)),
    "negative": _each_part("fneg"),
    "not_equal": lambda b, dtype, x, y: b.not_(_equal(b, dtype, x, y)),
    "positive": lambda b, dtype, x: x,
    "subtract": _each_part("fsub"),
}


def complex_instructions(name: str, code: str) -> Callable[..., Any] | None:
    """Return the instructions of an operation on complex numbers, or None if no formula gives NumPy's values."""
    if name not in _FORMULAS:
        return _INSTRUCTIONS.get(name)
    formula = _formula(name, code)
    return formula and (lambda b, dtype, *given: joined(b, *formula(b, *[parts(b, x) for x in given])))
