"""Iterations on JAX: compiled, since a step is many small operations, each of which takes long by itself."""

from collections.abc import Callable
from typing import Any

import jax

from xpand import trees
from xpand._typing import Array

from ...generic._optimize_iterate import is_known, looped, stepped


def iterate(
    step: Callable[[Any], Any],
    state: trees.Tree,
    /,
    *,
    running: Callable[[Any], Array],
    lazy_steps: int | None = None,
    callback: Callable[[Any], Any] | None = None,
) -> trees.Tree:
    if callback is None or not is_known(state):
        return looped(step, state, running, callback)
    structure = trees.structure(state)

    @jax.jit
    def compiled(leaves: list[Any]) -> list[Any]:
        return trees.leaves(step(trees.unflatten(structure, leaves)))

    return stepped(lambda before: trees.unflatten(structure, compiled(trees.leaves(before))), state, running, callback)
