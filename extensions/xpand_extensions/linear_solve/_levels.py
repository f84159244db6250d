"""Solve sparse triangular systems on a device, level by level; the unknowns of a level are solved in parallel."""

from functools import partial
from typing import Any, NamedTuple

from xpand import array_namespace
from xpand.extend import Array, LibraryArray, Namespace, checks

from .. import autodiff, devices, sparse
from .._dispatch import in_one_namespace, pluggable
from .._solver_status import Status
from ..devices._move import on_host
from ..sparse._containers import COO
from ..sparse._pattern import are_concrete, eagerly
from ._factorization import Factorization
from ._factors import estimate, verdict
from ._operators import times
from ._preconditioners import on_device

_MOST_PADDING = 8
"""The maximum number of padded entries for each entry and each row. Triangles with more are solved on the host."""


class Schedule(NamedTuple):
    """Steps with equal numbers of slots. A slot solves for one unknown; the unknowns of a step are independent.

    All slots have as many entries as the longest row.
    """

    source: LibraryArray
    """The index of each entry's value, (steps, slots, entries); index `count` means 0."""
    columns: LibraryArray
    """The slot of the unknown that each entry multiplies, numbered through all steps."""
    rows: LibraryArray
    """The row solved in each slot, (steps, slots); the number of rows for an empty slot."""
    slots: LibraryArray
    """The slot of each row."""


def schedule(rows: LibraryArray, columns: LibraryArray, size: int, *, lower: bool) -> Schedule | None:
    """Order the unknowns of a triangle by their dependencies; ignore the diagonal and the other triangle.

    Return None if a few rows are much longer than the others, since the slots would have too much padding.

    Args:
        rows: The rows of the entries, on the host.
        columns: Their columns.
        size: The number of rows, at least one.
        lower: Whether it is the lower triangle.
    """
    xp = array_namespace(rows)
    count = rows.shape[0]
    in_triangle = (rows > columns) & (rows < size) if lower else (rows < columns) & (columns < size)
    source = xp.nonzero(in_triangle)[0]
    rows, columns = xp.astype(rows[in_triangle], xp.int64), xp.astype(columns[in_triangle], xp.int64)
    if not lower:  # counted from the last row
        rows, columns = size - 1 - rows, size - 1 - columns
    by_row = xp.argsort(rows, stable=True)
    rows, columns, source = rows[by_row], columns[by_row], source[by_row]
    position, _ = _positions(xp, rows, size)
    entries = max(int(xp.max(position)) + 1 if position.shape[0] else 0, 1)
    if entries * size > _MOST_PADDING * (rows.shape[0] + size):
        return None
    level = _levels(rows, columns, size)
    slots, steps, width = _slots(xp, xp.asarray(level, dtype=xp.int64))
    at = xp.take(slots, rows) * entries + position
    full: LibraryArray = xp.full((steps * width * entries,), count, dtype=xp.int64)
    full[at] = source
    others: LibraryArray = xp.zeros((steps * width * entries,), dtype=xp.int64)
    others[at] = xp.take(slots, columns)
    numbers: LibraryArray = xp.full((steps * width,), size, dtype=xp.int64)
    numbers[slots] = xp.arange(size, dtype=xp.int64) if lower else xp.arange(size - 1, -1, -1, dtype=xp.int64)
    shape = (steps, width, entries)
    return Schedule(
        xp.reshape(full, shape),
        xp.reshape(others, shape),
        xp.reshape(numbers, shape[:2]),
        slots if lower else xp.flip(slots),
    )


def _positions(xp: Namespace, rows: LibraryArray, count: int) -> tuple[LibraryArray, LibraryArray]:
    """Return the position of each entry in its row, and the length of each row; the entries are sorted by row."""
    starts = xp.searchsorted(rows, xp.arange(count + 1, dtype=xp.int64))
    return xp.arange(rows.shape[0], dtype=xp.int64) - xp.take(starts, rows), starts[1:] - starts[:-1]


def _levels(rows: LibraryArray, columns: LibraryArray, size: int) -> list[int]:
    """Return the number of levels before each unknown; the entries are sorted by row."""
    level = [0] * size
    # Levels depend on each other, so the loop is sequential, and lists are faster than arrays.
    for row, column in zip(rows.tolist(), columns.tolist()):
        if level[column] >= level[row]:
            level[row] = level[column] + 1
    return level


def _slots(xp: Namespace, level: LibraryArray) -> tuple[LibraryArray, int, int]:
    """Assign a slot to each unknown; also return the number of steps, and of slots per step.

    Levels with more unknowns than average take several steps, so that at most half of the slots stay empty.
    """
    order = xp.argsort(level, stable=True)
    ordered = level[order]
    position, counts = _positions(xp, ordered, int(ordered[-1]) + 1)
    width = -(-level.shape[0] // counts.shape[0])
    steps = -(-counts // width)
    first = xp.cumulative_sum(steps) - steps
    slots: LibraryArray = xp.zeros_like(level)
    slots[order] = xp.take(first, ordered) * width + position
    return slots, int(xp.sum(steps)), width


@pluggable
def solve_levels(b: Array, weights: Array, columns: Array, diagonal: Array, rows: Array, slots: Array, /) -> Array:
    """Solve sparse triangular systems in steps, each for many independent unknowns.

    Args:
        b: Right-hand sides, `(*batch, n)`.
        weights: The off-diagonal entries of the row in each slot, `(..., steps, slots, entries)`, padded with zeros.
            The first axes broadcast to the batch.
        columns: The slots of the unknowns that the entries multiply, numbered through all steps, of the same shape.
        diagonal: The divisors of the sums, `(..., steps, slots)`.
        rows: The row in each slot, `(steps, slots)`; n for an empty slot.
        slots: The slot of each row, `(n,)`.

    Returns:
        The solutions, `(*batch, n)`.

    Source: Saad, Iterative Methods for Sparse Linear Systems, 12.4.3.

    >>> import numpy as np
    >>> weights, columns = np.asarray([[[0.0]], [[1.0]]]), np.asarray([[[0]], [[0]]])
    >>> diagonal, rows = np.asarray([[2.0], [4.0]]), np.asarray([[0], [1]])
    >>> solve_levels(np.asarray([2.0, 9.0]), weights, columns, diagonal, rows, np.asarray([0, 1]))
    array([1., 2.])
    """
    arrays = (b, weights, columns, diagonal, rows, slots)
    return solve_levels.native(*arrays)(*in_one_namespace(*arrays))


class _Steps(NamedTuple):
    """The arguments of `solve_levels` that describe a matrix."""

    weights: Array
    columns: Array
    diagonal: Array
    rows: Array
    slots: Array


class LevelFactorization(Factorization):
    """A sparse triangle, with the steps that solve it and its transpose."""

    __slots__ = ()

    @property
    def method(self) -> str:
        """Return the method and the library, as text."""
        return f"triangular (level by level, {self._library()})"

    def _solved(self, b: Array, transposed: bool) -> Array:
        return _columns_solved(self.parts[int(transposed)], b) if b.shape[-2] else b


def _columns_solved(steps: _Steps, b: Array) -> Array:
    """Solve for columns, `(..., n, k)`, which become an additional batch axis."""
    xp = array_namespace(b)
    steps = steps._replace(weights=steps.weights[..., None, :, :, :], diagonal=steps.diagonal[..., None, :, :])
    return xp.matrix_transpose(solve_levels(xp.matrix_transpose(b), *steps))


def applies(part: COO) -> bool:
    """Return whether to solve a triangle level by level: if it isn't on the host, and its pattern is concrete."""
    return part.coords[0].ndim == 1 and are_concrete(*part.coords) and _is_off_host(part.values)


def by_levels(part: COO, *, lower: bool) -> LevelFactorization | None:
    """Order the unknowns of a triangular matrix, and determine its status as `factor_triangular` does.

    Return None if a few of its rows or columns are much longer than the others.
    """
    # Only of the values: a pattern that passes through JAX's jit would become abstract.
    constant = part.with_values(autodiff.stop_gradient(part.values))
    values, size = constant.values, part.shape[-1]
    xp, device = array_namespace(values), checks.device_of(values)
    diagonal = sparse.diagonal(constant)
    least = float(xp.finfo(values.dtype).smallest_normal)
    finite = xp.all(xp.isfinite(values), axis=-1)
    regular = xp.all(xp.abs(diagonal) >= least, axis=-1)
    fine = (finite & regular)[..., None]
    values, diagonal = xp.where(fine, values, xp.zeros_like(values)), xp.where(fine, diagonal, xp.ones_like(diagonal))
    safe = abs(constant.with_values(values))
    one = xp.ones((*diagonal.shape[:-1], 1), dtype=values.dtype, device=device)
    values, diagonal = xp.concat([values, xp.zeros_like(one)], axis=-1), xp.concat([diagonal, one], axis=-1)
    forward, backward = [
        _steps(values, diagonal, constant.coords if each else constant.coords[::-1], size, lower=lower == each)
        for each in (True, False)
    ]
    if forward is None or backward is None:
        return None
    sums = times(safe, xp.ones((*values.shape[:-1], size), dtype=xp.abs(diagonal).dtype, device=device))
    solve, transposed = partial(_columns_solved, forward), partial(_columns_solved, backward)
    condition = estimate(xp, sums, values.dtype, solve, transposed)
    return LevelFactorization(part, (forward, backward), *verdict(xp, condition, finite, regular, Status.SINGULAR))


def _steps(values: Array, diagonal: Array, coords: tuple[Array, ...], size: int, *, lower: bool) -> _Steps | None:
    """Order the unknowns on the host, and permute the values on their device."""
    xp = array_namespace(values)

    def ordered(*coords: Array) -> Any:
        rows, columns = map(on_host, coords)
        found = schedule(rows, columns, max(size, 1), lower=lower)
        return None if found is None else on_device(array_namespace(*coords), coords[0], tuple(found))

    found = eagerly(ordered, *coords)
    if found is None:
        return None
    source, columns, rows, slots = found
    taken = xp.reshape(xp.take(values, xp.reshape(source, (-1,)), axis=-1), (*values.shape[:-1], *source.shape))
    below = xp.reshape(xp.take(diagonal, xp.reshape(rows, (-1,)), axis=-1), (*values.shape[:-1], *rows.shape))
    return _Steps(taken, columns, below, rows, slots)


def _is_off_host(x: Array) -> bool:
    """Return whether values are on another device than the host; an unknown device counts as the library's default."""
    device = checks.device_of(x)
    # JAX can distribute an array over several devices.
    is_known = device is not None and not hasattr(device, "device_set")
    info = devices.device_info(x) if is_known else devices.device_info(xp=array_namespace(x))
    return info.kind not in ("cpu", "meta")
