"""Linear collectives along a mapped axis, at the level of that axis and with derivatives in both modes.

torch.func calls the vmap rule of each level in turn, starting at the innermost. The right level is the one at which the
positions along the axis are mapped; the others only pass the call on.
"""

from collections.abc import Sequence
from typing import Final

import torch

from xpand import UnsupportedError, torch as xp
from xpand.extend import LibraryArray as Array

from ..autodiff._levels import Arrays, Lanes, Rule, call

_TRANSPOSED: Final = {"sum": "sum", "gather": "scatter", "scatter": "gather", "permute": "permute"}


def collective(x: Array, position: Array, kind: str, sources: Sequence[int] = ()) -> Array:
    """Apply a linear function of all lanes along an axis.

    Args:
        x: The value of a lane.
        position: Its position along the axis.
        kind: "sum"; "gather", all lanes along a new first axis; "scatter", the entry of the sum at the lane's position
            along the first axis; "permute"; or "same", the common value of all lanes, an error where it differs.
        sources: For "permute", the position that each lane's result is from.
    """
    if torch.compiler.is_dynamo_compiling():
        raise UnsupportedError("psum, all_gather, …: torch.compile can't trace them; use `xpand_extensions.jit.jit`")
    return call(_rule(kind, list(sources)), (x, position))[0]


def _rule(kind: str, sources: list[int]) -> Rule:
    def forward(x: Array, position: Array) -> tuple[Arrays, Arrays]:
        return (collective(x, position, kind, sources),), (position,)

    def pull(residuals: Arrays, cotangents: Arrays) -> Arrays:
        destinations = sorted(range(len(sources)), key=sources.__getitem__)
        return collective(cotangents[0], residuals[0], _TRANSPOSED[kind], destinations), residuals[0]

    def push(residuals: Arrays, tangents: Arrays) -> Arrays:
        return (collective(tangents[0], residuals[0], kind, sources),)

    def batches(lanes: Lanes, batched: tuple[bool, ...], x: Array, position: Array) -> tuple[Arrays, tuple[bool, ...]]:
        has_axis = batched[0]
        if batched[1]:  # the level of the axis; the others leave the function to the next level
            found, axis = _applied(x, 0 if has_axis else None, lanes.size, kind, sources)
            return (found if axis is None else found.movedim(axis, 0),), (axis is not None,)
        # The axis of this level is last, so that it isn't in the way.
        found = collective(x.movedim(0, -1) if has_axis else x, position, kind, sources)
        return (found.movedim(-1, 0) if has_axis else found,), (has_axis,)

    return Rule(_finished, forward, pull, push, batches=batches)


def _finished(x: Array, position: Array) -> Arrays:
    raise UnsupportedError("psum, all_gather, ppermute: the map over this axis has finished")


def _applied(x: Array, axis: int | None, size: int, kind: str, sources: list[int]) -> tuple[Array, int | None]:
    """Apply the function to the array of all lanes, or to a shared array if `axis` is None."""
    if kind == "same":
        if axis is not None:
            raise ValueError("vmap: out_axes has None for a result that differs between calls; give it an axis")
        return x, None
    if kind == "gather":
        return (x.expand(size, *x.shape) if axis is None else x.movedim(axis, 0)), None
    if kind == "permute":
        if axis is None:
            return x, None
        return xp.take(x, torch.asarray(sources, dtype=torch.int64, device=x.device), axis=axis), axis
    if axis is None:
        # Through int64, so that sizes wrap around where the data type can't hold them.
        total = xp.multiply(x, torch.asarray(size, device=x.device).to(x.dtype))
    else:
        total = xp.sum(x, axis=axis, dtype=x.dtype)
    return total, (0 if kind == "scatter" else None)
