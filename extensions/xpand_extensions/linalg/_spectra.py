"""Schur forms, and what is computed with them: square roots of matrices and Sylvester equations."""

from typing import NamedTuple

from xpand import array_namespace
from xpand.extend import Array, checks as _arguments

from .._dispatch import pluggable
from . import _checks as checks


class SchurResult(NamedTuple):
    """The result of `schur`: `x` is `unitary @ triangle @ adjoint(unitary)`."""

    triangle: Array
    """Upper triangular, with the eigenvalues of `x` on the diagonal: shape `(..., n, n)`, complex."""
    unitary: Array
    """Orthonormal columns. `x` maps the span of the first k to itself, for each k: shape `(..., n, n)`, complex."""


@pluggable
def schur(x: Array, /) -> SchurResult:
    """Compute the complex Schur form of square matrices: an upper triangle, and the unitary matrix that leads to it.

    Args:
        x: Square matrices, shape `(..., n, n)`, of a floating-point data type.

    Returns:
        A named tuple `(triangle, unitary)`, of the complex data type with the precision of `x`. The order of the
        eigenvalues, and the phases of the columns, are those of the library. NaN for a matrix with values that aren't
        finite. (The real Schur form is not available: the number and sizes of its blocks depend on values.)

    Raises:
        TypeError: `x` is not an array, or its data type isn't floating-point.
        ValueError: The matrices aren't square.

    NumPy and JAX on a CPU use LAPACK, PyTorch on a CPU too if SciPy is installed. Otherwise a QR iteration takes about
    three factorizations for each eigenvalue. Derivatives exist where eigenvalues differ; they keep the phases such that
    the change of each column is orthogonal to it. They are NaN at equal eigenvalues.

    Source: `scipy.linalg.schur` with `output="complex"`.

    >>> import numpy as np
    >>> x = np.asarray([[0.0, 2.0], [-2.0, 0.0]])
    >>> triangle, unitary = schur(x)
    >>> bool(np.allclose(unitary @ triangle @ unitary.conj().T, x))
    True
    """
    (implementation,) = schur.planned(checks.check_one, (x,), True)
    xp = array_namespace(x)
    if not checks.narrow(xp, x.dtype):
        return implementation(x)
    return implementation(xp.astype(x, xp.float32))  # no library has complex numbers of 16 bits


@pluggable
def schur_factors(x: Array, /) -> SchurResult:
    """Compute `schur` for complex matrices without derivatives. Matrices that aren't finite may give anything."""
    return schur_factors.native(x)(x)


@pluggable
def sqrtm(x: Array, /) -> Array:
    """Compute the principal square root of square matrices: its eigenvalues have no negative real parts.

    Args:
        x: Square matrices, shape `(..., n, n)`, of a floating-point data type.

    Returns:
        An array of the same shape and data type. As for numbers, the root of a real matrix with a negative eigenvalue
        is NaN; with a complex data type it is not. Eigenvalues up to n rounding errors of the norm count as 0, so the
        root of a real singular covariance is real. NaN for a matrix with values that aren't finite.

    Raises:
        TypeError: `x` is not an array, or its data type isn't floating-point.
        ValueError: The matrices aren't square.

    Takes a Schur form, and n triangular systems. The derivative solves a Sylvester equation with the root. At singular
    matrices it is infinite or NaN.

    Source: `scipy.linalg.sqrtm`; Å. Björck and S. Hammarling, Linear Algebra Appl. 52/53 (1983) 127.

    >>> import numpy as np
    >>> sqrtm(np.asarray([[5.0, 4.0], [4.0, 5.0]])).round(12)
    array([[2., 1.],
           [1., 2.]])
    """
    (implementation,) = sqrtm.planned(checks.check_one, (x,), True)
    return checks.computed(implementation, x)


@pluggable
def solve_sylvester(a: Array, b: Array, q: Array, /) -> Array:
    """Solve the Sylvester equation `a @ x + x @ b = q`.

    Args:
        a: Square matrices, shape `(..., m, m)`, of a floating-point data type.
        b: Square matrices, shape `(..., n, n)`.
        q: Matrices, shape `(..., m, n)`. Data types are promoted, and stacks broadcast.

    Returns:
        The solution, shape `(..., m, n)`, of the promoted data type. If an eigenvalue of `a` is that of `-b`, there is
        no solution or more than one: the result is infinite or NaN, or large by rounding.

    Raises:
        TypeError: There is no array, arrays belong to two libraries, or data types aren't floating-point.
        ValueError: Shapes don't fit, or arrays are on two devices.

    Takes two Schur forms, and n triangular systems of size m. `b = adjoint(a)` is the continuous Lyapunov equation.

    Source: `scipy.linalg.solve_sylvester`; R. H. Bartels and G. W. Stewart, Commun. ACM 15 (1972) 820.

    >>> import numpy as np
    >>> a, b = np.asarray([[1.0, 1.0], [0.0, 2.0]]), np.asarray([[3.0]])
    >>> solve_sylvester(a, b, np.asarray([[6.0], [10.0]])).round(12)
    array([[1.],
           [2.]])
    """
    name = "solve_sylvester"
    convert = checks.conversion(name, _arguments.FLOATING, a=a, b=b, q=q)
    m, _ = checks.matrices(name, "a", a, square=True)
    n, _ = checks.matrices(name, "b", b, square=True)
    if checks.matrices(name, "q", q) != (m, n):
        raise ValueError(
            f"{name}: q must have the shape (..., {m}, {n}) for a of shape {tuple(a.shape)} and b of shape "
            f"{tuple(b.shape)}, got {tuple(q.shape)}"
        )
    checks.stacks(name, a=tuple(a.shape[:-2]), b=tuple(b.shape[:-2]), q=tuple(q.shape[:-2]))
    a, b, q = convert(a, b, q)
    return checks.computed(solve_sylvester.native(a, b, q), a, b, q)
