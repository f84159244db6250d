"""Krylov methods on flat vectors: the linear system, and the operation that libraries may implement."""

from typing import Any, NamedTuple

from xpand import array_namespace, trees
from xpand.extend import Array

from .. import autodiff
from .._dispatch import pluggable
from ._operators import LinearOperator, Matrix
from ._preconditioners import Preconditioner
from ._vectors import Vectors, conj


class System:
    """A linear system on flat vectors, with its preconditioner: a tree.

    `product` multiplies by A, or by its transpose if `is_transposed`; `adjoint` by the adjoint of that operator.
    """

    __slots__ = ("basis", "columns", "is_transposed", "operator", "preconditioner", "rows")

    def __init__(
        self,
        operator: Matrix | LinearOperator,
        preconditioner: Any,
        basis: Array | None,
        rows: Vectors,
        columns: Vectors,
        is_transposed: bool = False,
    ) -> None:
        """Store the parts. `basis` holds orthonormal vectors of the null space, (..., k, n)."""
        self.operator, self.preconditioner, self.basis = operator, preconditioner, basis
        self.rows, self.columns, self.is_transposed = rows, columns, is_transposed

    def transposed(self) -> "System":
        """Return the transposed system."""
        return System(self.operator, self.preconditioner, self.basis, self.rows, self.columns, not self.is_transposed)

    @property
    def functions(self) -> tuple[Any, ...]:
        """Return the user functions; None for a missing function."""
        return *self.operator.functions, *filter(callable, trees.leaves(self.preconditioner))

    @property
    def is_preconditioned(self) -> bool:
        """Whether there is a preconditioner."""
        return self.preconditioner is not None

    def product(self, x: Array) -> Array:
        """Multiply by the operator."""
        if self.is_transposed:
            return self._regularized(self.operator._product_transposed(x, self.rows, self.columns), x)
        return self._regularized(self.operator._product(x, self.rows, self.columns), x)

    def multiply(self, x: Array) -> Array:
        """Multiply by the given operator, which may be singular."""
        return System(self.operator, None, None, self.rows, self.columns, self.is_transposed).product(x)

    def adjoint(self, y: Array) -> Array:
        """Multiply by the adjoint operator."""
        return conj(self.transposed().product(conj(y)))

    def precondition(self, r: Array) -> Array:
        """Apply the preconditioner."""
        if self.preconditioner is None:
            return r
        return self._transposed_preconditioner(r) if self.is_transposed else self._preconditioner(r)

    def precondition_adjoint(self, r: Array) -> Array:
        """Apply the adjoint of the preconditioner."""
        return r if self.preconditioner is None else conj(self.transposed().precondition(conj(r)))

    def _preconditioner(self, r: Array) -> Array:
        given = self.preconditioner
        if isinstance(given, Preconditioner) and not self.rows.is_columns:
            return given(r, axis=-1)
        return self.columns.flat("solve: preconditioner must return", given(self.rows.tree(r)))

    def _transposed_preconditioner(self, r: Array) -> Array:
        given = getattr(self.preconditioner, "transposed", None)
        if isinstance(self.preconditioner, Preconditioner) and not self.rows.is_columns:
            return self.preconditioner.transposed(r, axis=-1)
        if given is not None:
            found = given(self.columns.tree(r))
        elif self.operator.symmetric:
            return conj(self._preconditioner(conj(r)))
        else:
            (found,) = autodiff.linear_transpose(self.preconditioner, self.rows.example(r))(self.columns.tree(r))
        return self.rows.flat("solve: the transposed of preconditioner must return", found)

    def _regularized(self, product: Array, x: Array) -> Array:
        """Make an operator with a given null space regular: there it becomes the identity."""
        if self.basis is None:
            return product
        basis = conj(self.basis) if self.is_transposed else self.basis
        return product + along(basis, x)


def _flatten(a: System) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    # The functions are leaves, like those of preconditioners: transformations look for arrays that leaves capture.
    return (a.operator.functions, a.operator, a.preconditioner, a.basis), (a.rows, a.columns, a.is_transposed)


def _unflatten(static: tuple[Any, ...], children: Any) -> System:
    functions, operator, *rest = children
    if isinstance(operator, LinearOperator):
        operator = operator._with_functions(*functions)
    return System(operator, *rest, *static)


trees.register(System, _flatten, _unflatten)


def along(basis: Array, x: Array) -> Array:
    """Project vectors onto the space of an orthonormal basis, (..., k, n)."""
    xp = array_namespace(x)
    weights = xp.matmul(conj(basis), x[..., None])
    return xp.matmul(xp.matrix_transpose(basis), weights)[..., 0]


class Found(NamedTuple):
    """The result of `krylov`, with an additional first axis for the requested numbers of steps."""

    x: Array
    """Flat solutions, (..., n)."""
    residual: Array
    """The recomputed residual."""
    steps: Array
    """The number of steps."""
    calls: Array
    """The number of products."""
    status: Array
    """`Status` codes."""
    history: Any = ()
    """The norm of the residual after each step, if it is recorded."""


@pluggable
def krylov(
    b: Array,
    x0: Array,
    rtol: Array,
    atol: Array,
    /,
    *,
    system: System,
    method: str,
    order: int = 0,
    stops: tuple[int, ...] = (1,),
    record: bool = False,
) -> Found:
    """Solve a system of flat vectors by a Krylov method.

    Args:
        b: Right-hand sides, `(*batch, m)`.
        x0: The starting points, `(*batch, n)`.
        rtol: Tolerances relative to `b`, real, that broadcast to the batch.
        atol: Absolute tolerances, real, that broadcast to the batch.
        system: The system.
        method: The name of the method, without its order.
        order: The number of directions per step, or of steps until a restart.
        stops: The numbers of steps after which results are returned, in ascending order; the last is the maximum.
        record: Whether to record the norm of the residual after each step, which needs one number of steps.

    `linear_solve.solve` calls this function after checking the arguments.

    >>> import numpy as np
    >>> from ..linear_solve import solve
    >>> solve(np.asarray([[2.0, 0.0], [0.0, 4.0]]), np.asarray([2.0, 4.0]), method="cg").x
    array([1., 1.])
    """
    native = krylov.native(b)
    return native(b, x0, rtol, atol, system=system, method=method, order=order, stops=stops, record=record)
