"""Linear operations as sparse maps from elements of the argument to elements of a result."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from xpand import array_namespace
from xpand.extend import Array, Namespace

from .. import sparse

_TOLERANCE = 1e-12
_MANY = 8


class Map:
    """The matrix of a linear operation, by rows: each element of the result is a weighted sum of argument elements."""

    __slots__ = ("columns", "ends", "is_selection", "weights")

    def __init__(self, weights: Array, columns: Array, ends: Array, *, is_selection: bool = False) -> None:
        """Take the arrays of a CSR. `is_selection`: each row has one entry, of weight 1."""
        self.weights, self.columns, self.ends, self.is_selection = weights, columns, ends, is_selection

    @classmethod
    def of_dense(cls, xp: Namespace, dense: Array) -> "Map":
        """Take the nonzero entries of a matrix."""
        found = sparse.from_dense(dense, "csr")
        assert isinstance(found, sparse.CSR), "what was asked for"
        return cls(found.values, xp.astype(found.indices, xp.int64), xp.astype(found.indptr, xp.int64))

    @property
    def count(self) -> int:
        """The number of elements of the result."""
        return int(self.ends.shape[0]) - 1

    def matrix(self, width: int) -> sparse.CSR:
        """Return the matrix, for an argument of `width` elements."""
        return sparse.CSR(self.weights, self.columns, self.ends, (self.count, width), check=False)

    def transposed(self, count: int) -> "Map":
        """Return the transposed map, to `count` elements."""
        found = sparse.tocsr(sparse.matrix_transpose(self.matrix(count)))
        return Map(found.values, found.indices, found.indptr)


def coordinates_of(
    xp: Namespace, operation: Callable[[Array], list[Array]], shape: tuple[int, ...]
) -> list[Map] | None:
    """Find, for each element of each result, the one argument element that it depends on, and its factor.

    Returns:
        A map for each result, or None if an element depends on two.
    """
    size = prod(shape)
    numbers = xp.arange(1.0, size + 1.0, dtype=xp.float64)
    # Unordered values detect operations that sort, select or mix elements.
    marks = 1.0 + (numbers * 0.6180339887498949) % 1.0
    ones = operation(xp.ones(shape, dtype=xp.float64))
    counted = operation(xp.reshape(numbers, shape))
    marked = operation(xp.reshape(marks, shape))
    found = []
    for factor, number, mark in zip(*([xp.reshape(x, (-1,)) for x in each] for each in (ones, counted, marked))):
        is_there = factor != 0
        safe = xp.where(is_there, factor, xp.ones((), dtype=factor.dtype))
        is_complex = xp.isdtype(safe.dtype, "complex floating")
        positions = xp.astype(xp.round(xp.real(number / safe) if is_complex else number / safe), xp.int64)
        if not bool(xp.all((positions >= xp.astype(is_there, xp.int64)) & (positions <= size))):
            return None
        expected = xp.take(marks, xp.maximum(positions, xp.ones((), dtype=xp.int64)) - 1) * factor if size else mark
        if not bool(xp.all(xp.abs(mark - expected) <= _TOLERANCE * xp.abs(factor))):
            return None
        if not bool(xp.all(xp.abs(number - xp.astype(positions, factor.dtype) * factor) <= 0.25 * xp.abs(factor))):
            return None
        found.append(_without_zeros(xp, positions - 1, factor, is_there))
    return found


def scaled(xp: Namespace, positions: Array, factor: Any, shape: tuple[int, ...]) -> Map:
    """Return the map that takes elements at given positions times factors, without entries for zero factors."""
    if isinstance(factor, (int, float, complex)):
        factor = xp.asarray(factor, dtype=xp.complex128 if isinstance(factor, complex) else xp.float64)
    weights = xp.reshape(xp.broadcast_to(factor, shape), (-1,))
    return _without_zeros(xp, positions, weights, weights != 0)


def _without_zeros(xp: Namespace, positions: Array, weights: Array, is_there: Array) -> Map:
    if bool(xp.all(is_there)):
        ends = xp.arange(positions.shape[0] + 1, dtype=xp.int64)
        return Map(weights, positions, ends, is_selection=bool(xp.all(weights == 1)))
    ends = xp.cumulative_sum(xp.astype(is_there, xp.int64), include_initial=True)
    return Map(weights[is_there], positions[is_there], ends)


def compose(step: Map, rows: sparse.CSR) -> sparse.CSR:
    """Apply a map to rows: each new row is a weighted sum of rows. Duplicate entries are not merged."""
    xp = array_namespace(rows.values)
    lengths = xp.take(xp.diff(rows.indptr), step.columns)
    ends = xp.cumulative_sum(lengths, include_initial=True)
    starts = xp.take(rows.indptr, step.columns) - ends[:-1]
    positions = xp.arange(int(ends[-1]), dtype=xp.int64) + xp.repeat(starts, lengths)
    values = xp.take(rows.values, positions)
    if not step.is_selection:
        values = values * xp.repeat(step.weights, lengths)
    shape = (step.count, rows.shape[1])
    return sparse.CSR(values, xp.take(rows.indices, positions), xp.take(ends, step.ends), shape, check=False)


def plus(parts: Sequence[sparse.CSR]) -> sparse.CSR:
    """Add rows."""
    if len(parts) == 1:
        return parts[0]
    xp = array_namespace(parts[0].values)
    count = parts[0].shape[0]
    numbers = xp.arange(count, dtype=xp.int64)
    columns = xp.reshape(xp.stack([numbers + k * count for k in range(len(parts))], axis=1), (-1,))
    ends = xp.arange(count + 1, dtype=xp.int64) * len(parts)
    total = compose(Map(xp.ones(columns.shape[0], dtype=xp.float64), columns, ends, is_selection=True), below(parts))
    # Sums of many elements probably have duplicates.
    return sparse.sum_duplicates(total) if total.nse > _MANY * (count + 1) else total


def below(parts: Sequence[sparse.CSR]) -> sparse.CSR:
    """Concatenate rows."""
    xp = array_namespace(parts[0].values)
    ends, first = [xp.zeros(1, dtype=xp.int64)], 0
    for part in parts:
        ends.append(part.indptr[1:] + first)
        first += part.nse
    count = sum(part.shape[0] for part in parts)
    values, indices = xp.concat([part.values for part in parts]), xp.concat([part.indices for part in parts])
    return sparse.CSR(values, indices, xp.concat(ends), (count, parts[0].shape[1]), check=False)
