"""The matrix exponential on JAX, compiled: where no matrix of a stack needs a squaring any more, none is done.

JAX's own scales by a power of two too little, which costs four digits, and makes NaN of norms from 350,000 on.
"""

import jax
import jax.numpy as jnp
from jax import lax

import xpand.jax as xp
from xpand.extend import Array
from xpand_extensions.generic.linalg._functions import MAX_SQUARINGS, exponential


@jax.jit  # type: ignore[untyped-decorator]
def expm(x: Array, /) -> Array:
    return exponential(xp, x, _squared)


def _squared(x: Array, squarings: Array) -> Array:
    def step(x: Array, number: Array) -> tuple[Array, None]:
        more = number < squarings
        return lax.cond(jnp.any(more), lambda x: jnp.where(more, x @ x, x), lambda x: x, x), None

    return lax.scan(step, x, jnp.arange(MAX_SQUARINGS))[0]
