"""Mapping on JAX."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from xpand._typing import Array
from xpand_extensions.vmap import _names as names

from ...generic import vmap as generic
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
        with names.bound(axis_name, _axis(axis_name)):
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


def _axis(name: Any) -> names.Axis:
    # The position is asked for each time: an array would be stale where JAX has kept what it compiled.
    return names.Axis(jax.lax.axis_size(name), lambda: jax.lax.axis_index(name))


def axis_around(name: Any, /, *, xp: Any = None) -> names.Axis | None:
    try:
        return _axis(name)
    except NameError:  # how JAX says that it maps over no such axis
        return None


def psum(x: Array, /, axis_name: Any) -> Array:
    return jax.lax.psum(x, axis_name)


def all_gather(x: Array, /, axis_name: Any, *, axis: int = 0, tiled: bool = False) -> Array:
    return jax.lax.all_gather(x, axis_name, axis=axis, tiled=tiled)


def ppermute(x: Array, /, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Array:
    return jax.lax.ppermute(x, axis_name, perm)


def pmax(x: Array, /, axis_name: Any) -> Array:
    return _extreme(jax.lax.pmax, x, axis_name)


def pmin(x: Array, /, axis_name: Any) -> Array:
    return _extreme(jax.lax.pmin, x, axis_name)


def _extreme(function: Callable[..., Any], x: Array, axis_name: Any) -> Array:
    # JAX's own are the same for all devices of `shard_map`, as all_gather's results are not, but have no derivative.
    found: Array = (_derived if jnp.issubdtype(x.dtype, jnp.floating) else _plain)(function, axis_name, x)
    return found


def _plain(function: Callable[..., Any], axis_name: Any, x: Array) -> Array:
    if x.dtype == bool:
        return function(x.astype(jnp.int8), axis_name).astype(bool)
    return function(x, axis_name)


_derived = jax.custom_jvp(_plain, nondiff_argnums=(0, 1))


@partial(_derived.defjvp)
def _(function: Callable[..., Any], axis_name: Any, primals: Any, tangents: Any) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    extreme = _derived(function, axis_name, x)
    chosen = (x == extreme).astype(x.dtype)
    return extreme, jax.lax.psum(chosen * dx, axis_name) / jax.lax.psum(chosen, axis_name)


def psum_scatter(x: Array, /, axis_name: Any, *, scatter_dimension: int = 0, tiled: bool = False) -> Array:
    return jax.lax.psum_scatter(x, axis_name)


def all_to_all(x: Array, /, axis_name: Any, split_axis: int, concat_axis: int, *, tiled: bool = False) -> Array:
    if axis_name in names.all_bound():
        # An axis of `vmap`, along which JAX's own fails for arrays, and so for cotangents, that are not mapped.
        return generic.all_to_all(x, axis_name, split_axis, concat_axis)
    return jax.lax.all_to_all(x, axis_name, split_axis, concat_axis)
