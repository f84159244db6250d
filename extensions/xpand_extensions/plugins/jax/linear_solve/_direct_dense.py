"""Factors of dense matrices on JAX, compiled together with their status."""

import jax

import xpand.jax as xp
from xpand.extend import Array
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
