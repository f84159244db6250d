"""Sorting in descending order with a library's stable ascending sort.

Sorting the reversed array and reversing the result keeps equal elements in their order, as the standard asks of
`stable`, which reversing the sorted array alone would not.
"""

from collections.abc import Callable

from .._typing import Array, Namespace

_LAST_BACKWARDS = (..., slice(None, None, -1))


def _reverse(x: Array, axis: int, xp: Namespace) -> Array:
    return x[_LAST_BACKWARDS] if axis == -1 else xp.flip(x, axis)


def sort_descending(x: Array, axis: int, xp: Namespace, sort: Callable[[Array], Array]) -> Array:
    """`x` in descending order along an axis; `sort` sorts along it in ascending order."""
    return _reverse(sort(_reverse(x, axis, xp)), axis, xp)


def argsort_descending(x: Array, axis: int, xp: Namespace, argsort: Callable[[Array], Array]) -> Array:
    """The indices that sort `x` in descending order along an axis; `argsort` gives those for ascending order."""
    order = argsort(_reverse(x, axis, xp))
    return _reverse(xp.subtract(x.shape[axis] - 1, order, out=order), axis, xp)
