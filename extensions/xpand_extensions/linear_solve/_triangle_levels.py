"""The order in which the unknowns of a sparse triangle can be solved for, many in parallel. Found once, on the host."""

from typing import NamedTuple

from xpand import array_namespace
from xpand.extend import LibraryArray as Array, Namespace

_SHORT = 4
"""A row with fewer entries is never cut."""


class Schedule(NamedTuple):
    """Steps with equal numbers of slots, each for one unknown that depends on none of the same step.

    A row with many entries is cut into pieces, whose sums are unknowns too. So all slots have the same number of
    entries, and a few long rows do not lengthen all others.
    """

    source: Array
    """The position of each entry's value, (steps, slots, entries); 0 is at `count`, -1 at `count + 1`."""
    columns: Array
    """The slot of the unknown that it is multiplied by, numbered through all steps."""
    rows: Array
    """The row that is solved for in each slot, (steps, slots); the number of rows where there is none."""
    slots: Array
    """The slot of each row."""


def schedule(rows: Array, columns: Array, size: int, *, lower: bool) -> Schedule:
    """Order the unknowns of a triangle by what they wait for; what is on its diagonal or outside of it is omitted.

    Args:
        rows: The rows of the entries, on the host.
        columns: Their columns.
        size: How many rows there are, one at least.
        lower: Which triangle.
    """
    xp = array_namespace(rows)
    count = rows.shape[0]
    in_triangle = (rows > columns) & (rows < size) if lower else (rows < columns) & (columns < size)
    source = xp.nonzero(in_triangle)[0]
    rows, columns = xp.astype(rows[in_triangle], xp.int64), xp.astype(columns[in_triangle], xp.int64)
    if not lower:  # counted from the last row
        rows, columns = size - 1 - rows, size - 1 - columns
    longest = max(_SHORT, 2 * -(-rows.shape[0] // size))
    # The unknowns are the rows, followed by the pieces; `owner` and `stage` determine when each can be computed.
    owner, stage = xp.arange(size, dtype=xp.int64), xp.zeros(size, dtype=xp.int64)
    while True:
        by_row = xp.argsort(rows, stable=True)
        rows, columns, source = rows[by_row], columns[by_row], source[by_row]
        position, lengths = _positions(xp, rows, owner.shape[0])
        is_long = xp.take(lengths, rows) > longest
        if not bool(xp.any(is_long)):
            break
        # Pieces are numbered by their row and their position in it.
        key = rows[is_long] * (count + 1) + position[is_long] // longest
        pieces, number = xp.unique_inverse(key)
        whole = pieces // (count + 1)
        first = owner.shape[0]
        more = xp.arange(first, first + pieces.shape[0], dtype=xp.int64)
        rows[is_long] = xp.reshape(number, (-1,)) + first
        rows, columns = xp.concat([rows, whole]), xp.concat([columns, more])
        source = xp.concat([source, xp.full_like(whole, count + 1)])
        owner = xp.concat([owner, xp.take(owner, whole)])
        # A row comes after its pieces, which may have been split off earlier.
        before = xp.take(stage, whole)
        stage[whole] = before + 1
        stage = xp.concat([stage, before])
    level = _levels(xp, rows, columns, owner, stage)
    slots, steps, width = _slots(xp, level)
    entries = max(int(xp.max(position)) + 1 if position.shape[0] else 0, 1)
    at = xp.take(slots, rows) * entries + position
    full = xp.full((steps * width * entries,), count, dtype=xp.int64)
    full[at] = source
    others = xp.zeros((steps * width * entries,), dtype=xp.int64)
    others[at] = xp.take(slots, columns)
    numbers = xp.full((steps * width,), size, dtype=xp.int64)
    own = slots[:size]
    numbers[own] = xp.arange(size, dtype=xp.int64) if lower else xp.arange(size - 1, -1, -1, dtype=xp.int64)
    shape = (steps, width, entries)
    return Schedule(
        xp.reshape(full, shape),
        xp.reshape(others, shape),
        xp.reshape(numbers, shape[:2]),
        own if lower else xp.flip(own),
    )


def _positions(xp: Namespace, rows: Array, count: int) -> tuple[Array, Array]:
    """Return the position of each entry in its row, entries being sorted by rows, and the length of each row."""
    starts = xp.searchsorted(rows, xp.arange(count + 1, dtype=xp.int64))
    return xp.arange(rows.shape[0], dtype=xp.int64) - xp.take(starts, rows), starts[1:] - starts[:-1]


def _levels(xp: Namespace, rows: Array, columns: Array, owner: Array, stage: Array) -> Array:
    """Return the number of steps that each unknown must wait for."""
    most = (int(xp.max(stage)) if stage.shape[0] else 0) + 1
    order = xp.argsort(xp.take(owner, rows) * most + xp.take(stage, rows), stable=True)
    level = [0] * owner.shape[0]
    # Sequentially, since they depend on each other: lists are faster here than arrays.
    for row, column in zip(rows[order].tolist(), columns[order].tolist()):
        if level[column] >= level[row]:
            level[row] = level[column] + 1
    return xp.asarray(level, dtype=xp.int64)


def _slots(xp: Namespace, level: Array) -> tuple[Array, int, int]:
    """Give each unknown a slot; return the numbers of steps and of slots in one.

    Levels of more unknowns than the average take several steps, so that at most half of the slots stay empty.
    """
    order = xp.argsort(level, stable=True)
    ordered = level[order]
    position, counts = _positions(xp, ordered, int(ordered[-1]) + 1)
    width = -(-level.shape[0] // counts.shape[0])
    steps = -(-counts // width)
    first = xp.cumulative_sum(steps) - steps
    slots = xp.zeros_like(level)
    slots[order] = xp.take(first, ordered) * width + position
    return slots, int(xp.sum(steps)), width
