"""Drivers of optimization on NumPy: SciPy's drivers, and steps on Python numbers for methods that SciPy lacks.

They solve one problem in float64. If they stop early, the general steps continue from the point reached.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from inspect import Parameter, Signature
from typing import Any, Final

import numpy as np
from scipy.linalg import lapack
from scipy.linalg.blas import dnrm2, idamax

from xpand import trees
from xpand.extend import LibraryArray as Array, checks
from xpand_extensions._solver_status import Status
from xpand_extensions.jit._calls import program_for
from xpand_extensions.jit._reused import program_of
from xpand_extensions.optimize._algorithms._residuals import DECREASE
from xpand_extensions.optimize._arguments import Limits
from xpand_extensions.optimize._tasks import Driver, Outcome, Task
from xpand_extensions.tracing._forward import unwrapped

from .jit import _jit_steps
from .jit._small_loops import IGNORING

_EPS: Final = 2.0**-52
_REACH: Final = _EPS**-1.5
"""The iteration has diverged if points or values are larger than the first ones by this factor."""
_FAR: Final = 1e10
"""The same for SciPy's methods, whose bounded steps would take long to reach the other limit."""
_ENDLESS: Final = 2**31 - 1


class _StopError(Exception):
    """Raised to leave the problem to the general steps."""


class _ForeignError(Exception):
    """The function returns arrays that BLAS doesn't accept: captured traced arrays, or empty ones."""


def driver_of(task: Task, start: Array, /, *args: Any) -> Driver | None:
    method = _METHODS.get(task.method)
    if method is None or not task.limits.max_steps:
        return None
    if start.dtype != np.float64 or start.ndim != (task.method not in _SCALAR) or not start.size:
        return None
    if any(checks.is_array(x) and not isinstance(x, np.ndarray) for x in trees.leaves(args)):
        return None
    whole = lambda x, args: task.make(args)(x)
    found = program_of(
        _jit_steps, whole, (start, args), task.problem.functions, ("drive", task.method, task.problem.vectors.signature)
    )
    if found is None:

        def drive(start: Array, args: tuple[Any, ...]) -> Outcome | None:
            try:
                return method(task, task.make(args), start, args)
            except _ForeignError:
                return None

        return drive
    program, (_, *others) = found
    program, quiet = unwrapped(program_for(program, (start, *others)))
    ignoring = getattr(program, IGNORING, None)
    is_flat, is_alone = len(others) == len(args), not others

    def drive_compiled(start: Array, args: tuple[Any, ...]) -> Outcome | None:
        given = args if is_flat else () if is_alone else [x for x in trees.leaves(args) if checks.is_array(x)]
        try:
            with quiet():
                run = ignoring if ignoring is not None and np.geterr()["under"] == "ignore" else program
                function = (lambda x: run(x, *given)) if given else run
                return method(task, function, start, args)
        except _ForeignError:
            return None

    return drive_compiled


def _tolerance(limits: Limits, size: float) -> float:
    return max(limits.atol, limits.rtol * size) if math.isfinite(size) else limits.atol


def _largest(x: Any) -> float:
    """Return the largest absolute value of a vector, in a third of NumPy's time for short ones; with NaN any value."""
    return abs(float(x[idamax(x)]))


_STEP: Final = Signature([Parameter("intermediate_result", Parameter.KEYWORD_ONLY)])
"""The signature of a callback, which SciPy reads at each call."""


class _Lowest:
    """Calls a function and its gradient for SciPy, and stores the lowest point so far."""

    def __init__(self, function: Callable[[Array], Any], x: Any) -> None:
        self.function, self.count, self.steps = function, 0, 0
        self.x, self.value, self.slope, self.far = x, math.inf, x, math.inf
        self.fun: Any = None
        self.first: tuple[float, Any] | None = self(x.copy())
        self.far = _FAR * max(1.0, _largest(x), abs(self.value))

    def __call__(self, x: Any) -> tuple[float, Any]:
        if self.count == 1 and self.first is not None:  # SciPy starts at the known point
            first, self.first = self.first, None
            return first
        fun, slope = self.function(x)
        if not (isinstance(fun, (np.ndarray, np.floating)) and isinstance(slope, np.ndarray)):
            raise _ForeignError
        self.count += 1
        value = float(fun)
        if not (math.isfinite(value) and value > -self.far and math.isfinite(dnrm2(slope))):
            raise _StopError
        if value <= self.value:
            self.x, self.fun, self.value, self.slope = x, fun, value, slope
        return value, slope

    def callback(self) -> Callable[..., None]:
        """Return the function that counts steps, and stops the iteration if a step leads far away."""

        def step(*, intermediate_result: Any) -> None:
            self.steps += 1
            if not _largest(intermediate_result.x) <= self.far:
                self.x = intermediate_result.x
                raise _StopError

        vars(step)["__signature__"] = _STEP
        return step


def _descend(task: Task, function: Callable[[Array], Any], start: Array, args: tuple[Any, ...]) -> Outcome | None:
    """Minimize by SciPy's L-BFGS-B or BFGS. The options have the same meaning."""
    from scipy.optimize import minimize

    box, limits = args[0], task.limits
    x = box.project(start)
    is_crossed = box.lower is not None and box.upper is not None and np.any(box.lower > box.upper)
    if is_crossed or not _is_finite(x):
        return None
    try:
        lowest = _Lowest(function, x)
    except _StopError:
        return Outcome(start, None, 0, 1, 1, Status.MAX_STEPS, math.nan, limits)
    optimality = _measure(box, x, lowest.slope)
    tolerance = _tolerance(limits, optimality)
    options = {"gtol": tolerance, "maxiter": limits.max_steps}
    if task.method != "bfgs":
        options |= {"maxcor": task.options.history, "ftol": 0.0, "maxfun": _ENDLESS}
    if optimality > tolerance:
        method, bounds = ("bfgs", None) if task.method == "bfgs" else ("l-bfgs-b", _bounds(box, x))
        given = {"method": method, "bounds": bounds, "options": options}
        try:
            found = minimize(lowest, x, jac=True, callback=lowest.callback(), **given)
            fun = lowest.fun if found.fun == lowest.value else None
            lowest.x, lowest.slope, lowest.fun = found.x, found.jac, fun
        except _StopError:
            pass
        optimality = _measure(box, lowest.x, lowest.slope)
    finished = optimality <= tolerance or lowest.steps >= limits.max_steps
    if not finished and not _largest(lowest.x) <= lowest.far:
        return Outcome(start, None, 0, lowest.count, lowest.count, Status.MAX_STEPS, optimality, limits)
    return _ended(limits, lowest.x, lowest.fun, lowest.steps, lowest.count, optimality, tolerance, finished)


def _measure(box: Any, x: Any, slope: Any) -> float:
    return _largest(box.projected(x, slope))


def _bounds(box: Any, x: Any) -> Any:
    """Return the bounds in SciPy's form."""
    from scipy.optimize import Bounds

    if box.lower is None and box.upper is None:
        return None
    ends = (np.full_like(x, end) if b is None else b for b, end in ((box.lower, -np.inf), (box.upper, np.inf)))
    return Bounds(*ends)


def _linearized(function: Callable[[Array], Any], x: Array) -> tuple[Any, Any]:
    residual, jacobian = function(x)
    if not (isinstance(residual, np.ndarray) and isinstance(jacobian, np.ndarray) and residual.size):
        raise _ForeignError
    return residual, jacobian


def _newton(task: Task, function: Callable[[Array], Any], start: Array, args: tuple[Any, ...]) -> Outcome:
    """Take whole Newton steps while the sum of squares decreases, like `optimize._algorithms._residuals`."""
    x, limits = start, task.limits
    residual, jacobian = _linearized(function, x)
    optimality, before, count, steps = _largest(residual), dnrm2(residual), 1, 0
    tolerance, reach = _tolerance(limits, optimality), _REACH * max(1.0, _largest(x), optimality)
    falls = math.isfinite(before) and _is_finite(jacobian)
    solve, most = lapack.dgesv, limits.max_steps
    while falls and optimality > tolerance and steps < most:
        _, _, move, is_singular = solve(jacobian, residual)
        new = x - move
        if is_singular or not dnrm2(new) <= reach:
            falls = False
            break
        residual, jacobian = _linearized(function, new)
        after, count = dnrm2(residual), count + 1
        falls = after <= (1.0 - DECREASE) * before
        if falls:
            x, before, optimality, steps = new, after, _largest(residual), steps + 1
    return _ended(limits, x, residual if falls else None, steps, count, optimality, tolerance, falls)


def _levenberg(task: Task, function: Callable[[Array], Any], start: Array, args: tuple[Any, ...]) -> Outcome:
    """Take the steps of `optimize._algorithms._levenberg`."""
    x, limits = start, task.limits

    def linearized(x: Array) -> tuple[Any, Any]:
        residual, jacobian = _linearized(function, x)
        # Rounding of sums depends on the layout, which differs between programs.
        return residual, np.asfortranarray(jacobian)

    residual, jacobian = linearized(x)
    m, n = jacobian.shape
    gradient, before, count, steps = residual @ jacobian, dnrm2(residual), 1, 0
    optimality = _largest(gradient)
    tolerance, reach = _tolerance(limits, optimality), _REACH * max(1.0, _largest(x))
    damping, growth, scale = task.options, 2.0, _columns(jacobian)
    stacked, right = np.zeros((m + n, n), order="F"), np.zeros(m + n)
    diagonal = np.einsum("ii->i", stacked[m:])
    works = math.isfinite(dnrm2(gradient)) and 0.0 < before < math.inf and _is_finite(jacobian)
    while works and optimality > tolerance and steps < limits.max_steps:
        weights = math.sqrt(damping) * scale
        stacked[:m], right[:m] = jacobian, residual
        diagonal[:] = weights
        _, found, is_singular = lapack.dgels(stacked, right)
        move = -found[:n]
        new = x + move
        if is_singular or not dnrm2(new) <= reach:
            works = False
            break
        new_residual, new_jacobian = linearized(new)
        after, count = dnrm2(new_residual), count + 1
        gradient = new_residual @ new_jacobian
        if not (math.isfinite(after) and math.isfinite(dnrm2(gradient)) and _is_finite(new_jacobian)):
            works = False
            break
        new_optimality = _largest(gradient)
        actual = 1.0 - (after / before) ** 2
        predicted = (dnrm2(jacobian @ move) / before) ** 2 + 2.0 * (dnrm2(weights * move) / before) ** 2
        is_level = predicted <= 10.0 * _EPS and actual >= -10.0 * _EPS and new_optimality < optimality
        ratio = actual / predicted if predicted else 0.0
        if ratio > 1e-4 or is_level:
            bend = 1.0 if is_level else min(ratio, 1.0)
            damping = max(damping * max(1.0 / 3.0, 1.0 - (2.0 * bend - 1.0) ** 3), _EPS**2)
            growth, steps = 2.0, steps + 1
            x, residual, jacobian, before, optimality = new, new_residual, new_jacobian, after, new_optimality
            scale = np.maximum(scale, _columns(jacobian))
            works = before > 0.0 or optimality <= tolerance
        else:
            works = _largest(move) > _EPS * _largest(x) and damping <= _EPS**-2
            damping, growth = damping * growth, 2.0 * growth
    return _ended(limits, x, residual, steps, count, optimality, tolerance, works)


def _is_finite(x: Any) -> bool:
    # This takes a fifth of the time of a norm for a few numbers. It may overflow.
    return math.isfinite(dnrm2(x.ravel("K"))) or bool(np.isfinite(x).all())


def _columns(jacobian: Any) -> Any:
    """Return the lengths of the columns, or 1 for zero columns."""
    lengths = np.sqrt(np.square(jacobian).sum(axis=0))
    return np.where(lengths > 0.0, lengths, 1.0)


def _ended(
    limits: Limits, x: Any, fun: Any, steps: int, count: int, optimality: float, tolerance: float, finished: bool
) -> Outcome:
    """Return the result of a driver that evaluates derivatives with each value."""
    if finished:
        status = Status.CONVERGED if optimality <= tolerance else Status.MAX_STEPS
        return Outcome(x, fun, steps, count, count, status, optimality, None)
    rest = replace(limits, atol=tolerance, rtol=0.0, max_steps=limits.max_steps - steps) if steps else limits
    return Outcome(x, None, steps, count, count, Status.MAX_STEPS, optimality, rest)


def _bracketed(task: Task, function: Callable[[Array], Any], start: Array, args: tuple[Any, ...]) -> Outcome | None:
    """Find a root by SciPy's `brentq` or `bisect`."""
    atol, rtol = task.options
    limits, a, b = task.limits, float(start), float(args[0])
    if not (atol > 0.0 and math.isfinite(b - a)):  # wider than the largest number: SciPy would overflow
        return None
    points: list[tuple[float, float]] = []
    asarray, add = np.asarray, points.append

    def value(x: float) -> float:
        found = function(asarray(x))
        if not isinstance(found, (np.floating, np.ndarray)):
            raise _ForeignError
        fun = float(found)
        add((x, fun))
        return fun

    solve = _scipy_solver(task.method)
    try:
        x = solve(value, a, b, xtol=atol, rtol=rtol, maxiter=limits.max_steps, disp=False)
    except ValueError:  # the signs are equal, or a value is NaN
        x = math.nan
    values = dict(points)
    if math.isnan(x) or not all(map(math.isfinite, values.values())):
        return Outcome(start, None, 0, len(points), 0, Status.MAX_STEPS, math.nan, limits)
    fun = values[x]
    # Start with the other end: if one end is a root, no point may have the opposite sign.
    other, other_fun = points[points[0][0] == x]
    width = math.inf
    for p, y in points:
        if (y > 0.0) != (fun > 0.0) and ((distance := abs(p - x)) < width or (distance == width and p < other)):
            other, other_fun, width = p, y, distance
    if abs(other_fun) < abs(fun):
        x, fun, other = other, other_fun, x
    width, steps = abs(other - x), len(points) - 2
    converged = fun == 0.0 or width <= atol + rtol * abs(x)
    # At a pole, the function is larger than at the ends.
    is_pole = abs(fun) > max(abs(points[0][1]), abs(points[1][1]))
    finished = not is_pole and (converged or steps >= limits.max_steps)
    if not finished:
        return Outcome(start, None, 0, len(points), 0, Status.MAX_STEPS, math.nan, limits)
    status = Status.CONVERGED if converged else Status.MAX_STEPS
    return Outcome(np.asarray(x), np.float64(fun), steps, len(points), 0, status, width, None)


@cache
def _scipy_solver(method: str) -> Callable[..., Any]:
    """Import and return SciPy's function. The import takes long."""
    from scipy import optimize

    found: Callable[..., Any] = optimize.brentq if method == "brent" else optimize.bisect
    return found


_METHODS: Final[Mapping[str, Callable[..., Outcome | None]]] = {
    "bfgs": _descend,
    "brent": _bracketed,
    "bisect": _bracketed,
    "l-bfgs": _descend,
    "l-bfgs-b": _descend,
    "levenberg-marquardt": _levenberg,
    "newton": _newton,
}
_SCALAR: Final = frozenset({"brent", "bisect"})
"""The methods for one number."""
