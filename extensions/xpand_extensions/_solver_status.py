"""Convergence status of solvers: a code for each system, its description, and an optional error."""

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Final

from xpand import array_namespace, is_concrete
from xpand.extend import Array


class Status(IntEnum):
    """The outcome of a solver or an optimizer: an integer for each system of a batch."""

    CONVERGED = 0
    """The criterion holds, and was recomputed from the solution."""
    MAX_STEPS = 1
    """All allowed steps were used."""
    STAGNATED = 2
    """Progress stopped before the criterion was met: no lower point was found, or rounding errors dominate."""
    DIVERGED = 3
    """The iteration diverges: the residual grows, or the function has no lower bound."""
    BREAKDOWN = 4
    """The method can't continue: it divides by zero, or meets an unsupported case, such as negative curvature."""
    SINGULAR = 5
    """The matrix is singular to working precision, and the method finds no solution."""
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
    Status.DIVERGED: "diverged: the residual grows, or the function has no lower bound",
    Status.BREAKDOWN: "broke down: the method does not apply to this system, or met a division by zero",
    Status.SINGULAR: "the matrix is singular to working precision",
    Status.NON_FINITE: "the input holds NaN or infinite values",
    Status.NO_BRACKET: "the function has the same sign at both ends of the interval",
    Status.ABORTED: "stopped by the callback",
}


_LINEAR: Final = {
    Status.MAX_STEPS: "allow more steps with `max_steps`, loosen `rtol`, or pass a `preconditioner`",
    Status.STAGNATED: "loosen `rtol`, pass a `preconditioner`, or use a data type of more digits",
    Status.DIVERGED: "use another method, such as 'gmres' or the direct 'lu'",
    Status.BREAKDOWN: "use a method for any square matrix, such as 'gmres' or 'lu', and check that "
    "`symmetric`, `positive_definite` and `nullspace` are true of A",
    Status.SINGULAR: "name the `nullspace`, or solve by least squares with method='lstsq' or 'lsmr'",
    Status.NON_FINITE: "remove NaN and infinities from A, b and x0, or scale the system if squares of its numbers "
    "overflow",
}
"""How to fix linear systems, by status."""

_NONLINEAR: Final = {
    Status.MAX_STEPS: "allow more steps with `max_steps`, loosen `atol` and `rtol`, or start nearer to the solution",
    Status.STAGNATED: "loosen `atol` and `rtol` if the result is good enough, else scale the variables, start "
    "elsewhere or use a data type of more digits",
    Status.DIVERGED: "check that there is a solution, start nearer to it, or take smaller steps",
    Status.BREAKDOWN: "check what the function returns near the result's `x`, or use another method",
    Status.SINGULAR: "start elsewhere, or use a method that takes singular Jacobians, such as "
    "`least_squares` with 'levenberg-marquardt'",
    Status.NON_FINITE: "start where the function and its derivatives are finite",
    Status.NO_BRACKET: "choose ends at which the function has opposite signs",
}
"""How to fix optimization and root-finding problems, by status."""


class ConvergenceError(RuntimeError):
    """A solver did not converge. By default raised for concrete values; never raised with `throw=False`.

    Attributes:
        result: The result that `throw=False` returns: the last iterate, with a `status` for each system.

    >>> import numpy as np
    >>> from xpand_extensions.linear_solve import solve
    >>> try:
    ...     solve(np.asarray([[1.0, 1.0], [1.0, 1.0]]), np.asarray([1.0, 2.0]))
    ... except ConvergenceError as error:
    ...     print(Status(int(error.result.status)).name)
    SINGULAR
    """

    __module__ = "xpand_extensions.linear_solve"  # where users import it from: tracebacks show this name

    def __init__(self, message: str, result: Any) -> None:
        """Store the message and the result."""
        super().__init__(message)
        self.result = result

    def __reduce__(self) -> tuple[type["ConvergenceError"], tuple[str, Any]]:
        """Pickle the result, too: workers send errors to their parent."""
        return type(self), (str(self), self.result)


def message(status: Status | int) -> str:
    """Describe how one system ended.

    >>> message(1)
    'not converged within the steps allowed'
    """
    return _MESSAGES[Status(int(status))]


def summary(codes: Sequence[int]) -> str:
    """Describe how the systems of a batch ended, in one sentence that starts with the systems that failed.

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
    """Read the codes of a batch, in order; None if they aren't known yet: under `jit`, in lazy arrays."""
    if not is_concrete(status):
        return None
    xp = array_namespace(status)
    flat = xp.reshape(status, (-1,))
    return [int(flat[i]) for i in range(flat.shape[0])]


def throw_unless_converged(function: str, method: str, result: Any, status: Array | None = None) -> None:
    """Raise if the status of a result, or the given one, is a concrete failure. A stop by the callback is no failure.

    Raises:
        ConvergenceError: A system did not converge.
    """
    status = result.status if status is None else status
    if not is_concrete(status):  # under transformations and in lazy arrays
        return
    if not status.ndim and int(status) in (Status.CONVERGED, Status.ABORTED):
        return
    xp = array_namespace(status)
    if not bool(xp.any((status != int(Status.CONVERGED)) & (status != int(Status.ABORTED)))):
        return
    codes = codes_of(status) or []
    counts = {each: codes.count(each) for each in sorted(set(codes)) if each not in (Status.CONVERGED, Status.ABORTED)}
    remedies = _LINEAR if function == "solve" else _NONLINEAR
    ended = []
    for code, count in counts.items():
        of = "" if len(codes) == 1 else f"{count} of {len(codes)} systems (the first: number {codes.index(code)}): "
        remedy = remedies.get(Status(code), _NONLINEAR.get(Status(code), ""))
        ended.append(f"{of}{Status(code).name}, {message(code)}; {remedy}")
    raise ConvergenceError(
        f"{function}: method {method!r} did not converge. {'. '.join(ended)}. The result is in this error's attribute "
        "`result`; throw=False returns it",
        result,
    )
