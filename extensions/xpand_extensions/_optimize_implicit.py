"""Derivatives of solutions with respect to parameters, by the implicit function theorem."""

from collections.abc import Callable
from typing import Any

from xpand import array_namespace
from xpand._typing import Array

from ._autodiff_root import custom_root
from ._optimize_residuals import matrix_of


def by_blocks(linear: Callable[[Array], Array], y: Array) -> Array:
    """Solve linear equations for several problems that don't depend on each other, by the matrix of each."""
    return array_namespace(y).linalg.solve(matrix_of(linear, y), y[..., None])[..., 0]


def implicit(
    condition: Callable[..., Array],
    start: Array,
    solve: Callable[..., tuple[Array, Any]],
    args: tuple[Any, ...],
    tangent_solve: Callable[..., Array] = by_blocks,
) -> tuple[Array, Any]:
    """Solve a problem by any means, so that the derivatives of the solution are those of the condition that it meets.

    Args:
        condition: What is zero at the solution; takes it and the parameters.
        start: Where to begin, which the solution does not depend on.
        solve: Takes the beginning and the parameters; returns the solution and anything beside it.
        args: The parameters.
        tangent_solve: Solves a linear equation, given by a function of vectors.
    """
    found, beside = custom_root(condition, start, solve=solve, tangent_solve=tangent_solve, args=args, has_aux=True)
    return found, beside
