"""The loop of the iterations of `optimize`."""

from collections.abc import Callable
from typing import Any

from xpand import trees
from xpand.extend import Array, checks, describe

from .._dispatch import pluggable
from .._where import clean_tracebacks
from ..control_flow._trees import first_array
from ._algorithms._vectors import select


@clean_tracebacks
@pluggable
def iterate(
    step: Callable[[Any], Any],
    /,
    state: trees.Tree,
    *,
    running: Callable[[Any], Array],
    init: Callable[[Any], Any] | None = None,
    lazy_steps: int | None = None,
    callback: Callable[[Any], Any] | None = None,
) -> trees.Tree:
    """Iterate several problems together, each until it has finished. Use it to write your own method.

    Args:
        step: Takes the state and returns the next state: a tree of the same structure, shapes and data types.
        state: The initial state, a tree of arrays.
        running: Takes the state and returns whether each problem is running: booleans, of shape `(*batch)`. The first
            axes of all arrays of the state must be those of the batch. Finished problems don't change any more.
        init: Takes `state` and returns the initial state; on JAX it is compiled together with the loop.
        lazy_steps: The number of steps for lazy arrays (Dask): their values can't end the loop, so that all steps
            become part of the graph. It is ignored for other arrays.
        callback: Called with the state after each step; if it returns True, the loop ends. Only for concrete arrays.

    Returns:
        The state when all problems have finished, or when `callback` ended the loop.

    Raises:
        TypeError: An argument that is not a function, or not a tree of arrays; or (`UnsupportedError`) lazy arrays
            without `lazy_steps`.
        ValueError: A `callback` for arrays that aren't concrete.

    The loop is a Python loop for concrete arrays, a compiled `while_loop` on JAX, and `control_flow.while_loop` for
    abstract arrays (under `jit`, `vmap` and derivatives).

    >>> import numpy as np
    >>> root = iterate(lambda x: (x + 2.0 / x) / 2.0, np.asarray([1.0, 2.0]), running=lambda x: abs(x * x - 2.0) > 1e-9)
    >>> np.round(root, 6)
    array([1.414214, 1.414214])
    """
    for name, value in (("step", step), ("running", running), ("init", step if init is None else init)):
        checks.function("iterate", value, name)
    if not (callback is None or callable(callback)):
        raise TypeError(f"iterate: callback must be a function or None, got {describe(callback)}")
    if lazy_steps is not None:
        lazy_steps = checks.integer("iterate", "lazy_steps", lazy_steps, minimum=0)
    like = first_array(trees.leaves(state))
    if like is None:
        raise TypeError(f"iterate: state must be a tree of arrays, got {describe(state)}")

    def masked(before: trees.Tree) -> trees.Tree:
        active = running(before)
        after = step(before)
        return select(active, after, before) if active.ndim else after

    return iterate.native(like)(masked, state, running=running, init=init, lazy_steps=lazy_steps, callback=callback)
