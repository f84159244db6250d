"""Mapping on PyTorch."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import torch

from xpand import UnsupportedError, torch as xp, trees
from xpand.extend import LibraryArray as Array
from xpand.torch import _private as private
from xpand_extensions._dispatch import forwards_to
from xpand_extensions.devices import to_device
from xpand_extensions.vmap import _names as names, vmap as vmap_of_trees
from xpand_extensions.vmap._mapping import placed, spread_axes
from xpand_extensions.vmap._parallel import devices_of_replicas, pmap as pmap_of_trees

from .._errors import with_errors
from ._collectives import collective
from ._custom import custom_vmap


def vmap(
    function: Callable[..., Any],
    /,
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
) -> Callable[..., Any]:
    if axis_size is None:
        if isinstance(in_axes, tuple) and in_axes and in_axes[0] is not None and len(set(in_axes)) == 1:
            in_axes = in_axes[0]  # PyTorch expands it in half the time
        return partial(with_errors, "vmap", torch.func.vmap(function, in_dims=in_axes, out_dims=out_axes))
    size = axis_size

    # The positions are mapped too: they identify the axis for `collective`, and so there is always a mapped array.
    def mapped(*arrays: Array) -> Any:
        positions = torch.arange(size, dtype=torch.int32, device=arrays[0].device if arrays else None)
        same: list[Array] = []

        def at_position(position: Array, *arrays: Array) -> Any:
            result = _called(function, arrays, axis_name, names.Axis(size, lambda: position))
            if out_axes == 0:
                return result
            # Not through PyTorch's `out_dims=None`, which refuses what an outer `vmap` maps.
            same[:] = [collective(x, position, "same") for x in result[1]]
            return result[0]

        found = with_errors("vmap", torch.func.vmap(at_position, in_dims=(0, *in_axes)), positions, *arrays)
        return found if out_axes == 0 else (found, tuple(same))

    return mapped


def _called(function: Callable[..., Any], arrays: Sequence[Array], axis_name: Any, axis: names.Axis) -> Any:
    if axis_name is None:
        return function(*arrays)
    with names.bound(axis_name, axis):
        return function(*arrays)


@forwards_to(pmap_of_trees)
def pmap(
    function: Any,
    /,
    axis_name: Any,
    *,
    in_axes: Any,
    out_axes: Any,
    devices: Any,
    backend: Any,
    axis_size: Any,
    **rest: Any,
) -> Any:
    size = axis_size or 0
    alone = vmap_of_trees(function, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name, axis_size=1)

    def on_each(*leaves: Any) -> Any:
        first = next(x for x in leaves if isinstance(x, torch.Tensor))
        chosen = devices_of_replicas(size, devices, backend, xp, first)
        if size == 1:
            return alone(*to_device(leaves, chosen[0]))
        if private.current_level() is not None:
            raise UnsupportedError(
                "pmap: on PyTorch, replicas on several devices cannot be differentiated or mapped from outside; write "
                "`pmap(grad(f))`, or use `vmap` on one device"
            )
        results = []
        for i, device in enumerate(chosen):
            given = [x if axis is None else x.select(axis, i) for x, axis in zip(to_device(leaves, device), in_axes)]
            axis = names.Axis(size, partial(torch.asarray, i, dtype=torch.int32, device=device))
            with torch.device(device):
                results.append(_called(function, given, axis_name, axis))
        positions = spread_axes("pmap", "out_axes", out_axes, results[0])
        columns = zip(positions, *[trees.leaves(result) for result in results])
        joined = [_joined(position, column, chosen[0]) for position, *column in columns]
        return trees.unflatten(trees.structure(results[0]), joined)

    return on_each


def _joined(position: int | None, column: Sequence[Array], device: Any) -> Array:
    """Stack the results of the replicas, or take that of the first."""
    if position is None:
        return column[0]
    return placed("pmap", torch.stack([x.to(device, non_blocking=True) for x in column]), position)


def psum(x: Array, /, axis_name: Any) -> Array:
    for name in axis_name:
        x = collective(x, _position("psum", name), "sum")
    return x


def all_gather(x: Array, /, axis_name: Any, *, axis: int = 0, tiled: bool = False) -> Array:
    found = collective(x, _position("all_gather", axis_name), "gather").movedim(0, axis)
    return found.flatten(axis, axis + 1) if tiled else found


def ppermute(x: Array, /, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Array:
    sources = [source for source, _ in sorted(perm, key=lambda pair: pair[1])]
    return collective(x, _position("ppermute", axis_name), "permute", sources)


def psum_scatter(x: Array, /, axis_name: Any, *, scatter_dimension: int = 0, tiled: bool = False) -> Array:
    return collective(x, _position("psum_scatter", axis_name), "scatter")


def _position(function: str, name: Any) -> Array:
    return names.axis_of(function, name).position()
