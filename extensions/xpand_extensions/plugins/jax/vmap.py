"""Mapping on JAX."""

from collections.abc import Callable, Sequence
from typing import Any

import jax

from xpand._typing import Array
from xpand_extensions.vmap import _names as names


def vmap(
    function: Callable[..., Any],
    /,
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
) -> Callable[..., Any]:
    mapped: Callable[..., Any]
    if axis_name is None:
        mapped = jax.vmap(function, in_axes, out_axes, axis_size=axis_size)
        return mapped

    def with_name(*arrays: Array) -> Any:
        # Asked for anew each time: an array kept would be stale where JAX has kept what it compiled.
        axis = names.Axis(jax.lax.psum(1, axis_name), lambda: jax.lax.axis_index(axis_name))
        with names.bound(axis_name, axis):
            return function(*arrays)

    mapped = jax.vmap(with_name, in_axes, out_axes, axis_name=axis_name, axis_size=axis_size)
    return mapped


def psum(x: Array, /, axis_name: Any) -> Array:
    return jax.lax.psum(x, axis_name)


def all_gather(x: Array, /, axis_name: Any, *, axis: int = 0, tiled: bool = False) -> Array:
    return jax.lax.all_gather(x, axis_name, axis=axis, tiled=tiled)


def ppermute(x: Array, /, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Array:
    return jax.lax.ppermute(x, axis_name, perm)
