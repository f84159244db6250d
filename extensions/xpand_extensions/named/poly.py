"""Polynomials. Their coefficients lie along a named axis, the highest degree first.

Arguments are arrays with one axis, named or not. The axis of a result has the name that the first named argument has,
otherwise `DEFAULT_POLY_AXIS_NAME`. The module can be called like its function `poly`. Source: `haliax.poly`.
"""

from typing import Any, Final

from xpand import array_namespace, polynomial
from xpand.extend import Array

from .._modules import make_callable
from . import _axis
from ._array import NamedArray, check_rank, created
from ._axis import AxisSelector
from ._plans import array_like, array_of, as_array, check_named

__all__ = [
    "DEFAULT_POLY_AXIS_NAME",
    "poly",
    "polyadd",
    "polyder",
    "polydiv",
    "polyfit",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
    "roots",
    "trim_zeros",
    "vander",
]
__dir__ = __all__.copy

DEFAULT_POLY_AXIS_NAME: Final = "degree"
"""The name of the coefficient axis if no argument has one."""

make_callable(__name__)


def _coefficients(function: str, *arguments: Any) -> tuple[tuple[str, ...], list[Array]]:
    """Return the name of the result's axis, and the arguments as arrays with one axis."""
    named = [x for x in arguments if isinstance(x, NamedArray)]
    for x in named:
        check_rank(function, x)
        if len(x.names) != 1:
            raise ValueError(f"{function}: takes arrays of one axis, got {_axis.written(x.shape.items())}")
    values = [array_of(x) for x in arguments]
    arrays = [as_array(x, *values) for x in values]
    return named[0].names if named else (DEFAULT_POLY_AXIS_NAME,), arrays


def _computed(function: str, *arguments: Any, **params: Any) -> NamedArray:
    names, arrays = _coefficients(function, *arguments)
    return created(getattr(polynomial, function)(*arrays, **params), names)


def poly(seq_of_zeros: Any) -> NamedArray:
    """Return the coefficients of the polynomial with the given zeros.

    >>> import numpy as np
    >>> poly(NamedArray(np.asarray([1.0, 2.0]), "d"))
    NamedArray({'d': 3}, array([ 1., -3.,  2.]))
    """
    return _computed("poly", seq_of_zeros)


def polyadd(p1: Any, p2: Any) -> NamedArray:
    """Add two polynomials."""
    return _computed("polyadd", p1, p2)


def polysub(p1: Any, p2: Any) -> NamedArray:
    """Subtract the second polynomial from the first."""
    return _computed("polysub", p1, p2)


def polymul(p1: Any, p2: Any) -> NamedArray:
    """Multiply two polynomials."""
    return _computed("polymul", p1, p2)


def polydiv(p1: Any, p2: Any) -> tuple[NamedArray, NamedArray]:
    """Divide two polynomials, and return the quotient and the remainder."""
    names, arrays = _coefficients("polydiv", p1, p2)
    found = polynomial.polydiv(*arrays)
    return created(found.quotient, names), created(found.remainder, names)


def polyint(p: Any, m: int = 1, k: Any = None) -> NamedArray:
    """Integrate a polynomial `m` times, with the constants `k`, 0 by default."""
    names, (array,) = _coefficients("polyint", p)
    return created(polynomial.polyint(array, m, k=0.0 if k is None else array_of(k)), names)


def polyder(p: Any, m: int = 1) -> NamedArray:
    """Differentiate a polynomial `m` times."""
    names, (array,) = _coefficients("polyder", p)
    return created(polynomial.polyder(array, m), names)


def polyval(p: Any, x: Any) -> Any:
    """Evaluate a polynomial at each element of `x`: a named array with its axes, or an array without names."""
    _, (array,) = _coefficients("polyval", p)
    found = polynomial.polyval(array, array_like(array_of(x), array))
    return created(found, x.names) if isinstance(x, NamedArray) else found


def polyfit(
    x: Any, y: Any, deg: int, rcond: float | None = None, full: bool = False, w: Any = None, cov: bool = False
) -> Any:
    """Fit a polynomial to points, by least squares.

    Args:
        x: The points, with one axis.
        y: The values, of the same size.
        deg: The degree.
        rcond: Singular values below this fraction of the largest count as zero. By default, the size times the
            precision.
        full: Whether to also return the sum of squared residuals, the rank, the singular values and `rcond`, as arrays
            without names. The residuals are empty if the rank is deficient, or there are no more points than
            coefficients.
        w: The weights of the residuals, of the size of `x`.
        cov: Whether to also return the covariance of the coefficients, scaled by the residuals. The name of its second
            axis is that of the first with "_cov" appended.

    Raises:
        TypeError: An array that is not of a floating-point data type.
        ValueError: Arrays of several axes or of different sizes, a negative degree, or too few points for `cov`.

    >>> import numpy as np
    >>> x = NamedArray(np.asarray([0.0, 1.0, 2.0]), "x")
    >>> polyfit(x, x * 2.0 + 1.0, 1).array.round(6).tolist()
    [2.0, 1.0]
    """
    arguments = (x, y) if w is None else (x, y, w)
    names, arrays = _coefficients("polyfit", *arguments)
    weights = arrays[2] if w is not None else None
    found = polynomial.polyfit(arrays[0], arrays[1], deg, w=weights, rtol=rcond)
    if not full and not cov:
        return created(found, names)
    # Repeat the singular value decomposition of the scaled Vandermonde matrix.
    xp = array_namespace(found)
    count, order = arrays[0].shape[0], deg + 1
    rcond = count * float(xp.finfo(found.dtype).eps) if rcond is None else rcond
    matrix, rhs = polynomial.vander(arrays[0], order), arrays[1]
    if weights is not None:
        matrix, rhs = matrix * weights[:, None], rhs * weights
    scale = xp.sqrt(xp.sum(matrix * matrix, axis=0))
    scale = xp.where(scale == 0, xp.ones_like(scale), scale)
    _, s, vh = xp.linalg.svd(matrix / scale, full_matrices=False)
    used = s > rcond * s[0]
    squares = xp.sum(xp.abs(rhs - matrix @ found) ** 2, keepdims=True)
    rank = xp.count_nonzero(used)
    if full:
        complete = count > order and int(rank) == order
        return created(found, names), squares if complete else squares[:0], rank, s, rcond
    if count <= order:
        raise ValueError(f"polyfit: {count} points are too few for the covariance of {order} coefficients")
    basis = vh.T * xp.where(used, 1 / xp.where(used, s, xp.ones_like(s)), xp.zeros_like(s))
    covariance = (basis @ basis.T) / (scale[:, None] * scale) * (squares[0] / (count - order))
    return created(found, names), created(covariance, (names[0], f"{names[0]}_cov"))


def roots(p: Any) -> NamedArray:
    """Return the roots of a polynomial."""
    return _computed("roots", p)


def trim_zeros(f: Any, trim: str = "fb") -> NamedArray:
    """Remove zeros from the front ("f"), the back ("b") or both ends."""
    return _computed("trim_zeros", f, trim=trim)


def vander(x: NamedArray, degree: AxisSelector) -> NamedArray:
    """Return the Vandermonde matrix of an array with one axis.

    Args:
        x: An array with one axis.
        degree: The axis of the powers, the highest first. If it is a name, its size is that of `x`.

    Raises:
        ValueError: `x` has several axes, or its axis has the name of `degree`.
    """
    check_named("vander", "x", x)
    names, (array,) = _coefficients("vander", x)
    name, size = _axis.selector("vander", degree)
    _axis.different("vander", (*names, name))
    return created(polynomial.vander(array, array.shape[0] if size is None else size), (*names, name))
