"""Results of optimizers."""

from typing import Any, Final, NamedTuple

from xpand import array_namespace, trees
from xpand.extend import Array

from .._display import as_html, as_text, result_rows
from .._elsewhere import not_an_array
from .._solver_status import Status, codes_of, summary

RUNNING: Final = -1
"""The status of a running problem; no result has it."""

_HIDDEN: Final = ("status", "trajectory")
"""Fields that a summary omits. The message includes the status."""


class History(NamedTuple):
    """Values before the first iteration and after each iteration, along a last axis; NaN after the last iteration."""

    objective: Array
    """The quantity to minimize: the value of the function, or the norm of the residuals."""
    optimality: Array
    """The quantity compared with the tolerance."""


@not_an_array
class OptimizeResult(NamedTuple):
    """The results of a batch of problems: a tree of arrays, which passes through every transformation."""

    x: trees.Tree
    """The last iterate: a tree like the starting point."""
    fun: trees.Tree
    """The value of the function at `x`: numbers, of shape `(*batch)`, or residuals."""
    optimality: Array
    """The quantity compared with the tolerance, recomputed at `x`, of shape `(*batch)`. See each function."""
    iterations: Array
    """The number of steps: integers of shape `(*batch)`."""
    function_evaluations: Array
    """The number of evaluations of the function."""
    gradient_evaluations: Array
    """The number of evaluations of derivatives: the gradient, the Jacobian, or a product with the Hessian."""
    status: Array
    """The `Status` codes: integers of shape `(*batch)`."""
    history: History | None = None
    """With `record_history`: values of each iteration, of shape `(*batch, iterations + 1)`, or if values are abstract,
    `(*batch, max_steps + 1)`."""
    trajectory: "OptimizeResult | None" = None
    """If `max_steps` is a sequence: the results after each number of steps, stacked along a new first axis.

    Its points are constants for differentiation.
    """

    @property
    def converged(self) -> Array:
        """Return whether each problem converged: booleans, of shape `(*batch)`."""
        return array_namespace(self.status).equal(self.status, int(Status.CONVERGED))

    @property
    def message(self) -> str:
        """A summary of the status in words, which is not known yet under `jit` and for lazy arrays."""
        codes = codes_of(self.status)
        return "not known before the arrays are computed" if codes is None else summary(codes)

    def __str__(self) -> str:
        """Summarize the result, one field per line."""
        return as_text(f"OptimizeResult: {self.message}", result_rows(self, _HIDDEN))

    def _repr_html_(self) -> str:
        return as_html(f"OptimizeResult: {self.message}", result_rows(self, _HIDDEN))


def status_like(x: Array, status: int) -> Any:
    """Return an array with the shape of another, filled with a status."""
    xp = array_namespace(x)
    return xp.full_like(x, int(status), dtype=xp.int32)
