"""Roots of scalar functions within intervals."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from xpand import array_namespace, trees
from xpand.extend import Array, checks

from .._elsewhere import arguments_elsewhere
from .._solver_status import Status
from .._transforms import as_array
from .._transforms_patterns import in_namespace_of
from .._where import clean_tracebacks
from ..progress import To
from ._algorithms import _bracket as bracket
from ._arguments import Limits, Vectors, common, limits_of
from ._repeated import repeatable
from ._results import OptimizeResult
from ._run import Handling, run, solved
from ._tasks import Record, Task

_METHODS: Final = {"brent": bracket.brent, "bisect": bracket.bisect}


@clean_tracebacks
@arguments_elsewhere(
    xtol="`atol`", bracket="`a` and `b`", x0="`a` and `b`, or use `root`", fprime="nothing: it takes no derivatives"
)
def bracketed_root(
    f: Callable[..., Any],
    /,
    a: Array | float,
    b: Array | float,
    *,
    method: str = "brent",
    args: tuple[Any, ...] = (),
    atol: float | None = None,
    rtol: float | None = None,
    max_steps: int | Sequence[int] | None = None,
    callback: Callable[[OptimizeResult], Any] | None = None,
    throw: bool = True,
    progress: To = False,
    record_history: bool = False,
) -> OptimizeResult:
    """Find a root of a scalar function, elementwise, in an interval at whose ends the function has different signs.

    Args:
        f: Takes an array of the broadcast shape of `a` and `b`, and `args`; returns an array of that shape. Each
            element may depend only on the same element of the argument.
        a: One end of each interval: a real floating-point array, or a number.
        b: The other end. Both ends are broadcast and promoted.
        method: "brent", which interpolates, or "bisect".
        args: Further arguments of `f`: trees of arrays, and other objects. The solution is differentiable with respect
            to their floating-point arrays.
        atol: An element has converged when `f` is zero, or when its interval is at most `atol + rtol * abs(x)` wide.
            None: four times the data type's `eps`.
        rtol: The relative tolerance, at least four times `eps`. None: that minimum.
        max_steps: The maximum number of steps. A sequence returns the trajectory: the results after each number of
            steps. None: twice the maximum number of bisections of a finite interval.
        callback: Called after each step with the result so far; if it returns True, the iteration ends. Only for
            concrete arrays.
        throw: Whether to raise `ConvergenceError` if an element hasn't converged; the result is in the error's
            `result`. Abstract values, as under `jit`, raise no error. False: check the `status` of the result.
        progress: Whether to show the iterations and the residual; or a function of a `Progress`, see
            `xpand.progress`.
        record_history: Whether to return the values of each iteration in `history`.

    Returns:
        An `OptimizeResult` with `x`, the end of the last interval at which `f` is nearer to zero; `fun`, the value of
        `f` at `x`; `optimality`, the width of the interval; and the `status` of each element:

        - CONVERGED, also if `f` jumps over zero: then `x` is at the jump;
        - NO_BRACKET: the signs at `a` and `b` are equal;
        - STAGNATED: the sign changes at a pole;
        - BREAKDOWN: `f` is NaN inside the interval;
        - NON_FINITE: an end isn't finite, or `f` is NaN there. Then `x` is `a`, and `optimality` is NaN.

    Raises:
        TypeError: An argument that is not a function, a real array or a number; `f` returns another data type.
        ValueError: Shapes that don't broadcast, `f` returns another shape, an unknown method, tolerances out of range,
            a callback under transformations.
        ConvergenceError: An element has not converged, unless `throw=False`.

    The derivative of the solution with respect to `args` is `-(df/dargs) / (df/dx)`.

    Source: `scipy.optimize.brentq` and `scipy.optimize.bisect`; Brent, Algorithms for Minimization without Derivatives.

    >>> import numpy as np
    >>> found = bracketed_root(lambda x: x * x - np.asarray([2.0, 9.0]), 0.0, np.asarray([2.0, 10.0]))
    >>> np.round(found.x, 6), found.message
    (array([1.414214, 3.      ]), 'all 2 systems converged')
    """
    return _bracketed(
        "bracketed_root", f, a, b, method, args, atol, rtol, max_steps, callback, throw, progress, record_history
    )


@clean_tracebacks
def brentq(
    f: Callable[..., Any],
    /,
    a: Array | float,
    b: Array | float,
    *,
    args: tuple[Any, ...] = (),
    atol: float | None = None,
    rtol: float | None = None,
    max_steps: int | Sequence[int] | None = None,
    callback: Callable[[OptimizeResult], Any] | None = None,
    throw: bool = True,
    progress: To = False,
    record_history: bool = False,
) -> OptimizeResult:
    """Find a root of a scalar function by Brent's method: `bracketed_root` with `method="brent"`.

    Arguments, results and errors are those of `bracketed_root`.

    Source: `scipy.optimize.brentq`.

    >>> import numpy as np
    >>> round(float(brentq(np.cos, 0.0, 3.0).x), 6)
    1.570796
    """
    return _bracketed(
        "brentq", f, a, b, "brent", args, atol, rtol, max_steps, callback, throw, progress, record_history
    )


@clean_tracebacks
def bisect(
    f: Callable[..., Any],
    /,
    a: Array | float,
    b: Array | float,
    *,
    args: tuple[Any, ...] = (),
    atol: float | None = None,
    rtol: float | None = None,
    max_steps: int | Sequence[int] | None = None,
    callback: Callable[[OptimizeResult], Any] | None = None,
    throw: bool = True,
    progress: To = False,
    record_history: bool = False,
) -> OptimizeResult:
    """Find a root of a scalar function by bisection: `bracketed_root` with `method="bisect"`.

    Arguments, results and errors are those of `bracketed_root`.

    Source: `scipy.optimize.bisect`.

    >>> import numpy as np
    >>> round(float(bisect(np.cos, 0.0, 3.0).x), 6)
    1.570796
    """
    return _bracketed(
        "bisect", f, a, b, "bisect", args, atol, rtol, max_steps, callback, throw, progress, record_history
    )


def _bracketed(
    name: str,
    f: Callable[..., Any],
    a: Any,
    b: Any,
    method: str,
    args: Any,
    atol: Any,
    rtol: Any,
    max_steps: Any,
    callback: Any,
    throw: Any,
    progress: To,
    record: bool,
) -> OptimizeResult:
    ends = (b, *args) if type(args) is tuple else ()
    call, known = repeatable(name, f, a, ends, (method, atol, rtol, max_steps, record), callback, throw, progress)
    if known is not None:
        return known
    parameters = common(name, f, method, tuple(_METHODS), args, callback, throw)
    left, right = _ends(name, a, b, parameters)
    problem = _Bracketed(name, f, Vectors(name, "a", left, left.ndim))
    info = problem.vectors.xp.finfo(left.dtype)
    eps = float(info.eps)
    halvings = math.log2(float(info.max)) - math.log2(eps)
    default = 2 * int(halvings)
    limits = limits_of(name, atol, rtol, max_steps, problem.vectors, powers=(1.0, 1.0), default=default, record=record)
    width = (4.0 * eps if atol is None else limits.atol), max(4.0 * eps, limits.rtol)

    def solve(start: Array, given: tuple[Any, ...], notify: Any, limits: Limits) -> tuple[Record, Record | None]:
        value = lambda x: problem.value(x, given)
        init = lambda ends: bracket.init(value, ends[0], ends[1], *width)
        step = lambda state: bracket.step(value, _METHODS[method], *width, state)
        last, recorded = run(step, init, (start, given[0]), limits, callback=notify)
        return _reset_nonfinite(start, last), None if recorded is None else _reset_nonfinite(start, recorded)

    condition = lambda x, *given: problem.value(x, given)
    make = lambda given: lambda x: problem.value(x, given)
    task = Task(problem, method, make, limits, width)
    handling = Handling(callback, throw, progress, call if left is a and right is b else None, _divided)
    return solved(task, left, (right, *parameters), solve, condition, handling)


class _Bracketed:
    """A function of numbers, with the other end as the first parameter."""

    def __init__(self, name: str, f: Callable[..., Any], vectors: Vectors) -> None:
        self.name, self.f, self.vectors = name, f, vectors

    @property
    def functions(self) -> tuple[Any, ...]:
        return (self.f,)

    def value(self, x: Array, given: tuple[Any, ...]) -> Array:
        found = self.f(x, *in_namespace_of([x], given[1:]))
        return self.vectors.scalar("f must return", found, "give `a` or `b` that shape to find a root for each number")

    def result(self, record: Record, given: tuple[Any, ...], fun: Any = None, /) -> OptimizeResult:
        return OptimizeResult(record.x, self.value(record.x, given) if fun is None else fun, *record[1:])


def _divided(linear: Callable[[Array], Array], y: Array) -> Array:
    """Solve scalar linear equations."""
    return y / linear(array_namespace(y).ones_like(y))


def _ends(name: str, a: Any, b: Any, parameters: tuple[Any, ...]) -> tuple[Array, Array]:
    """Check both ends, and convert them to the same shape and data type."""
    like = next((x for x in (a, b, *trees.leaves(parameters)) if checks.is_array(x)), None)
    ends = [as_array(f"{name}: {each} is", x, like) for each, x in (("a", a), ("b", b))]
    xp = checks.namespace_of(name, a=ends[0], b=ends[1])
    checks.one_device(name, a=ends[0], b=ends[1])
    for each, x, given in (("a", ends[0], a), ("b", ends[1], b)):
        if not checks.is_array(given) and isinstance(given, int) and not isinstance(given, bool):
            ends[0 if each == "a" else 1] = as_array(f"{name}: {each} is", float(given), like)
        else:
            checks.dtype(name, each, xp, x, checks.REAL)
    numbers = [not checks.is_array(x) for x in (a, b)]
    if numbers[0] != numbers[1]:
        dtype = ends[numbers.index(False)].dtype
        ends = [x if x.dtype == dtype else xp.astype(x, dtype) for x in ends]
    left, right = checks.promote(name, xp, a=ends[0], b=ends[1])
    shape = checks.broadcast_shapes(name, a=tuple(left.shape), b=tuple(right.shape))
    left, right = (x if x.shape == shape else xp.broadcast_to(x, shape) for x in (left, right))
    return left, right


def _reset_nonfinite(a: Array, record: Record) -> Record:
    """Reset elements with nonfinite values to `a`: their steps used safe values instead."""
    xp = array_namespace(a, record.x)
    failed = record.status == int(Status.NON_FINITE)
    nan = xp.full_like(record.optimality, float("nan"))
    return record._replace(x=xp.where(failed, a, record.x), optimality=xp.where(failed, nan, record.optimality))
