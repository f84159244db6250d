"""A fast path for small dense systems, whose checks would take longer than the solution."""

from typing import Any, Final

from xpand import _arguments, array_namespace, is_concrete, library_name
from xpand._typing import Array

from .._dispatch import pluggable
from ..tracing._core import TracedArray
from ._results import SolveResult, result_of

MOST: Final = 32
"""The largest number of unknowns. Up to it the exact condition number, by the inverse, is as fast as an estimate."""

RTOL: Final = 1e-8
_METHODS: Final = frozenset({"auto", "lu", "direct"})


def default_rtol(eps: float) -> float:
    """Return the default tolerance of a solution from the data type's `eps`."""
    return max(RTOL, 100 * eps)


def solve_if_small(A: Any, b: Any, method: Any, rtol: Any, atol: Any) -> SolveResult | None:
    """Solve one small concrete dense system by LU; return None for any other arguments."""
    cls = type(A)
    if cls is not type(b) or type(method) is not str or method not in _METHODS:
        return None
    if not ((rtol is None or (type(rtol) is float and rtol >= 0)) and type(atol) is float and atol >= 0):
        return None
    if not _arguments.is_array(A) or isinstance(A, TracedArray) or A.dtype != b.dtype:
        return None
    shape = A.shape
    if len(shape) != 2 or b.shape != shape[:1] or shape[0] != shape[1] or shape[0] > MOST:
        return None
    if not (is_concrete(A) and is_concrete(b)):
        return None
    found = solve_small.native(A, b)(A, b, rtol, atol)
    return None if found is None else result_of(f"lu ({library_name(array_namespace(A))})", *found)


@pluggable
def solve_small(a: Array, b: Array, rtol: float | None, atol: float, /) -> tuple[Array, ...] | None:
    """Solve one concrete dense system by LU, and determine its status, in as few calls as possible.

    Args:
        a: A matrix, of shape `(n, n)`.
        b: A vector, of shape `(n,)` and the same data type.
        rtol: The tolerance relative to `b`; None for the default of `solve`.
        atol: The absolute tolerance.

    Returns:
        The fields of a `SolveResult`; None where the system isn't small or isn't plain, or the library has no fast
        path, so that the general path is needed.

    >>> import numpy as np
    >>> solve_small(np.asarray([[2.0, 1.0], [1.0, 3.0]]), np.asarray([3.0, 4.0]), None, 0.0)[0]
    array([1., 1.])
    """
    return solve_small.native(a, b)(a, b, rtol, atol)
