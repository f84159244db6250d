"""SciPy's minimizers on the host, for concrete arrays of any library."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple, cast

from xpand import array_namespace, is_concrete, namespace
from xpand.extend import Array, LibraryNamespace, checks

from .._optional import import_optional
from .._solver_status import Status
from ..devices._move import on_host
from ..progress import current
from ._algorithms._box import Box
from ._arguments import Limits
from ._results import RUNNING, History
from ._tasks import Record


class _Method(NamedTuple):
    """The requirements and options of a method of SciPy."""

    steps: str
    """The name of the option for the maximum number of steps, or of evaluations ("maxfun")."""
    derivatives: int
    """The derivatives that it needs. 0: none; 1: the gradient; 2: also products with the Hessian; 3: also the
    Hessian."""
    bounded: bool
    absolute: tuple[str, ...]
    """The options for the tolerance."""
    off: tuple[str, ...] = ()
    """The tolerances of other criteria, which are disabled."""


_METHODS: Final = {
    "nelder-mead": _Method("maxiter", 0, True, ("xatol", "fatol")),
    "powell": _Method("maxiter", 0, True, ("xtol", "ftol")),
    "cobyla": _Method("maxfun", 0, True, ("tol",)),
    "cobyqa": _Method("maxiter", 0, True, ("final_tr_radius",)),
    "cg": _Method("maxiter", 1, False, ("gtol",)),
    "bfgs": _Method("maxiter", 1, False, ("gtol",)),
    "l-bfgs-b": _Method("maxiter", 1, True, ("gtol",), ("ftol",)),
    "tnc": _Method("maxfun", 1, True, ("gtol",), ("ftol", "xtol")),
    "slsqp": _Method("maxiter", 1, True, (), ("ftol",)),
    "newton-cg": _Method("maxiter", 2, False, (), ("xtol",)),
    "trust-ncg": _Method("maxiter", 2, False, ("gtol",)),
    "trust-krylov": _Method("maxiter", 2, False, ("gtol",)),
    "trust-constr": _Method("maxiter", 2, True, ("gtol",), ("xtol", "barrier_tol")),
    "dogleg": _Method("maxiter", 3, False, ("gtol",)),
    "trust-exact": _Method("maxiter", 3, False, ("gtol",)),
}
SCIPY_METHODS: Final = tuple(f"scipy-{name}" for name in _METHODS)
SCIPY_WITHOUT_GRADIENT: Final = tuple(f"scipy-{name}" for name, method in _METHODS.items() if not method.derivatives)
SCIPY_BOUNDED: Final = tuple(f"scipy-{name}" for name, method in _METHODS.items() if method.bounded)


class Functions(NamedTuple):
    """The function to minimize, of the vectors of all problems, with its derivatives."""

    value: Callable[[Array], Array]
    evaluate: Callable[[Array], tuple[Array, Array]]
    product: Callable[[Array, Array], Array]


class _StopError(Exception):
    """The callback has returned True."""


def minimize_on_host(
    functions: Functions, method: str, start: Array, box: Box, limits: Limits, callback: Callable[[Record], Any] | None
) -> Record:
    """Minimize with a method of SciPy, one problem after the other."""
    name = method.removeprefix("scipy-")
    if limits.checkpoints is not None:
        raise ValueError(
            f"minimize: max_steps must be one number for the method {method!r}, got {limits.checkpoints}; take a "
            "method without 'scipy-' for a trajectory, or a callback"
        )
    first = box.project(start)
    value = functions.value(first)
    if not (is_concrete(first) and is_concrete(value)):
        raise ValueError(
            f"minimize: the method {method!r} runs on the host and needs the values of the arrays, which under jit, "
            "vmap and derivatives, and for lazy arrays, are not known; use one of the methods without 'scipy-'"
        )
    return _Host(functions, name, first, box, limits, callback).run()


class _Host:
    """The state of a call: SciPy solves its problems one at a time."""

    def __init__(self, functions: Functions, name: str, start: Array, box: Box, limits: Limits, callback: Any) -> None:
        self.functions, self.name, self.method = functions, name, _METHODS[name]
        self.box, self.limits, self.callback = box, limits, callback
        self.moving: Any = ...
        """The indices of the variables whose bounds differ."""
        self.host = cast("LibraryNamespace", namespace("numpy"))
        self.like = start
        self.batch, self.n = tuple(start.shape[:-1]), start.shape[-1]
        self.points = self.host.reshape(on_host(start), (-1, self.n)).astype("float64")
        count = self.points.shape[0]
        self.number = 0
        self.counts = self.host.zeros((count, 3), dtype="int32")
        self.status = self.host.full(count, RUNNING, dtype="int32")
        self.optimality = self.host.full(count, float("nan"), dtype="float64")
        self.report = current("minimize")
        self.last: tuple[Any, tuple[Array, Array, Array]] | None = None
        """The last point at which the function and the gradient were evaluated, with their values."""
        self.values: list[list[tuple[float, float]]] = [[] for _ in range(count)]
        """For each problem, the value of the function and the optimality after each step."""

    def from_host(self, x: Any, dtype: Any = None) -> Array:
        """Convert an array with the data of all problems to the library and device of the caller."""
        xp = array_namespace(self.like)
        shape = (*self.batch, *x.shape[1:])
        device = checks.device_of(self.like)
        return xp.asarray(self.host.reshape(x, shape), dtype=dtype or self.like.dtype, device=device)

    def at(self, x: Any) -> Array:
        """Return the points of all problems, with a new point for the current problem."""
        points = self.points.copy()
        points[self.number] = x
        return self.from_host(points)

    def one(self, x: Array) -> Any:
        """Return the current problem's part of an array."""
        found = on_host(x)
        return self.host.reshape(found, (-1, *found.shape[len(self.batch) :]))[self.number].astype("float64")

    def run(self) -> Record:
        """Minimize each problem."""
        minimize = import_optional("scipy.optimize", f"minimize by the method 'scipy-{self.name}'").minimize
        aborted = False
        for number in range(self.points.shape[0]):
            self.number = number
            if aborted:
                self.status[self.number] = Status.ABORTED
                continue
            fun, slope, optimality = self.measured(self.points[self.number])
            self.counts[self.number, 1:] = 0
            valid = self.host.isfinite(fun) and bool(self.host.all(self.host.isfinite(slope)))
            if not (valid and bool(self.host.all(self.host.isfinite(self.points[self.number])))):
                self.status[self.number] = Status.NON_FINITE
                continue
            relative = self.limits.rtol * float(optimality) if self.method.derivatives else 0.0
            tolerance = max(self.limits.atol, relative)
            self.record_values(fun, optimality)
            succeeded = False
            try:
                if self.limits.max_steps and not (self.method.derivatives and optimality <= tolerance):
                    function = self.value_and_gradient if self.method.derivatives else self.value
                    found = minimize(function, self.points[self.number], **self.arguments(tolerance))
                    self.points[self.number] = found.x
                    succeeded = bool(found.success)
                    self.counts[self.number, 0] = found.get("nit", self.counts[self.number, 0])
            except _StopError:
                aborted = True
            self.end(tolerance, succeeded, aborted)
        return self.record()._replace(history=self.history())

    def end(self, tolerance: float, succeeded: bool, aborted: bool) -> None:
        """Determine the status of the current problem from recomputed values."""
        fun, slope, optimality = self.measured(self.points[self.number])
        converged = succeeded
        if self.method.derivatives:
            self.optimality[self.number] = optimality
            converged = bool(optimality <= tolerance)
        finite = self.host.isfinite(fun) and bool(self.host.all(self.host.isfinite(slope)))
        reach = float(self.host.finfo("float64").eps) ** -1.5
        used = self.counts[self.number, 1 if self.method.steps == "maxfun" else 0] >= self.limits.max_steps
        if converged and finite:
            status = Status.CONVERGED
        elif aborted:
            status = Status.ABORTED
        elif not finite or abs(float(fun)) > reach:
            status = Status.DIVERGED
        else:
            status = Status.MAX_STEPS if used else Status.STAGNATED
        self.status[self.number] = status

    def arguments(self, tolerance: float) -> dict[str, Any]:
        """Return the arguments of SciPy's function for the method."""
        steps = "maxiter" if self.name == "cobyla" else self.method.steps
        options: dict[str, Any] = {steps: self.limits.max_steps}
        options |= dict.fromkeys(self.method.absolute, tolerance)
        options |= dict.fromkeys(self.method.off, 0.0 if self.name != "slsqp" else 1e-300)
        given: dict[str, Any] = {"method": self.name, "options": options, "callback": self.notify}
        if self.method.derivatives:
            given["jac"] = True
        if self.method.derivatives == 2:
            given["hessp"] = self.product
        if self.method.derivatives == 3:
            given["hess"] = self.hessian
        if self.box.lower is not None or self.box.upper is not None:
            infinite = self.host.full(self.n, float("inf"), dtype="float64")
            lower, upper = (
                each * infinite if bound is None else self.one(bound)
                for bound, each in ((self.box.lower, -1.0), (self.box.upper, 1.0))
            )
            given["bounds"] = list(zip(lower, upper))
            self.moving = lower < upper
        return given

    def measured(self, x: Any) -> tuple[Any, Any, Any]:
        """Evaluate the function, its gradient if the method needs it, and the optimality."""
        if not self.method.derivatives:
            fun = self.one(self.functions.value(self.at(x)))
            return fun, fun, fun
        points, fun, slope = self.evaluated(x)
        return self.one(fun), self.one(slope), self.one(self.box.measure(points, slope))

    def evaluated(self, x: Any) -> tuple[Array, Array, Array]:
        """Evaluate the function and its gradient together, once for each point; return the points, too."""
        key = self.number, x.tobytes()
        if self.last is None or self.last[0] != key:
            points = self.at(x)
            self.last = key, (points, *self.functions.evaluate(points))
        return self.last[1]

    def value(self, x: Any) -> float:
        """Evaluate the function for SciPy."""
        self.counts[self.number, 1] += 1
        return float(self.one(self.functions.value(self.at(x))))

    def value_and_gradient(self, x: Any) -> tuple[float, Any]:
        """Evaluate the function and its gradient for SciPy."""
        self.counts[self.number, 1:] += 1
        _, fun, slope = self.evaluated(x)
        return float(self.one(fun)), self.one(slope)

    def product(self, x: Any, direction: Any) -> Any:
        """Multiply the Hessian with a vector."""
        self.counts[self.number, 2] += 1
        points = self.at(x)
        directions = self.host.zeros_like(self.points)
        directions[self.number] = direction
        return self.one(self.functions.product(points, self.from_host(directions)))

    def hessian(self, x: Any) -> Any:
        """Compute the Hessian, column by column."""
        return self.host.stack([self.product(x, unit) for unit in self.host.eye(self.n, dtype="float64")], axis=-1)

    def notify(self, x: Any, *rest: Any) -> None:
        """Record a step of SciPy's method."""
        point = self.points[self.number]
        # COBYLA omits variables whose bounds are equal.
        point[self.moving if len(x) < self.n else ...] = x
        self.counts[self.number, 0] += 1
        if self.report is not None or self.limits.record:
            fun, _, optimality = self.measured(point)
            self.record_values(fun, optimality)
            if self.report is not None:
                self.report(int(self.counts[self.number, 0]), float(fun))
        if self.callback is not None and self.callback(self.record()):
            raise _StopError

    def record_values(self, fun: Any, optimality: Any) -> None:
        """Record values for the history."""
        self.values[self.number].append((float(fun), float(optimality) if self.method.derivatives else float("nan")))

    def history(self) -> History | None:
        """Return the values of all problems, with NaN after the last step of each."""
        if not self.limits.record:
            return None
        values = self.host.full((len(self.values), max(map(len, self.values), default=1) or 1, 2), float("nan"))
        for number, rows in enumerate(self.values):
            if rows:
                values[number, : len(rows)] = rows
        return History(self.from_host(values[..., 0]), self.from_host(values[..., 1]))

    def record(self) -> Record:
        """Make the record of the current results, in the library and on the device of the caller."""
        dtype = array_namespace(self.like).int32
        status = self.host.where(self.status == RUNNING, int(Status.MAX_STEPS), self.status)
        iterations, functions, gradients, code = (
            self.from_host(each, dtype) for each in (*self.counts.T.copy(), status)
        )
        points, optimality = self.from_host(self.points.copy()), self.from_host(self.optimality.copy())
        return Record(points, optimality, iterations, functions, gradients, code)
