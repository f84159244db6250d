"""Sorting in descending order with a library's stable ascending sort, and the functions for unique values.

To keep the order of equal elements, as `stable` requires, reverse the array before the sort, and again after it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from ..typing import Array, LibraryNamespace, Namespace

_LAST_BACKWARDS = (..., slice(None, None, -1))


def _reverse(x: Array, axis: int, xp: LibraryNamespace) -> Array:
    return x[_LAST_BACKWARDS] if axis == -1 else xp.flip(x, axis)


def sort_descending(x: Array, axis: int, xp: Namespace, sort: Callable[[Array], Array]) -> Array:
    """Return `x` in descending order along an axis; `sort` sorts along this axis in ascending order."""
    return _reverse(sort(_reverse(x, axis, xp)), axis, xp)


def argsort_descending(x: Array, axis: int, xp: LibraryNamespace, argsort: Callable[[Array], Array]) -> Array:
    """Return the indices that sort `x` in descending order along an axis; `argsort` is for ascending order."""
    order = argsort(_reverse(x, axis, xp))
    return _reverse(xp.subtract(x.shape[axis] - 1, order, out=order), axis, xp)


class UniqueAllResult(NamedTuple):
    """The unique values, their first indices, the indices that rebuild the input, and the counts."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCountsResult(NamedTuple):
    """The unique values and their counts."""

    values: Array
    counts: Array


class UniqueInverseResult(NamedTuple):
    """The unique values and the indices that rebuild the input."""

    values: Array
    inverse_indices: Array


def unique_functions(unique: Callable[..., Any]) -> tuple[Callable[[Array], Any], ...]:
    """Make `unique_all`, `unique_counts`, `unique_inverse` and `unique_values` from a library's `unique`.

    In all four functions, "each nan value should be counted as a distinct value".
    """

    def unique_all(x: Array, /) -> UniqueAllResult:
        """Return the unique values in ascending order, their first indices, the inverse indices, and the counts."""
        return UniqueAllResult(*unique(x, True, True, True, equal_nan=False))

    def unique_counts(x: Array, /) -> UniqueCountsResult:
        """Return the unique values in ascending order, and their counts."""
        return UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False))

    def unique_inverse(x: Array, /) -> UniqueInverseResult:
        """Return the unique values in ascending order, and the indices that rebuild `x`."""
        return UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False))

    def unique_values(x: Array, /) -> Array:
        """Return the unique values in ascending order."""
        return unique(x, equal_nan=False)

    return unique_all, unique_counts, unique_inverse, unique_values
