"""Problems of the optimizers, the way to solve them, and the record of where a method is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from xpand.extend import Array

from ._arguments import Limits, Vectors
from ._results import History, OptimizeResult


class Record(NamedTuple):
    """The record of a state: the current point and the counts of each problem."""

    x: Array
    """Vectors, of shape `(*batch, n)`."""
    optimality: Array
    iterations: Array
    function_evaluations: Array
    gradient_evaluations: Array
    status: Array
    history: History | None = None


class Problem(Protocol):
    """A problem with a name, for messages, that makes results of records."""

    name: str
    vectors: Vectors

    @property
    def functions(self) -> tuple[Any, ...]:
        """Return the user's functions; a missing one is None."""
        ...

    def result(self, record: Record, args: tuple[Any, ...], fun: Any = None, /) -> OptimizeResult:
        """Make the result of a record and the value there.

        Without the value it is recomputed, so that it is differentiable.
        """


@dataclass(frozen=True)
class Task:
    """A problem, and the way to solve it."""

    problem: Problem
    method: str
    make: Callable[[tuple[Any, ...]], Callable[[Array], Any]]
    """Takes the parameters; returns the function of vectors that the method calls in each step."""
    limits: Limits
    options: Any = None
    """The options of the method: hashable."""
    is_reusable: bool = True
    """Whether the method can be compiled, for later calls with other arrays; else it needs concrete arrays."""
