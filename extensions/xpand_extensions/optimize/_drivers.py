"""Drivers: a library's own solvers of one problem with concrete values, in place of the steps for all libraries."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

from xpand.extend import Array

from .._dispatch import pluggable
from ._arguments import Limits


@dataclass(frozen=True)
class Task:
    """The parts of a problem that drivers need."""

    method: str
    make: Callable[[tuple[Any, ...]], Callable[[Array], Any]]
    """Takes the parameters; returns the function of vectors that the method calls in each step."""
    limits: Limits
    of: tuple[Any, ...]
    """The user's functions."""
    key: Hashable
    """Everything else that `make` depends on."""
    options: Any = None
    """The options of the method."""


class Outcome(NamedTuple):
    """The result of a driver. Numbers are Python's, and vectors are arrays."""

    x: Array
    iterations: int
    function_evaluations: int
    gradient_evaluations: int
    optimality: float
    status: int
    limits: Limits | None
    """The limits for the general steps, which continue from `x`; None if the problem is finished."""


@pluggable
def drive(task: Task, start: Array, /, *args: Any) -> Outcome | None:
    """Solve one problem by a driver of the library; None where it has none that does the same.

    Args:
        task: The problem.
        start: The starting point, which is concrete.
        *args: The parameters.

    >>> import numpy as np
    >>> limits = Limits("root", 1e-9, 0.0, 20, False, None)
    >>> make = lambda args: lambda x: (x * x - args[0], np.diag(2.0 * x))
    >>> found = drive(Task("newton", make, limits, (None,), ()), np.asarray([1.0]), np.asarray([4.0]))
    >>> np.round(found.x, 6), found.iterations
    (array([2.]), 5)
    """
    return drive.native(start)(task, start, *args)
