"""The examples of JAX's documentation, on every library: what is printed there comes out here.

The numbers are those that JAX printed, of float32. Each library computes them in float32 and in float64.
"""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.coverage import STANDARD as xp
from tests.libraries import Library
from xpand_extensions.autodiff import (
    checkpoint,
    custom_jvp,
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
from xpand_extensions.jit import ShapeDtype, disable_jit, eval_shape, jit, lower, make_graph
from xpand_extensions.vmap import psum, vectorize, vmap

Make = Callable[[Any], Any]
"""Makes an array of a library."""

DTYPES = ("float32", "float64")


@pytest.fixture(params=DTYPES)
def make(request: pytest.FixtureRequest, library: Library) -> Make:
    """Makes arrays of a library and a data type."""
    return lambda values: library.asarray(np.asarray(values, dtype=request.param))


@pytest.fixture
def check(library: Library) -> Callable[[Any, Any], None]:
    """The comparison of an array with numbers as they were printed."""

    def check(found: Any, printed: Any) -> None:
        texts = np.asarray(printed, dtype=object)
        # One unit of the last digit printed, since some were cut off and not rounded, and float32's own rounding.
        digits = max((len(str(text).partition(".")[2]) for text in texts.flat), default=0)
        values = np.asarray(printed, dtype="float64")
        result = np.asarray(library.to_numpy(found))
        assert result.shape == values.shape
        np.testing.assert_allclose(result, values, rtol=5e-7, atol=10.0**-digits if digits else 0.0)

    return check


# Compilation


def selu(x: Any, alpha: float = 1.67, scale: float = 1.05) -> Any:
    return scale * xp.where(x > 0, x, alpha * xp.exp(x) - alpha)


NORMAL = [-0.3721109, 0.26423115, -0.18252768, -0.7368197, -0.44030377]
NORMAL += [-0.1521442, -0.67135346, -0.5908641, 0.73168886, 0.5673026]
SELU = ["-0.54485", "0.27744", "-0.29255", "-0.91421", "-0.62452"]
SELU += ["-0.24748", "-0.85743", "-0.78232", "0.76827", "0.59566"]


def test_selu_compiled(make: Make, check: Any) -> None:
    compiled = jit(selu)
    check(compiled(make(NORMAL)), SELU)
    check(compiled(make(NORMAL), 1.67, scale=1.05), SELU)


def test_values_are_seen_where_jit_is_disabled(library: Library) -> None:
    seen = []

    @jit
    def f(x: Any) -> Any:
        y = x * 2
        seen.append(y)
        return y + 3

    x = library.asarray([1, 2, 3])
    library.assert_equal(f(x), [5, 7, 9])
    seen.clear()
    with disable_jit():
        library.assert_equal(f(x), [5, 7, 9])
    library.assert_equal(seen[0], [2, 4, 6])


def nested(x: Any) -> Any:
    return xp.sin(xp.cos(x))


def test_what_is_compiled(make: Make) -> None:
    for given in (make(3.0), SimpleNamespace(shape=(), dtype=make(3.0).dtype)):
        text = lower(nested)(given).as_text().replace("cosine", "cos")  # StableHLO spells it out
        assert 0 <= text.index("cos") < text.index("sin")


def test_graphs(make: Make, check: Any) -> None:
    check(nested(make(3.0)), "-0.83602")
    graph = str(make_graph(nested)(make(3.0)))
    assert graph.index("cos") < graph.index("sin")
    gradient = str(make_graph(grad(nested))(make(3.0)))
    assert all(gradient.count(name) >= 2 for name in ("cos", "sin"))
    assert "neg" in gradient
    assert "mul" in gradient


def test_shapes_without_data(library: Library) -> None:
    f = lambda a, x: xp.tanh(xp.matmul(a, x))
    given = [SimpleNamespace(shape=shape, dtype=library.xp.float32) for shape in ((2000, 3000), (3000, 1000))]
    assert eval_shape(f, *given) == ShapeDtype((2000, 1000), library.xp.float32)


# Derivatives


def test_gradient_of_tanh(make: Make, check: Any) -> None:
    check(grad(xp.tanh)(make(0.2)), "0.961043")
    value, gradient = value_and_grad(xp.tanh)(make(0.2))
    check(value, "0.19737533")
    check(gradient, "0.961043")


def four(x: Any) -> Any:
    return xp.stack([x[0], 5 * x[2], 4 * x[1] ** 2 - 2 * x[2], x[2] * xp.sin(x[0])])


@pytest.mark.parametrize("jacobian", [jacfwd, jacrev])
def test_jacobian(make: Make, check: Any, jacobian: Any) -> None:
    printed = [["1.", "0.", "0."], ["0.", "0.", "5."], ["0.", "16.", "-2."], ["1.6209", "0.", "0.84147"]]
    check(jacobian(four)(make([1.0, 2.0, 3.0])), printed)


def test_hessian(make: Make, check: Any) -> None:
    g = lambda x: x[0] ** 3 - 2 * x[0] * x[1] - x[1] ** 6
    check(hessian(g)(make([1.0, 2.0])), [[6.0, -2.0], [-2.0, -480.0]])


def test_hessian_of_a_tree(make: Make, check: Any) -> None:
    f = lambda tree: {"c": xp.pow(tree["a"], tree["b"])}
    found = hessian(f)({"a": make([1.0, 2.0]), "b": make([2.0, 3.0])})["c"]
    assert set(found) == {"a", "b"}
    diagonals = {"aa": ["2.", "12."], "ab": ["1.", "12.317766"], "ba": ["1.", "12.317766"], "bb": ["0.", "3.843624"]}
    for names, (first, second) in diagonals.items():
        block = found[names[0]][names[1]]
        check(block, [[[first, "0."], ["0.", "0."]], [["0.", "0."], ["0.", second]]])


def test_jvp(make: Make, check: Any) -> None:
    value, derivative = jvp(xp.sin, (make(0.1),), (make(0.2),))
    check(value, "0.09983342")
    check(derivative, "0.19900084")


def wave(x: Any) -> Any:
    return 3.0 * xp.sin(x) + xp.cos(x / 2.0)


def test_linearize(make: Make, check: Any) -> None:
    value, derivative = jvp(wave, (make(2.0),), (make(3.0),))
    check(value, "3.26819")
    check(derivative, "-5.00753")
    value, push = linearize(wave, make(2.0))
    check(value, "3.2681944")
    check(push(make(3.0)), "-5.007528")
    check(push(make(4.0)), "-6.676704")


def test_many_directions_at_once(make: Make, check: Any) -> None:
    push = lambda t: jvp(wave, (make(2.0),), (t,))
    value, derivatives = vmap(push, out_axes=(None, 0))(make([3.0, 4.0]))
    check(value, "3.2681944")
    check(derivatives, ["-5.007528", "-6.676704"])


def test_linear_transpose(make: Make, check: Any) -> None:
    f = lambda x, y: 0.5 * x - 0.5 * y
    scalar = SimpleNamespace(shape=(), dtype=make(0.0).dtype)
    first, second = linear_transpose(f, scalar, scalar)(make(1.0))
    check(first, "0.5")
    check(second, "-0.5")


def test_vjp(make: Make, check: Any) -> None:
    _, pull = vjp(lambda x, y: (xp.sin(x), xp.cos(y)), make(0.5), make(1.0))
    first, second = pull((make(0.7), make(0.3)))
    check(first, "0.61430776")
    check(second, "-0.2524413")


# Rules of one's own: sin(x) y


def product(x: Any, y: Any) -> Any:
    return xp.sin(x) * y


def with_forward_rule() -> Any:
    f = custom_jvp(product)

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (x, y), (dx, dy) = primals, tangents
        return f(x, y), xp.cos(x) * dx * y + xp.sin(x) * dy

    return f


def with_forward_rules() -> Any:
    f = custom_jvp(product)
    f.defjvps(lambda dx, _, x, y: xp.cos(x) * dx * y, lambda dy, _, x, y: xp.sin(x) * dy)
    return f


def with_reverse_rule() -> Any:
    f = custom_vjp(product)
    forward = lambda x, y: (f(x, y), (xp.cos(x), xp.sin(x), y))
    f.defvjp(forward, lambda residuals, g: (residuals[0] * g * residuals[2], residuals[1] * g))
    return f


@pytest.mark.parametrize("ruled", [with_forward_rule, with_forward_rules, with_reverse_rule])
def test_rules_of_ones_own(make: Make, check: Any, ruled: Any) -> None:
    f, x, y = ruled(), make(2.0), make(3.0)
    check(f(x, y), "2.7278922")
    for found, expected in zip(grad(f, argnums=(0, 1))(x, y), ("-1.2484405", "0.9092974")):
        check(found, expected)
    if ruled is not with_reverse_rule:
        check(jvp(f, (x, y), (make(1.0), make(1.0)))[1], "-0.339143")


def test_checkpoint(make: Make, check: Any) -> None:
    calls = []

    @checkpoint
    def g(x: Any) -> Any:
        calls.append(x)
        return xp.sin(xp.sin(x))

    check(grad(g)(make(2.0)), "-0.25563914")
    assert calls


def test_checkpoints_in_checkpoints(make: Make, check: Any) -> None:
    def recursive(functions: list[Any]) -> Any:
        if len(functions) == 1:
            return functions[0]
        half = len(functions) // 2
        first, second = recursive(functions[:half]), recursive(functions[half:])
        return lambda x: first(checkpoint(second)(x))

    check(grad(recursive([xp.sin] * 2))(make(2.0)), "-0.25563914")
    plain = lambda x: xp.sin(xp.sin(xp.sin(xp.sin(xp.sin(x)))))
    np.testing.assert_allclose(
        float(grad(recursive([xp.sin] * 5))(make(2.0))), float(grad(plain)(make(2.0))), rtol=1e-6
    )


# Mapping


def test_products_of_matrices(make: Make, check: Any) -> None:
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4) - 5.0
    dot = lambda x, y: xp.sum(x * y)
    matvec = vmap(dot, (0, None), 0)
    matmul = vmap(matvec, (None, 1), 1)
    check(matmul(make(a), make(b)), a @ b)
    check(vmap(dot, (0, 1), 0)(make(a), make(b[:, :2])), np.diagonal(a @ b[:, :2]))
    batched = np.arange(24.0).reshape(2, 3, 4)  # [b, c, a]
    other = np.arange(24.0).reshape(4, 3, 2)  # [a, c, b]
    check(
        vmap(matmul, (1, 1), 0)(make(batched), make(other)),
        np.stack([batched[:, c] @ other[:, c] for c in range(3)]),
    )


def test_trees_of_axes(make: Make, check: Any) -> None:
    a, b, c, d, k = 2, 3, 4, 5, 6
    f = lambda tree: xp.matmul(tree[0], xp.matmul(tree[1][0], tree[1][1]))
    plain = f((make(np.ones((a, b))), (make(np.ones((b, c))), make(np.ones((c, d))))))
    check(plain, np.full((a, d), 12.0))
    tree = (make(np.ones((k, a, b))), (make(np.ones((b, k, c))), make(np.ones((c, d, k)))))
    check(vmap(f, in_axes=((0, (1, 2)),))(tree), np.full((k, a, d), 12.0))


def test_dictionaries_of_axes(make: Make, check: Any) -> None:
    f = lambda parts, x: parts["a"] + parts["b"] + x
    parts = {"a": make(0.0), "b": make(np.arange(5.0))}
    check(vmap(f, in_axes=({"a": None, "b": 0}, None))(parts, make(1.0)), [1.0, 2.0, 3.0, 4.0, 5.0])


def test_results_that_are_not_mapped(make: Make, check: Any) -> None:
    f = lambda x, y: (x + y, y * 2.0)
    for out_axes, second in (((0, None), "8.0"), (0, ["8.", "8."])):
        found = vmap(f, in_axes=(0, None), out_axes=out_axes)(make([0.0, 1.0]), make(4.0))
        check(found[0], ["4.", "5."])
        check(found[1], second)


def test_vectorized_functions(make: Make, check: Any) -> None:
    @partial(vectorize, signature="(k),(k)->(k)")
    def cross(a: Any, b: Any) -> Any:
        assert a.shape == b.shape == (3,)
        return xp.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])

    @partial(vectorize, signature="(n,m),(m)->(n)")
    def matvec(matrix: Any, vector: Any) -> Any:
        assert (matrix.ndim, matrix.shape[1:]) == (2, vector.shape)
        return matrix @ vector

    ones = lambda *shape: make(np.ones(shape))
    for shapes, shape in ((((3,), (3,)), (3,)), (((2, 3), (3,)), (2, 3)), (((1, 2, 3), (2, 1, 3)), (2, 2, 3))):
        assert tuple(cross(*(ones(*each) for each in shapes)).shape) == shape
    check(cross(make([1.0, 2.0, 3.0]), make([[0.0, 1.0, 0.0]])), [[-3.0, 0.0, 1.0]])
    with pytest.raises(ValueError, match="argument 0"):
        matvec(ones(3), ones(3))
    assert tuple(matvec(ones(2, 3), ones(3)).shape) == (2,)
    check(matvec(ones(2, 3), ones(4, 3)), np.full((4, 2), 3.0))


# Examples for devices, over a mapped axis


def test_collectives(make: Make, check: Any) -> None:
    normalized = vmap(lambda x: x / psum(x, axis_name="i"), axis_name="i")(make(np.arange(4.0)))
    check(normalized, ["0.", "0.16666667", "0.33333334", "0.5"])
    check(xp.sum(normalized), "1.0")


def test_collectives_over_several_axes(make: Make, check: Any) -> None:
    @partial(vmap, axis_name="rows")
    @partial(vmap, axis_name="cols")
    def normalize(x: Any) -> Any:
        return x / psum(x, "rows"), x / psum(x, "cols"), x / psum(x, ("rows", "cols"))

    by_rows, by_columns, by_both = normalize(make(np.arange(8.0).reshape(4, 2)))
    check(xp.sum(by_rows, axis=0), ["1.", "1."])
    check(xp.sum(by_columns, axis=1), ["1.", "1.", "1.", "1."])
    check(xp.sum(by_both), "1.0")


def test_mapped_products(make: Make, check: Any) -> None:
    check(vmap(lambda x: x**2)(make(np.arange(8.0))), [0, 1, 4, 9, 16, 25, 36, 49])
    x = np.arange(12.0).reshape(3, 2, 2)
    printed = [[[4, 9], [12, 29]], [[244, 345], [348, 493]], [[1412, 1737], [1740, 2141]]]
    check(vmap(xp.matmul)(make(x), make(x**2)), printed)
