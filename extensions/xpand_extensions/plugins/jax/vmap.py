"""Mapping on JAX."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import jax.custom_batching
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

from xpand import jax as xp, trees
from xpand.extend import LibraryArray as Array
from xpand_extensions._dispatch import forwards_to
from xpand_extensions.vmap import _names as names
from xpand_extensions.vmap._mapping import placed, spread_axes
from xpand_extensions.vmap._parallel import devices_of_replicas

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
        return _with_message(jax.vmap(function, in_axes, out_axes, axis_size=axis_size), out_axes)

    def with_name(*arrays: Array) -> Any:
        with names.bound(axis_name, _axis(axis_name)):
            return function(*arrays)

    return _with_message(jax.vmap(with_name, in_axes, out_axes, axis_name=axis_name, axis_size=axis_size), out_axes)


def _with_message(mapped: Callable[..., Any], out_axes: Any) -> Callable[..., Any]:
    """Return a mapped function whose error says which result is mapped but should not be."""
    if out_axes == 0:
        return mapped

    def checked(*arrays: Array) -> Any:
        try:
            return mapped(*arrays)
        except ValueError as error:
            if "output was batched" not in str(error):
                raise
            message = "vmap: out_axes has None for a result that differs between calls; give it an axis"
            raise ValueError(message) from error

    return checked


@forwards_to(generic.pmap)
def pmap(
    function: Callable[..., Any], /, axis_name: Any = None, *, in_axes: Any, out_axes: Any, axis_size: Any, **where: Any
) -> Callable[..., Any]:
    devices, backend, donate_argnums = where["devices"], where["backend"], where["donate_argnums"]
    name = "replica" if axis_name is None else axis_name
    traced = explained("pmap", function)
    structure: trees.Structure | None = None
    positions: list[int | None] = []

    def replica(*leaves: Any) -> tuple[list[Any], list[Any]]:
        nonlocal structure
        result = traced(*leaves)
        outs, structure = trees.flatten(result)
        positions[:] = spread_axes("pmap", "out_axes", out_axes, result)
        of_all = [x for x, position in zip(outs, positions) if position is not None]
        return of_all, [x for x, position in zip(outs, positions) if position is None]

    def ordered(of_all: list[Any], of_one: list[Any]) -> list[Any]:
        mapped, same = iter(of_all), iter(of_one)
        return [next(same) if position is None else placed("pmap", next(mapped), position) for position in positions]

    donated = tuple(donate_argnums if isinstance(donate_argnums, Iterable) else (donate_argnums,))
    shardings: Sequence[NamedSharding] = ()
    run: Callable[..., Any]
    if jax.process_count() > 1:  # JAX's own function takes from each process its part of the axis
        own = jax.pmap(replica, name, in_axes=in_axes, out_axes=(0, None), devices=devices, donate_argnums=donated)
        run = lambda *leaves: ordered(*own(*leaves))
    else:
        mesh = Mesh(np.asarray(devices_of_replicas(axis_size or 0, devices, backend, xp), dtype=object), (name,))
        specs = tuple([P() if axis is None else P(*[None] * axis, name) for axis in in_axes])
        shardings = [NamedSharding(mesh, spec) for spec in specs]

        def on_device(*leaves: Any) -> Any:
            given = [x if axis is None else jnp.squeeze(x, axis) for x, axis in zip(leaves, in_axes)]
            of_all, of_one = replica(*given)
            return [jnp.expand_dims(x, 0) for x in of_all], of_one

        # With `check_vma`, JAX would refuse unmapped results that may differ between replicas.
        spread = jax.shard_map(on_device, mesh=mesh, in_specs=specs, out_specs=(P(name), P()), check_vma=False)
        compiled = lambda *leaves: ordered(*spread(*leaves))
        run = jax.jit(compiled, in_shardings=tuple(shardings), donate_argnums=donated)

    def call(*leaves: Any) -> Any:
        try:
            found = run(*leaves)
        except ValueError:
            moved = [_distributed(x, sharding) for x, sharding in zip(leaves, shardings)]
            if all(x is y for x, y in zip(leaves, moved)):
                raise
            found = run(*moved)
        assert structure is not None, "the function has been traced"
        return trees.unflatten(structure, found)

    return call


def _distributed(x: Any, sharding: NamedSharding) -> Any:
    """Move an array that is committed to other devices, such as a result of `to_device`: `jit` would refuse it."""
    if isinstance(x, jax.core.Tracer) or not isinstance(x, jax.Array) or x.sharding == sharding:
        return x
    return jax.device_put(x, sharding)


def _axis(name: Any) -> names.Axis:
    # Compute the position each time: a stored array would be wrong when JAX reuses a compiled program.
    return names.Axis(jax.lax.axis_size(name), lambda: jax.lax.axis_index(name))


def axis_around(name: Any, /, *, xp: Any = None) -> names.Axis | None:
    try:
        return _axis(name)
    except NameError:  # JAX raises this if it maps over no such axis
        return None


def custom_vmap(function: Callable[..., Any], /) -> Any:
    return jax.custom_batching.custom_vmap(function)


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
    # JAX's functions have no derivative. But `shard_map` knows that their results are the same on all devices, which it
    # does not know for `all_gather`.
    found: Array = (_derived if jnp.issubdtype(x.dtype, jnp.floating) else _plain)(function, axis_name, x)
    return found


def _plain(function: Callable[..., Any], axis_name: Any, x: Array) -> Array:
    if x.dtype == bool:
        return function(x.astype(jnp.int8), axis_name).astype(bool)
    return function(x, axis_name)


_derived = jax.custom_jvp(_plain, nondiff_argnums=(0, 1))


def _derivative(function: Callable[..., Any], axis_name: Any, primals: Any, tangents: Any) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    extreme = _derived(function, axis_name, x)
    chosen = (x == extreme).astype(x.dtype)
    return extreme, jax.lax.psum(chosen * dx, axis_name) / jax.lax.psum(chosen, axis_name)


_derived.defjvp(_derivative)


def psum_scatter(x: Array, /, axis_name: Any, *, scatter_dimension: int = 0, tiled: bool = False) -> Array:
    return jax.lax.psum_scatter(x, axis_name)


def all_to_all(x: Array, /, axis_name: Any, split_axis: int, concat_axis: int, *, tiled: bool = False) -> Array:
    if axis_name in names.all_bound():
        # Along an axis of `vmap`, JAX's own function fails for unmapped arrays, and so for their cotangents.
        return generic.all_to_all(x, axis_name, split_axis, concat_axis)
    return jax.lax.all_to_all(x, axis_name, split_axis, concat_axis)
