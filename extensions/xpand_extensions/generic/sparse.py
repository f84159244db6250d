"""Sparse products and assembly in terms of scatter."""

from collections.abc import Callable
from math import prod
from typing import Any

from xpand import array_namespace, is_concrete
from xpand.extend import Array, checks
from xpand_extensions import scatter
from xpand_extensions._bounds import index_dtype
from xpand_extensions.sparse._assembly import CSRAssembly
from xpand_extensions.sparse._pattern import equal_neighbours, sorting, used
from xpand_extensions.sparse._products import CSRPlan, Shape

from .._dtypes import plain_sum


def csr_matmul(
    values: Array, indices: Array, indptr: Array, x: Array, /, *, shape: Shape, plan: CSRPlan | None = None
) -> Array:
    rows = csr_rows(indptr, nse=values.shape[-1])
    return coo_matmul(values, rows, indices, x, shape=shape, rows_are_sorted=True)


def csr_rmatmul(
    values: Array, indices: Array, indptr: Array, x: Array, /, *, shape: Shape, plan: CSRPlan | None = None
) -> Array:
    rows = csr_rows(indptr, nse=values.shape[-1])
    return coo_matmul(values, indices, rows, x, shape=shape[::-1])


def coo_matmul(
    values: Array, rows: Array, columns: Array, x: Array, /, *, shape: Shape, rows_are_sorted: bool = False
) -> Array:
    xp, (m, n) = array_namespace(values, rows, columns, x), shape
    is_vector = x.ndim == 1
    if is_vector:
        x = xp.expand_dims(x, axis=-1)
    stack = checks.broadcast(tuple(values.shape[:-1]), tuple(x.shape[:-2]))
    width = x.shape[-1]
    if 0 in (m, n, values.shape[-1], width, *stack):
        out = xp.zeros((*stack, m, width), dtype=values.dtype, device=checks.device_of(values))
        return out[..., 0] if is_vector else out
    products = xp.expand_dims(values, axis=-1) * _rows_of(x, columns)
    is_entry = xp.reshape(used((columns,), (n,)), (-1, 1))
    products = xp.where(is_entry, products, xp.zeros_like(products))
    axis = products.ndim - 2
    out = scatter.segment_sum(
        products, rows, num_segments=m, axis=axis, indices_are_sorted=rows_are_sorted, mode="drop"
    )
    return out[..., 0] if is_vector else out


def sampled_matmul(x: Array, y: Array, rows: Array, columns: Array, /) -> Array:
    xp = array_namespace(x, y, rows, columns)
    y = xp.matrix_transpose(y)
    m, n = x.shape[-2], y.shape[-2]
    if 0 in (m, n, rows.shape[0]):
        stack = checks.broadcast(tuple(x.shape[:-2]), tuple(y.shape[:-2]))
        return xp.zeros((*stack, rows.shape[0]), dtype=x.dtype, device=checks.device_of(x))
    found = plain_sum(xp, _rows_of(x, rows) * _rows_of(y, columns), axis=-1)
    return xp.where(used((rows, columns), (m, n)), found, xp.zeros_like(found))


def _rows_of(x: Array, index: Array) -> Array:
    """Take rows of matrices. Rows out of bounds are arbitrary."""
    xp = array_namespace(x, index)
    index = xp.astype(index, index_dtype(xp, checks.device_of(index)))
    return xp.take(x, xp.where(index < x.shape[-2], index, xp.zeros_like(index)), axis=-2)


def csr_rows(indptr: Array, /, *, nse: int) -> Array:
    xp = array_namespace(indptr)
    device = checks.device_of(indptr)
    batch = tuple(indptr.shape[:-1])
    ends = xp.reshape(indptr[..., 1:], (prod(batch), indptr.shape[-1] - 1))
    if 0 in ends.shape or not nse:
        return xp.zeros((*batch, nse), dtype=indptr.dtype, device=device)
    dtype = index_dtype(xp, device)
    # Count the rows that end at or before each position.
    first = xp.reshape(xp.arange(ends.shape[0], dtype=dtype, device=device) * (nse + 1), (-1, 1))
    positions = xp.reshape(xp.astype(ends, dtype) + first, (-1,))
    ended = scatter.segment_sum(
        xp.ones_like(positions), positions, num_segments=ends.shape[0] * (nse + 1), indices_are_sorted=True, mode="drop"
    )
    ended = xp.cumulative_sum(xp.reshape(ended, (ends.shape[0], nse + 1)), axis=1, dtype=dtype)
    return xp.astype(xp.reshape(ended[:, :nse], (*batch, nse)), indptr.dtype)


def csr_plan(indices: Array, indptr: Array, /, *, shape: Shape) -> CSRPlan | None:
    return None


def coo_product(
    values: Array,
    rows: Array,
    columns: Array,
    other: Array,
    other_rows: Array,
    other_columns: Array,
    /,
    *,
    shape: Shape,
    inner: int,
) -> None:
    return None


def are_concrete(*arrays: Array) -> bool:
    return all(is_concrete(x) for x in arrays)


def eagerly(function: Callable[..., Any], /, *arrays: Array) -> Any:
    return function(*arrays)


def csr_assembly(
    rows: Array, columns: Array, /, *, shape: Shape, sum_duplicates: bool = True, size: int | None = None
) -> CSRAssembly:
    xp, (m, n), (nse,) = array_namespace(rows, columns), shape, rows.shape
    dtype, device = rows.dtype, checks.device_of(rows)
    if not nse:
        size = size or 0
        nothing = [xp.zeros(count, dtype=dtype, device=device) for count in (size, m + 1, 0, size + 1)]
        return CSRAssembly(*nothing)
    # Padding gets the row after all others, so it comes last.
    rows = xp.where(used((rows, columns), (m, n)), rows, xp.full_like(rows, m))
    order = xp.astype(sorting(xp, [rows, columns], (m + 1, n + 1)), dtype)
    rows, columns = xp.take(rows, order), xp.take(columns, order)
    is_first = rows < m
    if sum_duplicates:
        start = xp.ones((1,), dtype=xp.bool, device=device)
        is_first = is_first & xp.concat([start, ~equal_neighbours([rows, columns])])
    # Count the distinct entries up to each entry.
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
    """For each i in 0, …, size - 1, count the numbers up to i.

    The numbers must be sorted and nonnegative. `searchsorted` is avoided: PyTorch warns for batches.
    """
    xp = array_namespace(x)
    ones = xp.ones_like(x)
    counts = scatter.segment_sum(ones, x, num_segments=size, indices_are_sorted=True, mode="drop")
    return xp.cumulative_sum(counts, dtype=x.dtype)
