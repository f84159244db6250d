"""Linear systems and roots with implicit derivatives on JAX, by its own functions."""

from itertools import accumulate
from math import prod
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jax.extend.core import jaxpr_as_fun

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
    # Trace `solve` only once. JAX expects solutions of the shapes of right-hand sides, but theirs may differ.
    graph, (columns, aux_types) = jax.make_jaxpr(solve, return_shape=True)(b, *args)
    solved = jaxpr_as_fun(graph)
    rows, form = _forms(b, columns)

    def of_solve(_: Any, b: Any) -> Any:
        outs = tuple(solved(*rows.arrays(b), *args))
        return form.packed(outs[: len(columns)]), outs[len(columns) :]

    def of_transposed(_: Any, x: Any) -> Any:
        # JAX assumes that the auxiliary data has the same shapes and data types as for `solve`, without a check.
        zeros = tuple(jnp.zeros(each.shape, each.dtype) for each in aux_types)
        assert transpose_solve is not None, "it is asked for where there is one"
        return rows.packed(transpose_solve(form.arrays(x), *args)[0]), zeros

    x, aux = jax.lax.custom_linear_solve(
        lambda x: rows.packed(matvec(form.arrays(x), *args)),
        rows.packed(b),
        of_solve,
        None if transpose_solve is None else of_transposed,
        symmetric,
        has_aux=True,
    )
    return form.arrays(x), tuple(aux)


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


class _Form:
    """Arrays that JAX accepts unchanged."""

    def packed(self, arrays: Arrays) -> Any:
        """Combine arrays."""
        return tuple(arrays)

    def arrays(self, packed: Any) -> Arrays:
        """Separate arrays."""
        return tuple(packed)


class _Row(_Form):
    """Arrays flattened and joined to one vector of one data type."""

    def __init__(self, like: Any, dtype: Any) -> None:
        self.kinds, self.dtype = [(x.shape, x.dtype) for x in like], dtype

    def packed(self, arrays: Arrays) -> Any:
        return jnp.concat([jnp.ravel(x).astype(self.dtype) for x in arrays])

    def arrays(self, packed: Any) -> Arrays:
        ends = list(accumulate(prod(shape) for shape, _ in self.kinds))[:-1]
        return tuple(
            jnp.reshape(x, shape).astype(dtype) for x, (shape, dtype) in zip(jnp.split(packed, ends), self.kinds)
        )


def _forms(b: Any, x: Any) -> tuple[_Form, _Form]:
    """Choose the forms of right-hand sides and solutions: JAX requires the same shapes and data types of both."""
    if [(y.shape, y.dtype) for y in b] == [(y.shape, y.dtype) for y in x]:
        return _Form(), _Form()
    dtype = jnp.result_type(*b, *x)
    return _Row(b, dtype), _Row(x, dtype)
