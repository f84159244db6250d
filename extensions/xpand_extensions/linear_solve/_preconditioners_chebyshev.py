"""The Chebyshev preconditioner: a polynomial of the matrix, applied by products alone."""

from typing import Any

from xpand import array_namespace
from xpand.extend import Array, checks

from ._factorization import transpose
from ._preconditioners import Preconditioner, diagonal_of, largest_eigenvalue, matrix_of


class Chebyshev(Preconditioner):
    """A polynomial in the matrix divided by its diagonal, small on its eigenvalues from `low` to `high`.

    `degree` is its degree: one less than the number of products.
    """

    __slots__ = ("degree", "high", "inverse", "low", "matrix")
    _trees = ("matrix", "inverse", "low", "high")
    _static = ("degree",)
    matrix: Any
    inverse: Array
    low: Array
    high: Array
    degree: int

    def _shape(self) -> tuple[int, ...]:
        return tuple(self.inverse.shape)

    def _applied(self, r: Array, transposed: bool) -> Array:
        matrix = transpose(self.matrix) if transposed else self.matrix
        return smoothed(matrix, self.inverse, self.low, self.high, self.degree, r, transposed)


def smoothed(
    matrix: Any, inverse: Array, low: Array, high: Array, degree: int, r: Array, transposed: bool = False
) -> Array:
    """Run Chebyshev's iteration for `matrix @ x = r`, from zero."""
    centre, width = (0.5 * (high + low))[..., None], (0.5 * (high - low))[..., None]
    if r.ndim > 1:  # columns
        centre, width, inverse = centre[..., None], width[..., None], inverse[..., None]
    rho = width / centre
    # The transpose divides by the diagonal last, not first.
    # Operands that may be traced come first: some libraries' arrays can't be combined with traced ones.
    residual = r if transposed else r * inverse
    step = residual / centre
    x = step
    for _ in range(degree):
        product = matrix @ (step * inverse) if transposed else (matrix @ step) * inverse
        residual = residual - product
        after = 1.0 / (2.0 * centre / width - rho)
        step = step * (after * rho) + residual * (2.0 * after / width)
        rho = after
        x = x + step
    return x * inverse if transposed else x


def chebyshev(A: Any, /, degree: int = 4, *, bounds: tuple[float, float] | None = None) -> Chebyshev:
    """Build the Chebyshev preconditioner of a symmetric positive definite matrix.

    Args:
        A: As in `jacobi`.
        degree: The degree of the polynomial, which is the number of products in each application.
        bounds: The smallest and the largest eigenvalue of the matrix divided by its diagonal for which the polynomial
            is made. None: the largest is estimated by twelve products, and the smallest is a thirtieth of that.

    Raises:
        TypeError: As `jacobi`.
        ValueError: As `jacobi`, a negative degree, or bounds that aren't 0 < low < high.

    Works under `jit` and `vmap`. It consists of products, which are efficient on GPUs.

    Source: Saad, Iterative Methods for Sparse Linear Systems, 12.3.

    >>> import numpy as np
    >>> A = np.asarray([[2.0, -1.0], [-1.0, 2.0]])
    >>> M = chebyshev(A, 8, bounds=(0.5, 1.5))
    >>> bool(np.max(np.abs(M(A @ np.asarray([1.0, 2.0])) - np.asarray([1.0, 2.0]))) < 1e-4)
    True
    """
    _, A = matrix_of("chebyshev", A)
    degree = checks.integer("chebyshev", "degree", degree, minimum=0)
    inverse = 1.0 / diagonal_of("chebyshev", A)
    high = largest_eigenvalue(A, inverse)
    low = high / 30.0
    given: Any = bounds
    if given is not None:
        if not isinstance(given, (tuple, list)) or len(given) != 2 or not 0 < given[0] < given[1]:
            raise ValueError(f"chebyshev: bounds must be a pair of numbers, 0 < low < high, got {given}")
        xp = array_namespace(high)
        low, high = (xp.full_like(high, float(each)) for each in given)
    return Chebyshev(A, inverse, low, high, degree)
