"""One dense system on JAX: the steps of `solve`, compiled as a whole."""

import jax

from xpand.extend import LibraryArray as Array
from xpand_extensions import linear_solve


def solve_dense(a: Array, b: Array, rtol: float | None, atol: float, /) -> tuple[Array, ...] | None:
    return _compiled(a, b, rtol, atol) if a.sharding == b.sharding else None


@jax.jit  # type: ignore[untyped-decorator]
def _compiled(a: Array, b: Array, rtol: Array | None, atol: Array) -> tuple[Array, ...]:
    return tuple(linear_solve.solve(a, b, method="lu", rtol=rtol, atol=atol, throw=False))
