"""Matrices with a structure, with the standard alone."""

from typing import Any

from xpand import array_namespace
from xpand.extend import Array, Namespace, checks
from xpand_extensions import autodiff, control_flow
from xpand_extensions._bounds import index_dtype

from ._factorizations import size_of


def block_diag(*arrays: Array) -> Array:
    xp = array_namespace(*arrays)
    columns, before, rows = sum(x.shape[-1] for x in arrays), 0, []
    stack = checks.broadcast(*[tuple(x.shape[:-2]) for x in arrays])
    for x in arrays:
        m, n = x.shape[-2:]
        left, right = (
            xp.zeros((*stack, m, size), dtype=x.dtype, device=checks.device_of(x))
            for size in (before, columns - before - n)
        )
        rows.append(xp.concat([left, xp.broadcast_to(x, (*stack, m, n)), right], axis=-1))
        before += n
    return xp.concat(rows, axis=-2)


def toeplitz(c: Array, r: Array | None = None, /) -> Array:
    xp = array_namespace(c)
    if r is None:
        r = xp.conj(c) if xp.isdtype(c.dtype, "complex floating") else c
    m, n = c.shape[-1], r.shape[-1]
    stack = checks.broadcast(tuple(c.shape[:-1]), tuple(r.shape[:-1]))
    if 0 in (m, n):
        return xp.zeros((*stack, m, n), dtype=c.dtype, device=checks.device_of(c))
    c, r = xp.broadcast_to(c, (*stack, m)), xp.broadcast_to(r, (*stack, n))
    # All diagonals, from the lower left to the upper right corner.
    diagonals = xp.concat([xp.flip(c, axis=-1), r[..., 1:]], axis=-1)
    device = checks.device_of(c)
    dtype = index_dtype(xp, device)
    row, column = (xp.arange(size, dtype=dtype, device=device) for size in (m, n))
    index = xp.reshape(m - 1 - row[:, None] + column[None, :], (m * n,))
    return xp.reshape(xp.take(diagonals, index, axis=-1), (*stack, m, n))


def tridiagonal_solve(dl: Array, d: Array, du: Array, b: Array, /) -> Array:
    xp = array_namespace(dl, d, du, b)
    stack = checks.broadcast(*[tuple(x.shape[:-1]) for x in (dl, d, du)])
    dl, d, du = (xp.broadcast_to(x, (*stack, d.shape[-1])) for x in (dl, d, du))
    is_vector = b.ndim == 1
    if is_vector:
        b = b[:, None]
    stack = checks.broadcast(stack, tuple(b.shape[:-2]))
    b = xp.broadcast_to(b, (*stack, *b.shape[-2:]))
    if 0 in b.shape:
        return b[..., 0] if is_vector else b
    x: Array = autodiff.custom_linear_solve(
        _product,
        b,
        solve=lambda b, dl, d, du: _eliminated(xp, dl, d, du, b),
        transpose_solve=lambda b, dl, d, du: _eliminated(xp, xp.roll(du, 1, axis=-1), d, xp.roll(dl, -1, axis=-1), b),
        args=(dl, d, du),
    )
    return x[..., 0] if is_vector else x


def _product(x: Array, dl: Array, d: Array, du: Array) -> Array:
    xp = array_namespace(x, d)
    zeros = xp.zeros_like(x[..., :1, :])
    above = xp.concat([zeros, x[..., :-1, :]], axis=-2)
    below = xp.concat([x[..., 1:, :], zeros], axis=-2)
    return dl[..., None] * above + d[..., None] * x + du[..., None] * below


def _eliminated(xp: Namespace, dl: Array, d: Array, du: Array, b: Array) -> Array:
    """Eliminate row by row with row exchanges, then substitute backward."""
    below, main, above = (xp.moveaxis(x, -1, 0) for x in (dl, d, du))
    above = xp.concat([above[:-1, ...], xp.zeros_like(above[:1, ...])], axis=0)  # the last row has none
    sides = xp.moveaxis(b, -2, 0)
    of_next = tuple([xp.concat([x[1:, ...], xp.zeros_like(x[:1, ...])], axis=0) for x in (below, main, above, sides)])

    def forward(row: Any, following: Any) -> tuple[Any, Any]:
        pivot, next_above, side = row
        lower, next_main, next_next, next_side = following
        exchanged = size_of(xp, lower) > size_of(xp, pivot)
        upper = xp.where(exchanged, lower, pivot), xp.where(exchanged, next_main, next_above)
        far = xp.where(exchanged, next_next, xp.zeros_like(next_next))
        wide = exchanged[..., None]
        chosen, other = xp.where(wide, next_side, side), xp.where(wide, side, next_side)
        # If both are 0, the matrix is singular. The pivot 0 makes the solution infinite or NaN.
        safe = xp.where(upper[0] == 0, xp.ones_like(pivot), upper[0])
        factor = xp.where(exchanged, pivot, lower) / safe
        rest = xp.where(exchanged, next_above, next_main) - factor * upper[1]
        further = xp.where(exchanged, xp.zeros_like(next_next), next_next) - factor * far
        return (rest, further, other - factor[..., None] * chosen), (*upper, far, chosen)

    first = main[0, ...], above[0, ...], sides[0, ...]
    _, (pivots, near, far, sides) = control_flow.scan(forward, first, of_next)

    def backward(later: Any, row: Any) -> tuple[Any, Any]:
        x1, x2 = later
        pivot, near, far, side = row
        x = (side - near[..., None] * x1 - far[..., None] * x2) / pivot[..., None]
        return (x, x1), x

    zeros = xp.zeros_like(sides[0, ...])
    _, x = control_flow.scan(backward, (zeros, zeros), (pivots, near, far, sides), reverse=True)
    return xp.moveaxis(x, 0, -2)
