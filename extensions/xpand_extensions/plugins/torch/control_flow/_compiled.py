"""Compiled loops and branches: xpand's operations under `jit`, PyTorch's operators in torch.compile.

PyTorch's operators don't support the transformations of torch.func. Inside of these, in torch.compile, loops with a
concrete number of steps are unrolled, and all branches are computed.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch

from xpand import UnsupportedError
from xpand.extend import LibraryArray as Array
from xpand.torch import _private as private
from xpand_extensions.control_flow._checkpointed import selected
from xpand_extensions.generic.control_flow import _scans as scans
from xpand_extensions.generic.control_flow._loops import looped
from xpand_extensions.vmap._names import are_bound

from ._traced import either, of_lanes, repeated, scanned

Arrays: TypeAlias = "tuple[Array, ...]"
Function: TypeAlias = Callable[..., Any]

# An unrolled step costs the compiler about 35 ms, the operator 0.5 s.
_FEW_STEPS = 16


def compiled_while(cond_fun: Function, body_fun: Function, init_val: Arrays, max_iter: Any) -> Arrays:
    """Step as long as a condition holds."""
    if _is_open() and (max_iter is not None or torch.compiler.is_dynamo_compiling()):
        return looped(cond_fun, body_fun, init_val, max_iter, _undecided)
    if not isinstance(max_iter, tuple):
        return _while(cond_fun, body_fun, init_val, max_iter)
    carry, rows, before = init_val, {}, 0
    for stop in sorted(set(max_iter)):
        carry = rows[stop] = _while(cond_fun, body_fun, carry, stop - before)
        before = stop
    return tuple([torch.stack(each) for each in zip(*[rows[number] for number in max_iter])])


def _is_open() -> bool:
    """Tell whether a function can't be one operation: mapped in torch.compile, or with collectives."""
    return bool(private.are_levels_active()) and (torch.compiler.is_dynamo_compiling() or are_bound())


def _undecided(active: Array, bounded: bool) -> tuple[bool, bool]:
    if bounded:
        return True, True
    raise UnsupportedError(
        "while_loop: torch.compile can't take a loop without bound that is mapped or differentiated; give max_iter, or "
        "compile what is inside of vmap or grad alone"
    )


def _while(cond_fun: Function, body_fun: Function, init_val: Arrays, max_iter: int | None) -> Arrays:
    if not torch.compiler.is_dynamo_compiling():
        return repeated(cond_fun, body_fun, init_val, max_iter)
    step = _unaliased(body_fun)
    if max_iter is None:
        return tuple(torch.while_loop(cond_fun, step, init_val))
    count = torch.zeros((), dtype=torch.int64, device=init_val[0].device)
    _, *found = torch.while_loop(
        lambda count, *carry: (count < max_iter) & cond_fun(*carry),
        lambda count, *carry: (count + 1, *step(*carry)),
        (count, *init_val),
    )
    return tuple(found)


def compiled_scan(f: Function, init: Arrays, xs: Arrays, length: int, reverse: bool) -> tuple[Arrays, Arrays]:
    """Scan, in one operator if there are many steps."""
    if length <= _FEW_STEPS or _is_open():
        return scans.scan(f, init, xs, length, reverse)
    if not xs:
        numbers = torch.arange(length, device=init[0].device)
        return compiled_scan(lambda carry, _: f(carry, ()), init, (numbers,), length, reverse)
    if not torch.compiler.is_dynamo_compiling():
        return scanned(f, init, xs, reverse)
    if not init:
        nothing = (torch.zeros((), device=xs[0].device),)
        return (), compiled_scan(lambda carry, x: (carry, f((), x)[1]), nothing, xs, length, reverse)[1]
    f(init, tuple([x[0] for x in xs]))  # as in `compiled_cond`

    def step(carry: Arrays, x: Arrays) -> tuple[list[Array], list[Array]]:
        carry, y = f(tuple(carry), tuple(x))
        return [each.clone() for each in carry], [each.clone() for each in y]

    last, ys = private.scan(step, list(init), list(xs), reverse=reverse)
    return tuple(last), tuple(ys)


def compiled_cond(pred: Array, true_fun: Function, false_fun: Function, operands: Arrays) -> Arrays:
    """Call one of two functions."""
    if not torch.compiler.is_dynamo_compiling():
        return (of_lanes if _is_open() else either)(pred, true_fun, false_fun, operands)
    # The facade records the results' structure at a function's first call, which it can't inside the operator. The
    # compiler drops what nothing depends on.
    chosen, other = true_fun(*operands), false_fun(*operands)
    if _is_open():
        return selected(pred, chosen, other)
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
    """Make a function return new arrays, as PyTorch's operators of functions require."""

    def copied(*arrays: Array) -> Arrays:
        return tuple([x.clone() for x in function(*arrays)])

    return copied
