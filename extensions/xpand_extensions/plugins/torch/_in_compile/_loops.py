"""Maps, loops and branches.

Inside `torch.func`, torch.compile has no operations for loops and branches. There, bounded loops are unrolled, and
branches are selected.
"""

from collections.abc import Sequence
from typing import Any, Final

import torch

from xpand.extend import LibraryArray as Array
from xpand.torch import _private as private
from xpand_extensions.control_flow._checkpointed import counted as limited, selected
from xpand_extensions.generic import control_flow, vmap as mapping
from xpand_extensions.generic.control_flow._loops import counted, cut, looped, steps
from xpand_extensions.vmap import _names as names

from ._derivatives import Arrays, Function
from ._replaced import INSTEAD, in_place_of, refuse

_MAX_STEPS: Final = 1000
"""The largest number of steps that are unrolled. torch.compile takes about 35 ms for each."""


@in_place_of(mapping.vmap)
def vmap(
    function: Function, /, in_axes: Any = 0, out_axes: Any = 0, axis_name: Any = None, axis_size: int | None = None
) -> Function:
    size = axis_size
    if size is None:
        mapped: Function = torch.func.vmap(function, in_dims=in_axes, out_dims=out_axes)
        return mapped

    def at_position(position: Array, *arrays: Array) -> Any:
        if axis_name is None:
            return function(*arrays)
        with names.bound(axis_name, names.Axis(size, lambda: position)):
            return function(*arrays)

    def of_positions(*arrays: Array) -> Any:
        # Map over the positions, too: PyTorch needs at least one mapped array.
        positions = torch.arange(size, dtype=torch.int32, device=arrays[0].device if arrays else None)
        return torch.func.vmap(at_position, in_dims=(0, *in_axes), out_dims=out_axes)(positions, *arrays)

    return of_positions


def _unaliased(function: Function) -> Function:
    """Make a function return new arrays, as `torch.cond` and `torch.while_loop` require."""
    return lambda *xs: tuple([x.clone() for x in function(*xs)])


@in_place_of(control_flow.cond)
def cond(pred: Array, true_fun: Function, false_fun: Function, *operands: Array) -> Arrays:
    if private.are_levels_active():
        # A function gets constants in the lanes that choose the other one: its derivative there may be NaN.
        chosen = true_fun(*[torch.where(pred, x, x.detach()) for x in operands])
        return selected(pred, chosen, false_fun(*[torch.where(pred, x.detach(), x) for x in operands]))
    for function in (true_fun, false_fun):
        function(*operands)  # it stores the structure of its results, which torch.compile forbids inside
    return tuple(torch.cond(pred, _unaliased(true_fun), _unaliased(false_fun), operands))


@in_place_of(control_flow.switch)
def switch(index: Array, branches: Sequence[Function], *operands: Array) -> Arrays:
    if len(branches) == 1:
        return tuple(branches[0](*operands))
    half = len(branches) // 2
    return cond(
        index < half,
        lambda *xs: switch(index, branches[:half], *xs),
        lambda *xs: switch(index - half, branches[half:], *xs),
        *operands,
    )


@in_place_of(control_flow.scan)
def scan(
    f: Function, init: Arrays, xs: Any = None, length: Any = None, reverse: bool = False, unroll: Any = 1
) -> tuple[Arrays, Arrays]:
    _check_length("scan", length)
    if not length:
        row = tuple([x.new_zeros(x.shape[1:]) for x in xs])
        return init, tuple([y.new_zeros((0, *y.shape)) for y in f(init, row)[1]])
    carry, rows = steps(f, init, cut(xs, length, reverse))
    return carry, tuple([torch.stack(column) for column in zip(*(rows[::-1] if reverse else rows))])


@in_place_of(control_flow.map)
def map(f: Function, xs: Arrays, *, batch_size: int | None = None) -> Arrays:
    if batch_size is not None and xs[0].shape[0]:
        return tuple(torch.func.vmap(f, chunk_size=batch_size)(*xs))
    return scan(lambda _, x: ((), f(*x)), (), xs, xs[0].shape[0])[1]


@in_place_of(control_flow.fori_loop)
def fori_loop(lower: Any, upper: Any, body_fun: Function, init_val: Arrays, *, unroll: Any = None) -> Arrays:
    if not isinstance(lower, int) or not isinstance(upper, int):
        return counted(lower, upper, body_fun, init_val, lambda bound: False, while_loop)
    _check_length("fori_loop", upper - lower)
    carry = init_val
    for i in range(lower, upper):
        carry = body_fun(torch.asarray(i, device=init_val[0].device), *carry)
    return carry


def _check_length(name: str, length: int) -> None:
    if length > _MAX_STEPS:
        refuse(
            f"{name}: torch.compile unrolls loops of at most {_MAX_STEPS} steps, got {length}; write a `while_loop`, "
            "or compile by `xpand_extensions.jit.jit` in place of torch.compile"
        )


@in_place_of(control_flow.while_loop)
def while_loop(cond_fun: Function, body_fun: Function, init_val: Arrays, *, max_iter: Any = None) -> Arrays:
    if private.are_levels_active():
        _check_length("while_loop", max(max_iter) if isinstance(max_iter, tuple) else max_iter or 0)
        return looped(cond_fun, body_fun, init_val, max_iter, _undecided)
    if not isinstance(max_iter, tuple):
        return _while(cond_fun, body_fun, init_val, max_iter)
    carry, rows, before = init_val, {}, 0
    for stop in sorted(set(max_iter)):
        carry = rows[stop] = _while(cond_fun, body_fun, carry, stop - before)
        before = stop
    return tuple([torch.stack(column) for column in zip(*[rows[number] for number in max_iter])])


def _undecided(active: Array, bounded: bool) -> tuple[bool, bool]:
    if not bounded:
        refuse(
            f"while_loop: inside torch.compile, loops without a bound can't be transformed; give max_iter, or {INSTEAD}"
        )
    return True, True


def _while(cond_fun: Function, body_fun: Function, init_val: Arrays, max_iter: int | None) -> Arrays:
    cond_fun(*body_fun(*init_val))  # they store the structure of their results, as in `cond`
    if max_iter is None:
        return tuple(torch.while_loop(cond_fun, _unaliased(body_fun), init_val))
    holds, step = limited(cond_fun, body_fun, max_iter)
    count = torch.zeros((), dtype=torch.int64, device=init_val[0].device)
    return tuple(torch.while_loop(holds, _unaliased(step), (count, *init_val))[1:])
