"""Batches of sparse matrices, with one pattern or with one for each lane.

With different patterns, the batch is computed as one large matrix with the lanes as blocks on its diagonal.
"""

import math
from collections.abc import Callable, Sequence

from xpand import array_namespace
from xpand.extend import Array, Namespace, checks

from .._bounds import index_dtype
from ._pattern import used

Shape = tuple[int, int]
Product = Callable[..., Array]
"""A facade of a product. Its checks cost little compared with the product."""


def multiplied(multiply: Product, values: Array, rows: Array, columns: Array, x: Array, shape: Shape) -> Array:
    """Multiply a batch of matrices with different patterns as one large matrix, by `multiply` (`coo_matmul`)."""
    xp = array_namespace(values, rows, columns, x)
    stack = _stack((rows, 1), (columns, 1), (values, 1), (x, min(x.ndim, 2)))
    count, (m, n), width = math.prod(stack), shape, tuple(x.shape[1:]) if x.ndim == 1 else (x.shape[-1],)
    x = xp.reshape(xp.broadcast_to(x, (*stack, n, *width)), (count * n, *width))
    rows, columns = numbered(xp, rows, columns, stack, shape)
    values = _flat(xp, values, stack)
    return xp.reshape(multiply(values, rows, columns, x, shape=(count * m, count * n)), (*stack, m, *width))


def sampled(sample: Product, x: Array, y: Array, rows: Array, columns: Array) -> Array:
    """Multiply dense matrices at positions of shape `(*batch, nse)`, all at once, by `sampled_matmul`."""
    xp = array_namespace(x, y, rows, columns)
    stack = _stack((rows, 1), (columns, 1), (x, 2), (y, 2))
    count, (m, k), n = math.prod(stack), x.shape[-2:], y.shape[-1]
    nse = rows.shape[-1]
    rows, columns = numbered(xp, rows, columns, stack, (m, n))
    x = xp.reshape(xp.broadcast_to(x, (*stack, m, k)), (count * m, k))
    y = xp.reshape(xp.broadcast_to(xp.matrix_transpose(y), (*stack, n, k)), (count * n, k))
    return xp.reshape(sample(x, xp.matrix_transpose(y), rows, columns), (*stack, nse))


def numbered(xp: Namespace, rows: Array, columns: Array, stack: tuple[int, ...], shape: Shape) -> tuple[Array, Array]:
    """Number the rows and columns of all lanes consecutively; padding stays padding."""
    (m, n), device = shape, checks.device_of(rows)
    count, nse = math.prod(stack), rows.shape[-1]
    dtype = index_dtype(xp, device)
    lane = xp.reshape(xp.arange(count, dtype=dtype, device=device), (count, 1))
    rows, columns = (xp.astype(xp.reshape(_flat(xp, part, stack), (count, nse)), dtype) for part in (rows, columns))
    is_entry = used((rows, columns), (m, n))
    rows = xp.where(is_entry, rows + lane * m, xp.full_like(rows, count * m))
    columns = xp.where(is_entry, columns + lane * n, xp.full_like(columns, count * n))
    return xp.reshape(rows, (-1,)), xp.reshape(columns, (-1,))


def mapped_product(xp: Namespace, multiply: Product, values: Array, x: Array, mapped: Sequence[bool]) -> Array:
    """Call `multiply(values, x)` for all lanes; the first axis of mapped arrays is the axis of lanes.

    Vectors of several lanes that share a matrix become the columns of one array.
    """
    if mapped[0] or values.ndim > 1 or x.ndim != 3:
        return multiply(*aligned(xp, (values, x), mapped, (1, 2)))
    lanes, n, k = x.shape
    out = multiply(values, xp.reshape(xp.moveaxis(x, 0, 1), (n, lanes * k)))
    return xp.moveaxis(xp.reshape(out, (out.shape[0], lanes, k)), 1, 0)


def aligned(xp: Namespace, arrays: Sequence[Array], mapped: Sequence[bool], cores: Sequence[int]) -> list[Array]:
    """Insert axes so that the batch axes broadcast; the first axis of mapped arrays is the axis of lanes.

    `cores` has the number of each array's axes that are not batch axes.
    """
    ndim = max(x.ndim - is_mapped - core for x, is_mapped, core in zip(arrays, mapped, cores))
    return [
        xp.reshape(x, (x.shape[0], *(1,) * (ndim - (x.ndim - 1 - core)), *x.shape[1:])) if is_mapped else x
        for x, is_mapped, core in zip(arrays, mapped, cores)
    ]


def _stack(*arrays: tuple[Array, int]) -> tuple[int, ...]:
    """Broadcast the batch axes of arrays. The number with each array counts its last axes, which are not batch axes."""
    return checks.broadcast(*[tuple(x.shape[: x.ndim - core]) for x, core in arrays])


def _flat(xp: Namespace, x: Array, stack: tuple[int, ...]) -> Array:
    return xp.reshape(xp.broadcast_to(x, (*stack, x.shape[-1])), (-1,))
