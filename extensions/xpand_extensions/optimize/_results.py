"""Results of optimizers."""

from typing import Any, Final, NamedTuple

from xpand import array_namespace, trees
from xpand._typing import Array

from .._solver_status import Status, codes_of, summary

RUNNING: Final = -1
"""The status of a problem that has not ended; none that is returned has it."""


class OptimizeResult(NamedTuple):
    """How each of several problems ended, `(*batch)` of them: a tree of arrays, which `jit`, `vmap` and others take."""

    x: trees.Tree
    """The last iterate: a tree like the one to begin with."""
    fun: trees.Tree
    """The value of the function at `x`: numbers, of shape `(*batch)`, or for root finders residuals."""
    optimality: Array
    """The quantity that the tolerance is for, as each function documents, recomputed for `x`: shape `(*batch)`."""
    iterations: Array
    """How many steps were taken: integers of shape `(*batch)`."""
    function_evaluations: Array
    """How often the function was called for the problem, before it ended."""
    gradient_evaluations: Array
    """How often its derivative was: its gradient, its Jacobian, or a product with the Hessian."""
    status: Array
    """How it ended: `Status`, as integers of shape `(*batch)`."""
    trajectory: "OptimizeResult | None" = None
    """For `max_steps` a sequence: the results after that many steps each, stacked along a new first axis. Its
    points are constants to derivatives."""

    @property
    def converged(self) -> Array:
        """Return which problems converged: booleans, of shape `(*batch)`."""
        return array_namespace(self.status).equal(self.status, int(Status.CONVERGED))

    @property
    def message(self) -> str:
        """How the problems ended, in words; under `jit` and for lazy arrays that is not known yet."""
        codes = codes_of(self.status)
        return "not known before the arrays are computed" if codes is None else summary(codes)


def status_like(x: Array, status: int) -> Any:
    """Fill an array like another with a status."""
    xp = array_namespace(x)
    return xp.full_like(x, int(status), dtype=xp.int32)
