"""Loops of many steps on PyTorch, differentiated by `backward` in the memory of the square root of their number.

What a block of steps needs for its derivative is computed anew when it is asked for. The transformations of torch.func
have no way to do so for functions that close over arrays: inside of them all steps are kept.
"""

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch.utils.checkpoint import checkpoint

from xpand._typing import Array

from ...generic._control_flow_loops import looped
from ...generic._control_flow_scans import steps
from ._control_flow_known import holds

Arrays: TypeAlias = "tuple[Array, ...]"
Function: TypeAlias = Callable[..., Any]

# Below it a loop keeps little, and computing each step twice would be all that blocks bring.
_FEW_STEPS = 64


def is_long(length: int) -> bool:
    """Tell whether a loop is one to cut into blocks, should something in it be differentiated."""
    return length >= _FEW_STEPS and torch.is_grad_enabled() and not torch._C._are_functorch_transforms_active()


def steps_in_blocks(f: Function, carry: Arrays, rows: list[Arrays]) -> tuple[Arrays, list[Arrays]]:
    """Step over rows; list what each step yields."""
    carry, found = steps(f, carry, rows[:1])
    if not _is_followed((*carry, *found[0])):
        carry, rest = steps(f, carry, rows[1:])
        return carry, found + rest
    size = math.isqrt(len(rows))
    for start in range(1, len(rows), size):
        carry, ys = _recomputed(lambda carry, start=start: steps(f, carry, rows[start : start + size]), carry)
        found += ys
    return carry, found


def bounded_in_blocks(cond_fun: Function, body_fun: Function, carry: Arrays, max_iter: int) -> Arrays:
    """Step as long as a condition holds, at most so many times."""

    def block(carry: Arrays, length: int) -> Arrays:
        return looped(cond_fun, body_fun, carry, length, lambda active, bounded: holds(active))

    carry = block(carry, 1)
    if not _is_followed(carry):
        return block(carry, max_iter - 1)
    size = math.isqrt(max_iter)
    for start in range(1, max_iter, size):
        if not holds(cond_fun(*carry))[0]:
            break
        carry = _recomputed(block, carry, min(size, max_iter - start))
    return carry


def _is_followed(arrays: Arrays) -> bool:
    return any(x.requires_grad for x in arrays)


def _recomputed(function: Function, *args: Any) -> Any:
    return checkpoint(function, *args, use_reentrant=False)
