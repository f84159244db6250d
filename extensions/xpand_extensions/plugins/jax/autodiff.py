"""Derivatives on JAX: its own."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from xpand._typing import Array


def stop_gradient(x: Array, /) -> Array:
    return jax.lax.stop_gradient(x)


def jvp(
    function: Callable[..., Any], primals: Sequence[Array], tangents: Sequence[Array], /, *, has_aux: bool = False
) -> tuple[Any, ...]:
    outs, derivatives, aux = jax.jvp(function, tuple(primals), tuple(tangents), has_aux=has_aux)
    return outs, tuple(map(_tangent, outs, derivatives)), aux


def vjp(function: Callable[..., Any], /, *primals: Array, has_aux: bool = False) -> tuple[Any, ...]:
    outs, pull, aux = jax.vjp(function, *primals, has_aux=has_aux)

    def pullback(*cotangents: Array) -> tuple[Array, ...]:
        back: tuple[Array, ...] = pull(tuple(map(_cotangent, cotangents)))
        return back

    return outs, pullback, aux


def _tangent(out: Array, derivative: Array) -> Array:
    """Turn JAX's mark of an integer's derivative into zeros."""
    return jnp.zeros_like(out) if derivative.dtype == jax.dtypes.float0 else derivative


def _cotangent(x: Array) -> Array:
    if jnp.issubdtype(x.dtype, jnp.inexact):
        return x
    return np.zeros(x.shape, dtype=jax.dtypes.float0)
