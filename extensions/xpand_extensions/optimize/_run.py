"""Run a method: its steps, trajectory, callback and final status."""

from collections.abc import Callable
from typing import Any, NamedTuple

from xpand import UnsupportedError, array_namespace, is_concrete, trees
from xpand.extend import Array, checks

from .._lazy import is_lazy
from .._solver_status import Status
from ._algorithms._vectors import select
from ._arguments import Limits
from ._iterate import iterate
from ._results import RUNNING, status_like


class Record(NamedTuple):
    """The record of a state: the current point and the counts of each problem."""

    x: Array
    """Vectors, of shape `(*batch, n)`."""
    optimality: Array
    iterations: Array
    function_evaluations: Array
    gradient_evaluations: Array
    status: Array


class _Run(NamedTuple):
    state: Any
    recorded: Any
    """The records of the trajectory, along an axis after those of the batch; None without a trajectory."""


def run(
    step: Callable[[Any], Any],
    init: Callable[[Any], Any],
    start: Any,
    limits: Limits,
    record: Callable[[Any], Record],
    *,
    slack: int = 1,
    callback: Callable[[Any], Any] | None = None,
) -> tuple[Record, Record | None]:
    """Run until all problems have finished; return the last record, and those of the trajectory, stacked first.

    Args:
        step: One step of a method.
        init: Makes its state, a named tuple with `iterations` and `status` among its fields, from `start`.
        start: The starting point: arrays.
        limits: The limits at which to stop.
        record: Returns the record of a state.
        slack: The number of steps of an iteration on lazy arrays, whose steps must be counted in advance.
        callback: Called with the record after each iteration.
    """
    if not limits.given and is_lazy(trees.leaves(start)[0]):
        raise UnsupportedError(
            f"{limits.function}: how many steps it takes is not known for lazy arrays; give max_steps, all of which "
            "become part of the graph, or compute the arrays first"
        )
    aborted = False
    seen = 0
    numbers = _numbers(trees.leaves(start)[0], limits.checkpoints)

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
            seen = _progress(record(state))
        return _Run(state, None if numbers is None else _spread(record(state), numbers))

    def whole_step(carried: _Run) -> _Run:
        after = step(carried.state)
        return _Run(after, None if numbers is None else _recorded(numbers, record(after), carried.recorded))

    def notify(carried: _Run) -> bool:
        nonlocal aborted, seen
        found = record(carried.state)
        # One step of a line search is no step of the method.
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
    last = _ended(record(carried.state), Status.ABORTED if aborted else Status.MAX_STEPS)
    if carried.recorded is None:
        return last, None
    trajectory = trees.map(
        lambda x: array_namespace(x).moveaxis(x, last.status.ndim, 0), _ended(carried.recorded, Status.MAX_STEPS)
    )
    return last, trajectory


def stacked_records(records: list[Record]) -> Record:
    """Stack records along a new first axis."""
    return Record(*[array_namespace(*parts).stack(parts) for parts in zip(*records)])


def _progress(record: Record) -> int:
    """Return a number that changes with each iteration, and when a problem finishes."""
    xp = array_namespace(record.iterations)
    ended = xp.astype(record.status != RUNNING, xp.int32)
    return int(xp.sum(record.iterations)) + int(xp.sum(ended))


def _ended(record: Record, otherwise: Status) -> Record:
    """Set the status of problems that are still running."""
    xp = array_namespace(record.status)
    running = record.status == RUNNING
    return record._replace(status=xp.where(running, status_like(record.status, otherwise), record.status))


def _numbers(like: Array, checkpoints: tuple[int, ...] | None) -> Array | None:
    if checkpoints is None:
        return None
    xp = array_namespace(like)
    return xp.asarray(checkpoints, dtype=xp.int32, device=checks.device_of(like))


def _spread(record: Record, numbers: Array) -> Record:
    """Repeat a record for each number of steps."""
    batch_ndim = record.status.ndim

    def repeated(x: Array) -> Array:
        xp = array_namespace(x)
        shape = (*x.shape[:batch_ndim], numbers.shape[0], *x.shape[batch_ndim:])
        # Added to zeros, so that it is a full array and not a view that repeats its elements.
        return xp.expand_dims(x, axis=batch_ndim) + xp.zeros(shape, dtype=x.dtype, device=checks.device_of(x))

    found: Record = trees.map(repeated, record)
    return found


def _recorded(numbers: Array, now: Record, recorded: Record) -> Record:
    """Store a record wherever it is the latest within a number of steps."""
    new = now.iterations[..., None]
    changed = (new <= numbers) & ((new > recorded.iterations) | (now.status[..., None] != RUNNING))
    batch_ndim = now.status.ndim
    expanded = trees.map(lambda x: array_namespace(x).expand_dims(x, axis=batch_ndim), now)
    newest: Record = select(changed, expanded, recorded)
    return newest
