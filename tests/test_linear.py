"""Derivatives kept to be applied, and transposed functions: against JAX's own; bad input."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import xpand
from tests.libraries import LIBRARIES, Library
from tests.test_derivatives import NAMESPACE, total
from xpand import trees
from xpand_extensions.autodiff import grad, jvp, linear_transpose, linearize, vjp
from xpand_extensions.control_flow import fori_loop
from xpand_extensions.jit import jit
from xpand_extensions.vmap import vmap

X, Y = np.asarray([0.3, -0.7, 1.2]), np.asarray([1.5, 0.4, -0.2])


@pytest.fixture(params=LIBRARIES, ids=str)
def able(request: pytest.FixtureRequest) -> Library:
    return request.param


def sine(x: Any) -> Any:
    return NAMESPACE(x).sin(x)


def f(tree: Any, y: Any) -> Any:
    xp = NAMESPACE(y)
    return {"a": xp.sin(tree["x"]) * y, "n": xp.astype(y, xp.int32), "none": None}


def test_the_derivative_is_that_of_jvp(able: Library) -> None:
    x, y = able.asarray(X), able.asarray(Y)
    value, derivative = linearize(f, {"x": x}, y)
    for direction in (({"x": y}, x), ({"x": 2 * y}, x)):
        expected = jvp(f, ({"x": x}, y), direction)
        found = derivative(*direction)
        for key in ("a", "n"):
            able.assert_equal(value[key], able.to_numpy(expected[0][key]))
            able.assert_equal(found[key], able.to_numpy(expected[1][key]), rtol=1e-14)
    assert found["none"] is None


def test_the_function_is_not_called_again(able: Library) -> None:
    calls = []
    _, derivative = linearize(lambda x: (calls.append(1), NAMESPACE(x).sin(x))[1], able.asarray(X))
    before = len(calls)
    for _ in range(3):
        able.assert_equal(derivative(able.asarray(Y)), np.cos(X) * Y, rtol=1e-14)
    assert len(calls) == before


def test_complex_numbers_and_auxiliary_data(able: Library) -> None:
    z = able.asarray(X + 1j * Y)
    g = lambda z: (z * z * NAMESPACE(z).conj(z), {"text": "kept", "twice": 2.0 * z})
    _, derivative, aux = linearize(g, z, has_aux=True)
    expected = jvp(lambda z: g(z)[0], (z,), (z * 1j,))
    able.assert_equal(derivative(z * 1j), able.to_numpy(expected[1]), rtol=1e-14)
    able.assert_equal(aux["twice"], 2 * (X + 1j * Y))
    assert aux["text"] == "kept"


def test_compositions(able: Library) -> None:
    x = able.asarray(X)
    square = lambda x: linearize(sine, x)[1](x * x)
    able.assert_equal(vmap(square)(x), np.cos(X) * X * X, rtol=1e-14)
    found = grad(lambda x: total(square(x)))(x)
    able.assert_equal(found, -np.sin(X) * X * X + np.cos(X) * 2 * X, rtol=1e-12)


def test_transposed(able: Library) -> None:
    matrix = able.asarray(np.arange(6.0).reshape(2, 3))
    linear = lambda x, tree: {"out": NAMESPACE(x).matmul(matrix, x) + tree["y"][:2] * 2.0}
    x, y, c = able.asarray(X), able.asarray(Y), able.asarray(Y[:2])
    expected = vjp(linear, x, {"y": y})[1]({"out": c})
    spec = SimpleNamespace(shape=(3,), dtype=able.xp.float64)
    for primals in ((x, {"y": y}), (x, {"y": spec}), (spec, {"y": spec})):
        transposed = linear_transpose(linear, *primals)
        for _ in range(2):
            found = transposed({"out": c})
            able.assert_equal(found[0], able.to_numpy(expected[0]), rtol=1e-14)
            able.assert_equal(found[1]["y"], able.to_numpy(expected[1]["y"]), rtol=1e-14)
    with xpand.use(able.xp):
        assert float(able.to_numpy(linear_transpose(lambda x: 0.5 * x, 3.0)(1.0)[0])) == 0.5


def test_transposed_of_complex_numbers_is_not_conjugated(able: Library) -> None:
    z = able.asarray(X + 1j * Y)
    able.assert_equal(linear_transpose(lambda x: x * (2.0 + 3.0j), z)(z)[0], (X + 1j * Y) * (2 + 3j), rtol=1e-14)


@pytest.mark.parametrize("name", ["sin", "square", "abs"])
def test_what_is_not_linear_is_refused(able: Library, name: str) -> None:
    x = able.asarray(X)
    with pytest.raises(TypeError, match="linear_transpose: .*not linear"):
        linear_transpose(lambda x: getattr(NAMESPACE(x), name)(x), x)(x)


def test_what_is_not_linear_and_of_no_use(able: Library) -> None:
    x, y = able.asarray(X), able.asarray(Y)
    unused = lambda x: (NAMESPACE(x).sin(x) * x, 2.0 * x)[1]
    able.assert_equal(linear_transpose(unused, x)(y)[0], 2 * Y)
    with pytest.raises(TypeError, match="linear_transpose: .*not linear"):
        linear_transpose(lambda x: (NAMESPACE(x).sin(x), 2.0 * x), x)((x, x))


def first(tree: Any) -> Any:
    return tree[0] if isinstance(tree, tuple) else tree


LINEAR = {
    "vjp": lambda x: vjp(lambda x: NAMESPACE(x).sin(x) * x**2, x)[1],
    "linearize": lambda x: linearize(lambda x: NAMESPACE(x).sin(x) * x**2, x)[1],
    "linear_transpose": lambda x: linear_transpose(lambda y: y * (NAMESPACE(x).cos(x) * x**2), x),
}


@pytest.mark.parametrize("name", LINEAR)
def test_linear_functions_are_trees_of_their_residuals(able: Library, name: str) -> None:
    make, x, y = LINEAR[name], able.asarray(X), able.asarray(Y)
    here = make(x)
    expected = able.to_numpy(first(here(y)))
    residuals, structure = trees.flatten(here)
    assert residuals
    assert all(xpand.array_namespace(each) is able.xp for each in residuals)
    able.assert_equal(first(trees.unflatten(structure, residuals)(y)), expected, rtol=1e-14)
    halved = trees.map(lambda x: x / 2.0, linear_transpose(lambda z: z * y, x))
    able.assert_equal(halved(x)[0], X * Y / 2)

    returned = jit(make)(x)
    able.assert_equal(first(returned(y)), expected, rtol=1e-14)
    able.assert_equal(first(jit(lambda linear, y: linear(y))(here, y)), expected, rtol=1e-14)
    with pytest.raises(TypeError, match=f"{name}: (co)?tangents must have the structure"):
        returned([y])
    with pytest.raises(ValueError, match=f"{name}: (co)?tangents must have the shape"):
        returned(y[:2])


@pytest.mark.parametrize("name", LINEAR)
def test_linear_functions_leave_vmap(able: Library, name: str) -> None:
    if "torch" in able.id:
        pytest.skip("they are no trees")
    make, x, y = LINEAR[name], able.asarray([X, 2 * X]), able.asarray([Y, Y])
    found = first(vmap(lambda linear, y: linear(y))(vmap(make)(x), y))
    expected = [able.to_numpy(first(make(x[i, :])(y[i, :]))) for i in range(2)]
    able.assert_equal(found, np.stack(expected), rtol=1e-14)


def test_a_pullback_in_a_loop_and_its_derivative(able: Library) -> None:
    if "torch" in able.id:
        pytest.skip("it is no tree")
    x, y = able.asarray(X), able.asarray(Y)
    twice = lambda x: fori_loop(0, 2, lambda i, c: (c[0], c[0](c[1])[0]), (vjp(sine, x)[1], y))[1]
    able.assert_equal(twice(x), np.cos(X) ** 2 * Y, rtol=1e-14)
    rebuilt = lambda x: trees.map(lambda x: x, vjp(sine, x)[1])(y)[0]
    able.assert_equal(grad(lambda x: total(rebuilt(x)))(x), -np.sin(X) * Y, rtol=1e-14)


def test_integers_among_the_arguments_have_zeros_for_derivatives(able: Library) -> None:
    x, y, n = able.asarray(X), able.asarray(Y), able.asarray([1, 2, 3])
    g = lambda x, n: (x * NAMESPACE(x, n).astype(n, x.dtype), n)
    values, pull = vjp(g, x, n)
    able.assert_equal(values[1], np.asarray([1, 2, 3]))
    back = pull((y, n))
    able.assert_equal(back[0], Y * [1, 2, 3])
    able.assert_equal(back[1], np.zeros(3, int))
    (value, same), (found, zero) = jvp(g, (x, n), (y, n))
    able.assert_equal(value, X * [1, 2, 3])
    able.assert_equal(same, np.asarray([1, 2, 3]))
    able.assert_equal(found, Y * [1, 2, 3])
    able.assert_equal(zero, np.zeros(3, int))
    found, zero = linearize(g, x, n)[1](y, n)
    able.assert_equal(found, Y * [1, 2, 3])
    able.assert_equal(zero, np.zeros(3, int))
    # Integers alone
    h = lambda n: NAMESPACE(n).astype(n, NAMESPACE(n).float64)
    able.assert_equal(vjp(h, n)[1](y)[0], np.zeros(3, int))
    able.assert_equal(jvp(h, (n,), (n,))[1], np.zeros(3))
    able.assert_equal(linearize(h, n)[1](n), np.zeros(3))
    with pytest.raises(ValueError, match="jvp: tangents must have the shape"):
        jvp(g, (x, n), (y, n[:2]))


def test_bad_input(able: Library) -> None:
    x = able.asarray(X)
    for function in (linearize, linear_transpose):
        with pytest.raises(TypeError, match=f"{function.__name__}: takes a function, got int"):
            function(3, x)
    with pytest.raises(TypeError, match="linear_transpose: .*floating-point"):
        linear_transpose(lambda x: x, able.asarray([1, 2]))
    with pytest.raises(TypeError, match="vjp: cotangents must be one tree like the output, got 2 arguments"):
        vjp(sine, x)[1](x, x)
    with pytest.raises(TypeError, match="linearize: tangents must have the structure"):
        linearize(sine, x)[1](x, x)
    with pytest.raises(ValueError, match="linearize: tangents must have the shape"):
        linearize(sine, x)[1](x[:2])
    with pytest.raises(TypeError, match="linear_transpose: cotangents must have the structure"):
        linear_transpose(lambda x: 2.0 * x, x)((x, x))
    with pytest.raises(ValueError, match="linear_transpose: cotangents must have the shape"):
        linear_transpose(lambda x: 2.0 * x, x)(x[:2])
    with pytest.raises(TypeError, match="linear_transpose: primals must be arrays, or have"):
        linear_transpose(lambda x: x, "text")
