"""Solutions of linear systems by factors, and functions of square matrices."""

from typing import Any, Literal, NamedTuple

from xpand.extend import Array, checks as _arguments

from .._dispatch import pluggable
from . import _checks as checks


class LUFactors(NamedTuple):
    """The result of `lu_factor`, which `lu_solve` takes."""

    factors: Array
    """The upper factor; below its diagonal, the lower factor without its diagonal of ones: shape `(..., m, n)`."""
    permutation: Array
    """The row of the matrix for each row of the factors: integers, shape `(..., m)`."""


class LUResult(NamedTuple):
    """The result of `lu`: `x` with its rows permuted is `lower @ upper`."""

    permutation: Array
    """The row of `x` for each row of `lower`: integers, shape `(..., m)`."""
    lower: Array
    """Lower triangular, with ones on the diagonal: shape `(..., m, min(m, n))`."""
    upper: Array
    """Upper triangular: shape `(..., min(m, n), n)`."""


class PivotedQRResult(NamedTuple):
    """The result of `pivoted_qr`: `x` with its columns permuted is `orthogonal @ upper`."""

    orthogonal: Array
    """Orthonormal columns: shape `(..., m, k)`."""
    upper: Array
    """Upper triangular, with a diagonal that does not grow in absolute value: shape `(..., k, n)`."""
    permutation: Array
    """The column of `x` for each column of `upper`: integers, shape `(..., n)`."""


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
    """Solve `a @ x = b` or `x @ a = b` for dense triangular `a`. A zero on the diagonal gives infinities or NaN.

    `linear_solve.solve_triangular` also takes sparse matrices, and raises for zeros on the diagonal.

    Args:
        a: Square matrices, shape `(..., n, n)`, of a floating-point data type. Only one triangle is read.
        b: One vector, shape `(n,)`, or matrices, shape `(..., n, k)`, of a floating-point data type; `a` and `b` are
            promoted. Stacks of matrices broadcast.
        lower: True for the lower triangle, False for the upper one.
        transpose: Solve with the transpose of `a`.
        conjugate: Solve with the complex conjugate of `a`; with `transpose`, with its adjoint.
        unit_diagonal: Take the diagonal as ones, without reading it.
        left_side: Whether `a` is on the left. Otherwise, solve `x @ a = b` for `b` of shape `(..., k, n)`.

    Returns:
        The solution, of the shape of `b` with the stacks broadcast, and of the promoted data type. Division by a zero
        on the diagonal raises no error on any library: results that depend on it are infinite or NaN.

    Raises:
        TypeError: There is no array, arrays belong to two libraries, data types aren't floating-point, or options are
            not bools.
        ValueError: Shapes don't fit, or arrays are on two devices.

    Source: `jax.lax.linalg.triangular_solve`; `scipy.linalg.solve_triangular`, which raises for zeros.

    >>> import numpy as np
    >>> a = np.asarray([[2.0, 0.0], [1.0, 4.0]])
    >>> triangular_solve(a, np.asarray([2.0, 9.0]))
    array([1., 2.])
    >>> triangular_solve(a, np.asarray([4.0, 8.0]), transpose=True)
    array([1., 2.])
    """
    given = lower, transpose, conjugate, unit_diagonal, left_side
    implementation, convert, options = triangular_solve.planned(_check_triangular, (a, b), *given)
    a, b = convert(a, b)
    return checks.computed(implementation, a, b, **options)


def _check_triangular(
    function: str, a: Array, b: Array, lower: Any, transpose: Any, conjugate: Any, unit_diagonal: Any, left_side: Any
) -> tuple[checks.Conversion, dict[str, bool]]:
    """Check the arguments of `triangular_solve`. Return the data type to convert to, and the options."""
    convert = checks.conversion(function, _arguments.FLOATING, a=a, b=b)
    options = {
        "lower": lower,
        "transpose": transpose,
        "conjugate": conjugate,
        "unit_diagonal": unit_diagonal,
        "left_side": left_side,
    }
    for name, value in options.items():
        _arguments.boolean(function, name, value)
    size, _ = checks.matrices(function, "a", a, square=True)
    checks.check_right_hand_sides(function, a, b, size, left_side=left_side)
    return convert, options


@pluggable
def cho_solve(c: Array, b: Array, /, *, lower: bool = True) -> Array:
    """Solve `a @ x = b` for Hermitian positive definite matrices, by the factors of `xp.linalg.cholesky`.

    Args:
        c: The factors, shape `(..., n, n)`, of a floating-point data type. Lower factors have `a = c @ adjoint(c)`, and
            upper factors have `a = adjoint(c) @ c`. The other triangle isn't read.
        b: One vector, shape `(n,)`, or matrices, shape `(..., n, k)`, of a floating-point data type; `c` and `b` are
            promoted. Stacks of matrices broadcast.
        lower: Whether the factors are lower triangular.

    Returns:
        The solution, of the shape of `b` with the stacks broadcast, and of the promoted data type.

    Raises:
        TypeError: There is no array, arrays belong to two libraries, data types aren't floating-point, or `lower` is
            not a bool.
        ValueError: Shapes don't fit, or arrays are on two devices.

    Source: `scipy.linalg.cho_solve`.

    >>> import numpy as np
    >>> a = np.asarray([[4.0, 2.0], [2.0, 2.0]])
    >>> cho_solve(np.linalg.cholesky(a), np.asarray([6.0, 4.0]))
    array([1., 1.])
    """
    implementation, convert = cho_solve.planned(_check_cholesky, (c, b), lower)
    c, b = convert(c, b)
    return checks.computed(implementation, c, b, lower=lower)


def _check_cholesky(function: str, c: Array, b: Array, lower: Any) -> tuple[checks.Conversion]:
    convert = checks.conversion(function, _arguments.FLOATING, c=c, b=b)
    _arguments.boolean(function, "lower", lower)
    size, _ = checks.matrices(function, "c", c, square=True)
    checks.check_right_hand_sides(function, c, b, size)
    return (convert,)


@pluggable
def lu_factor(x: Array, /) -> LUFactors:
    """Factor matrices into a lower and an upper triangle, with row exchanges, for `lu_solve`.

    Args:
        x: Matrices, shape `(..., m, n)`, of a floating-point data type.

    Returns:
        A named tuple `(factors, permutation)`: both triangles in one array, and the permutation of the rows as
        integers. A singular matrix can be factored, too: its upper triangle has a zero on the diagonal.

    Raises:
        TypeError: `x` is not an array, or its data type isn't floating-point.
        ValueError: `x` has fewer than two axes.

    Source: `scipy.linalg.lu_factor`, which returns the exchanges one by one instead of the permutation.

    >>> import numpy as np
    >>> factors, permutation = lu_factor(np.asarray([[1.0, 3.0], [2.0, 4.0]]))
    >>> factors
    array([[2. , 4. ],
           [0.5, 1. ]])
    >>> permutation.tolist()
    [1, 0]
    """
    (implementation,) = lu_factor.planned(checks.check_one, (x,), False)
    return checks.computed(implementation, x)


@pluggable
def lu(x: Array, /) -> LUResult:
    """Factor matrices into a lower and an upper triangle, with row exchanges.

    Args:
        x: Matrices, shape `(..., m, n)`, of a floating-point data type.

    Returns:
        A named tuple `(permutation, lower, upper)`: the rows of `x`, taken in the order of the permutation, are
        `lower @ upper`. For one matrix, `xp.take(x, permutation, axis=0)` gives them.

    Raises:
        TypeError: `x` is not an array, or its data type isn't floating-point.
        ValueError: `x` has fewer than two axes.

    Source: `scipy.linalg.lu`, whose `p_indices` are the inverse permutation.

    >>> import numpy as np
    >>> x = np.asarray([[1.0, 3.0], [2.0, 4.0]])
    >>> permutation, lower, upper = lu(x)
    >>> bool(np.all(x[permutation] == lower @ upper))
    True
    """
    (implementation,) = lu.planned(checks.check_one, (x,), False)
    return checks.computed(implementation, x)


@pluggable
def lu_solve(
    factors: Array, permutation: Array, b: Array, /, *, transpose: bool = False, conjugate: bool = False
) -> Array:
    """Solve `a @ x = b` by the factors that `lu_factor` returned for `a`.

    Args:
        factors: Both triangles of square matrices, shape `(..., n, n)`, of a floating-point data type.
        permutation: Integers of shape `(..., n)`, with the stack of `factors`.
        b: One vector, shape `(n,)`, or matrices, shape `(..., n, k)`, of a floating-point data type, promoted with
            `factors`. Stacks of matrices broadcast.
        transpose: Solve with the transpose of `a`.
        conjugate: Solve with the complex conjugate of `a`; with `transpose`, with its adjoint.

    Returns:
        The solution, of the shape of `b` with the stacks broadcast, and of the promoted data type. For a singular
        matrix it is infinite or NaN.

    Raises:
        TypeError: There is no array, arrays belong to two libraries, data types have another kind, or options are not
            bools.
        ValueError: Shapes don't fit, or arrays are on two devices.

    Source: `scipy.linalg.lu_solve`.

    >>> import numpy as np
    >>> factors = lu_factor(np.asarray([[1.0, 3.0], [2.0, 4.0]]))
    >>> lu_solve(*factors, np.asarray([4.0, 6.0]))
    array([1., 1.])
    """
    implementation, convert = lu_solve.planned(_check_lu_solve, (factors, permutation, b), transpose, conjugate)
    factors, b = convert(factors, b)
    return checks.computed(implementation, factors, permutation, b, transpose=transpose, conjugate=conjugate)


def _check_lu_solve(
    function: str, factors: Array, permutation: Array, b: Array, transpose: Any, conjugate: Any
) -> tuple[checks.Conversion]:
    xp = _arguments.together(function, factors=factors, permutation=permutation, b=b)
    _arguments.dtype(function, "permutation", xp, permutation, _arguments.INTEGERS)
    convert = checks.conversion(function, _arguments.FLOATING, factors=factors, b=b)
    _arguments.boolean(function, "transpose", transpose)
    _arguments.boolean(function, "conjugate", conjugate)
    size, _ = checks.matrices(function, "factors", factors, square=True)
    if tuple(permutation.shape) != tuple(factors.shape[:-1]):
        raise ValueError(
            f"{function}: permutation must have the shape {tuple(factors.shape[:-1])}, one number for each row of "
            f"factors, got {tuple(permutation.shape)}; pass the result of lu_factor"
        )
    checks.check_right_hand_sides(function, factors, b, size)
    return (convert,)


@pluggable
def pivoted_qr(x: Array, /, *, mode: Literal["reduced", "complete"] = "reduced") -> PivotedQRResult:
    """Factor matrices into orthonormal columns and an upper triangle, with column exchanges.

    Each step takes the column with the largest part that is orthogonal to the columns before. So the number of large
    elements on the diagonal of the triangle estimates the rank.

    Args:
        x: Matrices, shape `(..., m, n)`, of a floating-point data type.
        mode: "reduced" for `k = min(m, n)` orthonormal columns, "complete" for `k = m`.

    Returns:
        A named tuple `(orthogonal, upper, permutation)`: the columns of `x`, taken in the order of the permutation, are
        `orthogonal @ upper`. Signs are those of the library's `xp.linalg.qr`. Of columns with equal norms up to
        rounding, libraries may take different ones.

    Raises:
        TypeError: `x` is not an array, or its data type isn't floating-point.
        ValueError: `x` has fewer than two axes, or `mode` is unknown.

    Derivatives keep the permutation.

    Source: `scipy.linalg.qr` with `pivoting=True`.

    >>> import numpy as np
    >>> x = np.asarray([[1.0, 3.0], [0.0, 4.0]])
    >>> orthogonal, upper, permutation = pivoted_qr(x)
    >>> permutation.tolist(), bool(np.allclose(orthogonal @ upper, x[:, permutation]))
    ([1, 0], True)
    """
    (implementation,) = pivoted_qr.planned(_check_pivoted_qr, (x,), mode)
    return checks.computed(implementation, x, mode=mode)


def _check_pivoted_qr(function: str, x: Array, mode: Any) -> tuple[()]:
    checks.check_one(function, x, False)
    _arguments.choice(function, "mode", mode, ("reduced", "complete"))
    return ()


@pluggable
def column_order(x: Array, /) -> Array:
    """Compute the permutation of `pivoted_qr`."""
    return column_order.native(x)(x)


@pluggable
def expm(x: Array, /) -> Array:
    """Compute the matrix exponential of square matrices: the sum of `x^k / k!` over all k.

    Args:
        x: Square matrices, shape `(..., n, n)`, of a floating-point data type.

    Returns:
        An array of the same shape and data type. NaN for a matrix with values that aren't finite.

    Raises:
        TypeError: `x` is not an array, or its data type isn't floating-point.
        ValueError: The matrices aren't square.

    Takes six products of matrices and a solve. From a norm of 5 on, each doubling of the norm takes one more product.

    Source: N. J. Higham, The Scaling and Squaring Method for the Matrix Exponential Revisited, SIAM J. Matrix Anal.
    Appl. 26 (2005) 1179.

    >>> import numpy as np
    >>> expm(np.asarray([[0.0, 1.0], [0.0, 0.0]]))
    array([[1., 1.],
           [0., 1.]])
    """
    (implementation,) = expm.planned(checks.check_one, (x,), True)
    return checks.computed(implementation, x)


@pluggable
def logm(x: Array, /) -> Array:
    """Compute the principal matrix logarithm of square matrices: the inverse of `expm`, with imaginary parts of
    eigenvalues between -π and π.

    Args:
        x: Square matrices, shape `(..., n, n)`, of a floating-point data type.

    Returns:
        An array of the same shape and data type. As for numbers, the logarithm of a real matrix with a negative
        eigenvalue is NaN; with a complex data type it is not. It is also NaN for a matrix with an eigenvalue of zero,
        or with values that aren't finite. (If rounding turns eigenvalues of zero into small numbers, the result may be
        finite but meaningless.)

    Raises:
        TypeError: `x` is not an array, or its data type isn't floating-point.
        ValueError: The matrices aren't square.

    Takes some tens of inversions. Derivatives are those of the logarithm, not of the steps that compute it.

    Source: N. J. Higham, Functions of Matrices, SIAM (2008), chapters 6 and 11: square roots by the Denman-Beavers
    iteration, then a Padé approximant in partial fractions.

    >>> import numpy as np
    >>> x = np.asarray([[1.0, 2.0], [0.0, 1.0]])
    >>> (logm(x) + 0.0).round(12)
    array([[0., 2.],
           [0., 0.]])
    """
    (implementation,) = logm.planned(checks.check_one, (x,), True)
    return checks.computed(implementation, x)
