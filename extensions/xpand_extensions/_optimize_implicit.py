"""Derivatives of solutions with respect to parameters, by the implicit function theorem."""

from collections.abc import Callable
from typing import Any

from xpand import _arguments, array_namespace
from xpand._typing import Array

from .vmap import vmap

Condition = Callable[..., Array]
"""Takes vectors of shape `(*batch, n)` and parameters; returns what is zero at the solution, of the same shape."""


def implicit(
    condition: Condition, start: Array, solve: Callable[..., tuple[Array, Any]], args: tuple[Any, ...]
) -> tuple[Array, Any]:
    """Solve a problem by any means, so that the derivatives of the solution are those of the condition that it meets.

    Args:
        condition: What is zero at the solution.
        start: Where to begin, which the solution does not depend on.
        solve: Takes the beginning and the parameters; returns the solution and anything beside it.
        args: The parameters.
    """
    return solve(start, *args)


def by_blocks(linear: Callable[[Array], Array], y: Array) -> Array:
    """Solve linear equations for several problems that don't depend on each other, by the matrix of each."""
    xp = array_namespace(y)
    matrix = matrix_of(linear, y)
    return xp.linalg.solve(matrix, y[..., None])[..., 0]


def matrix_of(linear: Callable[[Array], Array], like: Array) -> Array:
    """Make the matrices of a linear function of vectors, shape `(*batch, n, n)`, by its values for unit vectors."""
    xp = array_namespace(like)
    n = like.shape[-1]
    units = xp.eye(n, dtype=like.dtype, device=_arguments.device_of(like))
    columns = vmap(lambda unit: linear(unit + xp.zeros_like(like)))(units)
    return array_namespace(columns).moveaxis(columns, 0, -1)
