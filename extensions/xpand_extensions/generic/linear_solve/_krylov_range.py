"""Scaling of systems with numbers so large or small that their squares overflow or underflow.

The methods solve the scaled system. The check uses the residual of the original one.
"""

from typing import Any, NamedTuple

from xpand import array_namespace, is_concrete
from xpand.extend import Array
from xpand_extensions._solver_status import Status
from xpand_extensions.linear_solve._krylov import System
from xpand_extensions.linear_solve._operators import Matrix
from xpand_extensions.linear_solve._results import norm
from xpand_extensions.sparse._containers import Sparse


class Preconditioned:
    """A system with a scaled matrix and a matching preconditioner."""

    def __init__(self, system: Any, weight: Array) -> None:
        """Take the system, its preconditioner, and the factor of the preconditioner."""
        self.system, self.weight = system, weight
        self.operator, self.basis, self.is_transposed = system.operator, system.basis, system.is_transposed
        self.is_preconditioned = True
        self.product, self.adjoint = system.product, system.adjoint

    def precondition(self, r: Array) -> Array:
        """Apply the preconditioner."""
        return _times(self.system.precondition(r), self.weight)

    def precondition_adjoint(self, r: Array) -> Array:
        """Apply the adjoint of the preconditioner."""
        return _times(self.system.precondition_adjoint(r), self.weight)


class Ranged(NamedTuple):
    """A scaled system, and the factors that undo the scaling."""

    system: Any
    weight: Array | None
    """The factor of the preconditioner; None without a factor or a preconditioner."""
    b: Array
    x0: Array
    atol: Array
    back: Array
    """The solution is multiplied by the square of this factor."""
    size: Array
    """The divisor of `b`."""
    is_far: Array
    """A mask of the systems that have been scaled."""
    is_known_finite: Array
    """A mask of the systems with only finite values."""

    def with_preconditioner(self) -> Any:
        """Return the system with its preconditioner, in the form for the methods."""
        return self.system if self.weight is None else Preconditioned(self.system, self.weight)


def in_range(system: Any, b: Array, x0: Array, atol: Array, order: int) -> Ranged:
    """Scale a system for a method that computes squares after `order` products."""
    xp = array_namespace(b)
    size, far = _scale(_largest(b, 1), xp.finfo(b.dtype), 1)
    is_finite = xp.zeros_like(far)
    of_matrix = xp.ones_like(size)
    if isinstance(system.operator, Matrix):
        matrix = system.operator.values
        largest = _largest(matrix.values, 1) if isinstance(matrix, Sparse) else _largest(matrix, 2)
        of_matrix, is_far = _scale(largest, xp.finfo(b.dtype), order)
        if not is_concrete(is_far) or bool(xp.any(is_far)):
            system = _with_matrix(system, _divided(system.operator.values, of_matrix))
            far = far | is_far
        if not system.is_preconditioned:
            is_finite = xp.isfinite(largest) & xp.all(xp.isfinite(b), axis=-1) & xp.all(xp.isfinite(x0), axis=-1)
    if is_concrete(far) and not bool(xp.any(far)):
        return Ranged(system, None, b, x0, atol, xp.ones_like(size), size, far, is_finite)
    back = xp.sqrt(size) / xp.sqrt(of_matrix)
    weight = of_matrix if system.is_preconditioned and isinstance(system.operator, Matrix) else None
    start = _times(_times(x0, 1 / back), 1 / back)
    lost = xp.all(xp.isfinite(x0), axis=-1) & ~xp.all(xp.isfinite(start), axis=-1)
    start = xp.where(lost[..., None], xp.zeros_like(start), start)
    return Ranged(system, weight, _times(b, 1 / size), start, atol / size, back, size, far, is_finite)


def out_of_range(
    ranged: Ranged, system: Any, b: Array, rtol: Array, atol: Array, matrix_size: Array | None, *found: Array
) -> tuple[Array, ...]:
    """Convert the results of a scaled system to those of the original one.

    For least squares, `matrix_size` is the norm of the scaled matrix.
    """
    xp = array_namespace(b)
    x, residual, steps, calls, status = found
    zero = xp.zeros_like(status)
    overflown = (status == int(Status.NON_FINITE)) & ranged.is_known_finite
    status = xp.where(overflown, zero + int(Status.DIVERGED), status)
    if is_concrete(ranged.is_far) and not bool(xp.any(ranged.is_far)):
        return x, residual, steps, calls, status
    far, wide = ranged.is_far, ranged.is_far[..., None]
    x = xp.where(wide, _times(_times(x, ranged.back), ranged.back), x)
    has_position = xp.all(xp.isfinite(x), axis=-1)
    x = xp.where(has_position[..., None] | ~wide, x, xp.zeros_like(x))
    missing = b - system.multiply(x)
    met = norm(missing) <= xp.maximum(rtol * norm(b), atol)
    if matrix_size is not None:
        small = _times(missing, 1 / ranged.size)
        met = met | (norm(ranged.system.adjoint(small)) <= rtol * matrix_size * norm(small))
    claimed = far & (status == int(Status.CONVERGED))
    status = xp.where(claimed & ~met, zero + int(Status.STAGNATED), status)
    status = xp.where(claimed & ~has_position, zero + int(Status.DIVERGED), status)
    return x, xp.where(wide, missing, residual), steps, calls + xp.astype(far, calls.dtype), status


def _scale(largest: Array, info: Any, order: int) -> tuple[Array, Array]:
    """Return the divisor for numbers up to `largest`, and whether they are far from 1."""
    xp = array_namespace(largest)
    low = float(info.smallest_normal) ** (0.25 / order)
    is_far = ((largest < low) | (largest > 1 / low)) & (largest > 0) & xp.isfinite(largest)
    # The inverse of the divisor must have full precision, too.
    least = 4 * float(info.smallest_normal)
    within = xp.minimum(xp.maximum(largest, xp.full_like(largest, least)), xp.full_like(largest, 1 / least))
    return xp.where(is_far, within, xp.ones_like(largest)), is_far


def _largest(x: Array, axes: int) -> Array:
    """Return the largest absolute values along the last axes; zero if these are empty."""
    xp = array_namespace(x)
    sizes = xp.abs(x)
    if 0 in x.shape[x.ndim - axes :]:
        return xp.sum(sizes, axis=tuple(range(-axes, 0)))
    return xp.max(sizes, axis=tuple(range(-axes, 0)))


def _divided(matrix: Any, sizes: Array) -> Any:
    if isinstance(matrix, Sparse):
        return matrix.with_values(_times(matrix.values, 1 / sizes))
    return _times(matrix, (1 / sizes)[..., None])


def _with_matrix(system: Any, matrix: Any) -> System:
    operator = Matrix(matrix, system.operator.symmetric, system.operator.positive_definite)
    rest = (system.preconditioner, system.basis, system.rows, system.columns, system.is_transposed)
    return System(operator, *rest)


def _times(x: Array, weights: Array) -> Array:
    """Multiply each vector by a real number."""
    xp = array_namespace(x)
    return x * xp.astype(weights, x.dtype)[..., None]
