"""Loops of many steps on PyTorch, differentiated in the memory of the square root of their number.

The values that the derivative of a block of steps needs are recomputed.
"""

import math
from collections.abc import Callable
from itertools import chain
from typing import Any, Final, TypeAlias

import torch

from xpand.extend import Array
from xpand_extensions.generic.control_flow._loops import looped
from xpand_extensions.generic.control_flow._scans import steps

from ..autodiff._checkpoint import checkpoint
from ._known import holds, is_saved

Arrays: TypeAlias = "tuple[Array, ...]"
Function: TypeAlias = Callable[..., Any]

# Shorter loops save little, so that blocks would only compute each step twice.
FEW_STEPS: Final = 64


def is_long(length: int) -> bool:
    """Tell whether a loop is split into blocks if it is differentiated."""
    return length >= FEW_STEPS and torch.is_grad_enabled()


def steps_in_blocks(f: Function, carry: Arrays, rows: list[Arrays]) -> tuple[Arrays, list[Arrays]]:
    """Step over rows; list the results of the steps."""
    carry, found = steps(f, carry, rows[:1])
    if not any(map(is_saved, (*carry, *found[0]))):
        carry, rest = steps(f, carry, rows[1:])
        return carry, found + rest
    size = math.isqrt(len(rows))
    for start in range(1, len(rows), size):
        carry, ys = _steps_recomputed(f, carry, rows[start : start + size])
        found += ys
    return carry, found


def _steps_recomputed(f: Function, carry: Arrays, rows: list[Arrays]) -> tuple[Arrays, list[Arrays]]:
    carried, across = len(carry), len(rows[0])

    def block(*arrays: Array, length: int = len(rows)) -> Arrays:  # not the rows themselves, which are its arguments
        last, found = steps(f, arrays[:carried], _grouped(arrays[carried:], across, length))
        return (*last, *chain(*found))

    outs = checkpoint(block)(*carry, *chain(*rows))
    return outs[:carried], _grouped(outs[carried:], (len(outs) - carried) // len(rows), len(rows))


def _grouped(arrays: Arrays, size: int, count: int) -> list[Arrays]:
    return [arrays[size * i : size * (i + 1)] for i in range(count)]


def bounded_in_blocks(cond_fun: Function, body_fun: Function, carry: Arrays, max_iter: int) -> Arrays:
    """Step as long as a condition holds, up to a number of steps."""

    def block(carry: Arrays, length: int) -> Arrays:
        return looped(cond_fun, body_fun, carry, length, lambda active, bounded: holds(active))

    carry = block(carry, 1)
    if not any(map(is_saved, carry)):
        return block(carry, max_iter - 1)
    size = math.isqrt(max_iter)
    for start in range(1, max_iter, size):
        if not holds(cond_fun(*carry))[0]:
            break
        length = min(size, max_iter - start)
        carry = checkpoint(lambda *carry, length=length: block(carry, length))(*carry)
    return carry
