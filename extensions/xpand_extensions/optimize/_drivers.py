"""Drivers: a library's own solvers of one problem with concrete values, in place of the steps for all libraries."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

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
    fun: Any
    """The value there of the function of vectors; None where the driver doesn't know it."""
    iterations: int
    function_evaluations: int
    gradient_evaluations: int
    status: int
    optimality: float
    limits: Limits | None
    """The limits for the general steps, which continue from `x`; None if the problem is finished."""


Driver: TypeAlias = Callable[[Array, tuple[Any, ...]], Outcome | None]
"""Solves a problem, given the starting point and the parameters; returns None where it can't do the same."""


@pluggable
def driver_of(task: Task, start: Array, /, *args: Any) -> Driver | None:
    """Return the driver of the library for a problem, and for all of its signature; None where it has none.

    Args:
        task: The problem.
        start: The starting point, which is concrete.
        *args: The parameters.

    >>> import numpy as np
    >>> limits = Limits("root", 1e-9, 0.0, 20, False, None)
    >>> make = lambda args: lambda x: (x * x - args[0], np.diag(2.0 * x))
    >>> start, square = np.asarray([1.0]), np.asarray([4.0])
    >>> drive = driver_of(Task("newton", make, limits, (None,), ()), start, square)
    >>> found = drive(start, (square,))
    >>> np.round(found.x, 6), found.iterations
    (array([2.]), 5)
    """
    return driver_of.native(start)(task, start, *args)
