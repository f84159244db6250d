"""Loops and branches as operations of graphs. Their derivatives in both modes are loops and branches again."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import torch

from xpand import UnsupportedError
from xpand.extend import LibraryArray as Array
from xpand.torch import _private as private
from xpand.torch._concrete import holds_at_some_level
from xpand.torch._differentiated import is_differentiated, is_differentiated_in_reverse
from xpand_extensions._captures import captured, converted, with_own_cells
from xpand_extensions.control_flow._checkpointed import (
    Primitives,
    checkpointed_scan,
    counted,
    masked_while,
    selected,
    whole_blocks,
)
from xpand_extensions.vmap._names import are_bound, lookups

from ..autodiff._levels import Arrays, Function, Lanes, Rule, call, is_floating
from ..autodiff._products import pulled_back, pushed_forward
from . import _programs as programs

FEW_STEPS: Final = 64
"""The number of steps from which blocks pay off: fewer steps save little memory, and blocks compute each step twice."""


def is_long(length: int) -> bool:
    """Return whether a loop is split into blocks if it is differentiated."""
    return length >= FEW_STEPS and torch.is_grad_enabled()


def _is_saved(x: Any) -> bool:
    """Return whether reverse mode saves values that depend on an array, at any level of torch.func."""
    return isinstance(x, torch.Tensor) and is_differentiated_in_reverse(x)


def in_blocks(
    library: Primitives, f: Function, init: Arrays, xs: Arrays, length: int, reverse: bool
) -> tuple[Arrays, Arrays]:
    """Scan over rows; in blocks if reverse mode would save many steps."""
    if not is_long(length) or not (any(map(_is_saved, (*init, *xs))) or captured(_is_saved, f)):
        return library.scan(f, init, xs, length)
    return checkpointed_scan(library, f, init, xs, length, reverse)


def scanned(f: Function, init: Arrays, xs: Arrays, length: int, reverse: bool) -> tuple[Arrays, Arrays]:
    """Scan over rows, as an operation of a graph."""
    library = _PRIMITIVES._replace(scan=partial(_scan_of, reverse=reverse))
    return in_blocks(library, f, init, xs, length, reverse)


def _scan_of(f: Function, init: Arrays, xs: Arrays, length: int, reverse: bool = False) -> tuple[Arrays, Arrays]:
    """Scan with a step that may capture arrays."""
    if not xs:
        numbers = torch.arange(length, device=init[0].device)
        return _scan_of(lambda carry, _: f(carry, ()), init, (numbers,), length, reverse)
    carried, across = len(init), len(xs)

    def flat(*arrays: Array) -> Arrays:
        carry, y = f(arrays[:carried], arrays[carried:])
        return (*carry, *y)

    step, closed = _with_captured(flat)
    found = _scan(step, (*init, *xs, *closed), carried, across, reverse)
    return found[:carried], found[carried:]


def _scan(step: Function, arrays: Arrays, carried: int, across: int, reverse: bool) -> Arrays:
    """Scan with a step without captured arrays: a function of the carry, a row, and arrays shared by all steps."""
    ahead = slice(carried, carried + across)
    same = slice(carried + across, None)

    def run(*arrays: Array) -> Arrays:
        return programs.scan(step, arrays, carried, across, reverse)

    def batches(lanes: Lanes, mapped: Sequence[bool], *arrays: Array) -> tuple[Arrays, Sequence[bool]]:
        carry = lanes.with_axis(mapped, arrays[:carried])
        rows = [x.movedim(0, 1) if has_axis else x for x, has_axis in zip(arrays[ahead], mapped[ahead])]
        each = _vectorized(lanes, step, (*(True for _ in carry), *mapped[carried:]))
        found = _scan(each, (*carry, *rows, *arrays[same]), carried, across, reverse)
        outs = (*found[:carried], *[y.movedim(1, 0) for y in found[carried:]])
        return outs, [True] * len(outs)

    def saving(*arrays: Array) -> Arrays:
        return (*step(*arrays), *[x.clone() for x in arrays[:carried]])

    def forward(*arrays: Array) -> tuple[Arrays, Arrays]:
        found = _scan(saving, arrays, carried, across, reverse)
        count = len(found) - carried
        return found[:count], (*found[count:], *arrays[carried:])

    def pull(residuals: Arrays, cotangents: Arrays) -> Arrays:
        def back(*arrays: Array) -> Arrays:
            cts, sums, rest = arrays[:carried], arrays[carried:ends], arrays[ends:]
            primals, others = rest[: carried + across], rest[carried + across : len(rest) - len(residuals[same])]
            found = pulled_back(step, (*primals, *rest[len(rest) - len(residuals[same]) :]), (*cts, *others))
            added = [x + y if is_floating(x) else x for x, y in zip(sums, found[same])]
            return (*found[:carried], *added, *found[ahead])

        sums = tuple(map(torch.zeros_like, residuals[same]))
        ends = carried + len(sums)
        rows = (*residuals[: carried + across], *cotangents[carried:])
        found = _scan(back, (*cotangents[:carried], *sums, *rows, *residuals[same]), ends, len(rows), not reverse)
        return (*found[:carried], *found[ends:], *found[carried:ends])

    def push(residuals: Arrays, tangents: Arrays) -> Arrays:
        def both(*arrays: Array) -> Arrays:
            primals, pushed = _primals_and_tangents(arrays, (carried, across, len(residuals[same])))
            outs, found = pushed_forward(step, primals, pushed)
            return (*outs[:carried], *found[:carried], *found[carried:])

        first = -1 if reverse else 0
        init = (*[x[first] for x in residuals[:carried]], *tangents[:carried])
        rows = (*residuals[ahead], *tangents[ahead])
        found = _scan(both, (*init, *rows, *residuals[same], *tangents[same]), 2 * carried, 2 * across, reverse)
        return found[carried:]

    return call(Rule(run, forward, pull, push, batches=batches), arrays)


def _vectorized(lanes: Lanes, function: Function, mapped: Sequence[bool]) -> Function:
    """Vectorize a function. The arrays with True in `mapped` have the axis of lanes first, and so have all results."""
    if not any(mapped) and not are_bound():
        return lambda *xs: tuple([x.expand(lanes.size, *x.shape) for x in function(*xs)])
    return lanes.over(tuple([0 if has_axis else None for has_axis in mapped]))(function)


def _select_lanes(pred: Array, chosen: Arrays, other: Arrays) -> Arrays:
    """Select one of two results for each lane."""
    return tuple([torch.where(pred.reshape(-1, *(1,) * (x.ndim - 1)), x, y) for x, y in zip(chosen, other)])


def _primals_and_tangents(arrays: Arrays, counts: Sequence[int]) -> tuple[Arrays, Arrays]:
    """Separate primals and tangents. Each group has `count` primals, and then their tangents."""
    primals: Arrays = ()
    tangents: Arrays = ()
    for count in counts:
        primals, tangents = (*primals, *arrays[:count]), (*tangents, *arrays[count : 2 * count])
        arrays = arrays[2 * count :]
    return primals, tangents


def repeated(cond_fun: Function, body_fun: Function, init_val: Arrays, max_iter: int | None) -> Arrays:
    """Step while a condition holds, at most `max_iter` times."""
    if max_iter == 0:
        return init_val
    carried = len(init_val)
    body, of_body = _with_captured(lambda *carry: tuple(body_fun(*carry)))
    count = torch.zeros((), dtype=torch.int64, device=init_val[0].device)
    if max_iter is not None and any(map(_is_saved, (*init_val, *of_body))):
        limited = counted(cond_fun, body_fun, max_iter)
        safe = (count, *[x.detach() for x in init_val])
        return masked_while(_PRIMITIVES, *limited, (count, *init_val), safe, whole_blocks(max_iter))[1:]
    holds, of_holds = _with_captured(lambda *carry: (cond_fun(*carry),))
    same = (*[x.detach() for x in of_holds], *of_body)  # the condition has no derivative
    split = carried + len(of_holds)

    def whether(*arrays: Array) -> Arrays:
        found: Arrays = holds(*arrays[:split])
        return found

    def step(*arrays: Array) -> Arrays:
        found: Arrays = body(*arrays[:carried], *arrays[split:])
        return found

    if max_iter is None:
        return _while(whether, step, (*init_val, *same), carried)
    return _while(
        lambda count, *arrays: ((count < max_iter) & whether(*arrays)[0],),
        lambda count, *arrays: (count + 1, *step(*arrays)),
        (count, *init_val, *same),
        carried + 1,
    )[1:]


def _while(holds: Function, body: Function, arrays: Arrays, carried: int) -> Arrays:
    """Step with functions without captured arrays: they take the carry, and arrays that are the same for all steps."""
    same = slice(carried, None)

    def run(*arrays: Array) -> Arrays:
        return programs.repeat(holds, body, arrays, carried)

    def batches(lanes: Lanes, mapped: Sequence[bool], *arrays: Array) -> tuple[Arrays, Sequence[bool]]:
        """Step until all lanes have finished."""
        carry = lanes.with_axis(mapped, arrays[:carried])
        which = (*(True for _ in carry), *mapped[carried:])
        holds_each, body_each = _vectorized(lanes, holds, which), _vectorized(lanes, body, which)

        def step(*xs: Array) -> Arrays:
            return _select_lanes(holds_each(*xs)[0], body_each(*xs), xs)

        whether = lambda *xs: (torch.any(holds_each(*xs)[0]),)
        found = _while(whether, step, (*carry, *arrays[same]), carried)
        return found, [True] * carried

    def forward(*arrays: Array) -> tuple[Arrays, Arrays]:
        return _while(holds, body, arrays, carried), arrays

    def push(residuals: Arrays, tangents: Arrays) -> Arrays:
        counts = (carried, len(residuals) - carried)

        def both(*arrays: Array) -> Arrays:
            outs, found = pushed_forward(body, *_primals_and_tangents(arrays, counts))
            return (*outs, *found)

        given = (*residuals[:carried], *tangents[:carried], *residuals[same], *tangents[same])
        return _while(lambda *arrays: holds(*_primals_and_tangents(arrays, counts)[0]), both, given, 2 * carried)[
            carried:
        ]

    return call(Rule(run, forward, _no_reverse_mode, push, batches=batches), arrays)


def _no_reverse_mode(residuals: Arrays, cotangents: Arrays) -> Arrays:
    raise UnsupportedError(
        "while_loop: jit can't compile reverse mode of a loop without a bound; give max_iter, or compile only the "
        "function inside grad"
    )


def either(pred: Array, true_fun: Function, false_fun: Function, operands: Arrays, any_lane: bool = False) -> Arrays:
    """Call one of two functions, as an operation of a graph.

    Derivatives are branches too, so the other function does not affect them, even by NaN. With `any_lane`, the first
    function is called for all lanes if any lane chooses it.
    """
    true, of_true = _with_captured(lambda *xs: tuple(true_fun(*xs)))
    false, of_false = _with_captured(lambda *xs: tuple(false_fun(*xs)))
    ends = len(operands) + len(of_true)
    return _choice(
        lambda *arrays: true(*arrays[:ends]),
        lambda *arrays: false(*arrays[: len(operands)], *arrays[ends:]),
        (pred, *operands, *of_true, *of_false),
        any_lane,
    )


def of_lanes(pred: Array, true_fun: Function, false_fun: Function, operands: Arrays) -> Arrays:
    """Call both functions, and select the results and the derivatives of each lane.

    In derivatives, each function gets the arguments of the lanes that choose it, and constants for the others. So the
    other function does not affect the derivatives of a lane, even by NaN.
    """

    def of_own(own: Array, function: Function) -> Arrays:
        closed, outer = _with_captured(lambda *xs: tuple(function(*xs)))
        given = [torch.where(own, x, x.detach()) if is_differentiated(x) else x for x in (*operands, *outer)]
        return tuple(closed(*given))

    before = lookups()
    found = selected(pred, of_own(pred, true_fun), of_own(~pred, false_fun))
    if lookups() > before and any(map(is_differentiated, found)) and holds_at_some_level(private.is_mapped, pred):
        raise UnsupportedError(
            "cond: on PyTorch, functions with collectives can't be differentiated where lanes choose different ones; "
            "call the collective outside of `cond`, and pass its result"
        )
    return found


def _choice(true: Function, false: Function, arrays: Arrays, any_lane: bool) -> Arrays:
    def run(*arrays: Array) -> Arrays:
        return programs.choose(true, false, arrays)

    def pull(residuals: Arrays, cotangents: Arrays) -> Arrays:
        count = len(residuals) - 1

        def back(function: Function, *arrays: Array) -> Arrays:
            return pulled_back(function, arrays[:count], arrays[count:])

        found = _choice(partial(back, true), partial(back, false), (*residuals, *cotangents), any_lane)
        return (torch.zeros_like(residuals[0]), *found)

    def push(residuals: Arrays, tangents: Arrays) -> Arrays:
        count = len(residuals) - 1

        def ahead(function: Function, *arrays: Array) -> Arrays:
            return pushed_forward(function, arrays[:count], arrays[count:])[1]

        return _choice(partial(ahead, true), partial(ahead, false), (*residuals, *tangents[1:]), any_lane)

    def batches(lanes: Lanes, mapped: Sequence[bool], pred: Array, *others: Array) -> tuple[Arrays, Sequence[bool]]:
        chosen, other = _vectorized(lanes, true, mapped[1:]), _vectorized(lanes, false, mapped[1:])
        if mapped[0] and not any_lane:
            found = _select_lanes(pred, chosen(*others), other(*others))
        else:
            found = _choice(chosen, other, (torch.any(pred, dim=0) if mapped[0] else pred, *others), any_lane)
        return found, [True] * len(found)

    forward = lambda *arrays: (_choice(true, false, arrays, any_lane), arrays)
    return call(Rule(run, forward, pull, push, batches=batches), arrays)


def _with_captured(function: Function) -> tuple[Function, Arrays]:
    """Return a function that takes its captured arrays after its arguments, and these arrays.

    Later calls use the values that its closure variables have now.
    """
    function = with_own_cells(function)
    outer = tuple(captured(lambda x: isinstance(x, torch.Tensor), function))
    return converted(function, outer), outer


def _run_if(active: Array, function: Function, state: Arrays) -> Arrays:
    return either(active, function, lambda *state: state, state, any_lane=True)


_PRIMITIVES: Final = Primitives(torch, _scan_of, _run_if, FEW_STEPS, skips_steps=False)
