"""Functions that return their rule, arguments of rules by name, and functions without what they close over."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.libraries import LIBRARIES, Library
from tests.test_derivatives import NAMESPACE, total
from xpand_extensions.autodiff import closure_convert, custom_gradient, custom_jvp, custom_vjp, grad, jvp
from xpand_extensions.jit import jit
from xpand_extensions.vmap import vmap

X, Y = np.asarray([0.3, -0.7, 1.2]), np.asarray([1.5, 0.4, -0.2])


@pytest.fixture(params=LIBRARIES, ids=str)
def able(request: pytest.FixtureRequest) -> Library:
    return request.param


@custom_gradient
def product(x: Any, y: Any) -> Any:
    z = x * y["y"]
    return {"z": z}, lambda g: (g["z"] * z, {"y": 3.0 * g["z"]})


def test_the_rule_that_a_function_returns(able: Library) -> None:
    x, y = able.asarray(X), {"y": able.asarray(Y)}
    able.assert_equal(product(x, y)["z"], X * Y)
    f = lambda x, y: total(product(x, y)["z"])
    for transform in (grad, *(() if "torch" in able.id else (lambda f, n: jit(grad(f, n)),))):
        by_x, by_y = transform(f, (0, 1))(x, y)
        able.assert_equal(by_x, X * Y)
        able.assert_equal(by_y["y"], np.full(3, 3.0))
    able.assert_equal(vmap(grad(lambda x, y: product(x, y)["z"]))(x, y), X * Y)
    # The outer derivative looks into the rule.
    able.assert_equal(grad(lambda x: total(grad(f)(x, y)))(x), Y)
    one = custom_gradient(lambda x: (x**2.0, lambda g: g * x))
    able.assert_equal(grad(lambda x: total(one(x)))(x), X)


def test_bad_rules(able: Library) -> None:
    x = able.asarray(X)
    with pytest.raises(TypeError, match="custom_gradient: takes a function, got int"):
        custom_gradient(3)
    with pytest.raises(TypeError, match=r"custom_gradient: <lambda> must return a pair \(output, its rule\)"):
        custom_gradient(lambda x: x)(x)
    with pytest.raises(TypeError, match="the rule that .* returns must be a function"):
        custom_gradient(lambda x: (x, x))(x)
    with pytest.raises(TypeError, match="must return a tuple of 1"):
        grad(lambda x: total(custom_gradient(lambda x: (x, lambda g: (g, g)))(x)))(x)


def test_arguments_that_are_not_differentiated_by_name(able: Library) -> None:
    x = able.asarray(X)

    @partial(custom_vjp, nondiff_argnames=("f", "n"))
    def applied(n: int, x: Any, f: Any) -> Any:
        return f(x) ** n

    applied.defvjp(lambda n, x, f: (f(x) ** n, x), lambda n, f, x, g: (g * n * f(x),))
    able.assert_equal(grad(lambda x: total(applied(2, x, lambda x: 3.0 * x)))(x), 6 * X)
    able.assert_equal(grad(lambda x: total(applied(x=x, f=lambda x: 3.0 * x, n=2)))(x), 6 * X)

    forward = custom_jvp(lambda x, f: f(x), nondiff_argnames="f")
    forward.defjvp(lambda f, primals, tangents: (f(primals[0]), 5.0 * tangents[0]))
    able.assert_equal(jvp(lambda x: forward(x, lambda x: x), (x,), (x,))[1], 5 * X)
    for make in (custom_jvp, custom_vjp):
        with pytest.raises(ValueError, match=f"{make.__name__}: nondiff_argnames names 'g', and .* arguments x, f"):
            make(lambda x, f: x, nondiff_argnames=("g",))


def test_what_a_function_closes_over_becomes_its_arguments(able: Library) -> None:
    other = able.asarray(Y)

    def f(x: Any, counts: list[int]) -> Any:
        scaled, captured = closure_convert(lambda z: {"z": NAMESPACE(x, z).sin(x) * z * other}, x)
        counts.append(len(captured))
        # An argument like others: of zeros nothing comes.
        return total(scaled(x, *captured)["z"]) + 7.0 * total(scaled(x, *[0.0 * each for each in captured])["z"])

    counts: list[int] = []
    x = able.asarray(X)
    able.assert_equal(jvp(lambda x: f(x, counts), (x,), (x,))[0], np.sum(np.sin(X) * X * Y), rtol=1e-14)
    able.assert_equal(grad(lambda x: total(g_of(x, x)))(x), 4 * X, rtol=1e-14)
    assert counts == [1]
    again, captured = closure_convert(lambda z: 2.0 * z, x)
    assert captured == []
    able.assert_equal(again(x), 2 * X)
    able.assert_equal(grad(lambda a: total(vmap(lambda x: g_of(a, x))(x)))(able.asarray(2.0)), X.sum() * 2, rtol=1e-14)


def test_functions_without_arguments_are_converted(able: Library) -> None:
    x = able.asarray(X)

    def f(x: Any) -> Any:
        found, captured = closure_convert(lambda: {"square": x * x})
        same, more = closure_convert(lambda: x)
        return total(found(*captured)["square"]) + total(same(*[3.0 * each for each in more]))

    able.assert_equal(grad(f)(x), 2 * X + 3.0, rtol=1e-14)
    function, captured = closure_convert(lambda: 3.0)
    assert (function(), captured) == (3.0, [])


def g_of(a: Any, x: Any) -> Any:
    converted, captured = closure_convert(lambda z: a * z, x)
    return converted(2.0 * x, *captured)


def test_bad_calls_of_what_is_converted(able: Library) -> None:
    x = able.asarray(X)
    with pytest.raises(TypeError, match="closure_convert: takes a function, got int"):
        closure_convert(3, x)
    converted, _ = closure_convert(lambda x: x, x)
    for args in ((), (x, x), ((x,),)):
        with pytest.raises(
            TypeError, match="closure_convert: takes 1 arguments like the example_args and the 0 arrays"
        ):
            converted(*args)
