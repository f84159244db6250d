"""Run a Krylov method: step until the recursion converges, check the true residual, and restart if necessary.

Each system of a batch has its own state. A system that has converged, failed or used up its steps waits: its state does
not change.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from xpand import array_namespace, is_concrete, trees
from xpand.extend import LibraryArray as Array, checks, without_numpy_warnings
from xpand_extensions import control_flow, progress
from xpand_extensions._solver_status import Status
from xpand_extensions.linear_solve._results import norm, recorded

from ._krylov_bicg import BICG, BICGSTAB, CGS, QMR
from ._krylov_gmres import GCROT, GMRES
from ._krylov_least_squares import LSMR, LSQR
from ._krylov_pieces import BROKEN, CONTINUE, CONVERGED, DIVERGED, NOT_FINITE, RESTART, Method, Step, flags
from ._krylov_symmetric import CG, CG_ADAPTIVE, MINRES

METHODS: Final[Mapping[str, Method]] = {
    "cg": CG,
    "cg-adaptive": CG_ADAPTIVE,
    "bicg": BICG,
    "bicgstab": BICGSTAB,
    "cgs": CGS,
    "qmr": QMR,
    "gmres": GMRES,
    "gcrot": GCROT,
    "minres": MINRES,
    "lsqr": LSQR,
    "lsmr": LSMR,
}

_RUNNING: Final = -1
_VERDICTS: Final = {
    CONVERGED: Status.STAGNATED,
    RESTART: Status.STAGNATED,
    BROKEN: Status.BREAKDOWN,
    DIVERGED: Status.DIVERGED,
    NOT_FINITE: Status.NON_FINITE,
}
# The method tries again only if the residual has shrunk at least by this factor since the last check. After a restart
# any reduction counts: slow cycles may be followed by faster ones.
_PROGRESS: Final = {CONVERGED: 0.5, RESTART: 1.0, BROKEN: 0.9, DIVERGED: 0.5, NOT_FINITE: 0.0}


class Carry(NamedTuple):
    """The state of each system."""

    state: Any
    """The state of the method."""
    flag: Array
    steps: Array
    calls: Array
    status: Array
    x: Array
    """The solution at the last start of the method."""
    residual: Array
    """The true residual of this solution."""
    measure: Array
    """The quantity that must become small: the norm of the residual, or of the adjoint times the residual."""
    size: Any = ()
    """The norm of the recursion's residual, if it is reported or recorded."""
    history: Any = ()
    """These norms after each step, if they are recorded and values are abstract."""


class Loop:
    """A run of a method on a system."""

    def __init__(
        self, method: Method, system: Any, order: int, b: Array, rtol: Array, atol: Array, bounded: bool = False
    ) -> None:
        """Take the criterion, and whether loops over abstract values must have a bound."""
        self.method, self.system, self.order, self.b, self.is_bounded = method, system, order, b, bounded
        self.xp = array_namespace(b)
        size = norm(b)
        self.rtol = rtol
        self.tolerance = self.xp.maximum(rtol * size, atol)
        self.tolerance = self.xp.minimum(self.tolerance, self.xp.full_like(size, float(self.xp.finfo(b.dtype).max)))
        eps = float(self.xp.finfo(b.dtype).eps)
        self.limit = size / eps**0.625
        """The residual of conjugate gradients may grow by the root of the condition number before it falls."""
        self.is_masked = b.ndim > 1 or bounded
        """Whether systems may have to wait."""
        self.report = progress.current("solve")
        self.record: int | None = None
        """The number of steps to record, or None."""
        self.scale: Any = 1
        """Reported and recorded norms are multiplied by this factor."""
        self.rows: list[tuple[Array, Array]] = []
        """The numbers of steps and the norms recorded so far, if values are concrete."""

    @property
    def is_watched(self) -> bool:
        """Whether the norm after each step is reported or recorded."""
        return self.report is not None or self.record is not None

    def init(self, x: Array, b_is_zero: Array) -> Carry:
        """Check the initial solution."""
        xp = self.xp
        x = self.select(b_is_zero, xp.zeros_like(x), x)
        residual = self.b - self.system.product(x)
        met, size, measure = self.verify(residual, None)
        finite = xp.isfinite(size) & xp.isfinite(self.tolerance)
        zero = flags(met, 0)
        status = xp.where(met, zero + int(Status.CONVERGED), zero + _RUNNING)
        status = xp.where(finite, status, zero + int(Status.NON_FINITE))
        self.limit = xp.maximum(self.limit, size / float(xp.finfo(self.b.dtype).eps) ** 0.625)
        initial = self.select(finite, residual, xp.zeros_like(residual))
        state = self.method.start(self.system, x, initial, self.order)
        carry = Carry(state, zero, zero, zero + 1, status, x, residual, measure)
        if self.record is not None and (self.is_bounded or not is_concrete(status)):
            empty = xp.full((self.record + 1,), float("nan"), dtype=size.dtype, device=checks.device_of(size))
            carry = carry._replace(history=xp.expand_dims(xp.zeros_like(size), axis=-1) + empty)
        return self.watched(carry._replace(size=size)) if self.is_watched else carry

    def watched(self, carry: Carry) -> Carry:
        """Report the steps and record the norms of the residuals."""
        size = carry.size * self.scale
        if self.report is not None:
            progress.emit(self.report, carry.steps, size)
        if isinstance(carry.history, tuple):
            self.rows += [(carry.steps, size)] * (self.record is not None)
            return carry
        xp = self.xp
        return carry._replace(
            history=recorded(carry.history, xp.expand_dims(carry.steps, axis=-1), xp.expand_dims(size, axis=-1))
        )

    def verify(self, residual: Array, state: Any) -> tuple[Array, Array, Array]:
        """Return whether a residual meets the criterion, its norm, and the measure."""
        size = norm(residual)
        met = size <= self.tolerance
        if self.method.size is None:
            return met, size, size
        normal = norm(self.system.adjoint(residual))
        if state is not None:
            met = met | (normal <= self.rtol * self.method.size(state) * size)
        return met, size, normal

    def advance(self, carry: Carry, stop: int) -> Carry:
        """Continue until all systems have finished or have taken this number of steps."""

        def waiting(carry: Carry) -> Array:
            return (carry.status == _RUNNING) & (carry.steps < stop)

        def cycle(carry: Carry) -> Carry:
            return self.look(self.steps(carry, stop))

        cycles = 2 if self.method is not GMRES else 1 - -stop // self.order
        return self.repeat(waiting, cycle, carry, cycles)

    def steps(self, carry: Carry, stop: int) -> Carry:
        """Step until all systems need a check or have taken this number of steps."""

        def is_running(carry: Carry) -> Array:
            return (carry.status == _RUNNING) & (carry.steps < stop) & (carry.flag == CONTINUE)

        def step(carry: Carry) -> Carry:
            active = is_running(carry)
            masked_step = self.method.masked_step
            if masked_step is None or not self.is_masked:
                after = self.merged(active, self.step(carry), carry)
            else:
                found = self.step_active(masked_step, carry.state, active)
                rest = self.merged(active, self.after(carry, found)._replace(state=()), carry._replace(state=()))
                after = rest._replace(state=found.state)
            return self.watched(after) if self.is_watched else after

        return self.repeat(is_running, step, carry, stop if self.method is not GMRES else min(stop, self.order))

    def repeat(
        self, is_running: Callable[[Carry], Array], body: Callable[[Carry], Carry], carry: Carry, bound: int
    ) -> Carry:
        """Loop while any system is running: in Python if values are concrete, otherwise with the library's loop."""

        def any_running(carry: Carry) -> Array:
            return self.xp.any(is_running(carry))

        while not self.is_bounded:
            more = any_running(carry)
            if not is_concrete(more):
                break
            if not bool(more):
                return carry
            carry = body(carry)
        found: Carry = control_flow.while_loop(any_running, body, carry, max_iter=bound if self.is_bounded else None)
        return found

    def step(self, carry: Carry) -> Carry:
        """Take a step with every system."""
        return self.after(carry, self.method.step(self.system, carry.state, self.order))

    def step_active(self, step: Callable[..., Step], state: Any, active: Array) -> Step:
        """Take a step with the active systems."""
        return step(self.system, state, self.order, lambda new, old: self.select(active, new, old))

    def after(self, carry: Carry, found: Step) -> Carry:
        """Return the carry after a step, with flags for systems that need a check."""
        size = found.norm
        met = size <= self.tolerance
        if found.normal is not None:
            met = met | (found.normal <= self.rtol * size)
        xp, steps = self.xp, carry.steps + 1
        finite = xp.isfinite(size)
        zero = flags(met, 0)
        flag = xp.where(size <= self.limit, found.flag, zero + DIVERGED)
        flag = xp.where(finite | (steps > 1), flag, zero + NOT_FINITE)
        flag = xp.where(met, zero + CONVERGED, flag)
        calls = carry.calls + self.method.cost(self.order)
        after = carry._replace(state=found.state, flag=flag, steps=steps, calls=calls)
        return after._replace(size=size) if self.is_watched else after

    def look(self, carry: Carry) -> Carry:
        """Compute the true residual of systems that need a check, and end or restart them."""
        xp, flag = self.xp, carry.flag
        flagged = (flag != CONTINUE) & (carry.status == _RUNNING)
        found, met, size, measure = self.checked(carry, flagged)
        status, share = carry.status, xp.zeros_like(measure)
        for reason, verdict in _VERDICTS.items():
            status = xp.where(flagged & (flag == reason), flags(flagged, 0) + int(verdict), status)
            share = xp.where(flag == reason, xp.zeros_like(share) + _PROGRESS[reason], share)
        share = xp.minimum(share, xp.full_like(share, 1 - 100 * float(xp.finfo(share.dtype).eps)))
        again = flagged & ~met & (measure <= share * carry.measure) & xp.isfinite(size)
        status = xp.where(again, flags(again, 0) + _RUNNING, status)
        status = xp.where(flagged & met, flags(again, 0) + int(Status.CONVERGED), status)
        carry = found._replace(status=status, flag=xp.where(again, flags(again, CONTINUE), flag))
        if is_concrete(again) and not bool(xp.any(again)):
            return carry
        initial = self.method.start(self.system, carry.x, carry.residual, self.order)
        if is_concrete(again) and not self.is_masked:
            return carry._replace(state=initial)
        return carry._replace(state=self.merged_tree(again, initial, carry.state))

    def checked(self, carry: Carry, chosen: Array) -> tuple[Carry, Array, Array, Array]:
        """Replace the solutions of some systems by the method's if these are better.

        Return also what `verify` returns for the method's solutions.
        """
        x = self.method.solution(self.system, carry.state, self.order)
        residual = self.b - self.system.product(x)
        met, size, measure = self.verify(residual, carry.state)
        better = chosen & (met | (measure <= carry.measure))
        after = carry._replace(
            calls=carry.calls + flags(chosen, 1 if self.method.size is None else 2),
            x=self.select(better, x, carry.x),
            residual=self.select(better, residual, carry.residual),
            measure=self.xp.where(better, measure, carry.measure),
        )
        return after, met, size, measure

    def finish(self, carry: Carry) -> tuple[Array, Array, Array, Array, Array]:
        """Return the results so far. Unfinished systems return their current state."""
        xp = self.xp
        running = carry.status == _RUNNING
        if is_concrete(running) and not bool(xp.any(running)):
            return carry.x, carry.residual, carry.steps, carry.calls, carry.status
        found, met, _, _ = self.checked(carry, running)
        zero = flags(running, 0)
        ended = xp.where(met, zero + int(Status.CONVERGED), zero + int(Status.MAX_STEPS))
        return found.x, found.residual, carry.steps, found.calls, xp.where(running, ended, carry.status)

    def history(self, carry: Carry) -> Array:
        """Return the norm of the residual after each step, NaN after the last."""
        if not isinstance(carry.history, tuple):
            return carry.history
        xp = self.xp
        steps, sizes = (xp.stack(each, axis=-1) for each in zip(*self.rows))
        width = int(xp.max(carry.steps)) + 1 if 0 not in carry.steps.shape else 1
        empty = xp.full((*carry.steps.shape, width), float("nan"), dtype=sizes.dtype, device=checks.device_of(sizes))
        return recorded(empty, steps, sizes)

    def merged(self, active: Array, new: Carry, old: Carry) -> Carry:
        """Use the new states of active systems. A system without a batch is always active."""
        if not self.is_masked:
            return new
        found: Carry = self.merged_tree(active, new, old)
        return found

    def merged_tree(self, active: Array, new: Any, old: Any) -> Any:
        """Choose between trees of arrays whose first axes are the batch."""
        return trees.map(lambda x, y: self.select(active, x, y), new, old)

    def select(self, active: Array, new: Array, old: Array) -> Array:
        """Choose between arrays whose first axes are the batch."""
        xp = self.xp
        return xp.where(xp.reshape(active, (*active.shape, *[1] * (new.ndim - active.ndim))), new, old)


def run(
    b: Array,
    x0: Array,
    rtol: Array,
    atol: Array,
    /,
    *,
    system: Any,
    method: str,
    order: int = 0,
    stops: tuple[int, ...] = (1,),
    record: bool = False,
    loop_of: Callable[..., Loop] = Loop,
    bounded: bool = False,
    arranged: Callable[[Any], Any] = lambda system: system,
) -> tuple[Array, ...]:
    """Solve, and return the state after each requested number of steps.

    `arranged` converts the system into a form with faster products. If `bounded`, the maximum number of steps is always
    taken, and a method restarts only once. If `record`, for one number of steps, the last result contains the norm of
    the residual after each step.
    """
    xp = array_namespace(b)
    size = _unit_of(b)
    far = size != 1
    is_scaled = not is_concrete(far) or bool(xp.any(far))
    given = (_divided(b, size), _divided(x0, size), rtol, atol / size) if is_scaled else (b, x0, rtol, atol)
    loop = loop_of(METHODS[method], arranged(system), order, given[0], *given[2:], bounded)
    if record or loop.report is not None:
        loop.record, loop.scale = stops[-1] if record else None, size
    rows = []
    with without_numpy_warnings():  # the status reports an overflow
        carry = loop.init(given[1], xp.all(b == 0, axis=-1))
        for stop in stops:
            carry = loop.advance(carry, stop)
            found = loop.finish(carry)
            rows.append(_multiplied(found, size, far) if is_scaled else found)
    if record:
        return *rows[0], loop.history(carry)
    return rows[0] if len(rows) == 1 else tuple([xp.stack(each) for each in zip(*rows)])


def _unit_of(b: Array) -> Array:
    """Return divisors for right-hand sides whose squares, or those of small residuals, may overflow or underflow."""
    xp = array_namespace(b)
    info = xp.finfo(b.dtype)
    low, least = float(info.smallest_normal) ** 0.25, 4 * float(info.smallest_normal)
    largest = _largest(b)
    is_far = ((largest < low) | (largest > 1 / low)) & (largest > least) & xp.isfinite(largest)
    return xp.where(is_far, largest, xp.ones_like(largest))


def _multiplied(found: tuple[Array, ...], size: Array, far: Array) -> tuple[Array, ...]:
    """Undo the division of right-hand sides. A solution that the data type can't represent is none."""
    x, residual, steps, calls, status = found
    xp = array_namespace(x)
    is_zero, x = _largest(x) == 0, _divided(x, 1 / size)
    largest = _largest(x)
    fits = is_zero | (xp.isfinite(largest) & (largest >= float(xp.finfo(x.dtype).smallest_normal)))
    wrong = far & (status == int(Status.CONVERGED)) & ~fits
    x = xp.where(xp.isfinite(x), x, xp.zeros_like(x))
    status = xp.where(wrong, xp.zeros_like(status) + int(Status.DIVERGED), status)
    return x, _divided(residual, 1 / size), steps, calls, status


def _largest(x: Array) -> Array:
    """Return the largest absolute value of each vector; zero for empty vectors."""
    xp = array_namespace(x)
    sizes = xp.abs(x)
    return xp.max(sizes, axis=-1) if x.shape[-1] else xp.sum(sizes, axis=-1)


def _divided(x: Array, sizes: Array) -> Array:
    return x / array_namespace(x).astype(sizes, x.dtype)[..., None]
