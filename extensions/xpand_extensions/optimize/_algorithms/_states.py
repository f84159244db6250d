"""States of methods: their common fields, their status, and loops of steps."""

from typing import Any

from xpand import array_namespace, is_concrete, trees
from xpand.extend import Array

from ..._solver_status import Status
from ...control_flow import while_loop
from .._results import RUNNING, status_like
from ._vectors import eps_of, full_like, largest


def first_fields(x: Array, optimality: Array, tolerance: Array, valid: Array, *sizes: Array) -> dict[str, Any]:
    """Return the common fields of all states, before the first step.

    Args:
        x: The starting points.
        optimality: The quantity compared with the tolerance.
        tolerance: The tolerance.
        valid: Whether the starting point and the values there are finite.
        *sizes: Absolute values at the starting point. An iteration that grows far beyond these and `x` diverges.
    """
    xp = array_namespace(x, optimality)
    scale = full_like(optimality, 1.0)
    for size in (largest(x), *sizes):
        scale = xp.maximum(scale, size)
    one = xp.ones_like(optimality, dtype=xp.int32)
    return {
        "optimality": optimality,
        "tolerance": tolerance,
        "reach": eps_of(xp, x.dtype) ** -1.5 * xp.where(xp.isfinite(scale), scale, full_like(scale, 1.0)),
        "iterations": 0 * one,
        "function_evaluations": one,
        "status": updated(
            status_like(optimality, RUNNING), (optimality <= tolerance, Status.CONVERGED), (~valid, Status.NON_FINITE)
        ),
    }


def updated(status: Array, *cases: tuple[Array, Status]) -> Array:
    """Set the status where a condition holds; later cases override earlier ones."""
    xp = array_namespace(status, *[condition for condition, _ in cases])
    for condition, case in cases:
        status = xp.where(condition, xp.full_like(status, int(case)), status)
    return status


def is_known(state: trees.Tree) -> bool:
    """Return whether all values of a state are concrete."""
    return all(is_concrete(x) for x in trees.leaves(state))


def _any_of(active: Array) -> Array:
    """Return whether any problem of a batch is running, as an array of shape ()."""
    return array_namespace(active).any(active) if active.ndim else active


def stepped(step: Any, state: trees.Tree, running: Any, callback: Any) -> trees.Tree:
    """Take steps in a Python loop."""
    while bool(_any_of(running(state))):
        state = step(state)
        if callback is not None and callback(state):
            break
    return state


def looped(step: Any, state: trees.Tree, running: Any, callback: Any, max_iter: int | None = None) -> trees.Tree:
    """Take steps in a loop that can be traced; `max_iter` is for libraries that need a bound."""
    if callback is not None:
        raise ValueError(
            "iterate: a callback needs the values of the arrays, which under jit, vmap and derivatives, and for lazy "
            "arrays, are not known; leave it out, or ask for a trajectory with a sequence of max_steps"
        )
    return while_loop(lambda carried: _any_of(running(carried)), step, state, max_iter=max_iter)
