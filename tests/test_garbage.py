"""No call of a transformation leaves a cycle of objects behind, which would keep arrays until garbage is collected."""

import gc
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import jax
import numpy as np
import pytest
import torch

from xpand import array_namespace
from xpand_extensions.autodiff import (
    checkpoint,
    custom_jvp,
    custom_root,
    custom_vjp,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linear_transpose,
    linearize,
    value_and_grad,
    vjp,
)
from xpand_extensions.control_flow import associative_scan, cond, fori_loop, scan, while_loop
from xpand_extensions.jit import eval_shape, jit
from xpand_extensions.linear_solve import solve
from xpand_extensions.optimize import least_squares, minimize, root
from xpand_extensions.vmap import vmap

pytestmark = pytest.mark.usefixtures("only_new_objects")

X = np.asarray([0.5, 1.0, 2.0])
A = np.asarray([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]])


def sin(x: Any) -> Any:
    """The sine of an array of any library."""
    return array_namespace(x).sin(x)


def total(x: Any) -> Any:
    """The sum of all elements."""
    return array_namespace(x).sum(x)


@custom_vjp
def reverse_rule(x: Any) -> Any:
    """The sine, with a rule."""
    return sin(x)


reverse_rule.defvjp(lambda x: (sin(x), x), lambda x, g: (g * array_namespace(x).cos(x),))


@custom_jvp
def forward_rule(x: Any) -> Any:
    """The sine, with a rule."""
    return sin(x)


forward_rule.defjvp(lambda xs, ts: (sin(xs[0]), ts[0] * array_namespace(xs[0], ts[0]).cos(xs[0])))


def rooted(x: Any) -> Any:
    """The square root, as the solution of an equation."""
    solve = lambda guess, x: array_namespace(x).sqrt(x)
    return custom_root(lambda z, x: z * z - x, x, solve=solve, args=(x,))


def bounded(x: Any) -> Any:
    """Three sines, one after the other."""
    return while_loop(lambda c: c[1] < 3, lambda c: (sin(c[0]), c[1] + 1), (x, 0), max_iter=5)[0]


def with_captured(y: Any, x: Any) -> Any:
    """An operation with a rule at `x`, whose functions capture `y`."""
    operation = custom_jvp(lambda z: sin(z) * y)
    operation.defjvp(lambda xs, ts: (sin(xs[0]) * y, ts[0] * array_namespace(xs[0]).cos(xs[0]) * y))
    return operation(x)


def with_first_set(x: Any) -> Any:
    """A copy whose first element is 3, set in place."""
    y = x * 1.0
    y[0] = 3.0
    return y


def failing(x: Any) -> Any:
    """Raise an error after a first operation."""
    raise ValueError(f"of shape {sin(x).shape}")


def fails(function: Callable[[Any], Any], x: Any) -> None:
    """Call a function that ends in the error of `failing`."""
    with suppress(ValueError):
        function(x)
        pytest.fail("no error")


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda x, a: grad(lambda x: total(sin(x)))(x),
    "grad, called twice": lambda x, a: [g := grad(lambda x: total(sin(x))), g(x), g(x)],
    "grad of a tree": lambda x, a: grad(lambda p: total(sin(p["x"])))({"x": x}),
    "grad of grad": lambda x, a: grad(lambda x: total(grad(lambda y: total(sin(y) * x))(x)))(x),
    "value_and_grad with aux": lambda x, a: value_and_grad(lambda x: (total(sin(x)), x), has_aux=True)(x),
    "jvp": lambda x, a: jvp(sin, (x,), (x,)),
    "vjp": lambda x, a: vjp(sin, x)[1](x),
    "jacfwd": lambda x, a: jacfwd(sin)(x),
    "jacrev": lambda x, a: jacrev(sin)(x),
    "hessian": lambda x, a: hessian(lambda x: total(sin(x)))(x),
    "linearize": lambda x, a: linearize(sin, x)[1](x),
    "linear_transpose": lambda x, a: linear_transpose(lambda y: 2 * y, x)(x),
    "checkpoint": lambda x, a: grad(lambda x: total(checkpoint(sin)(x)))(x),
    "custom_vjp": lambda x, a: grad(lambda x: total(reverse_rule(x)))(x),
    "custom_jvp": lambda x, a: grad(lambda x: total(forward_rule(x)))(x),
    "custom_jvp, with a captured lane": lambda x, a: vmap(lambda y: grad(lambda x: total(with_captured(y, x)))(x))(a),
    "a write in place": lambda x, a: grad(lambda x: total(sin(with_first_set(x))))(x),
    "an error": lambda x, a: fails(vmap(grad(failing)), a),
    "a rule, not differentiated": lambda x, a: forward_rule(x),
    "custom_root": lambda x, a: grad(lambda x: total(rooted(x)))(x),
    "vmap": lambda x, a: vmap(lambda y: sin(y))(a),
    "vmap of grad": lambda x, a: vmap(grad(lambda y: total(sin(y) * x)))(a),
    "scan": lambda x, a: grad(lambda x: total(scan(lambda c, _: (sin(c), None), x, None, length=3)[0]))(x),
    "fori_loop": lambda x, a: fori_loop(0, 3, lambda i, c: sin(c), x),
    "while_loop": lambda x, a: grad(lambda x: total(bounded(x)))(x),
    "while_loop of lanes": lambda x, a: vmap(grad(lambda x: total(bounded(x))))(a),
    "cond": lambda x, a: grad(lambda x: total(cond(x[0] > 0, sin, lambda y: y, x)))(x),
    "cond of lanes": lambda x, a: vmap(lambda y: cond(y[0] > 1, sin, lambda z: z, y))(a),
    "associative_scan": lambda x, a: associative_scan(lambda y, z: y * z, x),
    "solve": lambda x, a: grad(lambda x: total(solve(a, x, method="cg").x))(x),
    "solve, in the matrix": lambda x, a: grad(lambda a: total(solve(a, x, method="gmres").x))(a),
    "root": lambda x, a: grad(lambda x: total(root(lambda z: z * z - x, x + 1.0).x))(x),
    "minimize": lambda x, a: grad(lambda x: total(minimize(lambda z: total((z - x) ** 2), x + 1.0).x))(x),
    "least_squares": lambda x, a: least_squares(lambda z: z * z - x, x + 1.0),
    "eval_shape": lambda x, a: eval_shape(sin, x),
    "jit": lambda x, a: jit(lambda y: sin(y) * x)(x),
    "jit of grad": lambda x, a: jit(grad(lambda y: total(sin(y) * x)))(x),
    "jit of a loop": lambda x, a: jit(lambda y: fori_loop(0, 3, lambda i, c: sin(c) * x, y))(x),
    "jit of solve": lambda x, a: jit(lambda y: solve(a, y, method="cg").x)(x),
}
COMPILED = {"jit", "jit of grad", "jit of a loop", "jit of solve"}
ON_JAX = [  # where calls run functions of xpand's own, without loops, which JAX compiles anew
    *("grad", "grad of grad", "vjp", "jvp", "linearize", "linear_transpose", "checkpoint", "custom_vjp", "custom_jvp"),
    *("a rule, not differentiated", "custom_root", "vmap of grad", "scan", "cond", "an error", "jit", "jit of grad"),
]


@pytest.fixture
def garbage() -> Iterator[Callable[[Callable[[], Any]], list[Any]]]:
    """Find the objects that a call leaves to the garbage collector."""

    def left_by(call: Callable[[], Any]) -> list[Any]:
        gc.collect()
        gc.disable()
        call()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        gc.set_debug(0)
        return [x for x in gc.garbage if x is not left_by]

    yield left_by
    gc.set_debug(0)
    gc.garbage.clear()
    gc.enable()


@pytest.mark.parametrize("name", CALLS)
def test_on_numpy(name: str, garbage: Callable[[Callable[[], Any]], list[Any]]) -> None:
    CALLS[name](X, A)  # what is imported or looked up once
    assert not garbage(lambda: CALLS[name](X, A))


@pytest.mark.parametrize("name", [name for name in CALLS if name not in COMPILED])
def test_on_pytorch(name: str, garbage: Callable[[Callable[[], Any]], list[Any]]) -> None:
    """Its own functions leave some cycles, which hold no tensors."""
    x, a = torch.from_numpy(X), torch.from_numpy(A)
    CALLS[name](x, a)
    left = garbage(lambda: CALLS[name](x, a))
    assert not [each for each in left if isinstance(each, torch.Tensor) or type(each).__module__.startswith("xpand")]


@pytest.mark.parametrize("name", ON_JAX)
def test_on_jax(name: str, garbage: Callable[[Callable[[], Any]], list[Any]]) -> None:
    x, a = jax.numpy.asarray(X), jax.numpy.asarray(A)
    CALLS[name](x, a)
    left = garbage(lambda: CALLS[name](x, a))
    assert not [each for each in left if isinstance(each, jax.Array) or type(each).__module__.startswith("xpand")]
