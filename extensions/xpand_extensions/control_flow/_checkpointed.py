"""Loops that reverse mode differentiates in the memory of about the square root of their steps, on several libraries.

A scan saves the residuals of each step. Cut into blocks that are computed again when they are differentiated, it saves
the carry between blocks, and the residuals of one block.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from xpand import array_namespace
from xpand.extend import Array

from ..vmap._names import stepped_safely

Arrays: TypeAlias = "tuple[Array, ...]"
Step: TypeAlias = Callable[[Arrays, Arrays], tuple[Arrays, Arrays]]
"""Takes the carry and a row of each array; returns the next carry and a row to stack."""


class Primitives(NamedTuple):
    """The operations of a library that loops are made of."""

    xp: Any
    scan: Callable[..., tuple[Arrays, Arrays]]
    """Takes a step, the first carry, the arrays of rows, and the number of steps."""
    run_if: Callable[[Array, Callable[..., Arrays], Arrays], Arrays]
    """Takes a condition, a function and its arguments; returns its results, or the arguments if no lane is active."""
    few_steps: int
    """From how many steps on to make blocks: fewer save little, and blocks compute each step twice."""
    checkpoint: Callable[[Step], Step] = lambda block: block
    """Has a block computed again in reverse mode, unless `scan` does so with each step anyway."""
    skips_steps: bool = True
    """Whether single steps after the end are skipped too, and not only blocks."""


def checkpointed_scan(
    library: Primitives, step: Step, init: Arrays, xs: Arrays, length: int, reverse: bool = False, **options: Any
) -> tuple[Arrays, Arrays]:
    """Scan in blocks, if there are many steps.

    Args:
        library: Its operations; `scan` goes backwards if the whole does.
        step: The step.
        init: The first carry.
        xs: The arrays of rows.
        length: The number of steps.
        reverse: Whether the scan starts at the last rows.
        **options: Of `library.scan`, for the steps.
    """
    scan, xp = library.scan, library.xp
    if length < library.few_steps:
        return scan(step, init, xs, length, **options)
    size = math.isqrt(length)
    number, others = divmod(length, size)
    # The other steps come last, which in reverse is at the first rows.
    start = others if reverse else 0
    whole = slice(start, start + number * size)
    rest = slice(0, start) if reverse else slice(number * size, length)
    blocks = tuple([xp.reshape(x[whole, ...], (number, size, *x.shape[1:])) for x in xs])
    block = library.checkpoint(lambda carry, rows: scan(step, carry, rows, size, **options))
    carry, found = scan(block, init, blocks, number)
    ys = tuple([xp.reshape(y, (number * size, *y.shape[2:])) for y in found])
    if not others:
        return carry, ys
    carry, last = scan(step, carry, tuple([x[rest, ...] for x in xs]), others, **options)
    return carry, tuple([xp.concat([y, x] if reverse else [x, y]) for x, y in zip(ys, last)])


def selected(pred: Array, chosen: Arrays, other: Arrays) -> Arrays:
    """Take one result or the other, element by element."""
    xp = array_namespace(pred, *chosen, *other)
    return tuple([xp.where(pred, x, y) for x, y in zip(chosen, other)])


def masked_step(active: Array, body_fun: Callable[..., Arrays], carry: Arrays, safe: Arrays) -> Arrays:
    """Take a step for active lanes; the others keep their carry.

    Those step from `safe` values, without derivative: neither a step from their last carry, which may be undefined, nor
    one from there makes their gradients NaN.
    """
    return selected(active, stepped_safely(body_fun, carry, partial(selected, active, carry, safe)), carry)


def masked_while(
    library: Primitives,
    cond_fun: Callable[..., Array],
    body_fun: Callable[..., Arrays],
    init: Arrays,
    state: Arrays,
    stop: Any,
    longest: int,
) -> Arrays:
    """Step until a condition ends or the number of steps reaches a limit, by a scan over all steps.

    Args:
        library: Its operations.
        cond_fun: Takes the carry; returns whether to continue.
        body_fun: Takes the carry; returns the next one.
        init: The carry before the first step, without derivative, from which finished lanes step.
        state: Whether to continue, the number of steps so far, and the carry.
        stop: The limit: an integer, or an array of one.
        longest: The most steps from this state.

    Returns:
        The last state.
    """
    xp = library.xp

    def step(state: Arrays, _: Arrays) -> tuple[Arrays, Arrays]:
        running, count, *last = state
        active, carry = running & (count < stop), tuple(last)
        new = masked_step(active, body_fun, carry, init)
        return (xp.where(active, cond_fun(*new), running), count + 1, *new), ()

    def skipping(function: Step) -> Step:
        def skip_or_call(state: Arrays, row: Arrays) -> tuple[Arrays, Arrays]:
            running, count, *_ = state
            return library.run_if(running & (count < stop), lambda *state: function(state, row)[0], state), ()

        return skip_or_call

    each = skipping(step) if library.skips_steps else step
    if longest < library.few_steps:
        return library.scan(each, state, (), longest)[0]
    size = math.isqrt(longest)
    block = library.checkpoint(lambda state, _: library.scan(each, state, (), size))
    return library.scan(skipping(block), state, (), -(-longest // size))[0]
