"""Vectorization on PyTorch, by `torch.func.vmap`, and collectives."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import torch

from xpand.extend import LibraryArray as Array
from xpand.torch import _private as private
from xpand_extensions.vmap import _names as names

from .._errors import with_errors
from ..autodiff._levels import Arrays, Rule, call
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
            in_axes = in_axes[0]  # half the time of a tuple
        return partial(with_errors, "vmap", torch.func.vmap(function, in_dims=in_axes, out_dims=out_axes))
    size = axis_size

    # Map over the positions, too: they identify the axis for `collective`, and PyTorch needs at least one mapped array.
    def mapped(*arrays: Array) -> Any:
        positions = torch.arange(size, dtype=torch.int32, device=arrays[0].device if arrays else None)
        same: list[Array] = []
        # PyTorch's `out_dims=None` raises for values that an outer `vmap` maps over. torch.compile supports only that.
        is_checked = out_axes != 0 and not torch.compiler.is_dynamo_compiling()

        def at_position(position: Array, *arrays: Array) -> Any:
            axis = names.Axis(size, lambda: position)
            with nullcontext() if axis_name is None else names.bound(axis_name, axis):
                result = function(*arrays)
            if not is_checked:
                return result
            same[:] = [collective(x, position, "same") for x in result[1]]
            return result[0]

        of_all = torch.func.vmap(at_position, in_dims=(0, *in_axes), out_dims=0 if is_checked else out_axes)
        found = with_errors("vmap", of_all, positions, *arrays)
        return (found, tuple(same)) if is_checked else found

    return mapped


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


def custom_vmap(function: Callable[..., Any], /) -> "_CustomVmap":
    return _CustomVmap(function)


class _CustomVmap:
    """A function of arrays with a custom batching rule."""

    def __init__(self, function: Callable[..., Arrays]) -> None:
        self.function = function

    def def_vmap(self, rule: Callable[..., tuple[Arrays, tuple[bool, ...]]]) -> None:
        """Store the rule."""
        self.rule = rule

    def __call__(self, *xs: Array) -> Arrays:
        """Call the function."""
        if torch.compiler.is_dynamo_compiling() and not private.are_levels_active():
            return self.function(*xs)  # nothing maps here
        forward = lambda *xs: (self(*xs), ())
        batches = lambda lanes, *args: self.rule(lanes.size, *args)
        return call(Rule(self.function, forward, _no_derivative, _no_derivative, batches=batches), xs)


def _no_derivative(residuals: Arrays, given: Arrays) -> Arrays:
    raise TypeError(
        "custom_vmap: on PyTorch, a function with a batching rule has no derivative inside the map, in reverse or "
        "forward mode; wrap it with `custom_vjp` or `custom_jvp`"
    )
