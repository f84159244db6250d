"""Gradients and maps of functions of arrays alone, which from the second call on take no tree apart."""

from typing import Any

import numpy as np
import pytest

from tests.libraries import LIBRARIES, Library
from xpand import array_namespace
from xpand_extensions.autodiff import grad, hessian, jvp, value_and_grad
from xpand_extensions.vmap import vmap

X = np.asarray([0.5, -1.5, 2.0])
Y = np.asarray([2.0, 3.0, 4.0])


@pytest.fixture(params=LIBRARIES, ids=str)
def able(request: pytest.FixtureRequest) -> Library:
    return request.param


def product(x: Any, y: Any) -> Any:
    return array_namespace(x, y).sum(x * x * y)


@pytest.mark.parametrize("argnums", [0, 1, -1, (0, 1), (1, 0), [1], [-1, 0]])
def test_calls_after_the_first_give_the_same(able: Library, argnums: Any) -> None:
    function = value_and_grad(product, argnums)
    x, y = able.asarray(X), able.asarray(Y)
    gradients = [2 * X * Y, X * X]
    numbers = argnums if isinstance(argnums, (tuple, list)) else [argnums]
    for _ in range(3):
        value, found = function(x, y)
        able.assert_equal(value, np.sum(X * X * Y), rtol=1e-14)
        assert isinstance(found, tuple) == isinstance(argnums, (tuple, list))
        for each, number in zip(found if isinstance(found, tuple) else [found], numbers):
            able.assert_equal(each, gradients[number], rtol=1e-14)


def test_calls_of_other_kinds_between(able: Library) -> None:
    function = grad(product)
    x, y = able.asarray(X), able.asarray(Y)
    for _ in range(2):
        able.assert_equal(function(x, y), 2 * X * Y, rtol=1e-14)
        able.assert_equal(function(x, y=y), 2 * X * Y, rtol=1e-14)
        able.assert_equal(function(x, 2.0), 4 * X, rtol=1e-14)
        able.assert_equal(function(able.asarray(X[:2]), y[:2]), (2 * X * Y)[:2], rtol=1e-14)
        with pytest.raises(TypeError, match="must have floating-point data types"):
            function(able.asarray(np.asarray([1, 2, 3])), y)


def test_results_that_are_something_else(able: Library) -> None:
    kinds: list[Any] = []
    results = {
        "array": lambda x: array_namespace(x).sum(x * x),
        "number": lambda x: 3.0,
        "tree": lambda x: {"loss": array_namespace(x).sum(x * x)},
    }
    x = able.asarray(X)
    for kind in results:
        function = value_and_grad(lambda x: results[kinds[-1]](x))
        for each in ("array", "array", kind, "array", kind):
            kinds.append(each)
            value, gradient = function(x)
            assert isinstance(value, dict) == (each == "tree")
            able.assert_equal(gradient, np.zeros(3) if each == "number" else 2 * X, rtol=1e-14)
    square = grad(lambda x: x * x)
    able.assert_equal(square(able.asarray(3.0)), np.asarray(6.0))
    for _ in range(2):
        able.assert_equal(square(able.asarray(3.0)), np.asarray(6.0))
        with pytest.raises(TypeError, match="grad: the function must return one number"):
            square(x)


def test_derivatives_of_derivatives(able: Library) -> None:
    third = grad(grad(grad(lambda x: x * x * x * x)))
    outer = grad(lambda x: array_namespace(x).sum(grad(lambda y: product(y, x))(x)))
    for _ in range(3):
        able.assert_equal(third(able.asarray(2.0)), np.asarray(48.0), rtol=1e-14)
        able.assert_equal(outer(able.asarray(X)), 4 * X, rtol=1e-14)


def test_complex_gradients(able: Library) -> None:
    z = able.asarray(X + 1j * Y)
    function = grad(lambda z: array_namespace(z).sum(array_namespace(z).real(z * z)))
    for _ in range(3):
        able.assert_equal(function(z), 2 * (X + 1j * Y), rtol=1e-14)


def test_maps(able: Library) -> None:
    x, y = able.asarray(np.outer(X, Y)), able.asarray(Y)
    cases = [
        (vmap(lambda x, y: x * y, in_axes=(1, 0)), np.outer(X, Y).T * Y[:, None]),
        (vmap(lambda x, y: x * y, in_axes=(0, None)), np.outer(X, Y) * Y),
        (vmap(lambda x, y: x * y, in_axes=(-1, 0)), np.outer(X, Y).T * Y[:, None]),
        (vmap(lambda x, y: y, in_axes=(0, None)), np.stack([Y] * 3)),
        (vmap(lambda x, y: array_namespace(x).sum(x) * y), np.outer(X, Y).sum(axis=1) * Y),
    ]
    for function, expected in cases:
        for _ in range(3):
            able.assert_equal(function(x, y), expected, rtol=1e-14)
    same = vmap(lambda x, y: x)
    for _ in range(2):
        able.assert_equal(same(x, y), np.outer(X, Y))
        with pytest.raises(ValueError, match="must have one size along the mapped axes"):
            same(x, y[:2])
        with pytest.raises(ValueError, match="one number and has no axis"):
            same(able.asarray(1.0), y)


def test_maps_to_something_else(able: Library) -> None:
    as_tree = False
    function = vmap(lambda x: {"x": x} if as_tree else x + 1)
    x = able.asarray(X)
    for as_tree in (False, False, True, False):
        found = function(x)
        able.assert_equal(found["x"] if as_tree else found, X if as_tree else X + 1)


def test_arrays_of_two_libraries(able: Library) -> None:
    function = grad(product)
    x, y = able.asarray(X), able.asarray(Y)
    function(x, y)
    if able.id not in ("numpy", "dask"):
        with pytest.raises(TypeError):
            function(x, Y)


def test_forward_over_reverse_mode_of_products(able: Library) -> None:
    matrix = able.asarray(np.stack([X, Y]))
    gradient = grad(lambda x: array_namespace(x).sum((array_namespace(x).abs(matrix) @ x) ** 2))
    x, t = able.asarray(X), able.asarray(Y)
    square = 2 * np.abs(np.stack([X, Y])).T @ np.abs(np.stack([X, Y]))
    for _ in range(2):
        value, along = jvp(gradient, (x,), (t,))
        able.assert_equal(value, square @ X, rtol=1e-13)
        able.assert_equal(along, square @ Y, rtol=1e-13)
    able.assert_equal(hessian(lambda x: product(x, x))(x), np.diag(6 * X), rtol=1e-13)
