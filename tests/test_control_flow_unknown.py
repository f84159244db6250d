"""Choices and loops whose conditions nobody knows: what isn't done has no part in derivatives, NaN included."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

from tests.libraries import LIBRARIES, Library
from tests.test_derivatives import NAMESPACE, total
from xpand_extensions.autodiff import grad, hessian, jvp, linearize
from xpand_extensions.control_flow import cond, switch, while_loop
from xpand_extensions.jit import jit
from xpand_extensions.vmap import vmap

TRACED = [library for library in LIBRARIES if library.id in ("numpy", "strict", "dask")]
DASK = next(library for library in LIBRARIES if library.lazy)
POINT = np.asarray([0.0, -1.0, 2.0])
"""Where `undefined` has derivatives that are infinite or NaN, and where it has some that aren't."""

pytestmark = pytest.mark.filterwarnings("ignore:(divide by zero|invalid value):RuntimeWarning")


def undefined(x: Any) -> Any:
    xp = NAMESPACE(x)
    return xp.sqrt(x) * xp.log(x) + 1.0 / x


# Choices by a lazy array that nothing traces: each function takes `cond`, `switch`, a condition, a number, and x

Choice = Callable[..., Any]


def by_operand(cond: Choice, switch: Choice, yes: Any, one: Any, x: Any) -> Any:
    return cond(yes, lambda y: y**3, undefined, x)


def by_closure(cond: Choice, switch: Choice, yes: Any, one: Any, x: Any) -> Any:
    y = NAMESPACE(x).sin(x)
    return y + cond(~yes, lambda: undefined(y), lambda: y * y * x)


def by_object(cond: Choice, switch: Choice, yes: Any, one: Any, x: Any) -> Any:
    """The functions' captured arrays can't be found beforehand."""

    def given() -> Any:
        yield from iter(lambda: x, None)

    found = given()
    return cond(yes, lambda: next(found) ** 2, lambda: undefined(next(found)))


def by_number(cond: Choice, switch: Choice, yes: Any, one: Any, x: Any) -> Any:
    return switch(one, [undefined, lambda y: y * y * x, lambda y: undefined(y + x)], x)


def within(cond: Choice, switch: Choice, yes: Any, one: Any, x: Any) -> Any:
    return cond(yes, lambda y: cond(~yes, lambda: undefined(x), lambda: y * y * x), undefined, x)


DERIVATIVES: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda jax, f: jax.grad(f),
    "hessian": lambda jax, f: jax.hessian(f),
    "linearize": lambda jax, f: lambda x: jax.linearize(f, x)[1](NAMESPACE(x).ones_like(x)),
    "vmap of grad": lambda jax, f: lambda x: jax.vmap(jax.grad(f))(NAMESPACE(x).stack([x, 2.0 * x])),
    "grad of vmap": lambda jax, f: jax.grad(lambda x: total(jax.vmap(f)(NAMESPACE(x).stack([x, 2.0 * x])))),
    "jit of grad": lambda jax, f: jax.jit(jax.grad(f)),
    "grad of jit of grad": lambda jax, f: jax.grad(lambda x: total(jax.jit(jax.grad(f))(x))),
}


class Ours:
    """The transformations under JAX's names."""

    grad, hessian, linearize, vmap, jit = map(staticmethod, (grad, hessian, linearize, vmap, jit))


@pytest.mark.parametrize("name", DERIVATIVES)
@pytest.mark.parametrize("function", [by_operand, by_closure, by_object, by_number, within])
def test_lazy_choices_are_as_jax_has_them(function: Any, name: str) -> None:
    yes, one = DASK.asarray(True), DASK.asarray(1)
    ours = DERIVATIVES[name](Ours, lambda x: total(function(cond, switch, yes, one, x)))
    theirs = DERIVATIVES[name](
        jax, lambda x: function(jax.lax.cond, jax.lax.switch, np.asarray(True), np.asarray(1), x).sum()
    )
    DASK.assert_equal(ours(DASK.asarray(POINT)), np.asarray(theirs(jax.numpy.asarray(POINT))), rtol=1e-13, atol=1e-13)


def test_lazy_choices_that_nothing_traces_call_each_function_once() -> None:
    called = []
    branch = lambda x: called.append(1) or x * 2.0
    x = DASK.asarray(POINT)
    DASK.assert_equal(cond(x[0] > 0, branch, branch, x), 2.0 * POINT)
    DASK.assert_equal(switch(DASK.asarray(2), [branch, branch, branch], x), 2.0 * POINT)
    assert len(called) == 5


# Loops that take no step, or for some lanes of a map: a step from where they are is undefined


def around(x: Any, steps: Any, weight: Any) -> Any:
    xp = NAMESPACE(x, steps, weight)
    start = xp.zeros_like(steps), xp.astype(xp.ones_like(steps), xp.float64)
    step = lambda state: (state[0] + 1, state[1] * undefined(x) + weight / x)
    return x * x * weight + while_loop(lambda state: state[0] < steps, step, start, max_iter=4)[1]


def carried(x: Any, steps: Any, weight: Any) -> Any:
    xp = NAMESPACE(x, steps, weight)
    step = lambda state: (state[0] + 1, weight * undefined(state[1]) + 2.0)
    return weight * while_loop(lambda state: state[0] < steps, step, (xp.zeros_like(steps), x), max_iter=4)[1]


LANES, STEPS, WEIGHT = np.asarray([0.0, 2.0, -1.0, 3.0]), np.asarray([0, 1, 0, 3]), 1.5


def by_hand(function: Any, x: Any, steps: int, weight: Any) -> Any:
    """Take the steps in Python, on JAX."""
    y = x if function is carried else jax.numpy.ones_like(x)
    for _ in range(steps):
        y = weight * undefined(y) + 2.0 if function is carried else y * undefined(x) + weight / x
    return weight * y if function is carried else x * x * weight + y


def expected(function: Any, transform: Any, argnums: int = 0) -> np.ndarray:
    derivative = lambda steps: transform(lambda x, weight: by_hand(function, x, steps, weight), argnums)
    return np.asarray([derivative(int(steps))(x, WEIGHT) for x, steps in zip(LANES, STEPS)])


@pytest.mark.parametrize("function", [around, carried])
@pytest.mark.parametrize("library", TRACED, ids=str)
def test_loops_without_steps(library: Library, function: Any) -> None:
    x, steps, weight = (library.asarray(each) for each in (0.0, 0, WEIGHT))
    first, by_weight, second = (
        expected(function, transform, number)[0]
        for transform, number in ((jax.grad, 0), (jax.grad, 1), (jax.hessian, 0))
    )
    for gradients in (grad(function, (0, 2)), jit(grad(function, (0, 2))), grad(jit(function), (0, 2))):
        for found, wanted in zip(gradients(x, steps, weight), (first, by_weight)):
            library.assert_equal(found, wanted)
    library.assert_equal(jit(lambda *given: jvp(lambda x: function(x, *given[1:]), given[:1], (x + 1.0,))[1])(
        x, steps, weight
    ), first)  # fmt: skip
    library.assert_equal(jit(hessian(function))(x, steps, weight), second)


@pytest.mark.parametrize("function", [around, carried])
@pytest.mark.parametrize("library", TRACED, ids=str)
def test_lanes_without_steps(library: Library, function: Any) -> None:
    xs, steps, weight = (library.asarray(each) for each in (LANES, STEPS, WEIGHT))
    all_of = lambda xs, weight: total(vmap(function, (0, 0, None))(xs, steps, weight))
    wanted = expected(function, jax.grad)
    mapped = vmap(grad(function), (0, 0, None))
    for found in (mapped(xs, steps, weight), grad(all_of)(xs, weight), jit(grad(all_of))(xs, weight)):
        library.assert_equal(found, wanted, rtol=1e-12)
    wanted = expected(function, jax.grad, 1).sum()
    library.assert_equal(grad(all_of, 1)(xs, weight), wanted, rtol=1e-12)
    wanted = np.diag(expected(function, jax.hessian))
    library.assert_equal(hessian(all_of)(xs, weight), wanted, rtol=1e-12)


def test_lazy_loops_that_nothing_traces_but_what_they_bring_along() -> None:
    for function in (around, carried):
        x, steps = DASK.asarray(2.0), DASK.asarray(3)
        derivatives = [jax.grad(lambda x: by_hand(function, x, count, WEIGHT))(2.0) for count in (0, 3)]  # noqa: B023
        for count, wanted in zip((0, 3), derivatives):
            found = grad(lambda x: function(x, steps * 0 + count, DASK.asarray(WEIGHT)))(x)  # noqa: B023
            DASK.assert_equal(found, np.asarray(wanted), rtol=1e-13)
