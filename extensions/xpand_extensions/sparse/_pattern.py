"""Computations with the patterns of sparse arrays: find duplicates, match the entries of two arrays, select entries.

Their results are then applied to the values. So values have derivatives, and a known pattern is processed once, outside
of compiled functions.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod
from operator import and_
from typing import Any, NamedTuple

from xpand import array_namespace
from xpand.extend import Array, Namespace, checks

from .. import scatter
from .._bounds import index_dtype
from .._dispatch import pluggable


def keys(xp: Namespace, coords: Sequence[Array], sizes: Sequence[int]) -> list[Array]:
    """Return sort keys: one integer array if integers are wide enough to number the positions, else the coordinates."""
    if len(coords) == 1 or prod(sizes) > checks.integer_range(xp, index_dtype(xp))[1]:
        return list(coords)
    return [joined_index([xp.astype(x, index_dtype(xp)) for x in coords], sizes)]


def joined_index(coords: Sequence[Array], sizes: Sequence[int]) -> Array:
    """Number positions in row-major order."""
    index = coords[0]
    for x, size in zip(coords[1:], sizes[1:]):
        index = index * size + x
    return index


def sorting(xp: Namespace, coords: Sequence[Array], sizes: Sequence[int]) -> Array:
    """Return the indices that sort entries by position, with a stable sort."""
    order: Array | None = None
    for key in reversed(keys(xp, coords, sizes)):
        given = key if order is None else xp.take_along_axis(key, order, axis=-1)
        step = xp.argsort(given, axis=-1, stable=True)
        order = step if order is None else xp.take_along_axis(order, step, axis=-1)
    assert order is not None, "containers have a sparse axis"
    return order


def falls(xp: Namespace, coords: Sequence[Array]) -> bool:
    """Return whether entries are not sorted by position."""
    same: Array | None = None
    fallen: Array | None = None
    for x in coords:
        before, after = x[..., :-1], x[..., 1:]
        less = after < before
        less = less if same is None else same & less
        fallen = less if fallen is None else fallen | less
        same = after == before if same is None else same & (after == before)
    return fallen is not None and bool(xp.any(fallen))


def equal_neighbours(coords: Sequence[Array]) -> Array:
    """Return, for each entry after the first, whether it has the same position as its predecessor."""
    return reduce(and_, [x[..., 1:] == x[..., :-1] for x in coords])


def duplicated(xp: Namespace, coords: Sequence[Array], sizes: Sequence[int], is_sorted: bool) -> bool:
    """Return whether two entries have the same position."""
    found = keys(xp, coords, sizes)
    if not is_sorted:
        if len(found) == 1:
            found = [xp.sort(found[0], axis=-1)]
        else:
            order = sorting(xp, coords, sizes)
            found = [xp.take_along_axis(x, order, axis=-1) for x in found]
    return bool(xp.any(equal_neighbours(found)))


Coords = tuple[Array, ...]


@pluggable
def eagerly(function: Callable[..., Any], /, *arrays: Array) -> Any:
    """Call a function of concrete arrays now, even inside compiled functions, where JAX would only record the call.

    Args:
        function: Takes arrays of any library, and returns a tree of arrays and numbers.
        *arrays: One or more concrete arrays.

    >>> import numpy as np
    >>> eagerly(lambda x: int(x[-1]), np.asarray([1, 2]))
    2
    """
    return eagerly.native(*arrays)(function, *arrays)


@pluggable
def are_concrete(*arrays: Array) -> bool:
    """Return whether `eagerly` can read the values of all arrays (one or more).

    >>> import numpy as np
    >>> are_concrete(np.asarray([1, 2]))
    True
    """
    return are_concrete.native(*arrays)(*arrays)


def pattern_work(function: Callable[..., Any], *arrays: Array) -> Any:
    """Call a function of a pattern's arrays: eagerly if they are concrete."""
    return eagerly(function, *arrays) if are_concrete(*arrays) else function(*arrays)


def full(like: Array, value: Any) -> Array:
    """Make a 0-d array of a number, with the data type and on the device of another array."""
    return array_namespace(like).full((), value, dtype=like.dtype, device=checks.device_of(like))


def used(coords: Coords, sizes: Sequence[int]) -> Array:
    """Return, for each entry, whether it is within bounds and so no padding."""
    xp = array_namespace(*coords)  # PyTorch has no operators for unsigned integers
    return reduce(and_, [xp.less(x, size) for x, size in zip(coords, sizes)])


def bounded(xp: Namespace, x: Array, size: int) -> Array:
    """Replace indices of padding by a valid index. The values read there must not be used."""
    return xp.minimum(x, full(x, size - 1)) if size else xp.zeros_like(x)


def flat(xp: Namespace, coords: Coords, sizes: Sequence[int]) -> Array:
    """Number the position of each entry; padding gets the number of positions."""
    dtype, count = index_dtype(xp), prod(sizes)
    if count > checks.integer_range(xp, dtype)[1]:
        raise ValueError(
            f"sparse: {dtype} can't number the {count} positions along axes of sizes {tuple(sizes)}; on JAX, set "
            "`jax_enable_x64`"
        )
    index = joined_index([xp.astype(x, dtype) for x in coords], sizes)
    return xp.where(used(coords, sizes), index, full(index, count))


def coords_of(xp: Namespace, positions: Array, sizes: Sequence[int], dtype: Any) -> Coords:
    """Return the coordinates of numbered positions: the inverse of `flat`."""
    found: list[Array] = []
    padding = positions >= prod(sizes)
    for size in reversed(sizes):
        divisor = full(positions, max(size, 1))
        found.append(xp.astype(xp.where(padding, full(positions, size), xp.remainder(positions, divisor)), dtype))
        positions = xp.floor_divide(positions, divisor)
    return tuple(reversed(found))


class Merge(NamedTuple):
    """A plan that merges entries at the same position."""

    order: Array
    """The indices that sort the entries, of shape (…, entries)."""
    ids: Array
    """The merged entry of each sorted entry; `size` for padding."""
    coords: Coords
    """The sorted coordinates of the merged entries; out of bounds for padding."""
    size: int
    """The number of merged entries."""


def merge(coords: Coords, sizes: Sequence[int], nse: int | None = None) -> Merge:
    """Find duplicates. Merged entries are padded to `nse`, or if the pattern is unknown, to their number before."""
    if are_concrete(*coords):
        return eagerly(lambda *given: _merge(given, sizes, nse, True), *coords)
    return _merge(coords, sizes, nse, False)


def _merge(coords: Coords, sizes: Sequence[int], nse: int | None, is_known: bool) -> Merge:
    xp = array_namespace(*coords)
    keys = flat(xp, coords, sizes)
    if not keys.shape[-1]:
        none = xp.astype(keys, index_dtype(xp))
        shape = (*keys.shape[:-1], nse or 0)
        return Merge(none, none, tuple(xp.broadcast_to(full(x, n), shape) for x, n in zip(coords, sizes)), nse or 0)
    positions = xp.argsort(keys, axis=-1, stable=True)
    keys = xp.take_along_axis(keys, positions, axis=-1)
    within = keys < full(keys, prod(sizes))
    first = within & xp.concat([xp.ones_like(within[..., :1]), keys[..., 1:] != keys[..., :-1]], axis=-1)
    ids = xp.cumulative_sum(xp.astype(first, index_dtype(xp)), axis=-1) - 1
    count = ids[..., -1:] + 1
    size = nse if nse is not None else keys.shape[-1]
    if is_known:
        found = int(xp.max(count)) if 0 not in count.shape else 0
        if nse is not None and found > nse:
            raise ValueError(f"sum_duplicates: nse={nse} is too few for the {found} different positions")
        size = found if nse is None else nse
    ids = xp.where(within, ids, full(ids, size))
    leads = xp.argsort(xp.astype(~first, xp.uint8), axis=-1, stable=True)[..., : min(size, keys.shape[-1])]
    if size > leads.shape[-1]:
        more = xp.zeros((*leads.shape[:-1], size - leads.shape[-1]), dtype=leads.dtype, device=checks.device_of(leads))
        leads = xp.concat([leads, more], axis=-1)
    there = xp.arange(size, dtype=index_dtype(xp), device=checks.device_of(ids)) < count
    heads = xp.take_along_axis(positions, leads, axis=-1)
    new = tuple(
        xp.where(there, xp.take_along_axis(x, heads, axis=-1), full(x, limit)) for x, limit in zip(coords, sizes)
    )
    return Merge(positions, ids, new, size)


def merged_values(values: Array, plan: Merge, batch: int) -> Array:
    """Sum the values of duplicates; combine booleans by "or"."""
    xp = array_namespace(values)
    if checks.kind(xp, values.dtype) == "bool":
        return merged_values(xp.astype(values, xp.int32), plan, batch) != 0
    return summed(along(values, plan.order, batch), plan.ids, plan.size, batch, is_sorted=True)


def summed(values: Array, ids: Array, size: int, batch: int, *, is_sorted: bool = False) -> Array:
    """Sum values (*batch, entries, *dense) by ids of shape (entries,) or (*batch, entries); drop the id `size`."""
    return reduced(scatter.segment_sum, values, ids, size, batch, is_sorted=is_sorted)


def reduced(
    reduce: Callable[..., Array], values: Array, ids: Array, size: int, batch: int, *, is_sorted: bool = False
) -> Array:
    """Reduce values (*batch, entries, *dense) by ids of shape (entries,) or (*batch, entries); drop the id `size`."""
    if ids.ndim == 1:
        return reduce(values, ids, num_segments=size, axis=batch, indices_are_sorted=is_sorted, mode="drop")
    xp = array_namespace(values)
    leading, dense = values.shape[:batch], values.shape[batch + 1 :]
    lanes = prod(leading)
    values = xp.reshape(values, (lanes * values.shape[batch], *dense))
    ids = xp.reshape(ids, (lanes, ids.shape[-1]))
    starts = xp.arange(lanes, dtype=ids.dtype, device=checks.device_of(ids))[:, None] * size
    ids = xp.reshape(xp.where(ids < size, ids + starts, full(ids, lanes * size)), (-1,))
    found = reduce(values, ids, num_segments=lanes * size, axis=0, mode="drop")
    return xp.reshape(found, (*leading, size, *dense))


def along(values: Array, index: Array, batch: int) -> Array:
    """Take entries of values (*batch, entries, *dense), with one index array for all lanes or one for each lane."""
    xp = array_namespace(values)
    if index.ndim == 1:
        return xp.take(values, index, axis=batch)
    spread = xp.reshape(index, (*index.shape, *(1 for _ in values.shape[batch + 1 :])))
    return xp.take_along_axis(values, xp.broadcast_to(spread, (*index.shape, *values.shape[batch + 1 :])), axis=batch)


def joined(left: Array, right: Array) -> tuple[Array, Array]:
    """Return the indices of all pairs of equal numbers in `left` and `right`, in the order of `left`."""
    xp = array_namespace(left, right)
    positions = xp.argsort(right, stable=True)
    arranged = xp.take(right, positions)
    starts = xp.searchsorted(arranged, left, side="left")
    counts = xp.searchsorted(arranged, left, side="right") - starts
    first = xp.repeat(xp.arange(left.shape[0], dtype=index_dtype(xp), device=checks.device_of(left)), counts)
    before = xp.cumulative_sum(counts, include_initial=True)[:-1]
    ranks = xp.arange(first.shape[0], dtype=index_dtype(xp), device=checks.device_of(left)) - xp.take(before, first)
    return first, xp.take(positions, xp.take(starts, first) + ranks)


def lookup(stored: Coords, queries: Coords, sizes: Sequence[int]) -> tuple[Array, Array]:
    """Find positions among sorted entries without duplicates, at least one.

    Returns:
        The index of the entry at each position, and whether there is one. Queries of padding find nothing.
    """
    half = len(sizes)

    def work(*given: Array) -> tuple[Array, Array]:
        xp = array_namespace(*given)
        entries, lanes = given[:half], tuple(given[0].shape[:-1])
        wanted = [xp.astype(x, entry.dtype) for x, entry in zip(given[half:], entries)]
        wanted = [xp.broadcast_to(x, (*lanes, x.shape[-1])) for x in wanted]
        numbers, query = flat(xp, entries, sizes), flat(xp, tuple(wanted), sizes)
        found = positions(xp, numbers, query)
        is_used = query < full(query, prod(sizes))
        return found, (xp.take_along_axis(numbers, found, axis=-1) == query) & is_used

    return pattern_work(work, *stored, *queries)


def positions(xp: Any, sorted_numbers: Array, numbers: Array) -> Array:
    """Return the position of each number among sorted numbers; the last position if it is greater than all."""
    if numbers.ndim > 1:
        lanes = [positions(xp, x, y) for x, y in zip(_lanes(xp, sorted_numbers), _lanes(xp, numbers), strict=True)]
        if not lanes:
            return xp.zeros_like(numbers)
        return xp.reshape(xp.stack(lanes), numbers.shape)
    found = xp.searchsorted(sorted_numbers, numbers)
    return xp.minimum(found, full(found, sorted_numbers.shape[0] - 1))


def _lanes(xp: Any, x: Array) -> list[Array]:
    flat = xp.reshape(x, (prod(x.shape[:-1]), x.shape[-1]))
    return [flat[i, :] for i in range(flat.shape[0])]
