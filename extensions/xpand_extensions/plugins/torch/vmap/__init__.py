"""Mapping on PyTorch."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import torch

from xpand._typing import Array
from xpand_extensions.vmap import _names as names

from ..autodiff._levels import transformed
from ._collectives import collective


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
            in_axes = in_axes[0]  # which PyTorch spreads in half the time
        over = partial(torch.func.vmap, in_dims=in_axes, out_dims=out_axes)
        return partial(_asking_no_values, transformed(over, function))
    size = axis_size

    # The positions are mapped too: they tell `collective` which axis is meant, and there is always something to map.
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

        over = partial(torch.func.vmap, in_dims=(0, *in_axes))
        found = _asking_no_values(transformed(over, at_position), positions, *arrays)
        return found if out_axes == 0 else (found, tuple(same))

    return mapped


_ASKED: Final = {
    "vmap: It looks like you're": "Python code",
    "vmap: We do not support batching operators that can support dynamic shape": "a shape",
}
"""What asks for values of what is mapped, by what PyTorch says of it."""


def _asking_no_values(mapped: Callable[..., Any], *arrays: Array) -> Any:
    if torch.compiler.is_dynamo_compiling():
        return mapped(*arrays)
    try:
        return mapped(*arrays)
    except RuntimeError as error:
        what = next((what for text, what in _ASKED.items() if str(error).startswith(text)), None)
        if what is None:
            raise
        from xpand_extensions.tracing._where import place_of

        raise TypeError(
            f"vmap: {what} depends on the values of an array that is mapped over, at {place_of(error)}; write "
            "`xp.where`, or `control_flow.cond` and `while_loop`, in place of `if` and `while`, and use operations "
            "whose shapes do not depend on values, such as those of xpand with `size`"
        ) from error


def _called(function: Callable[..., Any], arrays: Sequence[Array], axis_name: Any, axis: names.Axis) -> Any:
    if axis_name is None:
        return function(*arrays)
    with names.bound(axis_name, axis):
        return function(*arrays)


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
