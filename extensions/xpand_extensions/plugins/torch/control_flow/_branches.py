"""Branches on PyTorch: Python's where the condition can be read, operations where a graph is made."""

from collections.abc import Sequence

import torch
from torch.func import debug_unwrap

from xpand.extend import LibraryArray as Array
from xpand.torch import _private as private
from xpand.torch._concrete import holds_at_some_level, is_traced
from xpand_extensions.control_flow._checkpointed import selected
from xpand_extensions.vmap._names import are_bound

from ..autodiff._levels import Arrays, Function
from ._traced import either, of_lanes


def cond(pred: Array, true_fun: Function, false_fun: Function, *operands: Array) -> Arrays:
    if is_traced():
        return _compiled_cond(pred, true_fun, false_fun, operands)
    some, mapped = holds(pred)
    if not mapped or not some:
        return tuple((true_fun if some else false_fun)(*operands))
    if not holds(~pred)[0]:
        return tuple(true_fun(*operands))
    return of_lanes(pred, true_fun, false_fun, operands)


def _compiled_cond(pred: Array, true_fun: Function, false_fun: Function, operands: Arrays) -> Arrays:
    if not torch.compiler.is_dynamo_compiling():
        return (of_lanes if is_open() else either)(pred, true_fun, false_fun, operands)
    # The facade records the results' structure at a function's first call, which it can't inside the operator. The
    # compiler drops what nothing depends on.
    chosen, other = true_fun(*operands), false_fun(*operands)
    if is_open():
        return selected(pred, chosen, other)
    return tuple(torch.cond(pred, unaliased(true_fun), unaliased(false_fun), operands))


def switch(index: Array, branches: Sequence[Function], *operands: Array) -> Arrays:
    if len(branches) == 1:
        return tuple(branches[0](*operands))
    if not is_known(index):  # by halves
        half = len(branches) // 2
        return cond(
            index < half,
            lambda *xs: switch(index, branches[:half], *xs),
            lambda *xs: switch(index - half, branches[half:], *xs),
            *operands,
        )
    return tuple(branches[min(max(int(index), 0), len(branches) - 1)](*operands))


def is_open() -> bool:
    """Return whether a function can't be one operation of a graph: mapped in torch.compile, or with collectives."""
    return bool(private.are_levels_active()) and (torch.compiler.is_dynamo_compiling() or are_bound())


def unaliased(function: Function) -> Function:
    """Make a function return new arrays, as PyTorch's operators of functions require."""

    def copied(*arrays: Array) -> Arrays:
        return tuple([x.clone() for x in function(*arrays)])

    return copied


def holds(active: Array) -> tuple[bool, bool]:
    """Return whether a condition holds for any lane, and whether `vmap` has made it differ between lanes."""
    if not isinstance(active, torch.Tensor) or not private.is_wrapped(active):
        return bool(active), False
    with private.unobserved():
        return bool(torch.any(debug_unwrap(active))), _is_mapped(active)


def is_known(x: Array) -> bool:
    """Return whether a value can be read, as one value for all lanes."""
    return not is_traced() and not _is_mapped(x)


def _is_mapped(x: Array) -> bool:
    """Return whether some level maps an array."""
    return holds_at_some_level(private.is_mapped, x)
