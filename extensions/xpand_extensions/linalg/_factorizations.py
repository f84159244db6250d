"""Systems of equations by factors: triangular, Cholesky, LU; least squares."""

from typing import Any, NamedTuple

from xpand import _arguments, array_namespace
from xpand._typing import Array

from .._dispatch import pluggable
from . import _checks as checks


class LUFactors(NamedTuple):
    """What `lu_factor` returns, and `lu_solve` takes."""

    factors: Array
    """The upper factor, and below its diagonal the lower one without its diagonal of ones: shape `(..., m, n)`."""
    permutation: Array
    """Which row of the matrix each row of the factors is of: integers, shape `(..., m)`."""


class LUResult(NamedTuple):
    """What `lu` returns: `x` with its rows permuted is `lower @ upper`."""

    permutation: Array
    """Which row of `x` each row of `lower` is of: integers, shape `(..., m)`."""
    lower: Array
    """Lower triangular, with ones on the diagonal: shape `(..., m, min(m, n))`."""
    upper: Array
    """Upper triangular: shape `(..., min(m, n), n)`."""


class LeastSquares(NamedTuple):
    """What `lstsq` returns."""

    solution: Array
    """The `x` of least norm among those that make `a @ x - b` smallest: shape `(..., n, k)`, or `(..., n)`."""
    residuals: Array
    """Sums of squares of `a @ x - b` over the rows, real: shape `(..., k)`, or `(...)`."""
    rank: Array
    """How many singular values count as different from zero: integers, shape `(...)`."""
    singular_values: Array
    """All singular values, in descending order, real: shape `(..., min(m, n))`."""


@pluggable
def triangular_solve(
    a: Array,
    b: Array,
    /,
    *,
    lower: bool = True,
    transpose: bool = False,
    conjugate: bool = False,
    unit_diagonal: bool = False,
    left_side: bool = True,
) -> Array:
    """Solve `a @ x = b` for triangular matrices `a`.

    Args:
        a: Square matrices, shape `(..., n, n)`, of a floating-point data type. Only one triangle is read.
        b: One vector, shape `(n,)`, or matrices, shape `(..., n, k)`, of a floating-point data type; the two are
            promoted. Stacks of matrices broadcast.
        lower: Which triangle: the lower one, else the upper one.
        transpose: Solve with the transpose of `a`.
        conjugate: Solve with the complex conjugate of `a`; with `transpose` too, with its adjoint.
        unit_diagonal: Take the diagonal to be ones, and don't read it.
        left_side: Whether `a` stands on the left. Otherwise `x @ a = b` is solved, for `b` of shape `(..., k, n)`.

    Returns:
        The solution, of the shape of `b` with the stacks broadcast, and the promoted data type. A zero on the diagonal
        is divided by as other numbers are: what depends on it is infinite or NaN, on every library, and no error.

    Raises:
        TypeError: No array, arrays of two libraries, data types that aren't floating-point, options that are no bools.
        ValueError: Shapes that don't fit, arrays on two devices.

    Source: `jax.lax.linalg.triangular_solve`; `scipy.linalg.solve_triangular`, which raises for zeros.

    >>> import numpy as np
    >>> a = np.asarray([[2.0, 0.0], [1.0, 4.0]])
    >>> triangular_solve(a, np.asarray([2.0, 9.0]))
    array([1., 2.])
    >>> triangular_solve(a, np.asarray([4.0, 8.0]), transpose=True)
    array([1., 2.])
    """
    a, b = checks.alike("triangular_solve", _arguments.FLOATING, a=a, b=b)
    options = {
        "lower": lower,
        "transpose": transpose,
        "conjugate": conjugate,
        "unit_diagonal": unit_diagonal,
        "left_side": left_side,
    }
    for name, value in options.items():
        _arguments.boolean("triangular_solve", name, value)
    size, _ = checks.matrices("triangular_solve", "a", a, square=True)
    checks.right_sides("triangular_solve", a, b, size, left_side=left_side)
    return checks.computed(triangular_solve.native(a, b), a, b, **options)


@pluggable
def cho_solve(c: Array, b: Array, /, *, lower: bool = True) -> Array:
    """Solve `a @ x = b` for Hermitian positive definite matrices, by the factors that `xp.linalg.cholesky` gives.

    Args:
        c: The factors, shape `(..., n, n)`, of a floating-point data type: lower ones, `a = c @ adjoint(c)`, of which
            the upper triangle isn't read; or upper ones, `a = adjoint(c) @ c`.
        b: One vector, shape `(n,)`, or matrices, shape `(..., n, k)`, of a floating-point data type; the two are
            promoted. Stacks of matrices broadcast.
        lower: Whether the factors are lower triangular.

    Returns:
        The solution, of the shape of `b` with the stacks broadcast, and the promoted data type.

    Raises:
        TypeError: No array, arrays of two libraries, data types that aren't floating-point, `lower` no bool.
        ValueError: Shapes that don't fit, arrays on two devices.

    Source: `scipy.linalg.cho_solve`.

    >>> import numpy as np
    >>> a = np.asarray([[4.0, 2.0], [2.0, 2.0]])
    >>> cho_solve(np.linalg.cholesky(a), np.asarray([6.0, 4.0]))
    array([1., 1.])
    """
    c, b = checks.alike("cho_solve", _arguments.FLOATING, c=c, b=b)
    _arguments.boolean("cho_solve", "lower", lower)
    size, _ = checks.matrices("cho_solve", "c", c, square=True)
    checks.right_sides("cho_solve", c, b, size)
    return checks.computed(cho_solve.native(c, b), c, b, lower=lower)


@pluggable
def lu_factor(x: Array, /) -> LUFactors:
    """Factor matrices into a lower and an upper triangle, with exchange of rows, for `lu_solve`.

    Args:
        x: Matrices, shape `(..., m, n)`, of a floating-point data type.

    Returns:
        A named tuple `(factors, permutation)`: both triangles in one array, and integers that say how the rows were
        permuted. A singular matrix is factored as well: its upper triangle has a zero on the diagonal.

    Raises:
        TypeError: No array, or a data type that isn't floating-point.
        ValueError: No matrices.

    Source: `scipy.linalg.lu_factor`, which returns the exchanges one by one instead of the permutation.

    >>> import numpy as np
    >>> factors, permutation = lu_factor(np.asarray([[1.0, 3.0], [2.0, 4.0]]))
    >>> factors
    array([[2. , 4. ],
           [0.5, 1. ]])
    >>> permutation.tolist()
    [1, 0]
    """
    checks.alike("lu_factor", _arguments.FLOATING, x=x)
    checks.matrices("lu_factor", "x", x)
    return checks.computed(lu_factor.native(x), x)


@pluggable
def lu(x: Array, /) -> LUResult:
    """Factor matrices into a lower and an upper triangle, with exchange of rows.

    Args:
        x: Matrices, shape `(..., m, n)`, of a floating-point data type.

    Returns:
        A named tuple `(permutation, lower, upper)`: the rows of `x`, taken in the order of the permutation, are
        `lower @ upper`. For one matrix, `xp.take(x, permutation, axis=0)` gives them.

    Raises:
        TypeError: No array, or a data type that isn't floating-point.
        ValueError: No matrices.

    Source: `scipy.linalg.lu`, whose `p_indices` are the inverse permutation.

    >>> import numpy as np
    >>> x = np.asarray([[1.0, 3.0], [2.0, 4.0]])
    >>> permutation, lower, upper = lu(x)
    >>> bool(np.all(x[permutation] == lower @ upper))
    True
    """
    checks.alike("lu", _arguments.FLOATING, x=x)
    checks.matrices("lu", "x", x)
    return checks.computed(lu.native(x), x)


@pluggable
def lu_solve(
    factors: Array, permutation: Array, b: Array, /, *, transpose: bool = False, conjugate: bool = False
) -> Array:
    """Solve `a @ x = b` by what `lu_factor` returned for `a`.

    Args:
        factors: Both triangles of square matrices, shape `(..., n, n)`, of a floating-point data type.
        permutation: Integers of shape `(..., n)`, the stack being that of `factors`.
        b: One vector, shape `(n,)`, or matrices, shape `(..., n, k)`, of a floating-point data type, promoted with
            `factors`. Stacks of matrices broadcast.
        transpose: Solve with the transpose of `a`.
        conjugate: Solve with the complex conjugate of `a`; with `transpose` too, with its adjoint.

    Returns:
        The solution, of the shape of `b` with the stacks broadcast, and the promoted data type. For a singular matrix
        it is infinite or NaN.

    Raises:
        TypeError: No array, arrays of two libraries, data types of another kind, options that are no bools.
        ValueError: Shapes that don't fit, arrays on two devices.

    Source: `scipy.linalg.lu_solve`.

    >>> import numpy as np
    >>> factors = lu_factor(np.asarray([[1.0, 3.0], [2.0, 4.0]]))
    >>> lu_solve(*factors, np.asarray([4.0, 6.0]))
    array([1., 1.])
    """
    xp = _arguments.namespace_of("lu_solve", factors=factors, permutation=permutation, b=b)
    _arguments.one_device("lu_solve", factors=factors, permutation=permutation, b=b)
    _arguments.dtype("lu_solve", "permutation", xp, permutation, _arguments.INTEGERS)
    factors, b = checks.alike("lu_solve", _arguments.FLOATING, factors=factors, b=b)
    _arguments.boolean("lu_solve", "transpose", transpose)
    _arguments.boolean("lu_solve", "conjugate", conjugate)
    size, _ = checks.matrices("lu_solve", "factors", factors, square=True)
    if tuple(permutation.shape) != tuple(factors.shape[:-1]):
        raise ValueError(
            f"lu_solve: permutation must have the shape {tuple(factors.shape[:-1])}, one number for each row of "
            f"factors, got {tuple(permutation.shape)}; pass what lu_factor returned"
        )
    checks.right_sides("lu_solve", factors, b, size)
    solve = lu_solve.native(factors, permutation, b)
    return checks.computed(solve, factors, permutation, b, transpose=transpose, conjugate=conjugate)


@pluggable
def lstsq(a: Array, b: Array, /, *, rtol: float | None = None) -> LeastSquares:
    """Find the solutions of `a @ x = b` by least squares: of those that fit best, the one of least norm.

    Args:
        a: Matrices, shape `(..., m, n)`, of a floating-point data type and any rank.
        b: One vector, shape `(m,)`, or matrices, shape `(..., m, k)`, of a floating-point data type; the two are
            promoted. Stacks of matrices broadcast.
        rtol: Singular values up to `rtol` times the largest count as zero. Left out: `max(m, n)` times the data
            type's `eps`.

    Returns:
        A named tuple `(solution, residuals, rank, singular_values)`. The residuals are there for every rank and shape,
        unlike those of `numpy.linalg.lstsq`. For a matrix or right sides with values that aren't finite, the results
        are NaN and the rank 0.

    Raises:
        TypeError: No array, arrays of two libraries, data types that aren't floating-point, `rtol` no number.
        ValueError: Shapes that don't fit, a negative `rtol`, arrays on two devices.

    The solution is differentiable where the rank doesn't change.

    Source: `numpy.linalg.lstsq`; the derivative: G. H. Golub and V. Pereyra, SIAM J. Numer. Anal. 10 (1973) 413.

    >>> import numpy as np
    >>> a = np.asarray([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> result = lstsq(a, np.asarray([1.0, 3.0, 5.0]))
    >>> result.solution.round(12)
    array([1., 2.])
    >>> int(result.rank)
    2
    """
    a, b = checks.alike("lstsq", _arguments.FLOATING, a=a, b=b)
    rows, _ = checks.matrices("lstsq", "a", a)
    checks.right_sides("lstsq", a, b, rows)
    rtol = _tolerance("lstsq", rtol)
    xp = array_namespace(a)
    if rtol is None and checks.narrow(xp, a.dtype):
        rtol = max(a.shape[-2:]) * float(xp.finfo(a.dtype).eps)  # not that of float32, in which it is computed
    return checks.computed(lstsq.native(a, b), a, b, rtol=rtol)


def _tolerance(function: str, rtol: Any) -> float | None:
    if rtol is None:
        return None
    if isinstance(rtol, bool) or not isinstance(rtol, (int, float)):
        raise TypeError(f"{function}: rtol must be a number or None, got {rtol!r}")
    if not rtol >= 0:
        raise ValueError(f"{function}: rtol must be at least 0, got {rtol}")
    return float(rtol)
