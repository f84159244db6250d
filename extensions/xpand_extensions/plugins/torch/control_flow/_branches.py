"""Branches on PyTorch."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from xpand.extend import Array
from xpand.torch._concrete import is_traced

from ._compiled import compiled_cond, compiled_switch
from ._known import holds
from ._traced import of_lanes

Arrays: TypeAlias = "tuple[Array, ...]"
Branch: TypeAlias = Callable[..., Any]


def cond(pred: Array, true_fun: Branch, false_fun: Branch, *operands: Array) -> Arrays:
    if is_traced():
        return compiled_cond(pred, true_fun, false_fun, operands)
    some, mapped = holds(pred)
    if not mapped or not some:
        return tuple((true_fun if some else false_fun)(*operands))
    if not holds(~pred)[0]:
        return tuple(true_fun(*operands))
    return of_lanes(pred, true_fun, false_fun, operands)


def switch(index: Array, branches: Sequence[Branch], *operands: Array) -> Arrays:
    if is_traced():
        return compiled_switch(index, branches, operands)
    last = len(branches) - 1
    for number, branch in enumerate(branches[:-1]):
        before = index <= number
        some, mapped = holds(before)
        if not some:
            continue
        if not mapped or not holds(~before)[0]:
            return tuple(branch(*operands))
        rest = partial(switch, index - number - 1, branches[number + 1 :])
        return of_lanes(before, branch, rest, operands)
    return tuple(branches[last](*operands))
