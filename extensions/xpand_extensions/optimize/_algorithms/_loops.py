"""Loops of Python where values are concrete, and loops that transformations trace."""

from typing import Any

from xpand import array_namespace, is_concrete, trees
from xpand.extend import Array

from ...control_flow import while_loop


def is_known(state: trees.Tree) -> bool:
    """Return whether all values of a state can be read."""
    return all(is_concrete(x) for x in trees.leaves(state))


def any_of(active: Array) -> Array:
    """Return whether any problem of a batch is running: an array of shape ()."""
    return array_namespace(active).any(active) if active.ndim else active


def stepped(step: Any, state: trees.Tree, running: Any, callback: Any) -> trees.Tree:
    """Take steps in a loop of Python."""
    while bool(any_of(running(state))):
        state = step(state)
        if callback is not None and callback(state):
            break
    return state


def looped(step: Any, state: trees.Tree, running: Any, callback: Any, max_iter: int | None = None) -> trees.Tree:
    """Take steps in a loop that transformations see; `max_iter` is for libraries that must know a bound."""
    if callback is not None:
        raise ValueError(
            "iterate: a callback needs the values of the arrays, which under jit, vmap and derivatives, and for lazy "
            "arrays, are not known; leave it out, or ask for a trajectory with a sequence of max_steps"
        )
    return while_loop(lambda carried: any_of(running(carried)), step, state, max_iter=max_iter)
