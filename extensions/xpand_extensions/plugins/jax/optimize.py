"""Iterations on JAX, compiled: a step is many small operations, which are slow one by one."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax

from xpand import trees

from ... import optimize
from ..._dispatch import forwards_to
from ...optimize._algorithms._states import is_known, looped, stepped
from ._programs import call_compiled


@forwards_to(optimize.iterate)
def iterate(step: Any, /, state: Any, *, running: Any, init: Any, callback: Any, **options: Any) -> trees.Tree:
    if callback is not None and is_known(state):
        initial = state if init is None else init(state)
        if is_known(initial):
            return stepped(_compiled(step, initial), initial, running, callback)

    def whole(state: trees.Tree) -> trees.Tree:
        return looped(step, state if init is None else init(state), running, callback)

    return _compiled(whole, state, call_compiled)(state)


def _compiled(
    function: Callable[[Any], Any], state: trees.Tree, call: Callable[..., Any] | None = None
) -> Callable[[Any], Any]:
    """Compile a function of trees like a state.

    Args:
        function: The function.
        state: The tree.
        call: Calls a function of arrays, compiled. By default, it is compiled once for several calls.
    """
    structure = trees.structure(state)
    result: list[trees.Structure] = []

    def of_leaves(*leaves: Any) -> list[Any]:
        found, spec = trees.flatten(function(trees.unflatten(structure, leaves)))
        result[:] = [spec]
        return found

    run = jax.jit(of_leaves) if call is None else partial(call, of_leaves)

    def compiled(state: trees.Tree) -> trees.Tree:
        leaves = run(*trees.leaves(state))
        return trees.unflatten(result[0], leaves)

    return compiled
