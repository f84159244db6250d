"""Problems of the optimizers, the methods to solve them, and records of their progress."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from xpand.extend import Array

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
