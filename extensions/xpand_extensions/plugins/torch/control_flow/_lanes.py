"""Compiled loops with collectives: one loop of all lanes, below the level of vmap."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch

from xpand.extend import Array
from xpand.torch import _private as private

from ..autodiff._levels import over_lanes

Arrays: TypeAlias = "tuple[Array, ...]"
Function: TypeAlias = Callable[..., Arrays]


def of_all(
    repeat: Callable[[Function, Function, Arrays, int], Arrays],
    functions: Sequence[Function],
    arrays: Sequence[Array],
    carried: int,
    interpreter: Any,
) -> Arrays:
    """Step until the last lane has finished.

    Args:
        repeat: Runs the loop with a condition and a step of whole arrays.
        functions: The condition and the step of a lane, of the carry and of arrays that are the same at each step.
        arrays: The arrays of the lane.
        carried: The number of arrays in the carry.
        interpreter: The interpreter of the level of vmap.
    """
    level, size = interpreter.level(), interpreter.batch_size()
    pairs = [private.unwrap_mapped(x, level) for x in arrays]
    wholes = [x if axis is None else x.movedim(axis, 0) for x, axis in pairs]
    for i, (x, axis) in enumerate(pairs[:carried]):
        wholes[i] = x.expand(size, *x.shape) if axis is None else wholes[i]
    axes = tuple([None if i >= carried and axis is None else 0 for i, (_, axis) in enumerate(pairs)])
    holds, body = map(over_lanes(interpreter, axes), functions)

    def step(*xs: Array) -> Arrays:
        (active,) = holds(*xs)
        wide = [active.reshape(-1, *(1,) * (x.ndim - 1)) for x in xs[:carried]]
        return tuple([torch.where(each, new, old) for each, new, old in zip(wide, body(*xs), xs)])

    with interpreter.lower():
        found = repeat(lambda *xs: (torch.any(holds(*xs)[0]),), step, tuple(wholes), carried)
    return tuple(private.wrap_mapped(x, 0, level) for x in found)
