"""Writes in place inside of transformations of PyTorch: right, or an error that says what to write instead."""

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


@pytest.mark.parametrize("transform", list(GRADIENTS))
def test_writes_that_overwrite_nothing_needed(transform: str) -> None:
    for function, expected in ((copied, [6.0, 1.0, 4.0]), (viewed, [4.0, 1.0, 1.0])):
        np.testing.assert_allclose(GRADIENTS[transform](function)(at()), expected)


@pytest.mark.parametrize("transform", list(GRADIENTS))
@pytest.mark.parametrize(
    ("function", "cause"),
    [
        (overwritten, "an element that the derivative needs is overwritten"),
        (argument, "into the argument itself, at .*test_in_place_torch.py:.* in argument"),
        (added, "into the argument itself, at .*test_in_place_torch.py:.* in added"),
        (buffered, "into an array .*, at .*test_in_place_torch.py:.* in buffered"),
    ],
)
def test_other_writes_are_errors(transform: str, function: Callable[[Any], Any], cause: str) -> None:
    if transform == "grad of vmap" and function in (argument, added):
        pytest.skip("the argument of the mapped function is not that of the gradient")
    x = at()
    with pytest.raises(TracedError, match=f"can't trace a write in place: {cause}.*; write into a copy") as caught:
        GRADIENTS[transform](function)(x)
    assert str(caught.value).count("test_in_place_torch.py") <= 1
    np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize("key", [0, slice(0, 1), [0], np.s_[0, 1]], ids=str)
def test_writes_of_lanes_into_arrays_that_all_share(key: Any) -> None:
    """PyTorch has other errors for keys of arrays. A clone is shared, too; the sum that the error names is not."""

    def written(y: Any, x: Any, like: Any) -> Any:
        y = like(y, x)
        y[torch.asarray(key) if isinstance(key, list) else key] = x
        return y.sum()

    mapped = lambda like: vmap(lambda x: written(torch.ones(2, 2), x, like))(torch.asarray([2.0, 5.0]))
    with pytest.raises(TracedError, match="into an array that all lanes share, .*write into a copy of each lane"):
        mapped(lambda y, x: y.clone())
    expected = [written(torch.ones(2, 2), x, lambda y, x: y) for x in (2.0, 5.0)]
    np.testing.assert_array_equal(mapped(lambda y, x: y + 0 * x), expected)


@pytest.mark.parametrize("function", [overwritten, copied, viewed, argument, added])
def test_without_gradients_writes_do_what_they_do_in_a_plain_call(function: Callable[[Any], Any]) -> None:
    expected = float(function(at()))
    assert float(jit(function)(at())) == expected
    np.testing.assert_array_equal(vmap(function)(torch.stack([at(), at()])), [expected, expected])
    step, x = 1e-6, at()
    value, along = jvp(function, (at(),), (torch.ones_like(x),))
    assert float(value) == expected
    differences = (function(at() + step) - function(at() - step)) / (2.0 * step)
    np.testing.assert_allclose(float(along), float(differences), rtol=1e-8)


def test_second_derivatives() -> None:
    with pytest.raises(TracedError, match="overwritten"):
        hessian(overwritten)(at())
    found = hessian(copied)(at())
    np.testing.assert_allclose(found, [[0.0, 0.0, 2.0], [0.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
