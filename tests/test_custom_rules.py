"""Functions with rules for their derivatives: against JAX's own, under all nestings; what rules return; bad input."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.libraries import LIBRARIES, Library
from tests.test_derivatives import NAMESPACE, against_jax, total
from xpand import trees
from xpand_extensions.autodiff import custom_jvp, custom_vjp, grad, hessian, jacfwd, jacrev, jvp, value_and_grad, vjp
from xpand_extensions.vmap import vmap

X, Y = np.asarray([0.3, -0.7, 1.2]), np.asarray([1.5, 0.4, -0.2])


@pytest.fixture(params=LIBRARIES, ids=str)
def able(request: pytest.FixtureRequest) -> Library:
    return request.param


def forward_rule(decorator: Any) -> Any:
    """A function whose rule is not its derivative: so it is seen who asks for the rule, and who looks into it."""

    @decorator
    def f(x: Any, y: Any) -> Any:
        return NAMESPACE(x).sin(x) * y

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (x, y), (dx, dy) = primals, tangents
        xp = NAMESPACE(x)
        return xp.sin(x) * y, 2.0 * xp.cos(x) * dx * y + xp.sin(x) * dy

    return f


def reverse_rule(decorator: Any) -> Any:
    @decorator
    def f(x: Any, y: Any) -> Any:
        return NAMESPACE(x).sin(x) * y

    def forward(x: Any, y: Any) -> Any:
        xp = NAMESPACE(x)
        return xp.sin(x) * y, (xp.cos(x), {"sin": xp.sin(x), "none": None}, y)

    def backward(residuals: Any, g: Any) -> Any:
        cos, more, y = residuals
        return 3.0 * cos * g * y, more["sin"] * g

    f.defvjp(forward, backward)
    return f


def squares(f: Any) -> Any:
    return lambda x, y: total(f(x, y) ** 2.0)


class Ours:
    grad, hessian, jacrev, jacfwd, vmap = map(staticmethod, (grad, hessian, jacrev, jacfwd, vmap))


NESTINGS = {
    "value": lambda f, m: f,
    "grad": lambda f, m: m.grad(squares(f), (0, 1)),
    "grad-grad": lambda f, m: m.grad(lambda x, y: total(m.grad(squares(f))(x, y) ** 2.0), (0, 1)),
    "hessian": lambda f, m: m.hessian(squares(f)),
    "jacrev-jacrev": lambda f, m: m.jacrev(m.jacrev(squares(f), 1)),
    "vmap-grad": lambda f, m: m.vmap(m.grad(squares(f))),
    "grad-vmap": lambda f, m: m.grad(squares(m.vmap(f))),
    "hessian-vmap": lambda f, m: m.hessian(squares(m.vmap(f))),
    "grad-of-another": lambda f, m: m.grad(lambda x, y: total(m.grad(lambda z: total(z * f(x, y)))(y)), (0, 1)),
}
FORWARD = {
    "grad-vmap-over-one": lambda f, m: m.grad(squares(m.vmap(f, (0, None))), (0, 1)),
    "jacfwd": lambda f, m: m.jacfwd(f, 1),
    "jacfwd-jacfwd": lambda f, m: m.jacfwd(m.jacfwd(squares(f))),
    "jacrev-jacfwd": lambda f, m: m.jacrev(m.jacfwd(squares(f))),
}


@pytest.mark.parametrize("nesting", [*NESTINGS, *FORWARD])
def test_nestings_of_forward_rules(able: Library, nesting: str) -> None:
    import jax

    make = {**NESTINGS, **FORWARD}[nesting]
    against_jax(able, make(forward_rule(custom_jvp), Ours), make(forward_rule(jax.custom_jvp), jax), X, Y)


@pytest.mark.parametrize("nesting", NESTINGS)
def test_nestings_of_reverse_rules(able: Library, nesting: str) -> None:
    import jax

    make = NESTINGS[nesting]
    against_jax(able, make(reverse_rule(custom_vjp), Ours), make(reverse_rule(jax.custom_vjp), jax), X, Y)


def test_rules_for_each_argument(able: Library) -> None:
    @custom_jvp
    def f(x: Any, y: Any, z: Any) -> Any:
        return x * y * z

    f.defjvps(lambda t, out, x, y, z: 10.0 * t * y * z, None, lambda t, out, x, y, z: t * x * y)
    x, y, z = able.asarray(X), able.asarray(Y), able.asarray(2.0)
    found = grad(lambda *args: total(f(*args)), (0, 1, 2))(x, y, z)
    for got, expected in zip(found, (20 * Y, 0 * Y, (X * Y).sum())):
        able.assert_equal(got, expected, rtol=1e-14)
    f.defjvps(None, None, None)
    able.assert_equal(jvp(f, (x, y, z), (x, y, z))[1], 0 * X)


def test_trees_integers_and_arguments_of_any_kind(able: Library) -> None:
    as_float = lambda n: NAMESPACE(n).astype(n, able.xp.float64)

    @partial(custom_jvp, nondiff_argnums=(0, -1))
    def f(apply: Any, tree: Any, text: str) -> Any:
        return {"out": apply(tree["x"]) * as_float(tree["n"]), "n": tree["n"], "none": None}

    @f.defjvp
    def rule(apply: Any, text: str, primals: Any, tangents: Any) -> Any:
        assert text == "kept"
        (tree,), (tangent,) = primals, tangents
        assert not able.xp.isdtype(tangent["n"].dtype, "real floating")
        out = {"out": apply(tree["x"]) * as_float(tree["n"]), "n": tree["n"], "none": None}
        return out, {"out": 5.0 * tangent["x"] * as_float(tree["n"]), "n": tangent["n"], "none": None}

    n = able.xp.astype(able.asarray(3), able.xp.int32)
    call = lambda x: f(NAMESPACE(x).exp, {"x": x, "n": able.xp.astype(n, able.xp.int32)}, text="kept")
    tree = call(able.asarray(X))
    able.assert_equal(tree["out"], 3 * np.exp(X), rtol=1e-14)
    assert tree["none"] is None
    able.assert_equal(grad(lambda x: total(call(x)["out"]))(able.asarray(X)), np.full(3, 15.0))
    able.assert_equal(jvp(call, (able.asarray(X),), (able.asarray(X),))[1]["out"], 15 * X, rtol=1e-14)


def test_reverse_rules_of_trees(able: Library) -> None:
    @partial(custom_vjp, nondiff_argnums=(1,))
    def f(tree: Any, scale: float, y: Any) -> Any:
        return tree["x"] * y, tree["n"]

    def forward(tree: Any, scale: float, y: Any) -> Any:
        return f(tree, scale, y), (tree, y, "text")

    def backward(scale: float, residuals: Any, g: Any) -> Any:
        _, y, text = residuals
        assert text == "text"
        return {"x": scale * g[0] * y, "n": None}, None

    f.defvjp(forward, backward)
    n = able.asarray(np.asarray([1, 2, 3]))
    found = grad(lambda x, y: total(f({"x": x, "n": n}, 7.0, y)[0]), (0, 1))(able.asarray(X), able.asarray(Y))
    able.assert_equal(found[0], 7 * Y, rtol=1e-14)
    able.assert_equal(found[1], 0 * Y)
    with pytest.raises(TypeError, match=r"forward.mode"):
        jvp(lambda x: f({"x": x, "n": n}, 7.0, x)[0], (able.asarray(X),), (able.asarray(X),))


@pytest.mark.parametrize("make", [forward_rule, reverse_rule])
def test_complex_numbers_follow_jax(able: Library, make: Any) -> None:
    import jax

    ours, theirs = (custom_jvp, jax.custom_jvp) if make is forward_rule else (custom_vjp, jax.custom_vjp)
    real = lambda f: lambda x, y: total(NAMESPACE(x).real(f(x, y) * (1.0 + 2.0j)))
    z, w = X + 1j * Y, Y - 0.5j
    against_jax(able, grad(real(make(ours)), (0, 1)), jax.grad(real(make(theirs)), (0, 1)), z, w)


def test_pytorchs_own_derivatives_and_compiler() -> None:
    import torch

    x, y = (torch.asarray(each) for each in (X, Y))
    for f in (forward_rule(custom_jvp), reverse_rule(custom_vjp)):
        expected = grad(squares(f))(x, y)
        leaf = x.clone().requires_grad_()
        (found,) = torch.autograd.grad(squares(f)(leaf, y), leaf, create_graph=True)
        torch.testing.assert_close(found, expected)
        assert torch.autograd.grad(found.sum(), leaf)[0].isfinite().all()
        torch.compiler.reset()
        compiled = torch.compile(squares(f), fullgraph=True, backend="eager")
        (found,) = torch.autograd.grad(compiled(leaf, y), leaf)
        torch.testing.assert_close(found, expected)


pytestmark = pytest.mark.filterwarnings(
    # Of PyTorch's compiler, by the compiler itself.
    "ignore:<class 'torch.autograd.function.Function'> should not be instantiated:DeprecationWarning"
)


def test_functions_without_a_rule(able: Library) -> None:
    with pytest.raises(AttributeError, match="custom_jvp: <lambda> has no rule yet.*defjvp"):
        custom_jvp(lambda x: x)(able.asarray(X))
    with pytest.raises(AttributeError, match="custom_vjp: <lambda> has no rule yet.*defvjp"):
        custom_vjp(lambda x: x)(able.asarray(X))


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda x, t: x, r"must return a pair \(output, tangent\)"),
        (lambda x, t: (x, (t, t)), "the tangent must have the structure"),
        (lambda x, t: (x, t[:2]), r"the tangent, leaf 0, must have the shape \(3,\), got \(2,\)"),
        (
            lambda x, t: (x, NAMESPACE(x).astype(t, NAMESPACE(x).float32)),
            "must have the data type.*float64, got.*float32",
        ),
        (lambda x, t: (x, "text"), "the tangent, leaf 0, is str"),
    ],
)
def test_wrong_forward_rules(able: Library, result: Any, message: str) -> None:
    f = custom_jvp(lambda x: x * 1.0)
    f.defjvp(lambda primals, tangents: result(primals[0], tangents[0]))
    for _ in range(3):
        with pytest.raises(TypeError, match=f"custom_jvp: the rule of <lambda>.*{message}"):
            jvp(f, (able.asarray(X),), (able.asarray(X),))
    f.defjvp(lambda primals, tangents: (primals[0] * 1.0, tangents[0] * 2.0))
    able.assert_equal(jvp(f, (able.asarray(X),), (able.asarray(X),))[1], 2 * X)


@pytest.mark.parametrize(
    ("forward", "backward", "message"),
    [
        (lambda x: x, lambda residuals, g: (g,), r"forward must return a pair"),
        (lambda x: (x, None), lambda residuals, g: g, "must return a tuple of 1, one for each argument"),
        (lambda x: (x, None), lambda residuals, g: (g, g), "must return a tuple of 1.*got tuple of 2"),
        (lambda x: (x, None), lambda residuals, g: ((g, g),), "must (return|have) the structure"),
        (lambda x: (x, None), lambda residuals, g: (g[:2],), r"must have the shape \(3,\), got \(2,\)"),
        (lambda x: (x, None), lambda residuals, g: (NAMESPACE(g).astype(g, NAMESPACE(g).float32),), "data type"),
    ],
)
def test_wrong_reverse_rules(able: Library, forward: Any, backward: Any, message: str) -> None:
    f = custom_vjp(lambda x: x * 1.0)
    f.defvjp(forward, backward)
    for _ in range(3):
        with pytest.raises(TypeError, match=f"custom_vjp: the rule of <lambda>.*{message}"):
            grad(lambda x: total(f(x)))(able.asarray(X))
    f.defvjp(lambda x: (x * 1.0, None), lambda residuals, g: (g * 2.0,))
    able.assert_equal(grad(lambda x: total(f(x)))(able.asarray(X)), np.full(3, 2.0))


def test_arguments_that_are_left_out_are_given_to_the_rule(able: Library) -> None:
    x = able.asarray(X)
    f = custom_jvp(lambda x, y=3.0, n=2: x * y * n, nondiff_argnums=(2,))
    f.defjvp(lambda n, primals, tangents: (f(*primals, n), tangents[0] * primals[1] * n))
    g = custom_vjp(lambda x, y=3.0: x * y)
    g.defvjp(lambda x, y: (g(x, y), y), lambda y, ct: (ct * y, None))
    for factor, call in (
        (6.0, f),
        (8.0, lambda x: f(x, 4.0)),
        (9.0, lambda x: f(x, n=3)),
        (3.0, g),
        (5.0, lambda x: g(x, y=5.0)),
    ):
        able.assert_equal(call(x), factor * X, rtol=1e-15)
        able.assert_equal(grad(lambda x, call=call: total(call(x)))(x), np.full(3, factor))


def test_bad_input(able: Library) -> None:
    x = able.asarray(X)
    with pytest.raises(TypeError, match="custom_jvp: takes a function, got int"):
        custom_jvp(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="custom_vjp: nondiff_argnums must be an integer"):
        custom_vjp(lambda x: x, nondiff_argnums=("x",))  # type: ignore[arg-type]
    f = custom_jvp(lambda x, *, y=1.0: x)
    with pytest.raises(TypeError, match="defjvp: takes a function, got NoneType|defjvp: takes a function, got None"):
        f.defjvp(None)  # type: ignore[arg-type]
    f.defjvps(lambda t, out, x: t)
    with pytest.raises(TypeError, match=r"custom_jvp: keyword-only arguments.*\['y'\]"):
        f(x, y=x)
    with pytest.raises(TypeError, match="custom_jvp: the arguments hold str"):
        f("text")
    g = custom_jvp(lambda x, y: x)
    g.defjvps(lambda t, out, x: t)
    with pytest.raises(TypeError, match="defjvps: got 1 rules for a function called with 2 arguments"):
        jvp(g, (x, x), (x, x))
    h = custom_jvp(lambda x: x, nondiff_argnums=(2,))
    h.defjvp(lambda *args: args)
    with pytest.raises(ValueError, match="custom_jvp: nondiff_argnums names argument 2"):
        h(x)
    with pytest.raises(TypeError, match="defjvps: can't be used with nondiff_argnums"):
        h.defjvps(None)


def test_value_and_pullback(able: Library) -> None:
    f = reverse_rule(custom_vjp)
    x, y = able.asarray(X), able.asarray(Y)
    value, pullback = vjp(f, x, y)
    able.assert_equal(value, np.sin(X) * Y, rtol=1e-14)
    able.assert_equal(pullback(y)[1], np.sin(X) * Y, rtol=1e-14)
    value, found = value_and_grad(squares(f))(x, y)
    able.assert_equal(found, 6 * np.cos(X) * np.sin(X) * Y**2, rtol=1e-12)
    assert trees.structure(found) == trees.structure(x)
