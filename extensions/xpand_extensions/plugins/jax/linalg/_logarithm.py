"""The matrix logarithm on JAX, with loops that run as long as they must, and the derivative as a linear system."""

import jax
import jax.numpy as jnp
from jax import lax

import xpand.jax as xp
from xpand.extend import Array
from xpand_extensions.generic.linalg._functions import principal_logarithm

from ._exponential import expm


@jax.jit  # type: ignore[untyped-decorator]
def logm(x: Array, /) -> Array:
    return _logm(x)


@jax.custom_jvp  # type: ignore[untyped-decorator]
def _logm(x: Array) -> Array:
    return principal_logarithm(xp, x, lax.while_loop)


@_logm.defjvp  # type: ignore[untyped-decorator]
def _logm_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,), (direction,) = primals, tangents
    result = logm(x)
    # The derivative solves a linear system, that of the exponential's; so it is linear for JAX too, which can transpose
    # and differentiate it.
    tangent = lax.custom_linear_solve(
        lambda e: jax.jvp(expm, (result,), (e,))[1],
        direction,
        solve=lambda _, e: _derivative(x, e),
        transpose_solve=lambda _, e: _derivative(x.mT, e),
    )
    return result, tangent


def _derivative(x: Array, e: Array) -> Array:
    """The derivative at `x` in the direction `e`: the upper right block of the logarithm of `[[x, e], [0, x]]`.

    (R. Mathias, SIAM J. Matrix Anal. Appl. 17 (1996) 610.)
    """
    size = x.shape[-1]
    upper = jnp.concatenate([x, e], axis=-1)
    lower = jnp.concatenate([jnp.zeros_like(x), x], axis=-1)
    return logm(jnp.concatenate([upper, lower], axis=-2))[..., :size, size:]
