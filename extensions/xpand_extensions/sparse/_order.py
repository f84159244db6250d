"""The order of the entries of sparse containers: sorting them, and finding those at one position."""

from collections.abc import Sequence
from functools import reduce
from math import prod
from operator import and_
from typing import Final

from xpand.extend import Array, Namespace

_MOST_KEYS: Final = 2**63 - 1


def keys(xp: Namespace, coords: Sequence[Array], sizes: Sequence[int]) -> list[Array]:
    """Return keys that order entries: one integer array where one can hold the position, else the coordinates
    themselves.
    """
    if prod(sizes) > _MOST_KEYS or len(coords) == 1:
        return list(coords)
    return [joined_index([xp.astype(x, xp.int64) for x in coords], sizes)]


def joined_index(coords: Sequence[Array], sizes: Sequence[int]) -> Array:
    """Return one number for each position, in the order of elements with the last axis fastest."""
    index = coords[0]
    for x, size in zip(coords[1:], sizes[1:]):
        index = index * size + x
    return index


def sorting(xp: Namespace, coords: Sequence[Array], sizes: Sequence[int]) -> Array:
    """Return the indices that bring entries into the order of their positions; equal ones stay as they were."""
    order: Array | None = None
    for key in reversed(keys(xp, coords, sizes)):
        given = key if order is None else xp.take_along_axis(key, order, axis=-1)
        step = xp.argsort(given, axis=-1, stable=True)
        order = step if order is None else xp.take_along_axis(order, step, axis=-1)
    assert order is not None, "containers have a sparse axis"
    return order


def falls(xp: Namespace, coords: Sequence[Array]) -> bool:
    """Tell whether an entry has a position before that of the entry before it."""
    same: Array | None = None
    fallen: Array | None = None
    for x in coords:
        before, after = x[..., :-1], x[..., 1:]
        less = after < before
        less = less if same is None else same & less
        fallen = less if fallen is None else fallen | less
        same = after == before if same is None else same & (after == before)
    return bool(xp.any(fallen))


def equal_neighbours(xp: Namespace, coords: Sequence[Array]) -> Array:
    """Tell of each entry but the first whether it has the position of the one before."""
    return reduce(and_, [x[..., 1:] == x[..., :-1] for x in coords])


def duplicated(xp: Namespace, coords: Sequence[Array], sizes: Sequence[int], is_sorted: bool) -> bool:
    """Tell whether two entries have the same position."""
    found = keys(xp, coords, sizes)
    if not is_sorted:
        if len(found) == 1:
            found = [xp.sort(found[0], axis=-1)]
        else:
            order = sorting(xp, coords, sizes)
            found = [xp.take_along_axis(x, order, axis=-1) for x in found]
    return bool(xp.any(equal_neighbours(xp, found)))
