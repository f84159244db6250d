"""Derivatives of solutions with respect to parameters, by the implicit function theorem."""

from collections.abc import Callable
from functools import partial
from typing import Any

from xpand.extend import Array

from .._dispatch import pluggable
from ..autodiff._root import custom_root


@pluggable
def tangent_of(linear: Callable[[Array], Array], y: Array, /, *, is_symmetric: bool = False) -> Array:
    """Solve the linear equations for the derivative of a solution.

    Args:
        linear: A linear function of vectors, `(*batch, n)`, of independent problems.
        y: The right-hand sides.
        is_symmetric: Whether the matrices of the function are symmetric.

    Small systems are solved by their matrix, large ones by products with vectors alone, to 1e-10. Solutions of singular
    systems, and of those that fail, are NaN.

    >>> import numpy as np
    >>> tangent_of(lambda x: 2 * x, np.asarray([1.0, 3.0]))
    array([0.5, 1.5])
    """
    return tangent_of.native(y)(linear, y, is_symmetric=is_symmetric)


def implicit(
    condition: Callable[..., Array],
    start: Array,
    solve: Callable[..., tuple[Array, Any]],
    args: tuple[Any, ...],
    tangent_solve: Callable[..., Array] | None = None,
    is_symmetric: bool = False,
) -> tuple[Array, Any]:
    """Solve a problem by any method, and differentiate the solution implicitly by the condition that it meets.

    Args:
        condition: The function that is zero at the solution; takes it and the parameters.
        start: The starting point, on which the solution does not depend.
        solve: Takes the starting point and the parameters; returns the solution and auxiliary data.
        args: The parameters.
        tangent_solve: Solves a linear equation, given by a function of vectors; None: as `tangent_of`.
        is_symmetric: Whether the derivative of the condition is symmetric, as of a gradient.
    """
    tangent_solve = partial(tangent_of, is_symmetric=is_symmetric) if tangent_solve is None else tangent_solve
    found, aux = custom_root(condition, start, solve=solve, tangent_solve=tangent_solve, args=args, has_aux=True)
    return found, aux
