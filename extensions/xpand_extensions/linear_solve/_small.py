"""Small dense systems, of which the checks would take longer than the solution."""

from typing import Final, NamedTuple

from xpand._typing import Array

from .._dispatch import pluggable

MOST: Final = 32
"""The most unknowns. For so few the inverse, for an exact condition number, takes no longer than an estimate."""


class Small(NamedTuple):
    """What `solve_small` returns."""

    x: Array
    residual: Array
    residual_norm: Array
    status: Array


@pluggable
def solve_small(a: Array, b: Array, rtol: Array, atol: Array, /) -> Small | None:
    """Solve one dense system of known values by triangles, and judge the solution, in as few calls as can be.

    Args:
        a: A matrix, of shape `(n, n)`.
        b: A vector, of shape `(n,)` and the same floating-point data type.
        rtol: The tolerance relative to `b`, real, of shape `()`.
        atol: The absolute one.

    Returns:
        The solution with what is missing and a `Status` code; None where it isn't small, isn't plain, or where the
        library has no such way, so that the long one is to be gone.

    >>> import numpy as np
    >>> tolerance = np.asarray(1e-8)
    >>> solve_small(np.asarray([[2.0, 1.0], [1.0, 3.0]]), np.asarray([3.0, 4.0]), tolerance, tolerance).x
    array([1., 1.])
    """
    return solve_small.native(a, b)(a, b, rtol, atol)
