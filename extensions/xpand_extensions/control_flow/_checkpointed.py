"""Loops whose reverse mode needs memory for about the square root of their steps, on several libraries.

A plain scan saves the residuals of each step. A scan in blocks saves only the carry between blocks, and the residuals
of the block that is being differentiated: each block is computed again in reverse mode.
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
    """The operations of a library from which loops are built."""

    xp: Any
    scan: Callable[..., tuple[Arrays, Arrays]]
    """Takes a step, the first carry, the arrays of rows, and the number of steps."""
    run_if: Callable[[Array, Callable[..., Arrays], Arrays], Arrays]
    """Takes a condition, a function and its arguments; returns its results, or the arguments if no lane is active."""
    few_steps: int
    """The number of steps from which blocks pay off: fewer steps save little memory, and blocks compute each step
    twice.
    """
    checkpoint: Callable[[Step], Step] = lambda block: block
    """Makes reverse mode compute a block again, unless `scan` already does so for each step."""
    traced: Callable[..., Step] = lambda step, *given: step
    """Traces a step once, for several scans; takes the arguments of `scan`."""
    skips_steps: bool = True
    """Whether finished loops skip single steps, too, not only blocks."""
    selects_lanes: bool = False
    """Whether `run_if` returns its arguments for each lane that is not active."""


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
        library: The library's operations; `scan` goes backwards if the whole loop does.
        step: The step.
        init: The first carry.
        xs: The arrays of rows.
        length: The number of steps.
        reverse: Whether the scan starts at the last rows.
        around: Wraps a block.
        **options: Options of `library.scan`, for the steps.
    """
    scan, xp = library.scan, library.xp
    if length < library.few_steps:
        return scan(step, init, xs, length, **options)
    step = library.traced(step, init, xs, length)
    size = math.isqrt(length)
    number, others = divmod(length, size)
    # The remaining steps come last: in reverse, these are the first rows.
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
    """Select one of two results for each element."""
    xp = array_namespace(pred, *chosen, *other)
    return tuple([xp.where(pred, x, y) for x, y in zip(chosen, other)])


def masked_step(active: Array, body_fun: Callable[..., Arrays], carry: Arrays, safe: "Arrays | None") -> Arrays:
    """Take a step for active lanes; the others keep their carry."""
    return selected(active, _safe_step(active, body_fun, carry, safe), carry)


def _safe_step(active: Array, body_fun: Callable[..., Arrays], carry: Arrays, safe: "Arrays | None") -> Arrays:
    """Take a step; finished lanes step from `safe` values without derivative.

    A step from the last carry of a finished lane may be undefined and make its gradients NaN; a step from `safe` can't.
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
    """Step while a condition holds, up to a maximum number of steps, by a scan over all steps.

    Args:
        library: The library's operations.
        cond_fun: Takes the carry; returns whether to continue.
        body_fun: Takes the carry; returns the next one.
        init: The carry before the first step.
        safe: A carry without derivative, from which finished lanes step. None: they step from their last carry.
        length: The maximum number of steps.
    """

    def step(state: Arrays, _: Arrays) -> tuple[Arrays, Arrays]:
        active, *last = state
        carry = tuple(last)
        # If `run_if` selects lanes, finished lanes keep their carry anyway.
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
    """Return the condition and the step of a loop that counts its steps in front of the carry, and ends at `stop`."""
    return (
        lambda count, *carry: (count < stop) & cond_fun(*carry),
        lambda count, *carry: (count + 1, *body_fun(*carry)),
    )


def whole_blocks(length: int) -> int:
    """Round a number of steps up to whole blocks, so that a compiler sees one kind of block."""
    size = max(math.isqrt(length), 1)
    return -(-length // size) * size
