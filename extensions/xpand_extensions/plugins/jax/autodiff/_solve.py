"""Linear systems and roots with implicit derivatives on JAX, by its own functions."""

from typing import Any, TypeAlias

import jax
import jax.numpy as jnp

from xpand.extend import LibraryArray as Array
from xpand_extensions import autodiff
from xpand_extensions._captures import captured, solved_directly
from xpand_extensions._dispatch import forwards_to

Arrays: TypeAlias = tuple[Array, ...]


@forwards_to(autodiff.custom_linear_solve)
def custom_linear_solve(
    matvec: Any, /, b: Arrays, *, solve: Any, transpose_solve: Any, args: Arrays, symmetric: bool, **options: Any
) -> tuple[Arrays, Arrays]:
    found = _directly((matvec, solve, transpose_solve), b, args)
    if found is not None:
        return found
    of_aux: list[Any] = []

    def of_solve(_: Any, b: Arrays) -> tuple[Arrays, Arrays]:
        xs, aux = solve(b, *args)
        of_aux[:] = [(x.shape, x.dtype) for x in aux]
        return xs, aux

    def of_transposed(_: Any, x: Arrays) -> tuple[Arrays, Arrays]:
        # JAX assumes that the auxiliary data has the same shapes and data types as for `solve`, without a check.
        assert transpose_solve is not None, "it is asked for where there is one"
        return transpose_solve(x, *args)[0], tuple(jnp.zeros(*each) for each in of_aux)

    # JAX's rule fails if only some of the arrays have tangents, or cotangents with tangents. Barriers give zeros to the
    # others.
    x, aux = jax.lax.custom_linear_solve(
        lambda x: matvec(x, *args),
        jax.lax.optimization_barrier(tuple(b)),
        of_solve,
        None if transpose_solve is None else of_transposed,
        symmetric,
        has_aux=True,
    )
    return jax.lax.optimization_barrier(x), tuple(aux)


@forwards_to(autodiff.custom_root)
def custom_root(
    f: Any, /, initial_guess: Arrays, *, solve: Any, tangent_solve: Any, args: Arrays, **options: Any
) -> tuple[Arrays, Arrays]:
    found = _directly((f, solve, tangent_solve), initial_guess, args)
    if found is not None:
        return found
    dtypes: list[Any] = []

    def solved(_: Any, guess: Arrays) -> tuple[Arrays, Arrays]:
        xs, aux = solve(guess, *args)
        dtypes[:] = [x.dtype for x in aux]
        return xs, tuple(map(_as_floats, aux))

    xs, aux = jax.lax.custom_root(lambda xs: f(xs, *args), tuple(initial_guess), solved, tangent_solve, has_aux=True)
    return xs, tuple(_from_floats(x, dtype) for x, dtype in zip(aux, dtypes))


def _directly(functions: tuple[Any, Any, Any], first: Arrays, args: Arrays) -> tuple[Arrays, Arrays] | None:
    """Call the second function, the solver, if no transformation traces the arrays; otherwise return None."""
    return solved_directly(_is_traced, functions, first, args, captured(_is_traced, *functions))


def _as_floats(x: Array) -> Array:
    """Convert integers to floats of the same bits: the rule of JAX's custom_root has no tangents for integers."""
    if jnp.issubdtype(x.dtype, jnp.inexact):
        return x
    if x.dtype.itemsize < 4:
        return x.astype(jnp.float32)
    return jax.lax.bitcast_convert_type(x, jnp.float32 if x.dtype.itemsize == 4 else jnp.float64)


def _from_floats(x: Array, dtype: Any) -> Array:
    if x.dtype == dtype:
        return x
    return x.astype(dtype) if dtype.itemsize < 4 else jax.lax.bitcast_convert_type(x, dtype)


def _is_traced(x: Array) -> bool:
    return isinstance(x, jax.core.Tracer)
