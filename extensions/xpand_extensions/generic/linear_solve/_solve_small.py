"""Small dense systems: any library goes the long way."""

from xpand._typing import Array


def solve_small(a: Array, b: Array, rtol: float | None, atol: float, /) -> tuple[Array, ...] | None:
    return None
