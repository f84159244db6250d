"""Problems of the optimizers, the methods to solve them, records of their progress, and drivers.

Drivers are a library's own solvers for one problem with concrete values, which replace the general steps.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

from xpand.extend import Array

from .._dispatch import pluggable
from ._arguments import Limits, Vectors
from ._results import History, OptimizeResult


class Record(NamedTuple):
    """The record of a state: the current points, counts and statuses of the problems."""

    x: Array
    """Vectors, of shape `(*batch, n)`."""
    optimality: Array
    iterations: Array
    function_evaluations: Array
    gradient_evaluations: Array
    status: Array
    history: History | None = None


class Problem(Protocol):
    """A problem, which makes results of records. Its name is for messages."""

    name: str
    vectors: Vectors

    @property
    def functions(self) -> tuple[Any, ...]:
        """Return the user functions; None for a missing function."""
        ...

    def result(self, record: Record, args: tuple[Any, ...], fun: Any = None, /) -> OptimizeResult:
        """Make the result of a record.

        `fun` is the value of the function; None: compute it again, so that it is differentiable.
        """


@dataclass(frozen=True)
class Task:
    """A problem, and the method to solve it."""

    problem: Problem
    method: str
    make: Callable[[tuple[Any, ...]], Callable[[Array], Any]]
    """Takes the parameters; returns the function of vectors that the method calls in each step."""
    limits: Limits
    options: Any = None
    """The options of the method: hashable."""
    is_reusable: bool = True
    """Whether the method can be compiled and reused; otherwise it needs concrete arrays."""


class Outcome(NamedTuple):
    """The result of a driver, with Python numbers and vectors that are arrays."""

    x: Array
    fun: Any
    """The value of the function of vectors at `x`; None if the driver doesn't know it."""
    iterations: int
    function_evaluations: int
    gradient_evaluations: int
    status: int
    optimality: float
    limits: Limits | None
    """The limits for the general steps, which continue from `x`; None if the problem is finished."""


Driver: TypeAlias = Callable[[Array, tuple[Any, ...]], Outcome | None]
"""Solves a problem, given the starting point and the parameters; returns None if the general steps must solve it."""


@pluggable
def driver_of(task: Task, start: Array, /, *args: Any) -> Driver | None:
    """Return the library's driver for a problem, and for others of the same signature; None if it has none.

    Args:
        task: The problem.
        start: The concrete starting point.
        *args: The parameters.

    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> problem = SimpleNamespace(functions=(None,), vectors=SimpleNamespace(signature=()))
    >>> limits = Limits("root", 1e-9, 0.0, 20, False, None)
    >>> make = lambda args: lambda x: (x * x - args[0], np.diag(2.0 * x))
    >>> start, square = np.asarray([1.0]), np.asarray([4.0])
    >>> drive = driver_of(Task(problem, "newton", make, limits), start, square)
    >>> found = drive(start, (square,))
    >>> np.round(found.x, 6), found.iterations
    (array([2.]), 5)
    """
    return driver_of.native(start)(task, start, *args)
