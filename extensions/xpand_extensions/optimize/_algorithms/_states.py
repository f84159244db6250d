"""Code that the states of all methods share: the first values of their common fields, and the status after a step."""

from typing import Any

from xpand import array_namespace
from xpand.extend import Array

from ..._solver_status import Status
from .._results import RUNNING, status_like
from ._vectors import eps_of, full_like, largest


def first_fields(x: Array, optimality: Array, tolerance: Array, valid: Array, *sizes: Array) -> dict[str, Any]:
    """Return the fields that all states have, before the first step.

    Args:
        x: The starting points.
        optimality: The quantity compared with the tolerance.
        tolerance: The tolerance.
        valid: Whether the starting point and the values there are finite.
        *sizes: Absolute values at the starting point. Points and values that grow far beyond them and `x` diverge.
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
