"""Writes in place inside of transformations of PyTorch: what they do in a plain call, or an error."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from xpand_extensions.autodiff import grad, hessian, jacrev, jvp, vjp
from xpand_extensions.jit import jit
from xpand_extensions.tracing import TracedError
from xpand_extensions.vmap import vmap

X = (1.0, 2.0, 3.0)


def at() -> Any:
    return torch.tensor(X, dtype=torch.float64)


def overwritten(x: Any) -> Any:
    y = x * 2.0
    y[1] = y[0] * x[2]
    y[0] = x[1]
    return y.sum()


def copied(x: Any) -> Any:
    y = x * 2.0
    product = y[0] * x[2]
    y = y.clone()
    y[1] = product
    y[0] = x[1]
    return y.sum()


def argument(x: Any) -> Any:
    x[1] = x[0] * x[2]
    return x.sum()


def added(x: Any) -> Any:
    x += 1.0
    return (x * x).sum()


def viewed(x: Any) -> Any:
    y = x.clone()
    part = y[:2]
    part *= x[0]
    return y.sum()


BUFFER = torch.zeros(3, dtype=torch.float64)


def buffered(x: Any) -> Any:
    BUFFER[0] = x[0]
    return (BUFFER * x).sum()


GRADIENTS: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "grad": grad,
    "vjp": lambda f: lambda x: vjp(f, x)[1](torch.ones((), dtype=torch.float64))[0],
    "jacrev": jacrev,
    "vmap of grad": lambda f: lambda x: vmap(grad(f))(torch.stack([x, x]))[1],
    "grad of vmap": lambda f: grad(lambda x: vmap(f)(torch.stack([x, 0.0 * x + 1.0])).sum()),
    "jit of grad": lambda f: jit(grad(f)),
}


def differences(function: Callable[[Any], Any]) -> np.ndarray:
    """The gradient of plain calls."""
    step, units = 1e-6, torch.eye(3, dtype=torch.float64)
    return np.asarray([float(function(at() + step * t) - function(at() - step * t)) / (2.0 * step) for t in units])


FUNCTIONS = [overwritten, copied, viewed, argument, added]


@pytest.mark.parametrize("transform", list(GRADIENTS))
@pytest.mark.parametrize("function", FUNCTIONS)
def test_gradients(transform: str, function: Callable[[Any], Any]) -> None:
    x = at()
    np.testing.assert_allclose(GRADIENTS[transform](function)(x), differences(function), rtol=1e-8)
    np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize("transform", [*GRADIENTS, "vmap", "jit"])
def test_writes_into_arrays_that_are_not_traced_are_errors(transform: str) -> None:
    transformed = {**GRADIENTS, "vmap": lambda f: lambda x: vmap(f)(x[None]), "jit": jit}[transform](buffered)
    with pytest.raises(TracedError, match="not traced, so it can't hold traced elements.*test_in_place_torch"):
        transformed(at())
    np.testing.assert_array_equal(BUFFER, [0.0, 0.0, 0.0])


@pytest.mark.parametrize("key", [0, slice(0, 1), [0], np.s_[0, 1]], ids=str)
def test_writes_of_lanes(key: Any) -> None:
    """A copy of an array that all lanes share becomes one of each lane."""

    def written(x: Any, like: Any) -> Any:
        y = like(torch.ones(2, 2))
        y[torch.asarray(key) if isinstance(key, list) else key] = x
        return y.sum()

    expected = [written(x, torch.clone) for x in torch.asarray([2.0, 5.0])]
    copied = lambda x: written(x, lambda y: y + 0 * x)
    np.testing.assert_array_equal(vmap(copied)(torch.asarray([2.0, 5.0])), expected)
    with pytest.raises(TracedError, match="not traced"):
        vmap(lambda x: written(x, torch.clone))(torch.asarray([2.0, 5.0]))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_values_and_forward_mode(function: Callable[[Any], Any]) -> None:
    expected = float(function(at()))
    assert float(jit(function)(at())) == expected
    np.testing.assert_array_equal(vmap(function)(torch.stack([at(), at()])), [expected, expected])
    value, along = jvp(function, (at(),), (torch.ones(3, dtype=torch.float64),))
    assert float(value) == expected
    np.testing.assert_allclose(float(along), differences(function).sum(), rtol=1e-8)


def test_second_derivatives() -> None:
    for function in (overwritten, copied):
        np.testing.assert_allclose(hessian(function)(at()), [[0.0, 0.0, 2.0], [0.0, 0.0, 0.0], [2.0, 0.0, 0.0]])


OPERATORS = ("+=", "-=", "*=", "/=", "**=", "//=", "%=")
HOLDERS = ("a = b", "a = b[:1]", "a = b.view(-1)", "a = b.detach()", "a = [b]", "a = {'b': b}")


def with_operator(operator: str, before: str = "pass") -> Callable[[Any], Any]:
    """Make a function that writes a traced tensor into one that is not traced."""
    scope: dict[str, Any] = {"torch": torch}
    exec(
        "def f(x):\n    b = torch.full((3,), 2.0, dtype=torch.float64)\n"
        f"    {before}\n    b {operator} x + 0.3\n    return (b * b).sum()\n",
        scope,
    )
    function: Callable[[Any], Any] = scope["f"]
    return function


@pytest.mark.parametrize("operator", OPERATORS)
def test_operators_make_new_arrays_of_tensors_with_one_name(operator: str) -> None:
    function = with_operator(operator)
    np.testing.assert_allclose(grad(function)(at()), differences(function), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("transform", [*GRADIENTS, "vmap", "jit"])
@pytest.mark.parametrize("before", HOLDERS)
@pytest.mark.parametrize("operator", OPERATORS)
def test_operators_on_tensors_with_other_names_are_errors(operator: str, before: str, transform: str) -> None:
    """The other name would keep the old elements, without a derivative."""
    function = with_operator(operator, before)
    transformed = {**GRADIENTS, "vmap": lambda f: lambda x: vmap(f)(x[None]), "jit": jit}[transform](function)
    with pytest.raises(ValueError, match="its other names and views would keep the old ones; write `b = b \\+ x`"):
        transformed(at())


def test_operators_on_arguments_and_attributes() -> None:
    def add(b: Any, x: Any) -> Any:
        b += x
        return b

    def of_argument(x: Any) -> Any:
        return (add(torch.zeros(3, dtype=torch.float64), x) ** 2).sum()

    def of_named_argument(x: Any) -> Any:
        c = torch.zeros(3, dtype=torch.float64)
        add(c, x)
        return (c**2).sum() + x.sum()

    def summed(x: Any) -> Any:
        total = torch.zeros(3, dtype=torch.float64)
        for i in range(3):
            total += x * i
        return (total**2).sum()

    for function in (of_argument, summed):
        np.testing.assert_allclose(grad(function)(at()), differences(function), rtol=1e-6)
    with pytest.raises(ValueError, match="other names"):
        grad(of_named_argument)(at())
