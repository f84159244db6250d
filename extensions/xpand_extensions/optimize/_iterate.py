"""The loop that all iterations of `optimize` run in."""

from collections.abc import Callable
from typing import Any

from xpand import _arguments, trees
from xpand._namespace import describe
from xpand._typing import Array

from .._dispatch import pluggable
from .._where import clean_tracebacks
from ..control_flow._trees import first_array
from ..generic.optimize._vectors import select


@clean_tracebacks
@pluggable
def iterate(
    step: Callable[[Any], Any],
    state: trees.Tree,
    /,
    *,
    running: Callable[[Any], Array],
    init: Callable[[Any], Any] | None = None,
    lazy_steps: int | None = None,
    callback: Callable[[Any], Any] | None = None,
) -> trees.Tree:
    """Take steps from a state for several problems at once, each until it ends: the loop of a custom method.

    Args:
        step: Takes the state and returns the next: a tree of the same structure, shapes and data types.
        state: The state to begin with, a tree of arrays.
        running: Takes the state; says which problems have not ended: booleans, of shape `(*batch)`. The arrays of the
            state then have these axes first. What has ended is never changed again.
        init: Takes `state` and returns the state to begin with; on JAX it is compiled together with the loop.
        lazy_steps: How many steps to take of lazy arrays (Dask), whose end can't be seen: all of them become part of
            the graph. Other arrays don't need it, and it is not looked at.
        callback: Called with the state after each step; if it returns True, the loop ends. Only where the values of the
            arrays are known.

    Returns:
        The state in which all problems have ended, or the one in which `callback` ended them.

    Raises:
        TypeError: Something that is no function, no tree of arrays; or (`UnsupportedError`) lazy arrays without
            `lazy_steps`.
        ValueError: `callback` is called for arrays whose values are not known.

    Arrays whose values are known are stepped by a loop of Python, except on JAX, which compiles a `while_loop`; other
    arrays, those under `jit`, `vmap` and derivatives, by `control_flow.while_loop`.

    >>> import numpy as np
    >>> root = iterate(lambda x: (x + 2.0 / x) / 2.0, np.asarray([1.0, 2.0]), running=lambda x: abs(x * x - 2.0) > 1e-9)
    >>> np.round(root, 6)
    array([1.414214, 1.414214])
    """
    for name, value in (("step", step), ("running", running), ("init", step if init is None else init)):
        if not callable(value):
            raise TypeError(f"iterate: {name} must be a function, got {describe(value)}")
    if not (callback is None or callable(callback)):
        raise TypeError(f"iterate: callback must be a function or None, got {describe(callback)}")
    if lazy_steps is not None:
        lazy_steps = _arguments.integer("iterate", "lazy_steps", lazy_steps, minimum=0)
    like = first_array(trees.leaves(state))
    if like is None:
        raise TypeError(f"iterate: state must be a tree of arrays, got {describe(state)}")

    def masked(before: trees.Tree) -> trees.Tree:
        active = running(before)
        after = step(before)
        return select(active, after, before) if active.ndim else after

    return iterate.native(like)(masked, state, running=running, init=init, lazy_steps=lazy_steps, callback=callback)
