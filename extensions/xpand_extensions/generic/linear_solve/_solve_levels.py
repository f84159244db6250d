"""Sparse triangles solved level by level, with the standard alone."""

from xpand import array_namespace, is_concrete
from xpand.extend import Array, checks
from xpand_extensions import control_flow


def solve_levels(b: Array, weights: Array, columns: Array, diagonal: Array, rows: Array, slots: Array, /) -> Array:
    xp = array_namespace(b, weights)
    batch, (steps, width, entries) = tuple(b.shape[:-1]), columns.shape
    right = xp.concat([b, xp.zeros_like(b[..., :1])], axis=-1)
    right = xp.reshape(xp.take(right, xp.reshape(rows, (-1,)), axis=-1), (*batch, steps, width))

    def solved(x: Array, columns: Array, weights: Array, diagonal: Array, right: Array) -> Array:
        others = xp.take(x, xp.reshape(columns, (-1,)), axis=-1)
        products = weights * xp.reshape(others, (*batch, width, entries))
        return (right - xp.sum(products, axis=-1)) / diagonal

    if all(map(is_concrete, (b, weights, columns, diagonal))):
        x = xp.zeros_like(xp.reshape(right, (*batch, steps * width)))
        for step in range(steps):
            parts = weights[..., step, :, :], diagonal[..., step, :], right[..., step, :]
            x[..., step * width : (step + 1) * width] = solved(x, columns[step, ...], *parts)
        return xp.take(x, slots, axis=-1)

    def advance(carry: tuple[Array, Array], each: tuple[Array, ...]) -> tuple[tuple[Array, Array], None]:
        # The current level is carried as a mask, which each step shifts by one.
        x, here = carry
        found = solved(xp.reshape(x, (*batch, steps * width)), *each)
        return (xp.where(here[:, None], found[..., None, :], x), xp.roll(here, 1, axis=0)), None

    first = xp.arange(steps, dtype=rows.dtype, device=checks.device_of(rows)) == 0
    rest = (columns, xp.moveaxis(weights, -3, 0), xp.moveaxis(diagonal, -2, 0), xp.moveaxis(right, -2, 0))
    (x, _), _ = control_flow.scan(advance, (xp.zeros_like(right), first), rest)
    return xp.take(xp.reshape(x, (*batch, steps * width)), slots, axis=-1)
