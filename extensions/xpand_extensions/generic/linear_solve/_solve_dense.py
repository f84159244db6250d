"""One dense system: there is no shortcut for arbitrary libraries."""

from xpand.extend import Array


def solve_dense(a: Array, b: Array, rtol: float | None, atol: float, /) -> tuple[Array, ...] | None:
    return None
