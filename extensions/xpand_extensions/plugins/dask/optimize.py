"""Iterations on Dask: a bounded number of steps, since whether to go on is not known before the graph is computed."""

from collections.abc import Callable
from typing import Any

from xpand import UnsupportedError, trees
from xpand._typing import Array

from ...generic._optimize_implicit import by_matrix as tangent_of
from ...generic._optimize_iterate import looped

__all__ = ["iterate", "tangent_of"]


def iterate(
    step: Callable[[Any], Any],
    state: trees.Tree,
    /,
    *,
    running: Callable[[Any], Array],
    begin: Callable[[Any], Any] | None = None,
    lazy_steps: int | None = None,
    callback: Callable[[Any], Any] | None = None,
) -> trees.Tree:
    if lazy_steps is None:
        raise UnsupportedError(
            "iterate: how many steps it takes is not known, for the arrays are lazy; give lazy_steps, all of which "
            "become part of the graph, or compute the arrays first"
        )
    return looped(step, state if begin is None else begin(state), running, callback, max_iter=lazy_steps)
