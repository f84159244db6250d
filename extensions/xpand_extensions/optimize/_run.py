"""Run a method until it ends; make the result, and define its derivatives."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from xpand import UnsupportedError, array_namespace, is_concrete, is_jax_array, trees
from xpand.extend import Array, checks, describe

from .._dispatch import pluggable
from .._lazy import is_lazy
from .._solver_status import Status, throw_unless_converged
from .._where import clean_tracebacks
from ..autodiff._solve import custom_root
from ..control_flow._trees import first_array
from ..jit._reused import reused
from ..progress import To, check, current, emit, tracked
from ._algorithms._states import updated
from ._algorithms._vectors import select
from ._arguments import Limits
from ._repeated import Plan, Repeatable
from ._results import RUNNING, History, OptimizeResult
from ._tasks import Driver, Record, Task, driver_of


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


@pluggable
def tangent_of(linear: Callable[[Array], Array], y: Array, /, *, is_symmetric: bool = False) -> Array:
    """Solve the linear equations for the derivative of a solution.

    Args:
        linear: A linear function of vectors, `(*batch, n)`, of independent problems.
        y: The right-hand sides.
        is_symmetric: Whether the matrices of the function are symmetric.

    Small systems are solved by their matrix, large systems iteratively by products with vectors, to 1e-10. Solutions of
    singular systems, and of systems that don't converge, are NaN.

    >>> import numpy as np
    >>> tangent_of(lambda x: 2 * x, np.asarray([1.0, 3.0]))
    array([0.5, 1.5])
    """
    return tangent_of.native(y)(linear, y, is_symmetric=is_symmetric)


_Again: TypeAlias = Callable[[Array, tuple[Any, ...]], tuple[Record, Any] | None]
"""Solves a problem like an earlier one; returns the last record, and the value there or None."""


class _Run(NamedTuple):
    state: Any
    recorded: Any
    """The records of the trajectory, along an axis after those of the batch; None without a trajectory."""
    history: History | None


def run(
    step: Callable[[Any], Any],
    init: Callable[[Any], Any],
    start: Any,
    limits: Limits,
    *,
    slack: int = 1,
    callback: Callable[[Any], Any] | None = None,
) -> tuple[Record, Record | None]:
    """Run until all problems have finished; return the last record, and the stacked records of the trajectory or None.

    Args:
        step: One step of a method.
        init: Makes the state, a named tuple with the attributes of a record, from `start`.
        start: The starting point: arrays.
        limits: The limits at which to stop.
        slack: The number of steps per iteration to allow for lazy arrays, whose steps must be counted in advance.
        callback: Called with the record after each iteration.
    """
    if not limits.given and is_lazy(trees.leaves(start)[0]):
        raise UnsupportedError(
            f"{limits.function}: lazy arrays need a fixed number of steps; give max_steps (each step becomes part of "
            "the graph), or compute the arrays first"
        )
    aborted = False
    seen = 0
    numbers = _numbers(trees.leaves(start)[0], limits.checkpoints)
    steps = _numbers(trees.leaves(start)[0], range(limits.max_steps + 1) if limits.record else None)
    report = current(limits.function)

    def running(carried: _Run) -> Array:
        return (carried.state.status == RUNNING) & (carried.state.iterations < limits.max_steps)

    def init_run(start: Any) -> _Run:
        nonlocal seen
        state = init(start)
        if callback is not None and not all(map(is_concrete, trees.leaves(state))):
            raise ValueError(
                f"{limits.function}: a callback needs the values of the arrays, which are not known for lazy arrays "
                "and under jit, vmap and derivatives; leave it out, or ask for a trajectory with a sequence of "
                "max_steps"
            )
        if callback is not None and is_concrete(state.status):
            seen = _progress(record_of(state))
        recorded = None if numbers is None else _spread(record_of(state), numbers)
        return _Run(state, recorded, None if steps is None else _first(state, steps))

    def whole_step(carried: _Run) -> _Run:
        if report is not None:
            emit(report, carried.state.iterations, carried.state.objective)
        after = step(carried.state)
        recorded = None if numbers is None else _recorded(numbers, record_of(after), carried.recorded)
        return _Run(after, recorded, None if steps is None else _with_values(steps, after, carried.history))

    def notify(carried: _Run) -> bool:
        nonlocal aborted, seen
        found = record_of(carried.state)
        # A step of a line search is not an iteration of the method.
        total = _progress(found)
        if total != seen:
            seen = total
            aborted = callback is not None and bool(callback(_ended(found, Status.MAX_STEPS)))
        return aborted

    carried = iterate(
        whole_step,
        start,
        init=init_run,
        running=running,
        lazy_steps=limits.max_steps * slack if limits.given else None,
        callback=None if callback is None else notify,
    )
    if report is not None:
        emit(report, carried.state.iterations, carried.state.objective)
    last = _ended(record_of(carried.state), Status.ABORTED if aborted else Status.MAX_STEPS)
    if carried.history is not None:
        last = last._replace(history=_trimmed(carried.history, last.iterations))
    if carried.recorded is None:
        return last, None
    trajectory = trees.map(
        lambda x: array_namespace(x).moveaxis(x, last.status.ndim, 0), _ended(carried.recorded, Status.MAX_STEPS)
    )
    return last, trajectory


class Handling(NamedTuple):
    """The options of a call for reports, errors and derivatives."""

    callback: Callable[[OptimizeResult], Any] | None
    """Called with the result after each iteration."""
    throw: bool
    """Whether to raise an error if a problem has not converged."""
    progress: To
    """The destination of reports of the iterations."""
    repeatable: Repeatable | None = None
    """The object that stores the plan for calls like this one."""
    tangent_solve: Callable[..., Array] | None = None
    """Solves the linear equation of a function of vectors; None: `tangent_of`."""
    is_symmetric: bool = False
    """Whether the derivative of the condition is symmetric, as for a gradient."""


def solved(
    task: Task,
    start: Array,
    args: tuple[Any, ...],
    solve: Callable[..., tuple[Record, Record | None]],
    condition: Callable[..., Array],
    handling: Handling,
) -> OptimizeResult:
    """Solve a problem and make its result; the solution is differentiated implicitly.

    Args:
        task: The problem, its method, and the limits.
        start: The starting point, on which the solution does not depend.
        args: The parameters: the solution is differentiable with respect to them.
        solve: Takes the starting point, the parameters, a callback of records, and the limits; returns the result of
            `run`.
        condition: Takes a point and the parameters; its value is zero at the solution.
        handling: The options for reports, errors and derivatives.
    """
    callback, throw, progress, repeatable, tangent_solve, is_symmetric = handling
    problem, method = task.problem, task.method
    solve_tangents = partial(tangent_of, is_symmetric=is_symmetric) if tangent_solve is None else tangent_solve

    def run_method(start: Array, *given: Any) -> tuple[Array, Any]:
        drive = _driver(task, start, given) if callback is None else None
        found = None if drive is None else _driven(drive, solve, start, given)
        if found is not None:
            return found[0].x, (found[0], None)
        notify = None if callback is None else lambda record: callback(problem.result(record, given))
        last, recorded = solve(start, given, notify, task.limits)
        return last.x, (last, recorded)

    def whole(start: Array, args: tuple[Any, ...]) -> tuple[Array, Any]:
        found: tuple[Array, Any] = custom_root(
            condition, start, solve=run_method, tangent_solve=solve_tangents, args=args, has_aux=True
        )
        return found

    again: _Again | None = None
    check(problem.name, progress)
    label = "objective" if problem.name == "minimize" else "residual"
    with tracked(f"{problem.name}: {method}", task.limits.max_steps, label, progress=progress) as report:
        # Try a driver before preparing derivatives, which takes longer than solving many problems.
        drive = _driver(task, start, args) if callback is None else None
        driven = None if drive is None else _driven(drive, solve, start, args)
        if drive is not None and driven is not None:
            last, recorded, x = driven[0], None, driven[0].x
            again = partial(_driven, drive, solve)
        elif callback is None and report is None and task.is_reusable and is_concrete(start):
            known = (problem.name, method, problem.vectors.signature, task.limits, task.options)
            run_whole = partial(reused, whole, of=problem.functions, key=known, small=True)
            x, (last, recorded) = run_whole(start, _copied(start), args)
            again = partial(_reused, run_whole)
        else:
            x, (last, recorded) = whole(_copied(start), args)
        result = problem.result(last._replace(x=x), args)
        if again is not None and repeatable is not None and problem.vectors.is_plain and recorded is None:
            fixed = args[: len(args) - repeatable.count]
            problem.vectors.release()
            repeatable.add(_plan(task, start, fixed, again, result.fun, driven and driven[1]))
        if recorded is not None:
            rows = [trees.map(lambda x: x[i, ...], recorded) for i in range(recorded.status.shape[0])]  # noqa: B023
            result = result._replace(trajectory=trees.stack([problem.result(row, args) for row in rows]))
    if throw:
        throw_unless_converged(problem.name, method, result)
    return result


def _driver(task: Task, start: Array, args: tuple[Any, ...]) -> Driver | None:
    """Return the library's driver, or None if it has none, or if steps are reported or recorded."""
    limits = task.limits
    if limits.record or limits.checkpoints is not None or current(limits.function) is not None:
        return None
    return driver_of.native(start)(task, start, *args)


def _plan(
    task: Task,
    start: Array,
    fixed: tuple[Any, ...],
    solve: _Again,
    fun: Any,
    value: Any,
) -> Plan:
    """Return the function that solves further problems of one signature.

    Args:
        task: The first problem, and its method.
        start: Its starting point.
        fixed: The first parameters, made by the facade from its options; those of the user follow.
        solve: Solves problems of the signature, given the starting point and all parameters.
        fun: The value of the user function at the first solution, of any structure and data type.
        value: The value that a driver returned, or None.
    """
    is_value = type(fun) is type(value) and (fun.dtype, fun.shape) == (value.dtype, value.shape)
    xp, shape = array_namespace(start), start.shape

    def again(start: Array, given: tuple[Any, ...], throw: bool) -> OptimizeResult | None:
        given = (*fixed, *given)
        found = solve(start if start.shape == shape else xp.reshape(start, shape), given)
        if found is None:
            return None
        record, value = found
        result = task.problem.result(record, given, value if is_value else None)
        if throw:
            throw_unless_converged(task.problem.name, task.method, result)
        return result

    return again


def _reused(run: Callable[..., Any], start: Array, args: tuple[Any, ...]) -> tuple[Record, Any] | None:
    """Solve a problem with the compiled program of an earlier one, if the values are concrete."""
    if not is_concrete(start):
        return None
    x, (last, _) = run(start, _copied(start), args)
    return last._replace(x=x), None


def _driven(drive: Driver, solve: Callable[..., Any], start: Array, args: tuple[Any, ...]) -> tuple[Record, Any] | None:
    """Solve a problem with a driver; return the last record, and the value there or None."""
    found = drive(start, args)
    if found is None:
        return None
    xp, device = array_namespace(start), checks.device_of(start)
    whole = xp.asarray(found[2:6], dtype=xp.int32, device=device)
    counts = whole[0, ...], whole[1, ...], whole[2, ...]
    if found.limits is None:
        x, status = found.x, whole[3, ...]
        optimality = xp.asarray(found.optimality, dtype=start.dtype, device=device)
    else:
        last: Record = solve(found.x, args, None, found.limits)[0]
        x, optimality, status = last.x, last.optimality, last.status
        counts = counts[0] + last[2], counts[1] + last[3], counts[2] + last[4]
    return Record(x if found.iterations else _copied(x), optimality, *counts, status), found.fun


def _copied(x: Array) -> Array:
    """Copy a starting point: it may become the result, which must not share memory. JAX's arrays are immutable."""
    return x if not is_concrete(x) or is_jax_array(x) else array_namespace(x).asarray(x, copy=True)


def record_of(state: Any) -> Record:
    """Return the record of a state. Methods without derivatives count no evaluations of gradients."""
    gradients = state.gradient_evaluations if hasattr(state, "gradient_evaluations") else 0 * state.iterations
    counts = state.iterations, state.function_evaluations, gradients
    return Record(state.x, state.optimality, *counts, state.status)


def _progress(record: Record) -> int:
    """Return a number that changes with each iteration and when a problem finishes."""
    xp = array_namespace(record.iterations)
    ended = xp.astype(record.status != RUNNING, xp.int32)
    return int(xp.sum(record.iterations)) + int(xp.sum(ended))


def _ended(record: Record, otherwise: Status) -> Record:
    """Set the status of problems that are still running."""
    return record._replace(status=updated(record.status, (record.status == RUNNING, otherwise)))


def _first(state: Any, steps: Array) -> History:
    """Make a history with the first values."""
    xp = array_namespace(state.optimality)
    shape = (*state.status.shape, steps.shape[0])
    like = state.optimality
    empty = xp.full(shape, float("nan"), dtype=like.dtype, device=checks.device_of(like))
    return _with_values(steps, state, History(empty, empty))


def _with_values(steps: Array, state: Any, history: History | None) -> History:
    """Store the values of a state at its number of iterations."""
    assert history is not None
    is_now = steps == state.iterations[..., None]

    def stored(values: Array, now: Array) -> Array:
        return array_namespace(values, now).where(is_now, now[..., None], values)

    return History(stored(history.objective, state.objective), stored(history.optimality, state.optimality))


def _trimmed(history: History, iterations: Array) -> History:
    """Remove the entries after the last iteration of all problems, if the iterations are concrete."""
    if not is_concrete(iterations):
        return history
    width = 1 if 0 in iterations.shape else int(array_namespace(iterations).max(iterations)) + 1
    return History(*[x[..., :width] for x in history])


def _numbers(like: Array, checkpoints: Sequence[int] | None) -> Array | None:
    if checkpoints is None:
        return None
    xp = array_namespace(like)
    return xp.asarray(tuple(checkpoints), dtype=xp.int32, device=checks.device_of(like))


def _spread(record: Record, numbers: Array) -> Record:
    """Repeat a record for each number of steps."""
    batch_ndim = record.status.ndim

    def repeated(x: Array) -> Array:
        xp = array_namespace(x)
        shape = (*x.shape[:batch_ndim], numbers.shape[0], *x.shape[batch_ndim:])
        # Add zeros to make a full array, not a view with repeated elements.
        return xp.expand_dims(x, axis=batch_ndim) + xp.zeros(shape, dtype=x.dtype, device=checks.device_of(x))

    found: Record = trees.map(repeated, record)
    return found


def _recorded(numbers: Array, now: Record, recorded: Record) -> Record:
    """Store a record for each number of steps that it has not exceeded."""
    new = now.iterations[..., None]
    changed = (new <= numbers) & ((new > recorded.iterations) | (now.status[..., None] != RUNNING))
    batch_ndim = now.status.ndim
    expanded = trees.map(lambda x: array_namespace(x).expand_dims(x, axis=batch_ndim), now)
    newest: Record = select(changed, expanded, recorded)
    return newest
