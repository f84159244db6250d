"""One dense system: `solve` has no shorter way for an arbitrary library."""

from xpand.extend import Array


def solve_dense(a: Array, b: Array, rtol: float | None, atol: float, /) -> tuple[Array, ...] | None:
    return None
