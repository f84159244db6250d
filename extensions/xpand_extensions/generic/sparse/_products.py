"""Sparse products with the standard alone: take, multiply, and sum by segments."""

from math import prod

from xpand import array_namespace
from xpand.extend import Array, checks
from xpand_extensions import scatter
from xpand_extensions._bounds import index_dtype
from xpand_extensions.sparse._products import CSRPlan, Shape

from ..._sums import plain_sum


def csr_matmul(
    values: Array,
    indices: Array,
    indptr: Array,
    x: Array,
    /,
    *,
    shape: Shape,
    plan: CSRPlan | None = None,
) -> Array:
    rows = csr_rows(indptr, nse=values.shape[-1])
    return coo_matmul(values, rows, indices, x, shape=shape, rows_are_sorted=True)


def csr_rmatmul(
    values: Array,
    indices: Array,
    indptr: Array,
    x: Array,
    /,
    *,
    shape: Shape,
    plan: CSRPlan | None = None,
) -> Array:
    rows = csr_rows(indptr, nse=values.shape[-1])
    return coo_matmul(values, indices, rows, x, shape=shape[::-1])


def coo_matmul(
    values: Array,
    rows: Array,
    columns: Array,
    x: Array,
    /,
    *,
    shape: Shape,
    rows_are_sorted: bool = False,
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
    is_entry = xp.reshape(columns < n, (-1, 1))
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
    return xp.where((rows < m) & (columns < n), found, xp.zeros_like(found))


def _rows_of(x: Array, index: Array) -> Array:
    """Take rows of matrices, anything for those out of bounds."""
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
    # How many rows end up to each position: their number grows by one where one ends.
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
) -> None:
    return None


def coo_todense(values: Array, rows: Array, columns: Array, /, *, shape: Shape) -> Array:
    xp, (m, n) = array_namespace(values, rows, columns), shape
    if 0 in (m, n, values.shape[-1]):
        return xp.zeros((*values.shape[:-1], m, n), dtype=values.dtype, device=checks.device_of(values))
    dtype = index_dtype(xp, checks.device_of(rows))
    rows, columns = xp.astype(rows, dtype), xp.astype(columns, dtype)
    positions = xp.where((rows < m) & (columns < n), rows * n + columns, xp.full_like(rows, m * n))
    out = scatter.segment_sum(values, positions, num_segments=m * n, axis=values.ndim - 1, mode="drop")
    return xp.reshape(out, (*values.shape[:-1], m, n))
