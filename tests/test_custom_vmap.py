"""Functions with their own rules for batches: which rule is called, with what, and what the results are."""

from typing import Any

import numpy as np
import pytest

from tests.libraries import LIBRARIES, Library
from tests.test_derivatives import NAMESPACE, total
from xpand_extensions.autodiff import custom_vjp, grad, jvp
from xpand_extensions.jit import jit
from xpand_extensions.vmap import custom_vmap, sequential_vmap, vmap

X, Y = np.asarray([0.3, -0.7, 1.2]), np.asarray([1.5, 0.4, -0.2])


@pytest.fixture(params=LIBRARIES, ids=str)
def able(request: pytest.FixtureRequest) -> Library:
    return request.param


def marked() -> tuple[Any, list[Any]]:
    """Make a function that adds, whose rule subtracts instead, and the list of what the rule is called with."""
    calls: list[Any] = []

    @custom_vmap
    def f(x: Any, y: Any) -> Any:
        return {"sum": x + y["y"], "y": y["y"] * 1.0}

    @f.def_vmap
    def rule(axis_size: int, in_batched: Any, x: Any, y: Any) -> Any:
        calls.append((axis_size, in_batched, tuple(x.shape), tuple(y["y"].shape)))
        return {"sum": x - y["y"], "y": y["y"] * 1.0}, {"sum": True, "y": in_batched[1]["y"]}

    return f, calls


def test_vmap_calls_the_rule(able: Library) -> None:
    f, calls = marked()
    x, y = able.asarray(X), able.asarray(Y)
    able.assert_equal(f(x, {"y": y})["sum"], X + Y)
    assert calls == []
    found = vmap(f)(x, {"y": y})
    able.assert_equal(found["sum"], X - Y)
    able.assert_equal(found["y"], Y)
    found = vmap(f, in_axes=(0, None))(x, {"y": y[0]})
    able.assert_equal(found["sum"], X - Y[0])
    able.assert_equal(found["y"], np.full(3, Y[0]))
    assert [(size, tuple(b)) for size, b, *_ in calls] == [(3, (True, {"y": True})), (3, (True, {"y": False}))]
    assert calls[0][2:] == ((3,), (3,))
    assert calls[1][2:] == ((3,), ())
    able.assert_equal(vmap(lambda y, x: f(x=x, y=y))({"y": y}, x)["sum"], X - Y)


def test_within_other_transformations(able: Library) -> None:
    f, _ = marked()
    x, y = able.asarray([X, 2 * X]), able.asarray([Y, Y])
    # The rule for the inner axis, whose operations the outer one maps.
    able.assert_equal(vmap(vmap(f))(x, {"y": y})["sum"], np.asarray([X - Y, 2 * X - Y]))
    g = lambda x, y: f(x, {"y": y})["sum"]
    able.assert_equal(jvp(vmap(g, (0, None)), (x[0, :], y[0, 0]), (x[1, :], y[0, 0]))[1], 2 * X - Y[0])
    if "torch" not in able.id:
        able.assert_equal(jvp(g, (x[0, :], y[0, :]), (y[0, :], x[0, :]))[1], X + Y)
    if able.id != "jax":
        with pytest.raises(TypeError, match="has no derivative inside the map"):
            vmap(lambda x, y: jvp(g, (x, y), (x, y))[1])(x[0, :], y[0, :])
        return
    able.assert_equal(vmap(lambda x, y: jvp(g, (x, y), (x, y))[1])(x[0, :], y[0, :]), X - Y)
    able.assert_equal(vmap(lambda x: jvp(lambda x: g(x, y[0, 0]), (x,), (x,))[1])(x[0, :]), X)


def test_compiled(able: Library) -> None:
    f, _ = marked()
    x, y = able.asarray(X), able.asarray(Y)
    g = lambda x, y: f(x, {"y": y})["sum"]
    able.assert_equal(jit(vmap(g))(x, y), X - Y)
    if "torch" not in able.id:  # what PyTorch compiles, its vmap doesn't trace
        able.assert_equal(vmap(jit(g))(x, y), X - Y)
        able.assert_equal(jit(g)(x, y), X + Y)


def test_a_rule_may_call_the_function(able: Library) -> None:
    @custom_vmap
    def f(x: Any) -> Any:
        return 2.0 * x

    f.def_vmap(lambda size, in_batched, x: (f(x) + size, True))
    able.assert_equal(vmap(f)(able.asarray(X)), 2 * X + 3)
    able.assert_equal(vmap(vmap(f))(able.asarray([X, X])), np.asarray([2 * X + 5, 2 * X + 5]))


def test_reverse_mode_asks_for_a_rule(able: Library) -> None:
    f = custom_vmap(lambda x: NAMESPACE(x).sin(x))
    f.def_vmap(lambda size, in_batched, x: (NAMESPACE(x).sin(x) + 10.0, True))
    x = able.asarray(X)
    with pytest.raises((TypeError, ValueError), match="reverse"):
        grad(lambda x: total(f(x)))(x)
    g = custom_vjp(f)
    g.defvjp(lambda x: (f(x), NAMESPACE(x).cos(x)), lambda cos, ct: (cos * ct,))
    able.assert_equal(vmap(g)(x), np.sin(X) + 10)
    able.assert_equal(grad(lambda x: total(vmap(g)(x)))(x), np.cos(X), rtol=1e-14)
    able.assert_equal(vmap(grad(g))(x), np.cos(X), rtol=1e-14)


def test_one_after_another(able: Library) -> None:
    shapes: list[Any] = []

    @sequential_vmap
    def f(x: Any, y: Any) -> Any:
        shapes.append((tuple(x.shape), tuple(y.shape)))
        return (NAMESPACE(x).sin(x) * y, x)

    x, y = able.asarray([X, 2 * X]), able.asarray(Y)
    product, same = vmap(f, in_axes=(0, None))(x, y)
    able.assert_equal(product, np.sin([X, 2 * X]) * Y, rtol=1e-14)
    able.assert_equal(same, np.asarray([X, 2 * X]))
    assert set(shapes) == {((3,), (3,))}
    able.assert_equal(f(x[0, :], y)[0], np.sin(X) * Y, rtol=1e-14)


def test_bad_input(able: Library) -> None:
    x = able.asarray(X)
    for make in (custom_vmap, sequential_vmap):
        with pytest.raises(TypeError, match=f"{make.__name__}: takes a function, got int"):
            make(3)
    f = custom_vmap(lambda x: x)
    with pytest.raises(AttributeError, match="custom_vmap: <lambda> has no rule yet"):
        f(x)
    with pytest.raises(TypeError, match="def_vmap: takes a function"):
        f.def_vmap(3)
    for found, error, match in (
        (lambda x: x, TypeError, "must return a pair"),
        (lambda x: (x, (True, True)), TypeError, "a boolean for each array"),
        (lambda x: (x, 1), TypeError, "a boolean for each array"),
        (lambda x: (x[:2], True), ValueError, "mapped axis first, of size 3"),
        (lambda x: ("text", True), TypeError, "neither an array nor a number"),
    ):
        f.def_vmap(lambda size, in_batched, x, found=found: found(x))
        with pytest.raises(error, match=match):
            vmap(f)(x)
    f.def_vmap(lambda size, in_batched, x: (x, True))
    with pytest.raises(TypeError, match="the arguments"):
        f("text")

    @custom_vmap
    def g(*, x: Any) -> Any:
        return x

    g.def_vmap(lambda size, in_batched, x: (x, True))
    with pytest.raises(TypeError, match=r"keyword-only arguments can't be mapped, got \['x'\]"):
        g(x=x)
