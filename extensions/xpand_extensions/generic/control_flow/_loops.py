"""Loops that end by a condition or a count, for any library: those of Python, a step at a time."""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from typing import Any, TypeAlias

from xpand import UnsupportedError, array_namespace, is_concrete
from xpand.extend import Array, checks
from xpand_extensions import control_flow as facade
from xpand_extensions.autodiff import stop_gradient
from xpand_extensions.control_flow._checkpointed import masked_step

from ._traced import is_traced, traced_among

Arrays: TypeAlias = "tuple[Array, ...]"
Decide: TypeAlias = "Callable[[Array, bool], tuple[bool, bool]]"
"""Takes a condition and whether the loop has a bound; returns whether to continue, and whether some lanes stopped."""


def while_loop(
    cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init_val: Arrays, *, max_iter: Any = None
) -> Arrays:
    outer = cache(lambda: traced_among((), cond_fun, body_fun))
    traced: Array | None = None
    masks = False

    def decide(active: Array, bounded: bool) -> tuple[bool, bool]:
        nonlocal traced, masks
        if is_concrete(active):
            return bool(active), False
        traced = active if is_traced(active) else outer()
        if traced is not None:
            return False, False
        if not bounded:
            raise UnsupportedError(
                "while_loop: whether to go on is not known, for the arrays are lazy; give max_iter, which bounds the "
                "steps, or compute the arrays first"
            )
        masks = True
        return True, True

    last = looped(cond_fun, body_fun, init_val, max_iter, decide)
    if masks and traced is None:
        # Captured arrays that were not found show in the results.
        traced = traced_among(last)
    if traced is None:
        return last
    # From the start, by what traces arrays that the functions close over, though none of those carried.
    wrap = array_namespace(traced).asarray
    native = facade.while_loop.native(traced)
    found: Arrays = native(cond_fun, body_fun, tuple([wrap(x) for x in init_val]), max_iter=max_iter)
    return found


def fori_loop(lower: Any, upper: Any, body_fun: Callable[..., Any], init_val: Arrays, *, unroll: Any = None) -> Arrays:
    return counted(lower, upper, body_fun, init_val, is_concrete, while_loop)


def looped(
    cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init_val: Arrays, max_iter: Any, decide: Decide
) -> Arrays:
    """Run a loop, and stack the values at the requested steps if `max_iter` is a tuple."""
    wanted = max_iter if isinstance(max_iter, tuple) else ()
    last = init_val
    saved = {}
    for number, last in enumerate(_states(cond_fun, body_fun, init_val, max(wanted, default=max_iter), decide)):
        if number in wanted:
            saved[number] = last
    if not wanted:
        return last
    rows = [saved.get(number, last) for number in wanted]
    return tuple([array_namespace(*each).stack(each) for each in zip(*rows)])


def counted(
    lower: Any,
    upper: Any,
    body_fun: Callable[..., Any],
    init_val: Arrays,
    is_known: Callable[[Array], bool],
    while_loop: Callable[..., Arrays],
) -> Arrays:
    """Run a loop over a range; where its bounds are not known, as a loop that ends by a condition."""
    like = init_val[0]
    xp = array_namespace(like)
    dtype = next((x.dtype for x in (lower, upper) if not isinstance(x, int)), None)
    device = checks.device_of(like)

    def as_index(i: Any) -> Array:
        return xp.asarray(i, dtype=dtype, device=device) if isinstance(i, int) else i

    if all(isinstance(x, int) or is_known(x) for x in (lower, upper)):
        carry = init_val
        for i in range(int(lower), int(upper)):
            carry = body_fun(as_index(i), *carry)
        return carry
    last = as_index(upper)

    def step(i: Array, *carry: Array) -> Arrays:
        return (i + 1, *body_fun(i, *carry))

    _, *carried = while_loop(lambda i, *_: i < last, step, (as_index(lower), *init_val))
    return tuple(carried)


def _states(
    cond_fun: Callable[..., Any], body_fun: Callable[..., Any], carry: Arrays, limit: int | None, decide: Decide
) -> Iterator[Arrays]:
    """Yield the carry before the first step, and after each."""
    first: Arrays | None = None
    start = carry
    yield carry
    for _ in count() if limit is None else range(limit):
        active = cond_fun(*carry)
        running, masked = decide(active, limit is not None)
        if not running:
            return
        if masked:
            first = tuple(map(stop_gradient, start)) if first is None else first
            carry = masked_step(active, body_fun, carry, first)
        else:
            carry = body_fun(*carry)
        yield carry
