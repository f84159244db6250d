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
    traced: Callable[..., Step] = lambda step, *given: step
    """Traces a step once, for several scans; takes the arguments of `scan`."""
    skips_steps: bool = True
    """Whether single steps after the end are skipped too, and not only blocks."""
    selects_lanes: bool = False
    """Whether `run_if` returns its arguments for each lane that isn't active."""


def checkpointed_scan(
    library: Primitives,
    step: Step,
    init: Arrays,
    xs: Arrays,
    length: int,
    reverse: bool = False,
    around: Callable[[Step], Step] = lambda block: block,
    **options: Any,
) -> tuple[Arrays, Arrays]:
    """Scan in blocks, if there are many steps.

    Args:
        library: Its operations; `scan` goes backwards if the whole does.
        step: The step.
        init: The first carry.
        xs: The arrays of rows.
        length: The number of steps.
        reverse: Whether the scan starts at the last rows.
        around: Wraps a block.
        **options: Of `library.scan`, for the steps.
    """
    scan, xp = library.scan, library.xp
    if length < library.few_steps:
        return scan(step, init, xs, length, **options)
    step = library.traced(step, init, xs, length)
    size = math.isqrt(length)
    number, others = divmod(length, size)
    # The other steps come last, which in reverse is at the first rows.
    start = others if reverse else 0
    whole = slice(start, start + number * size)
    rest = slice(0, start) if reverse else slice(number * size, length)
    blocks = tuple([xp.reshape(x[whole, ...], (number, size, *x.shape[1:])) for x in xs])
    block = library.checkpoint(lambda carry, rows: scan(step, carry, rows, size, **options))
    carry, found = scan(around(block), init, blocks, number)
    ys = tuple([xp.reshape(y, (number * size, *y.shape[2:])) for y in found])
    if not others:
        return carry, ys
    carry, last = scan(step, carry, tuple([x[rest, ...] for x in xs]), others, **options)
    return carry, tuple([xp.concat([y, x] if reverse else [x, y]) for x, y in zip(ys, last)])


def selected(pred: Array, chosen: Arrays, other: Arrays) -> Arrays:
    """Take one result or the other, element by element."""
    xp = array_namespace(pred, *chosen, *other)
    return tuple([xp.where(pred, x, y) for x, y in zip(chosen, other)])


def masked_step(active: Array, body_fun: Callable[..., Arrays], carry: Arrays, safe: "Arrays | None") -> Arrays:
    """Take a step for active lanes; the others keep their carry."""
    return selected(active, _safe_step(active, body_fun, carry, safe), carry)


def _safe_step(active: Array, body_fun: Callable[..., Arrays], carry: Arrays, safe: "Arrays | None") -> Arrays:
    """Take a step, for finished lanes from `safe` values without derivative.

    Neither a step from their last carry, which may be undefined, nor one from there makes their gradients NaN.
    """
    if safe is None:
        return body_fun(*carry)
    found: Arrays = stepped_safely(body_fun, carry, partial(selected, active, carry, safe))
    return found


def masked_while(
    library: Primitives,
    cond_fun: Callable[..., Array],
    body_fun: Callable[..., Arrays],
    init: Arrays,
    safe: "Arrays | None",
    length: int,
) -> Arrays:
    """Step until a condition ends, at most so many times, by a scan over all steps.

    Args:
        library: Its operations.
        cond_fun: Takes the carry; returns whether to continue.
        body_fun: Takes the carry; returns the next one.
        init: The carry before the first step.
        safe: A carry without derivative, from which finished lanes step. None: from their last one, which other lanes
            use.
        length: The most steps.
    """

    def step(state: Arrays, _: Arrays) -> tuple[Arrays, Arrays]:
        active, *last = state
        carry = tuple(last)
        # Where `run_if` selects, finished lanes keep their carry anyway.
        take = _safe_step if library.skips_steps and library.selects_lanes else masked_step
        carry = take(active, body_fun, tuple(last), safe)
        return (cond_fun(*carry), *carry), ()

    def skipping(function: Step) -> Step:
        return lambda state, row: (library.run_if(state[0], lambda *state: function(state, row)[0], state), ())

    each = skipping(step) if library.skips_steps else step
    return checkpointed_scan(library, each, (cond_fun(*init), *init), (), length, around=skipping)[0][1:]


def counted(
    cond_fun: Callable[..., Array], body_fun: Callable[..., Arrays], stop: Any
) -> tuple[Callable[..., Array], Callable[..., Arrays]]:
    """Return the condition and the step of a loop that counts its steps before the carry, and ends at `stop`."""
    return (
        lambda count, *carry: (count < stop) & cond_fun(*carry),
        lambda count, *carry: (count + 1, *body_fun(*carry)),
    )


def whole_blocks(length: int) -> int:
    """Round a number of steps up to whole blocks, so that a compiler sees one kind of block."""
    size = max(math.isqrt(length), 1)
    return -(-length // size) * size
