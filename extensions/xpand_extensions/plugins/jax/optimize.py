"""Iterations on JAX, compiled: a step is many small operations, which are slow one by one."""

from collections.abc import Callable
from typing import Any

import jax

from xpand import trees

from ... import optimize
from ..._dispatch import forwards_to
from ...optimize._algorithms._states import is_known, looped, stepped


@forwards_to(optimize.iterate)
def iterate(step: Any, /, state: Any, *, running: Any, init: Any, callback: Any, **options: Any) -> trees.Tree:
    if callback is not None and is_known(state):
        initial = state if init is None else init(state)
        if is_known(initial):
            return stepped(_compiled(step, initial), initial, running, callback)

    def whole(state: trees.Tree) -> trees.Tree:
        return looped(step, state if init is None else init(state), running, callback)

    # Inside another transformation, this is part of the outer function.
    return _compiled(whole, state)(state)


def _compiled(function: Callable[[Any], Any], state: trees.Tree) -> Callable[[Any], Any]:
    """Compile a function whose arguments are a state and trees."""
    structure = trees.structure(state)
    result: list[trees.Structure] = []

    def of_leaves(leaves: list[Any]) -> list[Any]:
        found, spec = trees.flatten(function(trees.unflatten(structure, leaves)))
        result[:] = [spec]
        return found

    compiled_of_leaves = jax.jit(of_leaves)

    def compiled(state: trees.Tree) -> trees.Tree:
        leaves = compiled_of_leaves(trees.leaves(state))
        return trees.unflatten(result[0], leaves)

    return compiled
