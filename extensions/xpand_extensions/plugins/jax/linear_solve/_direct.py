"""Direct solvers on JAX, compiled as a whole: dense factors with their status, one dense system, sparse triangles."""

from typing import Any

import jax
import jax.numpy as jnp

import xpand.jax as xp
from xpand.extend import LibraryArray as Array
from xpand_extensions import linear_solve
from xpand_extensions.generic.linear_solve import _direct as generic
from xpand_extensions.linear_solve._factors import Factors

factor_lu = jax.jit(generic.factor_lu)
factor_qr = jax.jit(generic.factor_qr)
factor_triangular = jax.jit(generic.factor_triangular, static_argnames=("lower",))


@jax.jit  # type: ignore[untyped-decorator]
def factor_cholesky(a: Array, /) -> Factors:
    finite, safe = generic.finite_or_identity(xp, a)
    factor = jax.lax.linalg.cholesky(safe, symmetrize_input=False)  # NaN if the factorisation fails
    return generic.judged_cholesky(xp, a, finite, factor, xp.all(xp.isfinite(factor), axis=(-2, -1)))


def solve_dense(a: Array, b: Array, rtol: float | None, atol: float, /) -> tuple[Array, ...] | None:
    return _compiled(a, b, rtol, atol) if a.sharding == b.sharding else None


@jax.jit  # type: ignore[untyped-decorator]
def _compiled(a: Array, b: Array, rtol: Array | None, atol: Array) -> tuple[Array, ...]:
    return tuple(linear_solve.solve(a, b, method="lu", rtol=rtol, atol=atol, throw=False))


@jax.jit  # type: ignore[untyped-decorator]
def solve_levels(b: Array, weights: Array, columns: Array, diagonal: Array, rows: Array, slots: Array, /) -> Array:
    # The loop writes each level into the solution.
    steps, width, _ = columns.shape
    right = jnp.concatenate([b, jnp.zeros_like(b[..., :1])], axis=-1)[..., rows]

    def advance(x: Array, each: tuple[Any, ...]) -> tuple[Array, None]:
        step, columns, weights, diagonal, right = each
        found = (right - jnp.sum(weights * x[..., columns], axis=-1)) / diagonal
        return jax.lax.dynamic_update_slice_in_dim(x, found, step * width, axis=-1), None

    parts = (
        jnp.arange(steps),
        columns,
        jnp.moveaxis(weights, -3, 0),
        jnp.moveaxis(diagonal, -2, 0),
        jnp.moveaxis(right, -2, 0),
    )
    x, _ = jax.lax.scan(advance, jnp.zeros((*b.shape[:-1], steps * width), b.dtype), parts)
    return x[..., slots]
