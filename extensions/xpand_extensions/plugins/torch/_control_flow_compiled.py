"""Loops and branches inside torch.compile: the operators of PyTorch that a graph has for them."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch
from torch._higher_order_ops.while_loop import while_loop as while_operator

from xpand._typing import Array

Arrays: TypeAlias = "tuple[Array, ...]"
Function: TypeAlias = Callable[..., Any]


def compiled_while(cond_fun: Function, body_fun: Function, init_val: Arrays, max_iter: Any) -> Arrays:
    """Step as long as a condition holds."""
    if not isinstance(max_iter, tuple):
        return _while(cond_fun, body_fun, init_val, max_iter)
    stops = sorted(set(max_iter))
    carry, rows, before = init_val, {}, 0
    for stop in stops:
        carry = rows[stop] = _while(cond_fun, body_fun, carry, stop - before)
        before = stop
    return tuple([torch.stack(each) for each in zip(*[rows[number] for number in max_iter])])


def _while(cond_fun: Function, body_fun: Function, init_val: Arrays, max_iter: int | None) -> Arrays:
    if max_iter is None:
        found = while_operator(cond_fun, _unaliased(body_fun), init_val)
        return tuple(found)
    count = torch.zeros((), dtype=torch.int64, device=init_val[0].device)
    step = _unaliased(body_fun)
    _, *found = while_operator(
        lambda count, *carry: (count < max_iter) & cond_fun(*carry),
        lambda count, *carry: (count + 1, *step(*carry)),
        (count, *init_val),
    )
    return tuple(found)


def compiled_cond(pred: Array, true_fun: Function, false_fun: Function, operands: Arrays) -> Arrays:
    """Call one of two functions."""
    return tuple(torch.cond(pred, _unaliased(true_fun), _unaliased(false_fun), operands))


def compiled_switch(index: Array, branches: Sequence[Function], operands: Arrays) -> Arrays:
    """Call one of several functions, found by halves."""
    if len(branches) == 1:
        return tuple(branches[0](*operands))
    half = len(branches) // 2
    return compiled_cond(
        index < half,
        lambda *x: compiled_switch(index, branches[:half], x),
        lambda *x: compiled_switch(index - half, branches[half:], x),
        operands,
    )


def _unaliased(function: Function) -> Function:
    """Make a function return arrays of their own, as PyTorch's operators of functions demand."""

    def copied(*arrays: Array) -> Arrays:
        return tuple([x.clone() for x in function(*arrays)])

    return copied
