"""Loops whose steps are undefined for lanes that don't take them: each gets what it would alone, and its derivatives.

The reference is a loop of Python for each lane, differentiated by JAX. Warnings are errors: no such step is computed.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import numpy as np
import pytest

from tests.cases import library_of_name
from tests.libraries import EAGER_LIBRARIES, Library
from tests.test_derivatives import NAMESPACE, total
from xpand import trees
from xpand_extensions.autodiff import grad, hessian, jacrev, jvp, linear_transpose, stop_gradient
from xpand_extensions.control_flow import fori_loop, scan, while_loop
from xpand_extensions.jit import ShapeDtype, jit, make_graph, pure_callback
from xpand_extensions.vmap import pmean, vmap

Function = Callable[..., Any]

X = np.asarray([1.6, -2.0, 3.4, -0.5, 0.7])
W, WS = np.asarray(0.8), np.asarray([0.8, 1.3])
BOTH = (0, 1)


def in_python(condition: Function, step: Function, carry: Any, max_iter: int) -> Any:
    for _ in range(max_iter):
        if not bool(condition(carry)):
            break
        carry = step(carry)
    return carry


# Programs: each makes, of a loop, a function of two numbers. For negative x no step is taken


def of_closures_alone(loop: Function, bound: int) -> Function:
    def f(x: Any, w: Any) -> Any:
        root = lambda c: c + NAMESPACE(x, w).sqrt(x) * w + 0.1
        return loop(lambda c: c < 3.0 * x, root, 0.2 * x + w * 0.01, max_iter=bound)

    return f


def of_closures_and_carry(loop: Function, bound: int) -> Function:
    def f(x: Any, w: Any) -> Any:
        step = lambda c: (c[0] + 1.0, c[1] * NAMESPACE(x).log(x + 0.3 * c[0]) * w + 0.1)
        return loop(lambda c: c[0] < x, step, (0.0 * x, 0.2 * x + w), max_iter=bound)[1]

    return f


def of_a_quotient(loop: Function, bound: int) -> Function:
    def f(x: Any, w: Any) -> Any:
        xp = NAMESPACE(x)
        y = xp.where(x > 0, x, 0.0 * x)
        return loop(lambda c: c[0] < x, lambda c: (c[0] + 1.0, w * c[1] + c[0] / y), (0.0 * x, x * w), max_iter=bound)[
            1
        ]

    return f


def of_integers(loop: Function, bound: int) -> Function:
    def f(x: Any, w: Any) -> Any:
        xp = NAMESPACE(x)
        count = xp.astype(xp.maximum(xp.ceil(x), 0.0 * x), xp.int64)
        step = lambda c: (c[0] + 6 // count, c[1] * w + x * xp.astype(c[0], x.dtype))
        return loop(lambda c: c[0] < 5 * count, step, (0 * count, x), max_iter=bound)[1]

    return f


def of_carry(loop: Function, bound: int) -> Function:
    def f(x: Any, w: Any) -> Any:
        return loop(lambda c: c > 0.5, lambda c: NAMESPACE(c).sqrt(c - 0.5) * w, x, max_iter=bound)

    return f


def within_another(loop: Function, bound: int) -> Function:
    """The inner loop takes no step at first, where what it closes over, of the outer one, is undefined."""

    def f(x: Any, w: Any) -> Any:
        xp = NAMESPACE(x)

        def outer(c: Any) -> Any:
            inner = lambda d: (d[0] + 1.0, d[1] * w + xp.sqrt(c[0] - 0.2 * x))
            last = loop(lambda d: d[0] < c[0] - x * 0.2, inner, (0.0 * x + 0.3, c[1]), max_iter=bound)
            return c[0] + 1.0, last[1] + xp.sqrt(x) * w

        return loop(lambda c: c[0] < x, outer, (x * 0.0, x * w), max_iter=bound)[1]

    return f


PROGRAMS = [of_closures_alone, of_closures_and_carry, of_a_quotient, of_integers, of_carry, within_another]


# Transformations, and what is expected of the gradients of lanes alone


def of_lanes(f: Function) -> Function:
    return lambda xs, w: total(vmap(f, (0, None))(xs, w))


def of_pairs(f: Function) -> Function:
    return lambda xs, w: total(vmap(lambda x: total(vmap(lambda y: f(x, w * y * y))(xs)))(xs))


TRANSFORMED: dict[str, Callable[[Function], Function]] = {
    "vmap": lambda f: vmap(f, (0, None)),
    "jit(vmap)": lambda f: jit(vmap(f, (0, None))),
    "vmap(grad)": lambda f: vmap(grad(f, BOTH), (0, None)),
    "jit(vmap(grad))": lambda f: jit(vmap(grad(f, BOTH), (0, None))),
    "vmap(jit(grad))": lambda f: vmap(jit(grad(f, BOTH)), (0, None)),
    "grad(vmap)": lambda f: grad(of_lanes(f), BOTH),
    "jit(grad(vmap))": lambda f: jit(grad(of_lanes(f), BOTH)),
    "grad(jit(vmap))": lambda f: grad(lambda x, w: total(jit(vmap(f, (0, None)))(x, w)), BOTH),
    "jacrev(vmap)": lambda f: jacrev(vmap(f, (0, None)), BOTH),
    "vmap(jvp)": lambda f: vmap(lambda x, w: jvp(f, (x, w), (0.3 * x, w))[1], (0, None)),
    "jvp(vmap)": lambda f: lambda xs, w: jvp(vmap(f, (0, None)), (xs, w), (0.3 * xs, w))[1],
    "vmap(hessian)": lambda f: vmap(hessian(f, BOTH), (0, None)),
    "hessian(vmap)": lambda f: hessian(of_lanes(f), BOTH),
    "grad(grad(vmap))": lambda f: grad(lambda x, w: total(grad(of_lanes(f))(x, w)), BOTH),
    "vmap(grad(vmap))": lambda f: lambda xs, w: vmap(grad(of_lanes(f), BOTH), (None, 0))(xs, w * WS),
    "vmap(vmap(grad))": lambda f: lambda xs, w: vmap(vmap(grad(f, BOTH), (0, None)), (None, 0))(xs, w * WS),
    "jit(grad(vmap(vmap)))": lambda f: jit(grad(of_pairs(f), BOTH)),
}


@cache
def alone(program: Any, bound: int, order: int, w: float = float(W)) -> Any:
    """The value, the gradient, or the second derivatives of each lane, in two numbers."""
    f = program(in_python, bound)
    of_x, of_w = (lambda x, w: jax.grad(f)(x, w)), (lambda x, w: jax.grad(f, 1)(x, w))
    wanted = [[f], [of_x, of_w], [jax.grad(g, i) for g in (of_x, of_w) for i in BOTH]][order]
    return [np.asarray([g(jax.numpy.asarray(x), jax.numpy.asarray(w)) for x in X]) for g in wanted]


def expected_of(name: str, program: Any, bound: int) -> list[np.ndarray]:
    values, (of_x, of_w) = alone(program, bound, 0), alone(program, bound, 1)
    if name in ("vmap", "jit(vmap)"):
        return values
    if name in ("vmap(grad)", "jit(vmap(grad))", "vmap(jit(grad))"):
        return [of_x, of_w]
    if name in ("grad(vmap)", "jit(grad(vmap))", "grad(jit(vmap))"):
        return [of_x, np.sum(of_w)]
    if name == "jacrev(vmap)":
        return [np.diag(of_x), of_w]
    if name in ("vmap(jvp)", "jvp(vmap)"):
        return [0.3 * X * of_x + W * of_w]
    if name == "jit(grad(vmap(vmap)))":
        pairs = [alone(program, bound, 1, float(W * y * y)) for y in X]
        inner = np.asarray([np.sum(of_w) for _, of_w in pairs])
        return [sum(of_x for of_x, _ in pairs) + 2.0 * W * X * inner, np.sum(X * X * inner)]
    if name.startswith("vmap("):
        if name == "vmap(hessian)":
            return list(alone(program, bound, 2))
        found = [alone(program, bound, 1, float(w)) for w in W * WS]
        by_w = [np.sum(of_w) if name == "vmap(grad(vmap))" else of_w for _, of_w in found]
        return [np.stack([of_x for of_x, _ in found]), np.asarray(by_w)]
    xx, xw, wx, ww = alone(program, bound, 2)
    return [np.diag(xx), xw, wx, np.sum(ww)] if name == "hessian(vmap)" else [xx, np.sum(xw)]


ON = {
    "numpy": tuple(TRANSFORMED),
    "strict": ("jit(vmap(grad))", "grad(vmap)"),
    "strict-device1": ("jit(grad(vmap))",),
}
SHORT, LONG = 6, 40  # of which long ones are passed over by segments, once they have ended


@pytest.mark.parametrize(
    ("id", "name", "bound"),
    [
        *[(id, name, SHORT) for id, names in ON.items() for name in names],
        *[("numpy", name, LONG) for name in ("vmap(grad)", "jit(vmap(grad))", "jit(grad(vmap))", "vmap(hessian)")],
    ],
)
@pytest.mark.parametrize("program", PROGRAMS)
def test_lanes_get_what_they_would_alone(program: Any, id: str, name: str, bound: int) -> None:
    library = library_of_name(id)
    found = TRANSFORMED[name](program(while_loop, bound))(library.asarray(X), library.asarray(W))
    for ours, expected in zip(trees.leaves(found), expected_of(name, program, bound), strict=True):
        library.assert_equal(ours, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # where all is computed, and then chosen
@pytest.mark.parametrize("name", ["vmap(grad)", "grad(vmap)"])
def test_lanes_of_lazy_arrays(name: str) -> None:
    library = library_of_name("dask")
    found = TRANSFORMED[name](of_closures_alone(while_loop, SHORT))(library.asarray(X), library.asarray(W))
    for ours, expected in zip(found, expected_of(name, of_closures_alone, SHORT), strict=True):
        library.assert_equal(ours, expected, rtol=1e-11, atol=1e-12)


# Loops that take no step


def of_range(x: Any, w: Any) -> Any:
    return fori_loop(2, 2, lambda i, c: c * NAMESPACE(x).sqrt(x), x * w)


def of_no_rows(x: Any, w: Any) -> Any:
    return scan(lambda c, _: (c * NAMESPACE(x).sqrt(x), c), x * w, None, length=0)[0]


def of_bound(x: Any, w: Any) -> Any:
    return while_loop(lambda c: c < 0.0, lambda c: c * NAMESPACE(x).sqrt(x), x * w, max_iter=0)


def of_condition(x: Any, w: Any) -> Any:
    return while_loop(lambda c: c > 0.0, lambda c: c * NAMESPACE(x).sqrt(x), x * w, max_iter=3)


@pytest.mark.parametrize("library", [x for x in EAGER_LIBRARIES if x.id not in ("torch", "jax")], ids=str)
@pytest.mark.parametrize("function", [of_range, of_no_rows, of_bound, of_condition])
def test_no_step_has_no_derivative(library: Library, function: Any) -> None:
    x, w = library.asarray(-2.0), library.asarray(W)
    with np.errstate(invalid="ignore" if function is of_no_rows else None):  # which is called for its shapes
        library.assert_equal(function(x, w), X[1] * W)
    for change in (jit, lambda f: lambda x, w: vmap(f, (0, None))(x[None], w)[0]):
        library.assert_equal(change(function)(x, w), X[1] * W)
    for change in (lambda f: f, jit):
        for ours, theirs in zip(change(grad(function, BOTH))(x, w), (W, X[1]), strict=True):
            library.assert_equal(ours, theirs)
        library.assert_equal(change(lambda x, w: jvp(lambda x: function(x, w), (x,), (x,))[1])(x, w), X[1] * W)
        for ours, expected in zip(trees.leaves(change(hessian(function, BOTH))(x, w)), (0.0, 1.0, 1.0, 0.0)):
            library.assert_equal(ours, np.asarray(expected))


def test_linear_loops_of_no_step() -> None:
    def scaled(a: Any) -> Any:
        step = lambda v: lambda c: (c[0] + 1.0, c[1] * 2.0 + v * NAMESPACE(a, v).sqrt(a))
        linear = lambda v: while_loop(lambda c: c[0] < a, step(v), (0.0 * a, v), max_iter=4)[1]
        return linear_transpose(linear, W)(W)[0]

    expected = np.where(X > 0, W * (2.0 ** np.ceil(X) + (2.0 ** np.ceil(X) - 1.0) * np.sqrt(np.abs(X))), W)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(vmap(scaled)(X), expected, rtol=1e-14)
    np.testing.assert_allclose(jit(scaled)(X[1]), expected[1], rtol=1e-14)


@pytest.mark.parametrize("xs", [X[:0], -np.abs(X)])
def test_no_lane_takes_a_step(xs: np.ndarray) -> None:
    f = of_closures_alone(while_loop, SHORT)
    for name in ("vmap(grad)", "jit(vmap(grad))", "grad(vmap)", "jit(grad(vmap))"):
        of_x, of_w = TRANSFORMED[name](f)(xs, W)
        np.testing.assert_array_equal(of_x, np.full(xs.shape, 0.2))
        np.testing.assert_allclose(np.sum(of_w), 0.01 * xs.size, rtol=1e-14)
    for name in ("vmap", "jit(vmap)"):
        np.testing.assert_allclose(TRANSFORMED[name](f)(xs, W), 0.2 * xs + 0.008, rtol=1e-14)


# Values computed from closures


def test_infinite_derivatives_stay_those_of_the_lane() -> None:
    def of_closure(x: Any) -> Any:
        step = lambda c: (c[0] + 1, c[1] + NAMESPACE(x).sqrt(x))
        return while_loop(lambda c: c[0] < 1.0 + x, step, (0.0 * x, x), max_iter=SHORT)[1]

    def of_carry(x: Any) -> Any:
        step = lambda c: (c[0] + 1.0, NAMESPACE(x).sqrt(c[1]))
        return while_loop(lambda c: c[0] < 1.0 + x, step, (0.0 * x, x), max_iter=SHORT)[1]

    xs = np.asarray([0.0, 4.0, -2.0])
    for f, slope in ((of_closure, 1.0 + 5.0 / 4.0), (of_carry, 4.0 ** (1 / 32) / 128)):
        gradient = grad(lambda xs, f=f: total(vmap(f)(xs)))
        for each in (vmap(grad(f)), jit(vmap(grad(f))), gradient, jit(gradient)):
            np.testing.assert_allclose(each(xs), [np.inf, slope, 1.0], rtol=1e-13)


def test_what_is_computed_of_closures_is_computed_once() -> None:
    """As often for ten steps as for one, and not at all for none."""
    calls = 0

    def sine(x: Any) -> Any:
        nonlocal calls
        calls += 1
        return np.sin(x)

    def f(x: Any, n: Any) -> Any:
        def step(c: Any) -> Any:
            wave = pure_callback(sine, ShapeDtype(x.shape, x.dtype), stop_gradient(x), vmap_method="broadcast_all")
            return c[0] + 1, c[1] * 0.5 + NAMESPACE(x).sqrt(x) * wave

        return while_loop(lambda c: c[0] < n, step, (0 * n, x), max_iter=LONG)[1]

    for change in (
        lambda f: f,
        lambda f: grad(f),
        lambda f: lambda x, n: jvp(lambda x: f(x, n), (x,), (x,))[1],
        lambda f: lambda x, n: vmap(f, (0, None))(x[None], n),
        lambda f: lambda x, n: vmap(grad(f))(x[None], n[None]),
        lambda f: lambda x, n: grad(lambda x: total(vmap(f)(x[None], n[None])))(x),
    ):
        run, found = jit(change(f)), []
        for steps in (0, 1, 10):
            calls = 0
            run(np.asarray(2.0), np.asarray(steps))
            found.append(calls)
        none, one, ten = found
        assert one == ten > 0
        assert none in (0, one)


def test_lanes_that_ask_others_for_what_is_closed_over() -> None:
    """Those that take no step are asked too; what is done with the answer is of the loop."""

    def within(x: Any) -> Any:
        step = lambda c: c + NAMESPACE(x).sqrt(x) * pmean(x * x, "lanes")
        return while_loop(lambda c: c < 3.0 * x, step, 0.2 * x, max_iter=SHORT)

    def before(x: Any) -> Any:
        mean = pmean(x * x, "lanes")
        return while_loop(lambda c: c < 3.0 * x, lambda c: c + NAMESPACE(x).sqrt(x) * mean, 0.2 * x, max_iter=SHORT)

    for change in (lambda f: vmap(f, axis_name="lanes"), lambda f: vmap(grad(f), axis_name="lanes")):
        for compiled in (lambda f: f, jit):
            found, expected = compiled(change(within))(X), compiled(change(before))(X)
            assert np.all(np.isfinite(found))
            np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize("name", ["vmap", "jit(vmap(grad))", "grad(vmap)"])
def test_graphs_are_taken_to_other_libraries(name: str) -> None:
    f = TRANSFORMED[name](of_closures_alone(while_loop, SHORT))
    graph = make_graph(f)(X, W)
    graph.check()
    expected = expected_of(name, of_closures_alone, SHORT)
    torch = library_of_name("torch")
    for ours, theirs in zip(graph.run(torch.asarray(X), torch.asarray(W)), expected, strict=True):
        torch.assert_equal(ours, theirs, rtol=1e-12)
    found = jax.jit(lambda x, w: graph.run(x, w))(jax.numpy.asarray(X), jax.numpy.asarray(W))
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
