"""Values that are taken out of arrays under a gradient: PyTorch warns each time, other libraries raise."""

import math
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.cases import library_of_name
from xpand_extensions.autodiff import grad, hessian, stop_gradient, vjp

TAKEN: dict[str, Callable[[Any], Any]] = {"float": float, "exp": math.exp, "complex": lambda x: abs(complex(x))}

TRANSFORMED: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "grad": grad,
    "grad of grad": lambda f: grad(grad(f)),
    "hessian": hessian,
    "vjp": lambda f: lambda x: vjp(f, x)[1](torch.tensor(1.0))[0],
    "several": lambda f: lambda x: grad(lambda tree: f(tree["x"]))({"x": x})["x"],
}


@pytest.mark.parametrize("taken", list(TAKEN))
@pytest.mark.parametrize("transform", list(TRANSFORMED))
def test_numbers_of_differentiated_tensors_are_warned_of_each_time(transform: str, taken: str) -> None:
    f = TRANSFORMED[transform](lambda x: x * x * TAKEN[taken](x))
    for _ in range(2):
        with pytest.warns(UserWarning, match="Converting a tensor with requires_grad=True to a scalar"):
            f(torch.tensor(3.0))
    assert not torch.is_warn_always_enabled()


def test_numbers_that_have_no_derivative_are_not_warned_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = grad(lambda x: x * float(stop_gradient(x)) if bool(x > 0.0) else x)(torch.tensor(3.0))
    assert float(found) == 3.0


def test_the_setting_is_put_back_after_errors() -> None:
    def f(x: Any) -> Any:
        assert torch.is_warn_always_enabled()
        raise KeyError("x")

    with pytest.raises(KeyError):
        grad(f)(torch.tensor(3.0))
    assert not torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        grad(lambda x: x * x)(torch.tensor(3.0))
        assert torch.is_warn_always_enabled(), "the user has said so"
    finally:
        torch.set_warn_always(False)


@pytest.mark.parametrize("taken", [float, math.exp, lambda x: x.tolist()], ids=["float", "exp", "tolist"])
@pytest.mark.parametrize("name", ["numpy", "jax"])
def test_other_libraries_raise(name: str, taken: Callable[[Any], Any]) -> None:
    with pytest.raises((TypeError, AttributeError), match="traced|traces"):
        grad(lambda x: x * taken(x))(library_of_name(name).asarray(3.0))
