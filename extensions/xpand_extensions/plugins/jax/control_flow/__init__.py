"""Loops and branches on JAX, by its own functions, with checkpoints if the number of steps is known."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax
import numpy as np

from xpand.extend import Array
from xpand_extensions.generic.control_flow import _loops as generic

from .._explained import explained
from ._bounded import bounded, scan as checkpointed, trajectory

Arrays: TypeAlias = "tuple[Array, ...]"
Function: TypeAlias = Callable[..., Any]


def while_loop(cond_fun: Function, body_fun: Function, init_val: Arrays, *, max_iter: Any = None) -> Arrays:
    cond_fun, body_fun = explained("while_loop", cond_fun), explained("while_loop", body_fun)
    if max_iter is None:
        found: Arrays = jax.lax.while_loop(lambda carry: cond_fun(*carry), lambda carry: body_fun(*carry), init_val)
        return found
    if isinstance(max_iter, tuple):
        return trajectory(cond_fun, body_fun, init_val, max_iter)
    return bounded(cond_fun, body_fun, init_val, max_iter)


def fori_loop(lower: Any, upper: Any, body_fun: Function, init_val: Arrays, *, unroll: Any = None) -> Arrays:
    body_fun = explained("fori_loop", body_fun)
    if not (isinstance(lower, int) and isinstance(upper, int)):
        found: Arrays = jax.lax.fori_loop(lower, upper, lambda i, carry: body_fun(i, *carry), init_val, unroll=unroll)
        return found
    numbers = np.arange(lower, max(lower, upper))
    step = lambda carry, row: (body_fun(*row, *carry), ())
    return checkpointed(step, init_val, (numbers,), numbers.shape[0], False, 1 if unroll is None else unroll)[0]


def scan(
    f: Function, init: Arrays, xs: Any = None, length: Any = None, reverse: bool = False, unroll: Any = 1
) -> tuple[Arrays, Arrays]:
    return checkpointed(explained("scan", f), init, xs, length, reverse, unroll)


def map(f: Function, xs: Arrays, *, batch_size: int | None = None) -> Arrays:
    f = explained("map", f)
    found: Arrays = jax.lax.map(lambda x: f(*x), xs, batch_size=batch_size)
    return found


def associative_scan(fn: Function, elems: Arrays, reverse: bool = False, axis: int = 0) -> Arrays:
    if axis < 0:  # JAX would count the axis in the first array, but arrays have different numbers of axes
        return generic.associative_scan(fn, elems, reverse, axis)
    found: Arrays = jax.lax.associative_scan(fn, elems, reverse=reverse, axis=axis)
    return found


def cond(pred: Array, true_fun: Function, false_fun: Function, *operands: Array) -> Arrays:
    found: Arrays = jax.lax.cond(pred, explained("cond", true_fun), explained("cond", false_fun), *operands)
    return found


def switch(index: Array, branches: Sequence[Function], *operands: Array) -> Arrays:
    found: Arrays = jax.lax.switch(index, [explained("switch", branch) for branch in branches], *operands)
    return found
