"""Values that are taken out of arrays under a gradient: no derivative is dropped silently."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tests.cases import library_of_name
from tests.libraries import LIBRARIES, Library
from tests.test_derivatives import NAMESPACE
from xpand_extensions.autodiff import grad, hessian, jacfwd, jacrev, jvp, stop_gradient, vjp
from xpand_extensions.optimize import least_squares, minimize

TAKEN: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "exp": math.exp,
    "complex": lambda x: abs(complex(x)),
    "item": lambda x: x.item(),
    "tolist": lambda x: x.tolist(),
}
TRANSFORMED: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "grad": grad,
    "grad of grad": lambda f: grad(grad(f)),
    "hessian": hessian,
    "jvp": lambda f: lambda x: jvp(f, (x,), (x,)),
    "vjp": lambda f: lambda x: vjp(f, x),
    "several": lambda f: lambda x: grad(lambda tree: f(tree["x"]))({"x": x}),
}


@pytest.mark.parametrize("taken", TAKEN)
@pytest.mark.parametrize("transform", TRANSFORMED)
@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_numbers_of_differentiated_arrays(name: str, transform: str, taken: str) -> None:
    f = TRANSFORMED[transform](lambda x: x * x * TAKEN[taken](x))
    with pytest.raises((TypeError, AttributeError), match="traced|traces"):
        f(library_of_name(name).asarray(3.0))


def test_numbers_that_have_no_derivative() -> None:
    found = grad(lambda x: x * float(stop_gradient(x)) if bool(x > 0.0) else x)(torch.tensor(3.0))
    assert float(found) == 3.0


def of_list(y: Any) -> Any:
    xp = NAMESPACE(y)
    return xp.sum(xp.asarray([y[0], 2.0 * y[1], 3.0]) ** 2)


def of_steps(y: Any) -> Any:
    return NAMESPACE(y).sum(NAMESPACE(y).linspace(0.0, y[0], 3) ** 2) + y[1]


def of_full(y: Any) -> Any:
    xp = NAMESPACE(y)
    return xp.sum(xp.full_like(y, xp.mean(y)) ** 2)


GRADIENTS = {of_list: [2.0, 16.0], of_steps: [2.5, 1.0], of_full: [3.0, 3.0]}
AT = np.asarray([1.0, 2.0])


@pytest.mark.parametrize("function", GRADIENTS)
@pytest.mark.parametrize("library", [x for x in LIBRARIES if "-" not in x.id], ids=str)
def test_arrays_made_of_differentiated_elements(library: Library, function: Any) -> None:
    for transformed in (grad(function), jacrev(function), jacfwd(function)):
        library.assert_equal(transformed(library.asarray(AT)), np.asarray(GRADIENTS[function]), rtol=1e-12)


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_solvers_through_arrays_made_of_elements(name: str) -> None:
    y = library_of_name(name).asarray(AT)

    def residual(y: Any) -> Any:
        return NAMESPACE(y).asarray([y[0] - 3.0, 2.0 * y[1] - 1.0])

    np.testing.assert_allclose(np.asarray(least_squares(residual, y).x), [3.0, 0.5], rtol=1e-6)
    best = minimize(lambda y: NAMESPACE(y).sum(residual(y) ** 2), y).x
    np.testing.assert_allclose(np.asarray(best), [3.0, 0.5], rtol=1e-5)
