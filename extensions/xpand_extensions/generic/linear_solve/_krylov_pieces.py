"""Building blocks of Krylov methods: inner products along the last axis, and the interface of a method."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from xpand import array_namespace
from xpand.extend import Array

CONTINUE: Final = 0
CONVERGED: Final = 1
"""The recursion's residual meets the criterion."""
RESTART: Final = 2
"""The method must restart from its current solution."""
BROKEN: Final = 3
"""The next step would divide by zero."""
DIVERGED: Final = 4
"""The residual has grown beyond the limit."""
NOT_FINITE: Final = 5
"""The first step met NaN or infinities."""


class System(Protocol):
    """The interface of a system that the methods need."""

    @property
    def is_preconditioned(self) -> bool: ...
    def product(self, x: Array) -> Array: ...
    def adjoint(self, y: Array) -> Array: ...
    def precondition(self, r: Array) -> Array: ...
    def precondition_adjoint(self, r: Array) -> Array: ...


class Step(NamedTuple):
    """The result of a step of a method."""

    state: Any
    """A tree of arrays whose first axes are the batch."""
    norm: Array
    """The norm of the residual, by the recursion."""
    flag: Array
    """CONTINUE, RESTART or BROKEN."""
    normal: Array | None = None
    """For least squares: the norm of the adjoint times the residual, divided by the norm of the matrix."""


Select: TypeAlias = Callable[[Array, Array], Array]
"""Takes new and earlier values. Returns the new ones for systems that continue, else the earlier ones."""


class Method(NamedTuple):
    """A method: functions that initialize, step, and return the solution."""

    start: Callable[[System, Array, Array, int], Any]
    """Takes the system, the initial solution, its residual, and the order; returns the state."""
    step: Callable[[System, Any, int], Step]
    """Takes the system, the state, and the order."""
    cost: Callable[[int], int]
    """Takes the order; returns the number of products of a step."""
    solution: Callable[[System, Any, int], Array] = lambda system, state, order: state.x
    """Takes the system, the state, and the order; by default, returns the state's `x`."""
    size: Callable[[Any], Array] | None = None
    """For least squares: takes the state, and returns the current estimate of the norm of the matrix."""
    masked_step: Callable[[System, Any, int, Select], Step] | None = None
    """A step that preserves the state of finished systems itself, with fewer passes over vectors."""


def inner(x: Array, y: Array) -> Array:
    """Return the inner products of vectors; the first vector is conjugated."""
    return array_namespace(x).vecdot(x, y)


def real(x: Array) -> Array:
    """Return the real part of complex arrays, and other arrays unchanged."""
    xp = array_namespace(x)
    return xp.real(x) if xp.isdtype(x.dtype, "complex floating") else x


def squared(x: Array) -> Array:
    """Return the squared norms of vectors, as real numbers."""
    return real(inner(x, x))


def norm(x: Array) -> Array:
    """Return the norms of vectors, as real numbers."""
    return array_namespace(x).sqrt(squared(x))


def ratio(x: Array, y: Array) -> Array:
    """Divide; division by zero gives zero."""
    xp = array_namespace(x, y)
    is_zero = y == 0
    return xp.where(is_zero, xp.zeros_like(x), x / xp.where(is_zero, xp.ones_like(y), y))


def like(x: Array, y: Array) -> Array:
    """Cast real numbers to the data type of an array, which may be complex."""
    return x if x.dtype == y.dtype else array_namespace(x).astype(x, y.dtype)


def unit(x: Array, length: Array) -> Array:
    """Divide vectors by their lengths. Vectors of length zero become zero."""
    return scaled(like(ratio(array_namespace(length).ones_like(length), length), x), x)


def flags(condition: Array, flag: int) -> Array:
    """Return the flag where the condition is True, and CONTINUE elsewhere."""
    return array_namespace(condition).astype(condition, array_namespace(condition).int32) * flag


def scaled(weights: Array, x: Array) -> Array:
    """Multiply each vector by its weight."""
    return weights[..., None] * x
