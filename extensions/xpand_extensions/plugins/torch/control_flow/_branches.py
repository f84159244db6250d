"""Branches on PyTorch: Python's if the condition can be read, otherwise operations of a graph."""

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
    if torch.compiler.is_dynamo_compiling():
        # Call the functions once outside `torch.cond`: they record the structures of their results, which it forbids.
        # The compiler removes these calls if nothing uses the results.
        chosen, other = true_fun(*operands), false_fun(*operands)
        if must_be_inlined():
            return selected(pred, chosen, other)
        return tuple(torch.cond(pred, unaliased(true_fun), unaliased(false_fun), operands))
    if is_traced():
        return (of_lanes if must_be_inlined() else either)(pred, true_fun, false_fun, operands)
    some, mapped = holds(pred)
    if not mapped or not some:
        return tuple((true_fun if some else false_fun)(*operands))
    if not holds(~pred)[0]:
        return tuple(true_fun(*operands))
    return of_lanes(pred, true_fun, false_fun, operands)


def switch(index: Array, branches: Sequence[Function], *operands: Array) -> Arrays:
    if len(branches) == 1:
        return tuple(branches[0](*operands))
    if not is_known(index):  # bisect
        half = len(branches) // 2
        return cond(
            index < half,
            lambda *xs: switch(index, branches[:half], *xs),
            lambda *xs: switch(index - half, branches[half:], *xs),
            *operands,
        )
    return tuple(branches[min(max(int(index), 0), len(branches) - 1)](*operands))


def must_be_inlined() -> bool:
    """Return whether loops and branches can't be operations of a graph: in torch.compile under torch.func, or under a
    `vmap` with names, which their functions may look up.
    """
    return bool(private.are_levels_active()) and (torch.compiler.is_dynamo_compiling() or are_bound())


def unaliased(function: Function) -> Function:
    """Make a function return new arrays, as `torch.cond` and `torch.while_loop` require."""

    def copied(*arrays: Array) -> Arrays:
        return tuple([x.clone() for x in function(*arrays)])

    return copied


def holds(active: Array) -> tuple[bool, bool]:
    """Return whether a condition holds for any lane, and whether `vmap` maps over it."""
    if not isinstance(active, torch.Tensor) or not private.is_wrapped(active):
        return bool(active), False
    with private.unobserved():
        return bool(torch.any(debug_unwrap(active))), _is_mapped(active)


def is_known(x: Array) -> bool:
    """Return whether a value can be read, and is the same for all lanes."""
    return not is_traced() and not _is_mapped(x)


def _is_mapped(x: Array) -> bool:
    """Return whether any level maps over an array."""
    return holds_at_some_level(private.is_mapped, x)
