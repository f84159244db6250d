"""Choices between functions, for any library: the one chosen is called, or all of them where that is not known."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from xpand import array_namespace, is_concrete
from xpand._typing import Array

Arrays: TypeAlias = "tuple[Array, ...]"
Branch: TypeAlias = Callable[..., Any]


def cond(pred: Array, true_fun: Branch, false_fun: Branch, *operands: Array) -> Arrays:
    if is_concrete(pred):
        return tuple((true_fun if bool(pred) else false_fun)(*operands))
    return selected(pred, true_fun(*operands), false_fun(*operands))


def switch(index: Array, branches: Sequence[Branch], *operands: Array) -> Arrays:
    if is_concrete(index):
        return tuple(branches[min(max(int(index), 0), len(branches) - 1)](*operands))
    result = branches[0](*operands)
    for number, branch in enumerate(branches[1:], 1):
        result = selected(index >= number, branch(*operands), result)
    return tuple(result)


def selected(pred: Array, chosen: Arrays, other: Arrays) -> Arrays:
    """Take one result or the other, member by member."""
    xp = array_namespace(pred, *chosen, *other)
    return tuple([xp.where(pred, x, y) for x, y in zip(chosen, other)])
