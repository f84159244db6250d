"""Loops with a known number of steps on JAX."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from xpand.extend import LibraryArray as Array
from xpand_extensions.control_flow._checkpointed import (
    Primitives,
    checkpointed_scan,
    counted,
    masked_while,
    whole_blocks,
)

Arrays: TypeAlias = "tuple[Array, ...]"
Function: TypeAlias = Callable[..., Any]


def scan(
    f: Function, init: Arrays, xs: Any = None, length: Any = None, reverse: bool = False, unroll: Any = 1
) -> tuple[Arrays, Arrays]:
    primitives = _PRIMITIVES._replace(scan=partial(_scan, reverse=reverse))
    return checkpointed_scan(primitives, f, init, xs, length, reverse, unroll=unroll)


def bounded(cond_fun: Function, body_fun: Function, init: Arrays, max_iter: int) -> Arrays:
    """Step while a condition holds, up to a maximum number of steps."""
    return _until(cond_fun, body_fun, (np.zeros((), dtype=int), *init), init, max_iter, max_iter)[1:]


def trajectory(cond_fun: Function, body_fun: Function, init: Arrays, numbers: tuple[int, ...]) -> Arrays:
    """Stack the carries after each number of steps."""
    stops = sorted(set(numbers))
    longest = max(stop - start for start, stop in zip([0, *stops], stops))

    def to_stop(carry: Any, stop: Array) -> tuple[Any, Arrays]:
        carry = _until(cond_fun, body_fun, carry, init, stop, longest)
        return carry, carry[1:]

    _, rows = jax.lax.scan(to_stop, (np.zeros((), dtype=int), *init), np.asarray(stops))
    order = np.asarray([stops.index(number) for number in numbers])
    return tuple([jnp.take(x, order, axis=0) for x in rows])


def _until(cond_fun: Function, body_fun: Function, carry: Arrays, init: Arrays, stop: Any, longest: int) -> Arrays:
    """Step while a condition holds, up to `stop` steps; `carry` starts with the number of steps so far."""
    # Use numbers without a device: the device of the arrays need not be the default one.
    safe: Any = (0, *map(jax.lax.stop_gradient, init))
    return masked_while(_PRIMITIVES, *counted(cond_fun, body_fun, stop), carry, safe, whole_blocks(longest))


def _scan(
    step: Function, init: Arrays, xs: Arrays, length: int, reverse: bool = False, unroll: int | bool = 1
) -> tuple[Arrays, Arrays]:
    found: tuple[Arrays, Arrays] = jax.lax.scan(step, init, xs, length=length, reverse=reverse, unroll=unroll)
    return found


def _run_if(active: Array, function: Function, state: Arrays) -> Arrays:
    found: Arrays = jax.lax.cond(_any(active), function, lambda *state: state, *state)
    return found


@jax.custom_batching.custom_vmap  # type: ignore[untyped-decorator]
def _any(active: Array) -> Array:
    """Return whether any lane is active: the same for all lanes, so `cond` under vmap computes only one branch."""
    return active


@_any.def_vmap  # type: ignore[untyped-decorator]
def _(axis_size: int, in_batched: list[bool], active: Array) -> tuple[Array, bool]:
    return _any(jnp.any(active, axis=0)) if in_batched[0] else _any(active), False


_PRIMITIVES: Final = Primitives(jnp, _scan, _run_if, 32, partial(jax.checkpoint, prevent_cse=False))
