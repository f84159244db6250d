"""Linear collectives along a mapped axis, with derivatives in both modes.

The batching rule of a collective is called for each level of vmap, starting with the innermost. The level of the axis
is the one that maps over the positions of the lanes. At the other levels, the rule only calls the collective again.
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
        kind: "sum"; "gather", all lanes along a new first axis; "scatter", the row of the sum at the position of the
            lane; "permute"; or "same", the common value of all lanes, with an error if it differs.
        sources: For "permute", the position of the lane that each lane gets its result from.
    """
    if torch.compiler.is_dynamo_compiling():
        raise UnsupportedError(
            "psum, all_gather, ppermute: torch.compile can't compile collectives; use `xpand_extensions.jit.jit`"
        )
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
        if batched[1]:  # the level of the axis
            found, axis = _applied(x, 0 if has_axis else None, lanes.size, kind, sources)
            return (found if axis is None else found.movedim(axis, 0),), (axis is not None,)
        # Move the axis of this level to the end: collectives use the first axis.
        found = collective(x.movedim(0, -1) if has_axis else x, position, kind, sources)
        return (found.movedim(-1, 0) if has_axis else found,), (has_axis,)

    return Rule(_finished, forward, pull, push, batches=batches)


def _finished(x: Array, position: Array) -> Arrays:
    raise UnsupportedError(
        "psum, all_gather, ppermute: the `vmap` of this axis has finished; call it inside the mapped function"
    )


def _applied(x: Array, axis: int | None, size: int, kind: str, sources: list[int]) -> tuple[Array, int | None]:
    """Apply the function to all lanes, along `axis`; None: all lanes have the same array."""
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
        # Convert from int64, so that sizes that are too large for the data type wrap around.
        total = xp.multiply(x, torch.asarray(size, device=x.device).to(x.dtype))
    else:
        total = xp.sum(x, axis=axis, dtype=x.dtype)
    return total, (0 if kind == "scatter" else None)
