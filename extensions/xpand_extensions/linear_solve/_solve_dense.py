"""The fast path for one dense system with concrete values: one call of the library, without general checks."""

from typing import Any, Final

from xpand import array_namespace, is_concrete, library_name
from xpand.extend import Array, checks

from .._dispatch import pluggable
from ._results import SolveResult, result_of

RTOL: Final = 1e-8
_METHODS: Final = frozenset({"auto", "lu", "direct"})


def default_rtol(eps: float) -> float:
    """Return the default tolerance of a solution from the data type's `eps`."""
    return max(RTOL, 100 * eps)


def solve_if_dense(A: Any, b: Any, method: Any, rtol: Any, atol: Any) -> SolveResult | None:
    """Solve one concrete dense square system by LU factors; return None for all other systems."""
    cls = type(A)
    if cls is not type(b) or type(method) is not str or method not in _METHODS:
        return None
    if not ((rtol is None or (type(rtol) is float and rtol >= 0)) and type(atol) is float and atol >= 0):
        return None
    if not checks.is_array(A) or hasattr(cls, "_namespace") or A.dtype != b.dtype:  # `_namespace`: a traced array
        return None
    shape = A.shape
    if len(shape) != 2 or shape[0] != shape[1] or b.ndim not in (1, 2) or b.shape[0] != shape[0]:
        return None
    if not (is_concrete(A) and is_concrete(b)):
        return None
    found = solve_dense.native(A, b)(A, b, rtol, atol)
    return None if found is None else result_of(f"lu ({library_name(array_namespace(A))})", *found)


@pluggable
def solve_dense(a: Array, b: Array, rtol: float | None, atol: float, /) -> tuple[Array, ...] | None:
    """Solve one concrete dense system by LU, and determine its status, in one call of the library.

    Args:
        a: A matrix, of shape `(n, n)`.
        b: A vector, of shape `(n,)`, or a matrix of columns, `(n, k)`, of the same data type.
        rtol: The tolerance relative to `b`; None for the default of `solve`.
        atol: The absolute tolerance.

    Returns:
        The fields of a `SolveResult`; None if the library has no faster way for this system.

    >>> import numpy as np
    >>> solve_dense(np.asarray([[2.0, 1.0], [1.0, 3.0]]), np.asarray([3.0, 4.0]), None, 0.0)[0]
    array([1., 1.])
    """
    return solve_dense.native(a, b)(a, b, rtol, atol)
