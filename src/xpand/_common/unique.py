"""What the functions `unique_*` of the namespaces return."""

from typing import NamedTuple

from xpand._typing import Array


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
