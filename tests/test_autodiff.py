"""Where derivatives stop, on every library."""

from typing import Any

import numpy as np

from tests.libraries import Library
from tests.operations import Case, Check, check_values, checked
from xpand import array_namespace
from xpand_extensions.autodiff import grad, stop_gradient
from xpand_extensions.control_flow import fori_loop
from xpand_extensions.vmap import vmap

X = np.asarray([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]])
CASE = Case(lambda x: x + stop_gradient(x) * 0.0, (X,), lambda x: x, differentiable=(0,))


def test_values(library: Library) -> None:
    check_values(library, CASE)


@checked({"": CASE})
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


def test_trees(library: Library) -> None:
    tree = {"x": [library.asarray(X), None], "name": "text", "n": 3}
    stopped = stop_gradient(tree)
    library.assert_equal(stopped["x"][0], X)
    assert (stopped["name"], stopped["n"], stopped["x"][1]) == ("text", 3, None)


def test_no_gradient_flows() -> None:
    import jax
    import torch

    expected = 2 * X  # of x² + x² held constant
    f = lambda x: (x**2 + stop_gradient({"x": x})["x"] ** 2).sum()
    for derivative in (jax.grad(f), jax.jit(jax.grad(f))):
        np.testing.assert_array_equal(np.asarray(derivative(jax.numpy.asarray(X))), expected)
    np.testing.assert_array_equal(torch.func.grad(f)(torch.asarray(X)).numpy(), expected)
    x = torch.asarray(X).requires_grad_()
    f(x).backward()
    np.testing.assert_array_equal(x.grad.numpy(), expected)
    tangents = torch.func.jvp(f, (torch.asarray(X),), (torch.ones(2, 3, dtype=torch.float64),))[1]
    np.testing.assert_allclose(float(tangents), expected.sum())


def test_gradient_is_stopped_for_lanes(library: Library) -> None:
    def gradient(function: Any) -> Any:
        return grad(lambda x: array_namespace(x).sum(vmap(function)(x)))(library.asarray([3.0, 4.0]))

    library.assert_equal(gradient(lambda x: stop_gradient(x) * x), [3.0, 4.0])
    library.assert_equal(gradient(lambda x: fori_loop(0, 2, lambda i, c: stop_gradient(c) * c, x)), [27.0, 64.0])
