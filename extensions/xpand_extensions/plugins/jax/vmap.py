"""Mapping on JAX."""

from collections.abc import Callable, Sequence
from typing import Any

import jax

from xpand._typing import Array
from xpand_extensions.vmap import _names as names

from ._explained import explained


def vmap(
    function: Callable[..., Any],
    /,
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
) -> Callable[..., Any]:
    function = explained("vmap", function)
    if axis_name is None:
        return _told(jax.vmap(function, in_axes, out_axes, axis_size=axis_size), out_axes)

    def with_name(*arrays: Array) -> Any:
        # Asked for anew each time: an array kept would be stale where JAX has kept what it compiled.
        axis = names.Axis(jax.lax.psum(1, axis_name), lambda: jax.lax.axis_index(axis_name))
        with names.bound(axis_name, axis):
            return function(*arrays)

    return _told(jax.vmap(with_name, in_axes, out_axes, axis_name=axis_name, axis_size=axis_size), out_axes)


def _told(mapped: Callable[..., Any], out_axes: Any) -> Callable[..., Any]:
    """Return a mapped function that says, in our words, what is mapped and should not be."""
    if out_axes == 0:
        return mapped

    def told(*arrays: Array) -> Any:
        try:
            return mapped(*arrays)
        except ValueError as error:
            if "output was batched" not in str(error):
                raise
            message = "vmap: out_axes has None for a result that differs between calls; give it an axis"
            raise ValueError(message) from error

    return told


def psum(x: Array, /, axis_name: Any) -> Array:
    return jax.lax.psum(x, axis_name)


def all_gather(x: Array, /, axis_name: Any, *, axis: int = 0, tiled: bool = False) -> Array:
    return jax.lax.all_gather(x, axis_name, axis=axis, tiled=tiled)


def ppermute(x: Array, /, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Array:
    return jax.lax.ppermute(x, axis_name, perm)
