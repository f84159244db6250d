"""Polynomials as arrays of coefficients, the highest power first.

NumPy removes leading zeros of some arguments and results. That depends on values: coefficients that are abstract, under
`jit` and `vmap`, keep their leading zeros, which do not change the polynomial.
"""

from functools import wraps
from typing import Any

import numpy as np

from xpand import is_concrete, polynomial
from xpand_extensions.tracing._array import concrete

from .._arguments import array, common, floating, integers, values_of
from .._table import Implementation, implements


def _coefficients(xp: Any, p: Any) -> Any:
    p = array(xp, p)
    if p.ndim > 1:
        raise ValueError(
            f"coefficients of a polynomial must have one axis, got {p.ndim}; `xpand.polynomial` takes more"
        )
    return p if p.ndim else xp.reshape(p, (1,))


def _without_leading(p: Any, is_zero: Any) -> Any:
    """Remove leading coefficients that are zero, but not the last one, if the values are concrete."""
    if not is_concrete(p):
        return p
    zeros = is_zero(np.asarray(concrete(p, "np.poly1d")))
    start = int(np.argmin(zeros)) if not zeros.all() else len(zeros) - 1
    return p[max(start, 0) :] if start > 0 else p


def _equals_zero(values: Any) -> Any:
    return values == 0


def _keeps_class(implementation: Implementation) -> Implementation:
    """Let a function return polynomials for polynomials, as NumPy's does."""

    @wraps(implementation)
    def compute(xp: Any, *args: Any, **kwargs: Any) -> Any:
        result = implementation(xp, *args, **kwargs)
        if not any(isinstance(x, np.poly1d) for x in (*args, *kwargs.values())):
            return result
        return tuple(map(np.poly1d, result)) if isinstance(result, tuple) else np.poly1d(result)

    return compute


def _of_two(name: str) -> Implementation:
    function = getattr(polynomial, name)

    @_keeps_class
    def compute(xp: Any, a1: Any, a2: Any) -> Any:
        return function(*common(xp, [_coefficients(xp, a1), _coefficients(xp, a2)]))

    return compute


implements("polyadd")(_of_two("polyadd"))
implements("polysub")(_of_two("polysub"))


@implements("polymul")
@_keeps_class
def _polymul(xp: Any, a1: Any, a2: Any) -> Any:
    factors = [_without_leading(_coefficients(xp, x), _equals_zero) for x in (a1, a2)]
    return polynomial.polymul(*common(xp, factors))


@implements("polydiv")
@_keeps_class
def _polydiv(xp: Any, u: Any, v: Any) -> Any:
    dividend, divisor = common(xp, [floating(xp, _coefficients(xp, x)) for x in (u, v)])
    if dividend.shape[0] < divisor.shape[0]:
        quotient, rest = xp.zeros((1,), dtype=dividend.dtype), dividend
    else:
        quotient, rest = polynomial.polydiv(dividend, divisor)
    return quotient, _without_leading(rest, lambda values: np.isclose(values, 0, rtol=1e-14))


@implements("polyder")
def _polyder(xp: Any, p: Any, m: Any = 1) -> Any:
    return polynomial.polyder(_multiplied(xp, _coefficients(xp, p), m), integers(m))


def _multiplied(xp: Any, p: Any, m: Any) -> Any:
    """Convert coefficients to the data type of their products with integers."""
    return xp.astype(p, np.result_type(p.dtype, np.int64), copy=False) if m else p


@implements("polyint")
def _polyint(xp: Any, p: Any, m: Any = 1, k: Any = None) -> Any:
    p, m = floating(xp, _multiplied(xp, _coefficients(xp, p), m)), integers(m)
    if k is None:
        return polynomial.polyint(p, m)
    k = _coefficients(xp, k)
    k = xp.broadcast_to(k, (m,)) if k.shape == (1,) else k
    dtype = np.result_type(p.dtype, k.dtype) if xp.is_complex(k.dtype) else p.dtype
    return polynomial.polyint(xp.astype(p, dtype, copy=False), m, k=xp.astype(k, dtype, copy=False))


@implements("polyval")
def _polyval(xp: Any, p: Any, x: Any) -> Any:
    if isinstance(x, np.poly1d):
        raise TypeError("np.polyval: x must be numbers where coefficients are traced, got a polynomial; write `p(x)`")
    p, x = common(xp, [array(xp, p), array(xp, x)])
    # NumPy's coefficients of several polynomials are along the first axis.
    return polynomial.polyval(p, x) if p.ndim == 1 else _horner(xp, p, x)


def _horner(xp: Any, p: Any, x: Any) -> Any:
    result = xp.zeros_like(x)
    for coefficient in p if isinstance(p, list) else xp.unstack(p):
        result = result * x + coefficient
    return result


# Polynomials of two variables, the lowest power first


def _of_two_variables(xp: Any, x: Any, y: Any, c: Any, axes: int) -> Any:
    """Evaluate polynomials at points with a number of axes; the first two axes of `c` are for the powers."""
    c = xp.reshape(c, tuple(c.shape) + (1,) * axes)
    columns = [[c[i, j, ...] for i in range(c.shape[0])] for j in range(c.shape[1])]
    return _horner(xp, [_horner(xp, column[::-1], x) for column in columns[::-1]], y)


@implements("polynomial.polynomial.polyval2d")
def _polyval2d(xp: Any, x: Any, y: Any, c: Any) -> Any:
    x, y, c = common(xp, [array(xp, part) + 0.0 for part in (x, y, c)])
    if x.shape != y.shape:
        raise ValueError(
            f"np.polynomial.polynomial.polyval2d: x and y must have one shape, got {x.shape} and {y.shape}"
        )
    return _of_two_variables(xp, x, y, c, x.ndim)


@implements("polynomial.polynomial.polygrid2d")
def _polygrid2d(xp: Any, x: Any, y: Any, c: Any) -> Any:
    x, y, c = common(xp, [array(xp, part) + 0.0 for part in (x, y, c)])
    return _of_two_variables(xp, xp.reshape(x, tuple(x.shape) + (1,) * y.ndim), y, c, x.ndim + y.ndim)


@implements("vander")
def _vander(xp: Any, x: Any, N: Any = None, increasing: bool = False) -> Any:
    x = array(xp, x)
    if x.ndim != 1:
        raise ValueError(f"np.vander: x must have one axis, got {x.ndim}")
    x = xp.astype(x, np.promote_types(x.dtype, int), copy=False)
    return polynomial.vander(x, integers(N), increasing=bool(increasing))


@implements("poly")
def _poly(xp: Any, seq_of_zeros: Any) -> Any:
    zeros = floating(xp, array(xp, seq_of_zeros))
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1] and zeros.shape[0]:
        zeros = xp.linalg.eigvals(zeros)
    elif zeros.ndim != 1:
        zeros = xp.reshape(zeros, (1,)) if not zeros.ndim else zeros
    result = polynomial.poly(zeros)
    if xp.is_complex(result.dtype) and is_concrete(zeros):
        values = np.asarray(concrete(zeros, "np.poly"))
        if np.all(np.sort(values) == np.sort(values.conjugate())):
            return xp.real(result)
    return result


@implements("roots")
def _roots(xp: Any, p: Any) -> Any:
    p = floating(xp, _coefficients(xp, p))
    zeros = 0
    if is_concrete(p):
        positions = np.flatnonzero(np.asarray(concrete(p, "np.roots")))
        if not len(positions):
            return xp.zeros((0,), dtype=xp.float64)
        zeros = p.shape[0] - int(positions[-1]) - 1
        p = p[int(positions[0]) : int(positions[-1]) + 1]
    result = polynomial.roots(p)
    if is_concrete(result) and not xp.is_complex(p.dtype) and not np.any(np.imag(concrete(result, "np.roots"))):
        result = xp.real(result)
    return xp.concat([result, xp.zeros((zeros,), dtype=result.dtype)]) if zeros else result


@implements("polyfit")
def _polyfit(
    xp: Any, x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    x, y = (floating(xp, part) + 0.0 for part in (x, y))
    deg = integers(deg)
    w = None if w is None else floating(xp, w)
    rcond = x.shape[0] * np.finfo(x.dtype).eps if rcond is None else rcond
    rows = polynomial.polyfit(x, y, deg, w=w, rtol=float(rcond))
    coefficients = rows.mT if y.ndim == 2 else rows
    if not full and not cov:
        return coefficients
    rows, values = polynomial.vander(x, deg + 1), y
    if w is not None:
        rows, values = rows * w[:, None], values * (w[:, None] if y.ndim == 2 else w)
    scale = xp.sqrt(xp.sum(rows * rows, axis=0))
    rest = values - rows @ coefficients
    squares = xp.sum(rest * rest, axis=0)
    if full:
        singular = xp.linalg.svdvals(rows / scale)
        rank = int(np.sum(values_of("polyfit", singular > rcond * singular[0], "omit full=True")))
        has_rest = x.shape[0] > deg + 1 and rank == deg + 1
        residuals = xp.reshape(squares, (-1,)) if has_rest else xp.zeros((0,), dtype=squares.dtype)
        return coefficients, residuals, np.int32(rank), singular, rcond
    base = xp.linalg.inv((rows / scale).mT @ (rows / scale)) / (scale[:, None] * scale)
    if cov != "unscaled":
        if x.shape[0] <= deg + 1:
            raise ValueError(
                "np.polyfit: the number of points must exceed the number of coefficients to scale the covariance matrix"
            )
        factor = squares / (x.shape[0] - deg - 1)
        return coefficients, base * factor if y.ndim == 1 else base[:, :, None] * factor
    return coefficients, base
