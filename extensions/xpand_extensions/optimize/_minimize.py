"""Minima of functions of trees."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from xpand import array_namespace, trees
from xpand.extend import Array, checks

from .. import autodiff
from .._elsewhere import arguments_elsewhere, start_elsewhere
from .._transforms_patterns import in_namespace_of
from .._where import clean_tracebacks
from ..progress import To
from ._algorithms import _descent as descent, _first_order as first_order, _simplex as simplex
from ._algorithms._box import Box
from ._algorithms._directions import BFGS, Directions, Gradient, LimitedMemory, NewtonCG
from ._algorithms._vectors import full_like
from ._arguments import Limits, Vectors, common, limits_of, number
from ._bounds import box_of, with_crossed_failed
from ._host import SCIPY_BOUNDED, SCIPY_METHODS, SCIPY_WITHOUT_GRADIENT, Functions, minimize_on_host
from ._repeated import repeatable
from ._results import OptimizeResult
from ._run import Handling, run, solved
from ._tasks import Record, Task

_OWN: Final = ("l-bfgs", "l-bfgs-b", "bfgs", "newton-cg", "gradient-descent", "adam", "nelder-mead")
_ALIASES: Final = {"auto": None, "L-BFGS-B": "l-bfgs-b", "L-BFGS": "l-bfgs", "GD": "gradient-descent"}
_BOUNDED: Final = ("l-bfgs-b", "gradient-descent", "adam", "nelder-mead")
_WITHOUT_GRADIENT: Final = ("nelder-mead", *SCIPY_WITHOUT_GRADIENT)
_STEPS: Final = {"gradient-descent": 10_000, "adam": 10_000}
_OPTIONS: Final = {
    "history": ("l-bfgs", "l-bfgs-b"),
    "learning_rate": ("gradient-descent", "adam"),
    "beta1": ("adam",),
    "beta2": ("adam",),
    "epsilon": ("adam",),
    "initial_size": ("nelder-mead",),
    "max_products": ("newton-cg",),
}


class _Options(NamedTuple):
    history: int
    learning_rate: float | None
    beta1: float
    beta2: float
    epsilon: float
    initial_size: float
    max_products: int | None


@clean_tracebacks
@start_elsewhere
@arguments_elsewhere(
    options="each option as an argument of its own",
    lr="`learning_rate`",
    **dict.fromkeys(("hess", "hessp"), "nothing: derivatives are computed"),
    constraints="`bounds`, or add a penalty to `f`: there are no other constraints",
)
def minimize(
    f: Callable[..., Any],
    /,
    x0: trees.Tree,
    *,
    method: str | None = None,
    args: tuple[Any, ...] = (),
    gradient: Callable[..., Any] | None = None,
    bounds: tuple[Any, Any] | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    max_steps: int | Sequence[int] | None = None,
    batch_ndim: int = 0,
    callback: Callable[[OptimizeResult], Any] | None = None,
    throw: bool = True,
    progress: To = False,
    record_history: bool = False,
    history: int | None = None,
    learning_rate: float | None = None,
    beta1: float | None = None,
    beta2: float | None = None,
    epsilon: float | None = None,
    initial_size: float | None = None,
    max_products: int | None = None,
) -> OptimizeResult:
    """Find a local minimum of a function of a tree of arrays, for one problem or a batch of problems.

    Args:
        f: Takes a tree like `x0`, and `args`; returns one real number, or with `batch_ndim` one for each problem, which
            may depend only on that problem's part of the arrays.
        x0: The starting point: a tree of floating-point arrays. Complex numbers count as pairs of real numbers.
        args: Further arguments of `f`: trees of arrays, and other objects. The solution is differentiable with respect
            to their floating-point arrays.
        gradient: Takes the arguments of `f` and returns a tree like `x0`. None: by `autodiff`.
        bounds: A pair (lower, upper): each a number, a tree of arrays that broadcast to those of `x0`, or None. `x0` is
            moved within the bounds. Not for "l-bfgs", "bfgs", "newton-cg".
        batch_ndim: The number of leading axes of all arrays of `x0` that are independent problems. Each problem stops
            by itself.
        method: One of

            - "l-bfgs", also the default; "l-bfgs-b", the default with bounds;
            - "bfgs", "newton-cg", "gradient-descent", "adam";
            - "nelder-mead", which needs no derivatives;
            - a method of `scipy.optimize.minimize`: "scipy-" and its name in small letters, such as "scipy-slsqp",
              "scipy-powell" or "scipy-trust-ncg". "scipy-" may be omitted if the name is unambiguous. These methods run
              on the host, one problem after the other, and need concrete arrays.

            PhiML's names "L-BFGS-B", "GD" and "auto" are accepted, too.

    Args: When to stop
        atol: A problem has converged when no element of its gradient (with bounds, of the projected gradient) is
            larger. For "nelder-mead": when no vertex and no value differs by more from the best. None: the data type's
            `eps` to the power 1/3, 6e-6 in float64 and 5e-3 in float32; to the power 1/2 for "nelder-mead".
        rtol: The tolerance relative to the first gradient; the larger of both tolerances counts. Not for methods
            without gradients. None: `eps**0.75`, 1.8e-12 in float64.
        max_steps: The maximum number of steps. A sequence returns the trajectory: the results after each number of
            steps; not for methods of SciPy. None: 1,000; 10,000 for "gradient-descent" and "adam", 400 for each
            variable for "nelder-mead".
        callback: Called after each step with the result so far; if it returns True, the iteration ends. Only for
            concrete arrays.
        throw: Whether to raise `ConvergenceError` if a problem hasn't converged; the result is in the error's `result`.
            Abstract values, as under `jit`, raise no error. False: check the `status` of the result.
        progress: Whether to show the iterations and the value of `f`; or a function of a `Progress`, see
            `xpand.progress`.
        record_history: Whether to return the values of each iteration in `history`.

    Args: Options of one method
        history: "l-bfgs", "l-bfgs-b": the number of steps to store. None: 10.
        learning_rate: "adam": the learning rate; None: 0.01. "gradient-descent": the factor of the gradient in a step;
            None: a line search, which starts with the step of Barzilai and Borwein.
        beta1: "adam": the decay rate of the average of gradients. None: 0.9.
        beta2: "adam": the decay rate of the average of squared gradients. None: 0.999.
        epsilon: "adam": a number added to the root of the average of squared gradients. None: 1e-8.
        initial_size: "nelder-mead": the edges of the first simplex relative to the elements of `x0`; absolute for
            elements that are zero. None: 0.05.
        max_products: "newton-cg": the maximum number of products with the Hessian in a step. None: 2 for each
            variable, at most 200.

    Returns:
        An `OptimizeResult` with `x`, `fun`, and the `status` of each problem:

        - CONVERGED: `atol` or `rtol` is met at the returned `x`.
        - STAGNATED: a line search finds no lower value, not even along the gradient.
        - DIVERGED: values or points exceed 3e23 in float64, 2e10 in float32, relative to the first; or a step without
          line search leads to a point where `f` is not finite. (Line searches reject such steps.)
        - BREAKDOWN: bounds that were abstract cross.
        - NON_FINITE: `x0`, or the value or gradient there, is not finite.

    Raises:
        TypeError: An argument that is not a function, or not a tree of floating-point arrays; `f` or `gradient` returns
            another type; an option that the method doesn't have; or (`UnsupportedError`) a library without derivatives.
        ValueError: `f` returns more than a number; an unknown method; bounds for a method that takes none, of a shape
            that doesn't fit, or that cross; tolerances or options out of range; a callback or a method of SciPy under
            transformations.
        ConvergenceError: A problem has not converged, unless `throw=False`.

    For every method, the derivative of the solution with respect to `args` is that of the root of the gradient: an n by
    n system for each problem, whose matrix is the Hessian. A variable at its bound depends only on the bound.

    Source: `scipy.optimize.minimize`; PhiML's `Backend.minimize`; Nocedal and Wright, Numerical Optimization.

    >>> import numpy as np
    >>> found = minimize(lambda x: (x[0] - 1.0) ** 2 + (x[1] - x[0]) ** 4, np.asarray([3.0, 1.0]), atol=1e-9)
    >>> np.round(found.x, 2), found.message
    (array([1., 1.]), 'converged')
    """
    whole = method, gradient, bounds, atol, rtol, max_steps, batch_ndim, record_history
    options = (*whole, history, learning_rate, beta1, beta2, epsilon, initial_size, max_products)
    call, known = repeatable("minimize", f, x0, args, options, callback, throw, progress)
    if known is not None:
        return known
    chosen = _method(method, bounds is not None)
    parameters = common("minimize", f, chosen, (chosen,), args, callback, throw)
    if gradient is not None:
        checks.function("minimize", gradient, "gradient")
    batch_ndim = checks.integer("minimize", "batch_ndim", batch_ndim, minimum=0)
    vectors = Vectors("minimize", "x0", x0, batch_ndim, parameters)
    given = {
        "history": history,
        "learning_rate": learning_rate,
        "beta1": beta1,
        "beta2": beta2,
        "epsilon": epsilon,
        "initial_size": initial_size,
        "max_products": max_products,
    }
    chosen_options = _options(chosen, given)
    steps = 400 * vectors.start.shape[-1] if chosen == "nelder-mead" else _STEPS.get(chosen, 1000)
    if rtol is not None and chosen in _WITHOUT_GRADIENT:
        raise TypeError(f"minimize: rtol is relative to the first gradient, and {chosen!r} uses no gradients")
    power = 1 / 2 if chosen == "nelder-mead" else 1 / 3
    limits = limits_of(
        "minimize", atol, rtol, max_steps, vectors, powers=(power, 0.75), default=steps, record=record_history
    )
    box = box_of("minimize", bounds, vectors)
    objective = Objective("minimize", f, gradient, vectors)
    if not vectors.start.shape[-1]:
        chosen = "gradient-descent"

    def solve(start: Array, given: tuple[Any, ...], notify: Any, limits: Limits) -> tuple[Record, Record | None]:
        box, args = given[0], given[1:]
        if chosen in SCIPY_METHODS:
            value = lambda x: objective.value(x, args)
            functions = Functions(value, objective.evaluator(args), objective.product(args))
            last, recorded = minimize_on_host(functions, chosen, start, box, limits, notify), None
        else:
            last, recorded = _run_own(objective, chosen, chosen_options, start, args, box, limits, notify)
        return with_crossed_failed(box, last), None if recorded is None else with_crossed_failed(box, recorded)

    def condition(x: Array, box: Box, *given: Any) -> Array:
        return box.equation(x, objective.evaluator(given)(x)[1])

    make = lambda given: objective.evaluator(given[1:])
    task = Task(objective, chosen, make, limits, chosen_options, chosen not in SCIPY_METHODS)
    handling = Handling(callback, throw, progress, call, is_symmetric=bounds is None)
    return solved(task, vectors.start, (box, *parameters), solve, condition, handling)


class Objective:
    """A function of vectors to minimize."""

    def __init__(self, name: str, f: Callable[..., Any], gradient: Callable[..., Any] | None, vectors: Vectors) -> None:
        """Store the function of trees, and the gradient that the caller gave, or None."""
        self.name, self.f, self.own_gradient, self.vectors = name, f, gradient, vectors

    @property
    def functions(self) -> tuple[Any, ...]:
        """Return the user functions."""
        return self.f, self.own_gradient

    def value(self, x: Array, args: tuple[Any, ...], *, is_traced: bool = False) -> Array:
        """Evaluate the function: shape `(*batch)`. If it is traced for its gradient, it must return an array."""
        found = self.f(self.vectors.unflatten(x), *in_namespace_of([x], args))
        if is_traced and isinstance(found, (int, float)):
            raise TypeError(
                f"{self.name}: f returned a Python number, which has no gradient; return the array itself, without "
                "`float` and `item`, or use method='nelder-mead'"
            )
        return self.vectors.scalar("f must return", found)

    def result(self, record: Record, given: tuple[Any, ...], fun: Any = None, /) -> OptimizeResult:
        """Make the result of a record; `given` are the bounds and the parameters."""
        fun = self.value(record.x, given[1:]) if fun is None else fun
        return OptimizeResult(self.vectors.unflatten(record.x), fun, *record[1:])

    def evaluator(self, args: tuple[Any, ...]) -> descent.Evaluate:
        """Make the function that returns values and gradients, with given parameters."""
        own = self.own_gradient
        if own is not None:

            def given(x: Array) -> tuple[Array, Array]:
                slope = own(self.vectors.unflatten(x), *in_namespace_of([x], args))
                return self.value(x, args), self.vectors.flatten("the result of gradient", slope)

            return given
        if not self.vectors.batch_ndim:
            return autodiff.value_and_grad(lambda x: self.value(x, args, is_traced=True))

        # Each value depends only on its own problem, so the gradient of the sum has the gradients of all problems.
        def total(x: Array) -> tuple[Array, Array]:
            values = self.value(x, args, is_traced=True)
            return array_namespace(values).sum(values), values

        both = autodiff.value_and_grad(total, has_aux=True)

        def batched(x: Array) -> tuple[Array, Array]:
            (_, values), slope = both(x)
            return values, slope

        return batched

    def product(self, args: tuple[Any, ...]) -> Callable[[Array, Array], Array]:
        """Make the function that multiplies the Hessian with vectors."""
        evaluate = self.evaluator(args)
        return lambda x, direction: autodiff.jvp(lambda x: evaluate(x)[1], (x,), (direction,))[1]


def _run_own(
    objective: Objective,
    method: str,
    options: _Options,
    start: Array,
    args: tuple[Any, ...],
    box: Box,
    limits: Limits,
    callback: Callable[[Record], Any] | None,
) -> tuple[Record, Record | None]:
    """Run one of xpand's own methods."""
    if method == "nelder-mead":
        value = lambda x: objective.value(x, args)
        init_simplex = lambda x: simplex.init(value, x, box, limits.atol, options.initial_size)
        reflect = lambda state: simplex.step(value, box, state)
        return run(reflect, init_simplex, start, limits, slack=start.shape[-1] + 3, callback=callback)
    evaluate = objective.evaluator(args)
    rule = _rule(method, options)
    if rule is not None:

        def init(x: Array) -> first_order.FirstOrder:
            memory = first_order.Moments(full_like(x, 0.0), full_like(x, 0.0)) if method == "adam" else ()
            return first_order.init(evaluate, x, box, memory, limits.atol, limits.rtol)

        step = lambda state: first_order.step(evaluate, box, rule, state)
        return run(step, init, start, limits, callback=callback)
    directions = _directions(method, options, objective, args, start.shape[-1])
    init_descent = lambda x: descent.init(evaluate, x, box, directions, limits.atol, limits.rtol)
    descend = lambda state: descent.step(evaluate, box, directions, state)
    return run(descend, init_descent, start, limits, slack=2, callback=callback)


def _rule(method: str, options: _Options) -> first_order.Rule | None:
    rate = options.learning_rate
    if method == "adam":
        return first_order.adam(0.01 if rate is None else rate, options.beta1, options.beta2, options.epsilon)
    return None if method != "gradient-descent" or rate is None else first_order.fixed(rate)


def _directions(method: str, options: _Options, objective: Objective, args: tuple[Any, ...], n: int) -> Directions:
    if method == "newton-cg":
        products = min(2 * n, 200) if options.max_products is None else options.max_products
        return NewtonCG(objective.product(args), products)
    if method == "bfgs":
        return BFGS()
    return Gradient() if method == "gradient-descent" else LimitedMemory(options.history)


def _method(method: Any, bounded: bool) -> str:
    if isinstance(method, str):
        method = _ALIASES.get(method, method)
    if method is None:
        return "l-bfgs-b" if bounded else "l-bfgs"
    name = method.lower() if isinstance(method, str) else method
    if isinstance(name, str) and f"scipy-{name}" in SCIPY_METHODS and name not in _OWN:
        name = f"scipy-{name}"
    chosen: str = checks.choice("minimize", "method", name, (*_OWN, *SCIPY_METHODS))
    if bounded and chosen not in (*_BOUNDED, *SCIPY_BOUNDED):
        takes = ", ".join(map(repr, (*_BOUNDED, *SCIPY_BOUNDED)))
        raise ValueError(f"minimize: the method {chosen!r} takes no bounds; those that do are {takes}")
    return chosen


def _options(method: str, given: dict[str, Any]) -> _Options:
    """Check the options of particular methods, and fill in defaults."""
    for name, value in given.items():
        if value is not None and method not in _OPTIONS[name]:
            raise TypeError(
                f"minimize: the option {name} is for {' and '.join(map(repr, _OPTIONS[name]))}, got it with the method "
                f"{method!r}"
            )

    def positive(name: str, default: float, below: float | None = None) -> float:
        value = default if given[name] is None else number("minimize", name, given[name])
        if value <= 0 and not (below is not None and value == 0):
            raise ValueError(f"minimize: {name} must be positive, got {value}")
        if below is not None and value >= below:
            raise ValueError(f"minimize: {name} must be below {below}, got {value}")
        return value

    history, products = (
        None if given[name] is None else checks.integer("minimize", name, given[name], minimum=1)
        for name in ("history", "max_products")
    )
    return _Options(
        10 if history is None else history,
        None if given["learning_rate"] is None else positive("learning_rate", 1.0),
        positive("beta1", 0.9, 1.0),
        positive("beta2", 0.999, 1.0),
        positive("epsilon", 1e-8),
        positive("initial_size", 0.05),
        products,
    )
