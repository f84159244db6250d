"""Matrices by diagonals. Products need no index, and take two thirds of the time of products by rows."""

from typing import Any, Final, NamedTuple

import numpy as np
from scipy.sparse import _sparsetools as kernels

from xpand.extend import LibraryArray as Array
from xpand_extensions.sparse._products import Shape

_MOST: Final = 32
"""The maximum number of diagonals. With more diagonals, rows are as fast, and programs on JAX would grow."""
_SAMPLE: Final = 1000


class Positions(NamedTuple):
    """The positions of a pattern's entries in a layout by diagonals."""

    offsets: Array
    """The column of each diagonal in row 0."""
    flat: Array
    """The position of each entry in an array of shape (diagonals, columns)."""
    shape: Shape


class Diagonals(NamedTuple):
    """A matrix by diagonals."""

    offsets: Array
    data: Array
    """The value of each diagonal in each column, of shape (diagonals, columns)."""
    shape: Shape

    def add_product(self, x: Array, out: Array) -> None:
        """Add the product with a vector to `out`."""
        count, width = self.data.shape
        kernels.dia_matvec(*self.shape, count, width, self.offsets, self.data, x, out)


def diagonals_of(indices: Array, indptr: Array, shape: Shape, most_padding: float) -> tuple[int, ...]:
    """Return the columns in row 0 of the diagonals with all entries, or nothing if there are too many."""
    m, n = shape
    ends = np.asarray(indptr)
    columns = np.asarray(indices)[: ends[-1]]
    sample = min(m, _SAMPLE)
    if len(np.unique(_offsets(columns[: ends[sample]], ends[: sample + 1]))) > _MOST:
        return ()
    counts = np.bincount(_offsets(columns, ends) + m, minlength=m + n)
    found = [int(each) - m for each in np.flatnonzero(counts)]
    if len(found) > _MOST or len(found) * m > most_padding * len(columns):
        return ()
    return tuple(found)


def positions_of(indices: Array, indptr: Array, shape: Shape, most_padding: float) -> Positions | None:
    """Return the positions of the entries if a few diagonals contain all of them."""
    offsets = diagonals_of(indices, indptr, shape, most_padding)
    if not offsets:
        return None
    m, n = shape
    columns = indices[: indptr[-1]]
    first: Array = np.zeros(m + n, dtype=np.intp)
    first[np.asarray(offsets) + m] = np.arange(len(offsets)) * n
    flat = first[_offsets(columns, indptr) + m] + columns
    return Positions(np.asarray(offsets, dtype=np.int32), flat, shape)


def by_diagonals(values: Array, positions: Positions) -> Diagonals:
    """Convert real values to the layout, and sum duplicates."""
    count, n = len(positions.offsets), positions.shape[1]
    data = np.bincount(positions.flat, weights=values[: len(positions.flat)], minlength=count * n)
    return Diagonals(positions.offsets, data.reshape(count, n).astype(values.dtype, copy=False), positions.shape)


def _offsets(columns: Any, ends: Any) -> Any:
    return columns - np.repeat(np.arange(len(ends) - 1, dtype=columns.dtype), np.diff(ends))
