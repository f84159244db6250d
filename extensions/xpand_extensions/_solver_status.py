"""How a solver ended: one code per system, the words for it, and the error for those who ask for one."""

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Final

from xpand import array_namespace, is_concrete
from xpand._typing import Array


class Status(IntEnum):
    """How a solver of systems, or an optimiser, ended; kept as an integer for each system of a batch."""

    CONVERGED = 0
    """The criterion holds, and was recomputed from the solution."""
    MAX_STEPS = 1
    """The steps allowed were used up."""
    STAGNATED = 2
    """No more progress, short of the criterion: a line search that found nothing lower, rounding errors."""
    DIVERGED = 3
    """The iteration left for infinity: the residual grows, or the function has no lower bound."""
    BREAKDOWN = 4
    """The method can't go on: it divides by zero, or meets what it isn't made for, such as negative curvature."""
    SINGULAR = 5
    """The matrix is singular to working precision, and the system has no solution that the method can tell."""
    NON_FINITE = 6
    """The input holds NaN or infinities."""
    NO_BRACKET = 7
    """The function has the same sign at both ends of the interval."""
    ABORTED = 8
    """The callback asked to stop."""


_MESSAGES: Final = {
    Status.CONVERGED: "converged",
    Status.MAX_STEPS: "not converged within the steps allowed",
    Status.STAGNATED: "stagnated before it met the tolerance",
    Status.DIVERGED: "diverged",
    Status.BREAKDOWN: "broke down: the method does not apply to this system, or met a division by zero",
    Status.SINGULAR: "the matrix is singular to working precision",
    Status.NON_FINITE: "the input holds NaN or infinite values",
    Status.NO_BRACKET: "the function has the same sign at both ends of the interval",
    Status.ABORTED: "stopped by the callback",
}


class ConvergenceError(RuntimeError):
    """A solver did not converge, and was called with `throw=True`.

    Attributes:
        result: What it would have returned: the last iterate, with the status of each system.
    """

    def __init__(self, message: str, result: Any) -> None:
        """Take the message and the result that it speaks of."""
        super().__init__(message)
        self.result = result


def message(status: Status | int) -> str:
    """Say in words how one system ended.

    >>> message(1)
    'not converged within the steps allowed'
    """
    return _MESSAGES[Status(int(status))]


def summary(codes: Sequence[int]) -> str:
    """Say in words how the systems of a batch ended: one sentence, the systems that failed first.

    >>> summary([0, 1, 0])
    '1 of 3 systems not converged within the steps allowed (the first: number 1); 2 converged'
    """
    if len(codes) == 1:
        return message(codes[0])
    parts: list[str] = []
    for status in sorted(set(codes), reverse=True):
        count = sum(1 for each in codes if each == status)
        if status == Status.CONVERGED:
            parts.append(f"{count} converged" if parts else f"all {count} systems converged")
        else:
            first = codes.index(status)
            parts.append(f"{count} of {len(codes)} systems {message(status)} (the first: number {first})")
    return "; ".join(parts) if parts else "no systems"


def codes_of(status: Array) -> list[int] | None:
    """Read the codes of a batch, in order; None where they aren't known yet: under `jit`, in lazy arrays."""
    if not is_concrete(status):
        return None
    xp = array_namespace(status)
    flat = xp.reshape(status, (-1,))
    return [int(flat[i]) for i in range(flat.shape[0])]


def throw_unless_converged(function: str, result: Any) -> None:
    """Raise for a result whose `status` isn't CONVERGED throughout.

    Raises:
        ConvergenceError: A system did not converge.
        TypeError: The status isn't known yet, so nothing can be raised.
    """
    codes = codes_of(result.status)
    if codes is None:
        raise TypeError(
            f"{function}: throw=True needs to know how the solver ended, which under jit, under vmap and for lazy "
            "arrays is not known yet; leave it out and look at the result's `status`"
        )
    if any(codes):
        raise ConvergenceError(f"{function}: {summary(codes)}; the result is in the attribute `result`", result)
