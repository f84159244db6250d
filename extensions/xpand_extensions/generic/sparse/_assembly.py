"""Assembly of sparse matrices with the standard alone: by sorting."""

from xpand import array_namespace
from xpand.extend import Array, checks
from xpand_extensions import scatter
from xpand_extensions.sparse._assembly import CSRAssembly, Shape
from xpand_extensions.sparse._order import equal_neighbours, sorting

from ..._sums import plain_sum


def csr_assembly(
    rows: Array,
    columns: Array,
    /,
    *,
    shape: Shape,
    sum_duplicates: bool = True,
    size: int | None = None,
) -> CSRAssembly:
    xp, (m, n), (nse,) = array_namespace(rows, columns), shape, rows.shape
    dtype, device = rows.dtype, checks.device_of(rows)
    if not nse:
        size = size or 0
        nothing = [xp.zeros(count, dtype=dtype, device=device) for count in (size, m + 1, 0, size + 1)]
        return CSRAssembly(*nothing)
    # Padding has a row after all others, so that it comes last.
    rows = xp.where((rows < m) & (columns < n), rows, xp.full_like(rows, m))
    order = xp.astype(sorting(xp, [rows, columns], (m + 1, n + 1)), dtype)
    rows, columns = xp.take(rows, order), xp.take(columns, order)
    is_first = rows < m
    if sum_duplicates:
        start = xp.ones((1,), dtype=xp.bool, device=device)
        is_first = is_first & xp.concat([start, ~equal_neighbours(xp, [rows, columns])])
    # How many values there are up to each entry.
    number = xp.cumulative_sum(xp.astype(is_first, dtype), dtype=dtype)
    size = int(number[-1]) if size is None else size
    each = xp.arange(size, dtype=dtype, device=device)
    entries = plain_sum(xp, xp.astype(rows < m, dtype))
    runs = xp.minimum(_up_to(number, size + 1), entries)
    first = runs[:-1]
    found = xp.take(columns, xp.where(first < nse, first, xp.zeros_like(first)))
    indices = xp.where(each < number[-1], found, xp.zeros_like(found))
    zero = xp.zeros((1,), dtype=dtype, device=device)
    indptr = xp.take(xp.concat([zero, number]), xp.concat([zero, _up_to(rows, m)]))
    return CSRAssembly(indices, xp.minimum(indptr, xp.full_like(indptr, size)), order, runs)


def _up_to(x: Array, size: int) -> Array:
    """Count for each of 0, …, size - 1 the numbers that are at most that. They are sorted, and not below zero.

    Not by `searchsorted`, of whose batches PyTorch warns.
    """
    xp = array_namespace(x)
    ones = xp.ones_like(x)
    counts = scatter.segment_sum(ones, x, num_segments=size, indices_are_sorted=True, mode="drop")
    return xp.cumulative_sum(counts, dtype=x.dtype)
