"""The functions `unique_*`, for libraries with a `unique` like NumPy's."""

from typing import NamedTuple

from .._typing import Array, Namespace


class UniqueAllResult(NamedTuple):
    """The unique values, the index of the first of each, the indices that rebuild the input, the counts."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCountsResult(NamedTuple):
    """The unique values and how often each occurs."""

    values: Array
    counts: Array


class UniqueInverseResult(NamedTuple):
    """The unique values and the indices that rebuild the input."""

    values: Array
    inverse_indices: Array


def unique_all(x: Array, xp: Namespace) -> UniqueAllResult:
    """The unique values in ascending order, the index of the first of each, the indices that rebuild `x`, the counts.

    Each NaN is a value of its own: "each nan value should be counted as a distinct value", as in all four functions.
    """
    return UniqueAllResult(*xp.unique(x, True, True, True, equal_nan=False))


def unique_counts(x: Array, xp: Namespace) -> UniqueCountsResult:
    """The unique values in ascending order and how often each occurs."""
    return UniqueCountsResult(*xp.unique(x, return_counts=True, equal_nan=False))


def unique_inverse(x: Array, xp: Namespace) -> UniqueInverseResult:
    """The unique values in ascending order and the indices, in the shape of `x`, that rebuild it from them."""
    return UniqueInverseResult(*xp.unique(x, return_inverse=True, equal_nan=False))


def unique_values(x: Array, xp: Namespace) -> Array:
    """The unique values, in ascending order."""
    return xp.unique(x, equal_nan=False)
