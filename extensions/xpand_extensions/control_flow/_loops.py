"""While-loops and counted loops; the facade is `control_flow`."""

from collections.abc import Callable, Sequence
from typing import Any

from xpand import array_namespace, trees
from xpand.extend import Array, checks

from .._bounds import index_dtype
from .._dispatch import pluggable
from .._where import clean_tracebacks
from ..progress import To, emit, tracked
from ._signatures import fori_loop_signature, while_loop_signature
from ._trees import Arrays, Carry, check_unroll, described, dispatched_by, one_library, scalar_bool


@while_loop_signature
@clean_tracebacks
@pluggable
def while_loop(
    cond_fun: Callable[..., Any],
    body_fun: Callable[..., Any],
    init_val: trees.Tree,
    *,
    max_iter: int | Sequence[int] | None = None,
    progress: To = False,
) -> trees.Tree:
    """Call a function repeatedly with its own result while a condition holds.

    Args:
        cond_fun: Takes the carry, a tree of arrays; returns whether to continue: a bool, or an array of one.
        body_fun: Takes the carry and returns the next one: a tree of the same structure, shapes and data types.
        init_val: The initial carry, a tree of arrays and Python numbers. Numbers become arrays: floats get the data
            type of the other real arrays. If a step returns another data type for a number, the loop starts with this
            type.
        max_iter: The maximum number of steps. A sequence of numbers of steps returns the trajectory: the carry after
            each of these numbers, or after the last step if the loop ended earlier. None: there is no bound, and JAX
            has no reverse mode.
        progress: Show the number of steps; or a function of a `Progress`: see `xpand.progress`.

    Returns:
        The carry when the condition no longer holds, or after `max_iter` steps; for a trajectory, the values are
        stacked along a new first axis. Under `vmap` the loop ends with its slowest lane, and each lane has the same
        result as on its own.

    Raises:
        TypeError: An argument is not a function, or not a tree of arrays of one library; the condition is not a bool;
            the carry changes its structure, shape or data type; or (`UnsupportedError`) the condition is a lazy array
            and there is no bound.
        ValueError: `max_iter` is negative or empty, or arrays lie on two devices.

    With a bound, reverse mode on JAX and by PyTorch's `backward` takes memory for about the square root of `max_iter`
    steps, and computes each step twice.

    Source: `jax.lax.while_loop`; `max_iter` comes from PhiML.

    >>> import numpy as np
    >>> x = np.asarray(1.0)
    >>> float(while_loop(lambda x: x < 100.0, lambda x: 2.0 * x, x))
    128.0
    >>> while_loop(lambda x: x < 100.0, lambda x: 2.0 * x, x, max_iter=(0, 2, 20))
    array([  1.,   4., 128.])
    """
    checks.function("while_loop", cond_fun, "cond_fun")
    checks.function("while_loop", body_fun, "body_fun")
    steps = _max_iter(max_iter)
    if progress is not False:
        total = max(steps) if isinstance(steps, tuple) else steps
        with tracked("while_loop", total, progress=progress) as report:

            def counted(state: tuple[Array, trees.Tree]) -> tuple[Array, trees.Tree]:
                number, value = state[0] + 1, body_fun(state[1])
                emit(report, number)
                return number, value

            found = while_loop(lambda state: cond_fun(state[1]), counted, (0, init_val), max_iter=max_iter)
            return found[1]
    carry = Carry("while_loop", "init_val", "body_fun", init_val)
    one_library("while_loop", init_val=carry.arrays)

    def condition(*arrays: Array) -> Array:
        return scalar_bool("while_loop", "cond_fun must return", carry.evaluate_condition(cond_fun, arrays), arrays[0])

    def step(*arrays: Array) -> Arrays:
        return carry.fit(carry.stepped(lambda value, _: body_fun(value), arrays))

    def loop(arrays: Arrays) -> Arrays:
        found: Arrays = while_loop.native(*dispatched_by(arrays))(condition, step, arrays, max_iter=steps)
        return found

    return carry.tree(carry.run(loop))


@fori_loop_signature
@clean_tracebacks
@pluggable
def fori_loop(
    lower: int | Array,
    upper: int | Array,
    body_fun: Callable[..., Any],
    init_val: trees.Tree,
    *,
    unroll: int | bool | None = None,
    progress: To = False,
) -> trees.Tree:
    """Call a function for each integer of a range, with its previous result.

    Args:
        lower: The first integer.
        upper: The exclusive upper bound. If it is not above `lower`, there are no steps. Both are Python integers or
            integer arrays of shape ().
        body_fun: Takes the integer, as an array of shape (), and the carry; returns the next carry: a tree of the same
            structure, shapes and data types. The integer has the data type of the bounds if that is int32 or int64,
            otherwise the library's data type for indices.
        init_val: The initial carry, as in `while_loop`.
        unroll: How many steps a compiled loop unrolls; True for all, False for one. A hint, for JAX.
        progress: Show the number of steps; or a function of a `Progress`: see `xpand.progress`.

    Returns:
        The carry after the last step.

    Raises:
        TypeError: The bounds are not integers; otherwise as `while_loop`.
        ValueError: Arrays lie on two devices.

    Reverse mode on JAX and by PyTorch's `backward` takes memory for about the square root of the number of steps, and
    computes each step twice. JAX has no reverse mode for bounds that are arrays.

    Source: `jax.lax.fori_loop`.

    >>> import numpy as np
    >>> x = np.asarray([1.0, 2.0])
    >>> fori_loop(0, 3, lambda i, total: total + x * i, np.zeros(2))
    array([3., 6.])
    """
    checks.function("fori_loop", body_fun, "body_fun")
    check_unroll("fori_loop", unroll)
    lower, upper = _bound("lower", lower), _bound("upper", upper)
    if progress is not False:
        total = upper - lower if isinstance(upper, int) and isinstance(lower, int) else None
        with tracked("fori_loop", total, progress=progress) as report:

            def counted(i: Array, value: trees.Tree) -> trees.Tree:
                after = body_fun(i, value)
                emit(report, i - lower + 1)
                return after

            return fori_loop(lower, upper, counted, init_val, unroll=unroll)
    given = [x for x in (lower, upper) if not isinstance(x, int)]
    carry = Carry("fori_loop", "init_val", "body_fun", init_val, given)
    one_library("fori_loop", init_val=carry.arrays, bounds=given)
    bounds = _of_one_type(lower, upper)

    fit, tree = carry.fit, carry.tree

    def step(i: Array, *arrays: Array) -> Arrays:
        if not carry.is_first:
            return fit(body_fun(i, tree(arrays)))
        # An index of any library, as long as the library is unknown.
        call = lambda value, of_any: body_fun(int(i) if of_any else i, value)
        return carry.fit(carry.stepped(call, arrays))

    def loop(arrays: Arrays) -> Arrays:
        like = (*arrays, *(x for x in bounds if not isinstance(x, int)))
        found: Arrays = fori_loop.native(*dispatched_by(like))(*bounds, step, arrays, unroll=unroll)
        return found

    return carry.tree(carry.run(loop))


def _of_one_type(lower: int | Array, upper: int | Array) -> tuple[int | Array, int | Array]:
    """Convert arrays of narrow, unsigned or different types, in which the other bound or a step may not fit."""
    arrays = [x for x in (lower, upper) if not isinstance(x, int)]
    if not arrays:
        return lower, upper
    xp, dtype = array_namespace(*arrays), arrays[0].dtype
    if dtype in (xp.int32, xp.int64) and all(x.dtype == dtype for x in arrays):
        low, high = checks.integer_range(xp, dtype)
        if all(low <= x <= high for x in (lower, upper) if isinstance(x, int)):
            return lower, upper
    wide = index_dtype(xp, checks.device_of(arrays[0]))
    widened = [x if isinstance(x, int) else xp.astype(x, wide, copy=False) for x in (lower, upper)]
    return widened[0], widened[1]


def _max_iter(max_iter: Any) -> int | tuple[int, ...] | None:
    if max_iter is None:
        return None
    if isinstance(max_iter, (list, tuple, range)):
        if not max_iter:
            raise ValueError(
                "while_loop: max_iter must be a number of steps or a sequence of numbers, got an empty sequence"
            )
        return tuple([checks.integer("while_loop", "max_iter", each, minimum=0) for each in max_iter])
    return checks.integer("while_loop", "max_iter", max_iter, minimum=0)


def _bound(name: str, value: Any) -> int | Array:
    value = checks.plain_integer(value)
    if not checks.is_array(value):
        return checks.integer("fori_loop", name, value)
    xp = array_namespace(value)
    if tuple(value.shape) != () or not xp.isdtype(value.dtype, "integral"):
        raise TypeError(f"fori_loop: {name} must be an integer, or an array of one, got {described(value)}")
    return value
