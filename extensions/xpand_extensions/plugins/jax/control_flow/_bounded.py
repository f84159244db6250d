"""Loops of a known number of steps on JAX, differentiable by reverse mode in the memory of its square root.

A scan saves the residuals of each step. Cut into blocks that are computed anew when they are
differentiated, it saves the carry from block to block, and the residuals of one block.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from xpand._typing import Array
from xpand_extensions.vmap._names import stepped_safely

Arrays: TypeAlias = "tuple[Array, ...]"
Function: TypeAlias = Callable[..., Any]

# Below it a loop keeps little, and computing each step twice would be all that blocks bring.
_FEW_STEPS = 32


def checkpointed(step: Function, init: Any, xs: Any, length: int, reverse: bool, unroll: int | bool) -> tuple[Any, Any]:
    """Scan, in blocks where there are many steps."""

    def steps(carry: Any, xs: Any, length: int) -> tuple[Any, Any]:
        found: tuple[Any, Any] = jax.lax.scan(step, carry, xs, length=length, reverse=reverse, unroll=unroll)
        return found

    if length < _FEW_STEPS:
        return steps(init, xs, length)
    size = math.isqrt(length)
    number = length // size
    whole = number * size
    # The rest comes last, which in reverse is at the first positions.
    cut = length - whole if reverse else whole
    parts = [jax.tree.map(lambda x: x[:cut], xs), jax.tree.map(lambda x: x[cut:], xs)]
    head, rest = reversed(parts) if reverse else parts
    blocks = jax.tree.map(lambda x: x.reshape(number, size, *x.shape[1:]), head)
    block = jax.checkpoint(lambda carry, xs: steps(carry, xs, size), prevent_cse=False)
    carry, ys = jax.lax.scan(block, init, blocks, length=number, reverse=reverse)
    ys = jax.tree.map(lambda y: y.reshape(whole, *y.shape[2:]), ys)
    if whole == length:
        return carry, ys
    carry, last = steps(carry, rest, length - whole)
    return carry, jax.tree.map(lambda x, y: jnp.concatenate([y, x] if reverse else [x, y]), ys, last)


def bounded(cond_fun: Function, body_fun: Function, init: Arrays, max_iter: int) -> Arrays:
    """Step as long as a condition holds, at most so many times."""
    count: Any = np.zeros((), dtype=int)
    _, _, carry = _until(cond_fun, body_fun, init, (cond_fun(*init), count, init), max_iter, count + max_iter)
    return tuple(carry)


def trajectory(cond_fun: Function, body_fun: Function, init: Arrays, numbers: tuple[int, ...]) -> Arrays:
    """Stack the values after each number of steps."""
    stops = sorted(set(numbers))
    longest = max(stop - start for start, stop in zip([0, *stops], stops))

    def to_stop(state: Any, stop: Array) -> tuple[Any, Arrays]:
        state = _until(cond_fun, body_fun, init, state, longest, stop)
        return state, state[2]

    state: Any = (cond_fun(*init), np.zeros((), dtype=int), init)
    _, rows = jax.lax.scan(to_stop, state, np.asarray(stops))
    order = np.asarray([stops.index(number) for number in numbers])
    return tuple([jnp.take(x, order, axis=0) for x in rows])


def _until(cond_fun: Function, body_fun: Function, first: Arrays, state: Any, longest: int, stop: Array) -> Any:
    """Step until the condition ends, or the count reaches `stop`; in at most `longest` steps.

    Steps after the end are passed over, by blocks: no batch element is still active.
    """

    def stepped(state: Any) -> Any:
        active, count, carry = state
        active = active & (count < stop)

        def choose(new: Arrays, old: Arrays) -> Arrays:
            return tuple([jnp.where(active, x, y) for x, y in zip(new, old)])

        # Finished lanes step on from where the loop began, which nothing traces: no step from where they
        # ended, which may be undefined, nor from there makes their gradients NaN.
        safe = partial(choose, carry, jax.lax.stop_gradient(first))
        new = choose(stepped_safely(body_fun, carry, safe), carry)
        return jnp.where(active, cond_fun(*new), state[0]), count + 1, new

    def step(state: Any, _: None) -> tuple[Any, None]:
        return _if_any(state, stop, stepped), None

    def block(size: int) -> Function:
        steps = jax.checkpoint(lambda state: jax.lax.scan(step, state, None, length=size)[0], prevent_cse=False)
        return lambda state, _: (_if_any(state, stop, steps), None)

    if longest < _FEW_STEPS:
        return jax.lax.scan(step, state, None, length=longest)[0]
    size = math.isqrt(longest)
    return jax.lax.scan(block(size), state, None, length=-(-longest // size))[0]


def _if_any(state: Any, stop: Array, function: Function) -> Any:
    active, count, _ = state
    return jax.lax.cond(_any(active & (count < stop)), function, lambda state: state, state)


@jax.custom_batching.custom_vmap  # type: ignore[untyped-decorator]
def _any(active: Array) -> Array:
    """Tell whether any batch element is active: the same for all, so that `cond` under vmap computes one branch."""
    return active


@_any.def_vmap  # type: ignore[untyped-decorator]
def _(axis_size: int, in_batched: list[bool], active: Array) -> tuple[Array, bool]:
    return _any(jnp.any(active, axis=0)) if in_batched[0] else _any(active), False
