"""Shared code of functions of containers: formats of results, and work on coordinates for every format."""

from collections.abc import Callable, Sequence
from typing import Any

from xpand import array_namespace
from xpand.extend import Array

from ._containers import COO, Sparse, namespace_of
from ._convert import Format, convert, matrix_transpose, tocoo
from ._pattern import are_concrete, eagerly, full, pattern_work

Shape = tuple[int, ...]


def shared_format(containers: Sequence[Sparse]) -> Format:
    """Name the format of a result: that of all containers, or "coo"."""
    found = {a.format for a in containers}
    return found.pop() if len(found) == 1 else "coo"  # type: ignore[return-value]


def by_coordinates(function: Callable[..., COO], *containers: Sparse) -> Any:
    """Call a function of COO arrays, whose result has the format that all containers have, or COO.

    The function must commute with transposition: matrices by columns go in as the transposed ones by rows, so that what
    is sorted stays so.
    """
    name = shared_format(containers)
    if name == "csc":
        return matrix_transpose(convert(function(*(tocoo(matrix_transpose(a)) for a in containers)), "csr"))
    return convert(function(*(tocoo(a) for a in containers)), name)


def coo_of(
    values: Array,
    coords: Sequence[Array],
    sizes: Sequence[int],
    *,
    is_sorted: bool = False,
    is_unique: bool = False,
    dense_ndim: int = 0,
) -> COO:
    """Make a COO of parts that are trusted."""
    return COO._of(values, tuple(coords), (tuple(sizes), is_sorted, is_unique, dense_ndim))


def over_entries(a: Sparse, mask: Array) -> Array:
    """Give an array of one element an entry, or one of each lane, the axes that the values have."""
    xp = namespace_of(a)
    return xp.reshape(mask, (*mask.shape, *(1 for _ in range(a.dense_ndim))))


def chosen(a: COO, mask: Callable[..., Array]) -> COO:
    """Keep some entries: those where a function of the coordinates is true; as padding where they aren't known.

    Entries stay in their order. In a batch of several patterns, lanes may keep different numbers: the others' positions
    become padding.
    """
    if are_concrete(*a.coords) and a.coords[0].ndim == 1:

        def work(*coords: Array) -> tuple[Array, tuple[Array, ...]]:
            xp = array_namespace(*coords)
            (found,) = xp.nonzero(mask(*coords))
            return found, tuple(xp.take(x, found) for x in coords)

        found, coords = eagerly(work, *a.coords)
        if found.shape[0] == a.nse:
            return a
        values = namespace_of(a).take(a.values, found, axis=a.batch_ndim)
        return COO._of(values, coords, a._static())

    def pad(*coords: Array) -> tuple[Array, ...]:
        xp, selected = array_namespace(*coords), mask(*coords)
        return tuple(xp.where(selected, x, full(x, size)) for x, size in zip(coords, a._sparse_shape))

    coords = pattern_work(pad, *a.coords)
    return coo_of(a.values, coords, a._sparse_shape, is_unique=a.is_unique, dense_ndim=a.dense_ndim)
