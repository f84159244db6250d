"""Iterations for any library, and the equations for their derivatives."""

from typing import Any

from xpand import UnsupportedError, trees
from xpand.extend import Array
from xpand_extensions import optimize
from xpand_extensions._dispatch import forwards_to
from xpand_extensions._lazy import is_lazy

from ...optimize._algorithms._states import is_known, looped, stepped
from ...optimize._tasks import Driver, Task
from ._implicit import tangent_of as tangent_of


def driver_of(task: Task, start: Array, /, *args: Any) -> Driver | None:
    # The library has no drivers: `optimize` takes its own steps.
    return None


@forwards_to(optimize.iterate)
def iterate(step: Any, /, state: Any, *, running: Any, init: Any, lazy_steps: int | None, callback: Any) -> trees.Tree:
    lazy = is_lazy(trees.leaves(state)[0])
    if lazy and lazy_steps is None:
        raise UnsupportedError(
            "iterate: lazy arrays need a fixed number of steps; give lazy_steps (each step becomes part of the graph), "
            "or compute the arrays first"
        )
    state = state if init is None else init(state)
    if is_known(state):
        return stepped(step, state, running, callback)
    if not lazy:
        return looped(step, state, running, callback)
    return looped(step, state, running, callback, max_iter=lazy_steps)
