"""A test for each row of docs/coverage/jax.toml: one function with JAX's transformations and with ours, compared."""

from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests import coverage_devices
from tests.coverage import POSITIVE, STANDARD, A, Row, check_name, check_row, table, unfinished
from tests.libraries import Library
from xpand import trees
from xpand_extensions import autodiff, jit, vmap

TABLE = table("jax")

xp = STANDARD

OURS = SimpleNamespace(
    **{name: getattr(module, name) for module in (autodiff, jit, vmap) for name in module.__all__},
)
THEIRS = SimpleNamespace(**vars(jax) | {"vectorize": jnp.vectorize, "psum": jax.lax.psum})
X = np.asarray([0.5, -1.25, 2.0])
Y = np.asarray([1.5, 0.75, -0.5])


def compared(row: Callable[..., Any], *arrays: np.ndarray) -> Row:
    """Make the row of a function of the transformations and arrays; its results must be those on JAX."""

    def check(library: Library) -> None:
        import_module("xpand.jax")  # JAX's `jit` would trace a function again that has imported it while it was traced
        expected = row(THEIRS, *map(jnp.asarray, arrays))
        found = row(OURS, *map(library.asarray, arrays))
        assert str(trees.structure(found)) == str(trees.structure(expected))
        assert trees.leaves(expected)
        for x, y in zip(trees.leaves(found), trees.leaves(expected)):
            library.assert_equal(x, y, rtol=1e-12, atol=1e-14)

    return check


def number(x: Any, y: Any) -> Any:
    return xp.sum(xp.sin(x) * y**2) + x[0] * y[1]


def several(x: Any, y: Any) -> Any:
    return {"product": xp.sin(x) * y, "scaled": xp.exp(x[0]) * y[:2]}


# Compilation


def compiled(t: Any, x: Any) -> Any:
    calls = []

    def scaled(x: Any, times: int) -> Any:
        calls.append(times)
        return {"scaled": xp.exp(-x) * times}

    fast = t.jit(scaled, static_argnums=1)
    results = [fast(x, 2), fast(x + 1.0, 2), fast(x, 3)]
    assert calls == [2, 3]
    return results


def not_compiled(t: Any, x: Any) -> Any:
    values = []

    def shown(x: Any) -> Any:
        values.append(float(xp.sum(x)))
        return 2.0 * x

    with t.disable_jit():
        result = t.jit(shown)(x)
    assert values == [float(np.sum(X))]
    return result


def as_text(library: Library) -> None:
    f = lambda x: xp.sin(xp.cos(x))
    for lowered in (jit.lower(f)(library.asarray(X)), jit.jit(f).lower(jit.ShapeDtype((3,), library.xp.float64))):
        text = lowered.as_text()
        # StableHLO spells them out.
        assert all(name in text.replace("sine", "sin") for name in ("cos", "sin"))
    if library.id == "jax":
        x = jnp.asarray(X)
        assert jit.lower(f)(x).as_text() == jax.jit(f).lower(x).as_text()


def graph(library: Library) -> None:
    f = lambda x: xp.sin(xp.cos(x))
    x = library.asarray(X)
    found = str(jit.make_graph(f)(x))
    assert 0 <= found.index("cos") < found.index("sin")
    gradient = str(jit.make_graph(autodiff.grad(lambda x: f(x)[0]))(x))
    assert len(gradient.splitlines()) > len(found.splitlines())
    if library.id == "jax":
        assert found == str(jax.make_jaxpr(f)(x))


def shapes(library: Library) -> None:
    stands = lambda xp, *shape: SimpleNamespace(shape=shape, dtype=xp.float32)
    f = lambda a, b: {"product": xp.matmul(a, b), "positive": xp.sum(b, axis=0) > 0}
    found = jit.eval_shape(f, stands(library.xp, 2000, 3000), stands(library.xp, 3000, 1000))
    expected = jax.eval_shape(f, stands(jnp, 2000, 3000), stands(jnp, 3000, 1000))
    assert {name: each.shape for name, each in found.items()} == {name: x.shape for name, x in expected.items()}
    assert (found["product"].dtype, found["positive"].dtype) == (library.xp.float32, library.xp.bool)


def named(t: Any, x: Any) -> Any:
    square = t.named_call(lambda x: x * x, name="square")
    return square(x), t.grad(lambda x: xp.sum(square(x)))(x), t.jit(square)(x)


# Derivatives


def gradients(t: Any, x: Any, y: Any) -> Any:
    with_aux = lambda state: (number(state["x"], state["y"]), xp.cos(state["x"]))
    return (
        t.grad(number)(x, y),
        t.grad(number, argnums=(0, 1))(x, y),
        t.grad(with_aux, has_aux=True)({"x": x, "y": y}),
        t.grad(lambda z: xp.sum(z**3), holomorphic=True)(xp.sum(x) + 1j * y),
        t.grad(t.grad(lambda x: xp.sin(x) ** 2))(x[0]),
    )


def values_and_gradients(t: Any, x: Any, y: Any) -> Any:
    return (
        t.value_and_grad(number, argnums=1)(x, y),
        t.value_and_grad(lambda x: (number(x, y), {"aux": x + y}), has_aux=True)(x),
        t.jit(t.value_and_grad(number))(x, y),
    )


def jacobians(name: str) -> Callable[..., Any]:
    def row(t: Any, x: Any, y: Any) -> Any:
        transform = getattr(t, name)
        return transform(several)(x, y), transform(several, argnums=(0, 1))(x, y)

    return row


def hessians(t: Any, x: Any, y: Any) -> Any:
    f = lambda state: number(state["x"], state["y"])
    return t.hessian(f)({"x": x, "y": y}), t.hessian(number, argnums=(0, 1))(x, y)


def along(t: Any, x: Any, y: Any) -> Any:
    return t.jvp(several, (x, y), (y, x)), t.jvp(lambda x: (x**3, x + y), (x,), (y,), has_aux=True)


def linearized(t: Any, x: Any, y: Any) -> Any:
    value, derivative = t.linearize(several, x, y)
    return value, derivative(y, x), derivative(x, y)


def linear_transposed(t: Any, x: Any, y: Any) -> Any:
    f = lambda x, y: (2.0 * x - 0.5 * y, x[::2])
    stands = SimpleNamespace(shape=(3,), dtype=np.dtype("float64"))
    return t.linear_transpose(f, x, y)((y, x[:2])), t.linear_transpose(f, stands, stands)((x, y[1:]))


def pulled_back(t: Any, x: Any, y: Any) -> Any:
    value, pull = t.vjp(several, x, y)
    _, of_sum, aux = t.vjp(lambda x: (xp.sum(x * y), xp.exp(x)), x, has_aux=True)
    return value, pull({"product": y, "scaled": x[1:]}), of_sum(x[0]), aux


# Rules of one's own


def forward_rule(t: Any, x: Any, y: Any) -> Any:
    @t.custom_jvp
    def f(x: Any, y: Any) -> Any:
        return xp.sin(x) * y

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:  # a multiple of the derivative, so that it is seen to be used
        (x, y), (dx, dy) = primals, tangents
        return f(x, y), 3.0 * xp.cos(x) * dx * y + xp.sin(x) * dy

    summed = lambda x, y: xp.sum(f(x, y))
    return (
        f(x, y),
        t.jvp(f, (x, y), (y, x)),
        t.grad(summed, argnums=(0, 1))(x, y),
        t.jit(t.grad(summed))(x, y),
        t.vmap(t.grad(f))(x, y),
        t.jacfwd(t.grad(summed))(x, y),
    )


def forward_rules(t: Any, x: Any, y: Any) -> Any:
    @t.custom_jvp
    def f(x: Any, y: Any) -> Any:
        return xp.sin(x) * y

    f.defjvps(lambda dx, output, x, y: 3.0 * xp.cos(x) * dx * y, lambda dy, output, x, y: output / y * dy)
    return t.jvp(f, (x, y), (y, x)), t.grad(lambda x, y: xp.sum(f(x, y)), argnums=(0, 1))(x, y)


def reverse_rule(t: Any, x: Any, y: Any) -> Any:
    @t.custom_vjp
    def f(x: Any, y: Any) -> Any:
        return xp.sin(x) * y

    def forward(x: Any, y: Any) -> Any:
        return f(x, y), (xp.cos(x), xp.sin(x), y)

    def backward(residuals: Any, g: Any) -> Any:
        cos_x, sin_x, y = residuals
        return 3.0 * cos_x * g * y, sin_x * g

    f.defvjp(forward, backward)
    summed = lambda x, y: xp.sum(f(x, y))
    return (
        f(x, y),
        t.grad(summed, argnums=(0, 1))(x, y),
        t.jit(t.grad(summed))(x, y),
        t.vmap(t.grad(f))(x, y),
        t.jacrev(t.grad(summed))(x, y),
    )


def recomputed(t: Any, x: Any) -> Any:
    inner = t.checkpoint(lambda x: xp.sin(xp.sin(x)))
    f = t.checkpoint(lambda x: xp.sum(inner(x) ** 2))
    return f(x), t.grad(f)(x), t.jit(t.grad(f))(x), t.hessian(f)(x)


# Mapping


def mapped(t: Any, a: Any, b: Any) -> Any:
    dot = lambda x, y: xp.sum(x * y)
    product = t.vmap(t.vmap(dot, (0, None), 0), (None, 1), 1)
    of_tree = t.vmap(lambda tree, x: tree["a"] + tree["b"] * x, in_axes=({"a": None, "b": 1}, None))
    unlike = t.vmap(lambda x, y: (x + y, y * 2.0), in_axes=(0, None), out_axes=(-1, None))
    return (
        product(a, b.T),
        of_tree({"a": a[:, 0], "b": b}, a[0, 0]),
        unlike(a, b[0, ...]),
        t.vmap(t.grad(lambda x: xp.sum(xp.sin(x))))(a),
        t.jit(t.vmap(lambda x: x, axis_size=2, in_axes=None, out_axes=1))(a),
    )


def over_devices(t: Any, a: Any) -> Any:
    mapped = t.pmap(
        lambda x, y: {"sum": t.psum(x, "i") * y, "y": y}, "i", in_axes=(1, None), out_axes={"sum": 0, "y": None}
    )
    scaled = t.pmap(lambda n, x: x**n, static_broadcasted_argnums=0)
    with pytest.raises(ValueError):  # noqa: PT011  (more replicas than devices: JAX's words, and ours)
        scaled(2, xp.concat([a] * 9))
    return mapped(a.T, a[0, ...]), scaled(3, a), t.grad(lambda x: xp.sum(scaled(2, x)))(a)


def vectorized(t: Any, a: Any, b: Any) -> Any:
    product = t.vectorize(lambda matrix, vector: xp.sum(matrix * vector, axis=-1), signature="(n,m),(m)->(n)")
    scaled = t.vectorize(lambda x, name: xp.sin(x) if name == "sin" else x, excluded={1})
    return product(a, b), product(xp.stack([a, b]), b[0, ...]), scaled(a, "sin")


def summed(t: Any, a: Any) -> Any:
    normalized = t.vmap(lambda x: x / t.psum(x, "i"), axis_name="i")
    of_both = t.vmap(t.vmap(lambda x: x / t.psum(x, ("i", "j")), axis_name="j"), axis_name="i")
    size = t.vmap(lambda x: x * t.psum(1, "i"), axis_name="i")
    return normalized(a), of_both(a), size(a), t.grad(lambda x: xp.sum(normalized(x) ** 2))(a)


CASES: dict[str, Row] = {
    "jit": compared(compiled, X),
    "disable_jit": compared(not_compiled, X),
    "xla_computation": as_text,
    "make_jaxpr": graph,
    "eval_shape": shapes,
    "named_call": compared(named, X),
    "grad": compared(gradients, X, Y),
    "value_and_grad": compared(values_and_gradients, X, Y),
    "jacfwd": compared(jacobians("jacfwd"), X, Y),
    "jacrev": compared(jacobians("jacrev"), X, Y),
    "hessian": compared(hessians, X, Y),
    "jvp": compared(along, X, Y),
    "linearize": compared(linearized, X, Y),
    "linear_transpose": compared(linear_transposed, X, Y),
    "vjp": compared(pulled_back, X, Y),
    "custom_jvp": compared(forward_rule, X, Y),
    "custom_jvp.defjvp": compared(forward_rule, Y, X),
    "custom_jvp.defjvps": compared(forward_rules, X, Y),
    "custom_vjp": compared(reverse_rule, X, Y),
    "custom_vjp.defvjp": compared(reverse_rule, Y, X),
    "checkpoint": compared(recomputed, X),
    "vmap": compared(mapped, A, POSITIVE),
    "pmap": compared(over_devices, A[:1]),
    "numpy.vectorize": compared(vectorized, A, POSITIVE),
    "lax.psum (collective in pmap and vmap)": compared(summed, POSITIVE),
}

CASES |= coverage_devices.JAX


@pytest.mark.parametrize("row", CASES)
def test_row(library: Library, row: str) -> None:
    check_row(library, CASES[row])


def test_every_row_is_tested_or_open() -> None:
    assert set(CASES) | unfinished("jax") == set(TABLE)
    assert not set(CASES) & unfinished("jax")


@pytest.mark.parametrize("row", CASES)
def test_what_the_table_names_exists(row: str) -> None:
    check_name(TABLE[row])
