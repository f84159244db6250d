"""Sums in the data type of the summands."""

from typing import Any

from xpand.extend import Array, Namespace


def plain_sum(xp: Namespace, x: Array, **axes: Any) -> Array:
    """Sum an array in its own data type, over `axis`, with `keepdims`.

    Not by `sum(dtype=)`, which MLX doesn't have: floating-point numbers are summed in their own data type without it,
    and integers in one that is no narrower.
    """
    total = xp.sum(x, **axes)
    return total if total.dtype == x.dtype else xp.astype(total, x.dtype)
