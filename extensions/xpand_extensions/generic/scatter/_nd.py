"""Write at integer indices with the library's row kernels."""

from dataclasses import replace
from typing import Any

from xpand import array_namespace
from xpand.extend import LibraryArray as Array, Scalar, checks
from xpand_extensions._bounds import Mode, index_dtype
from xpand_extensions._dtypes import is_narrow
from xpand_extensions._index import Rows
from xpand_extensions._rows import copied, row_kernels, rows_along, rows_at
from xpand_extensions.scatter._nd import ScatterOperation


def scatter(
    x: Array,
    indices: Array,
    values: Array | Scalar,
    /,
    *,
    axis: int = 0,
    batch_dims: int = 0,
    operation: ScatterOperation = "set",
    mode: Mode | None = None,
) -> Array:
    chosen, after = rows_along("scatter", x, indices, axis, batch_dims, mode)
    return write(x, chosen, values, after, operation)


def scatter_nd(
    x: Array,
    indices: Array,
    values: Array | Scalar,
    /,
    *,
    batch_dims: int = 0,
    axes: Any = None,
    operation: ScatterOperation = "set",
    mode: Mode | None = None,
) -> Array:
    table, chosen, after, order = rows_at("scatter_nd", x, indices, tuple(axes), batch_dims, mode)
    written = write(table, chosen, values, after, operation)
    if table is x:
        return written
    return array_namespace(x).permute_dims(written, tuple([order.index(axis) for axis in range(x.ndim)]))


def write(x: Array, chosen: Rows, values: Array | Scalar, after: tuple[int, ...], operation: ScatterOperation) -> Array:
    """Update rows, each of shape `after`, with values that broadcast to them."""
    xp = array_namespace(x)
    library = row_kernels(x)
    if 0 in chosen.shape or 0 in x.shape:
        return copied(x)
    table = xp.reshape(x, (chosen.count, chosen.width))
    values = xp.broadcast_to(library._values(values), (*chosen.shape, *after))
    values = xp.reshape(values, (chosen.index.shape[0], chosen.width))
    if operation == "mean":
        written = _mean(table, chosen, values)
    else:
        written = library._write_rows(table, chosen, values, operation)
    return xp.reshape(written, x.shape)


def _mean(table: Array, chosen: Rows, values: Array) -> Array:
    xp = array_namespace(table)
    device = checks.device_of(table)
    if is_narrow(xp, table.dtype):  # sums and counts might overflow in float16
        return xp.astype(_mean(xp.astype(table, xp.float32), chosen, xp.astype(values, xp.float32)), table.dtype)
    nothing = xp.zeros_like(table)
    total = row_kernels(nothing)._write_rows(nothing, chosen, values, "add")
    none = xp.zeros((chosen.count, 1), dtype=index_dtype(xp, device), device=device)
    ones = xp.ones((chosen.index.shape[0], 1), dtype=none.dtype, device=device)
    number = row_kernels(none)._write_rows(none, replace(chosen, width=1), ones, "add")
    # Divide elements without values by one, since 0 / 0 would warn and make their gradient NaN.
    divisor = xp.astype(xp.maximum(number, xp.ones_like(number)), table.dtype)
    return xp.where(number > 0, total / divisor, table)
