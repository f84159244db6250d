"""Steps along the gradient without line search: gradient descent with a fixed rate, and Adam."""

from collections.abc import Callable
from typing import Any, NamedTuple

from xpand import array_namespace
from xpand.extend import Array

from ..._solver_status import Status
from ._box import Box
from ._descent import Evaluate, first_evaluation
from ._states import updated
from ._vectors import is_finite, largest, select, times

Rule = Callable[[Any, Array, Array], tuple[Array, Any]]
"""Takes the memory, the gradient and the number of the step; returns the step and the new memory."""


class FirstOrder(NamedTuple):
    """The state of an iteration."""

    x: Array
    fun: Array
    gradient: Array
    optimality: Array
    memory: Any
    tolerance: Array
    reach: Array
    iterations: Array
    function_evaluations: Array
    gradient_evaluations: Array
    status: Array

    @property
    def objective(self) -> Array:
        """The value of the function."""
        return self.fun


def init(evaluate: Evaluate, x: Array, box: Box, memory: Any, atol: float, rtol: float) -> FirstOrder:
    """Evaluate the function at the starting point."""
    return FirstOrder(**first_evaluation(evaluate, x, box, atol, rtol), memory=memory)


def step(evaluate: Evaluate, box: Box, rule: Rule, state: FirstOrder) -> FirstOrder:
    """Take a step. If the function isn't finite at the new point, stay at the old point and end the iteration."""
    xp = array_namespace(state.x)
    number = state.iterations + 1
    move, memory = rule(state.memory, state.gradient, number)
    x = box.project(state.x + move)
    fun, gradient = evaluate(x)
    valid = xp.isfinite(fun) & is_finite(gradient) & is_finite(x)
    gradient = select(valid, gradient, state.gradient)
    fun = xp.where(valid, fun, state.fun)
    x = select(valid, x, state.x)
    optimality = box.measure(x, gradient)
    diverged = ~valid | (xp.abs(fun) > state.reach) | (largest(x) > state.reach)
    converged = valid & (optimality <= state.tolerance)
    return state._replace(
        x=x,
        fun=fun,
        gradient=gradient,
        optimality=optimality,
        memory=memory,
        iterations=number,
        function_evaluations=state.function_evaluations + 1,
        gradient_evaluations=state.gradient_evaluations + 1,
        status=updated(state.status, (diverged, Status.DIVERGED), (converged, Status.CONVERGED)),
    )


def fixed(rate: float) -> Rule:
    """Make the rule of gradient descent with a fixed rate."""
    return lambda memory, gradient, number: (-rate * gradient, memory)


class Moments(NamedTuple):
    """Averages of gradients, and of their squares."""

    first: Array
    second: Array


def adam(rate: float, beta1: float, beta2: float, epsilon: float) -> Rule:
    """Make the rule of Adam: Kingma and Ba (2015), algorithm 1."""

    def rule(memory: Moments, gradient: Array, number: Array) -> tuple[Array, Moments]:
        xp = array_namespace(gradient)
        first = beta1 * memory.first + (1.0 - beta1) * gradient
        second = beta2 * memory.second + (1.0 - beta2) * gradient * gradient
        power = xp.astype(number, gradient.dtype)
        one = xp.ones_like(power)
        mean = times(one / (1.0 - beta1**power), first)
        square = times(one / (1.0 - beta2**power), second)
        return -rate * mean / (xp.sqrt(square) + epsilon), Moments(first, second)

    return rule
