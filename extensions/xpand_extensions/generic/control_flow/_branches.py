"""Choices between functions, for any library: the one chosen is called, or all of them where that is not known."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from xpand import array_namespace, is_concrete
from xpand.extend import Array
from xpand_extensions import control_flow as facade
from xpand_extensions.control_flow._checkpointed import selected

from ._traced import traced_among

Arrays: TypeAlias = "tuple[Array, ...]"
Branch: TypeAlias = Callable[..., Any]


def cond(pred: Array, true_fun: Branch, false_fun: Branch, *operands: Array) -> Arrays:
    if is_concrete(pred):
        return tuple((true_fun if bool(pred) else false_fun)(*operands))
    found = _called((true_fun, false_fun), operands)
    if isinstance(found, list):
        return selected(pred, *found)
    result: Arrays = facade.cond.native(found)(array_namespace(found).asarray(pred), true_fun, false_fun, *operands)
    return result


def switch(index: Array, branches: Sequence[Branch], *operands: Array) -> Arrays:
    if is_concrete(index):
        return tuple(branches[min(max(int(index), 0), len(branches) - 1)](*operands))
    found = _called(branches, operands)
    if not isinstance(found, list):
        result: Arrays = facade.switch.native(found)(array_namespace(found).asarray(index), branches, *operands)
        return result
    result = found[0]
    for number, each in enumerate(found[1:], 1):
        result = selected(index >= number, each, result)
    return result


def _called(branches: Sequence[Branch], operands: Arrays) -> list[Arrays] | Array:
    """Call all branches; where a transformation traces their arrays, return an array that it traces.

    Then the choice is that transformation's to trace: results joined element by element would have the derivative of
    what isn't chosen, times 0, which may be NaN.
    """
    traced = traced_among(operands, *branches)
    if traced is None:
        found = [tuple(branch(*operands)) for branch in branches]
        # Captured arrays that were not found show in the results.
        traced = traced_among([x for result in found for x in result])
    return found if traced is None else traced
