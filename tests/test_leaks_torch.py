"""Tensors that leak from transformations on PyTorch: to use them is an error, as on other libraries."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from xpand_extensions.autodiff import grad, jvp, vjp
from xpand_extensions.jit import eval_shape, jit
from xpand_extensions.tracing import LeakedArrayError
from xpand_extensions.vmap import vmap

X = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)

TRANSFORMS: dict[str, Callable[[Callable[..., Any]], Any]] = {
    "vmap": lambda f: vmap(f)(X),
    "jit": lambda f: jit(f)(X),
    "jit of grad": lambda f: jit(grad(lambda x: f(x).sum()))(X),
    "jit of vmap": lambda f: jit(vmap(f))(X),
    "jit of what requires a gradient": lambda f: jit(f)(X.clone().requires_grad_()),
    "eval_shape": lambda f: eval_shape(f, X),
}

USES: dict[str, Callable[[Any], Any]] = {
    "operator": lambda x: x + 1.0,
    "operator on the right": lambda x: 2.0 * x,
    "function": torch.sin,
    "several": lambda x: torch.stack([X[0], x.sum()]),
    "index": lambda x: x[...],
    "list": lambda x: x.tolist(),
    "numpy": lambda x: x.detach().numpy(),
    "float": lambda x: float(x.sum()),
    "bool": lambda x: bool((x > 0).all()),
    "jit": lambda x: jit(lambda y: y + x)(X),  # what is compiled would read memory that isn't there
    "grad": lambda x: grad(lambda y: (y + x).sum())(X),
}


# What PyTorch itself refuses.
OWN_ERRORS = {
    "vmap": "|may have escaped|batched == nullptr|storage",
    "jit of grad": "|storage",
    "jit of vmap": "|may have escaped|batched == nullptr|storage",
}

MADE: dict[str, Callable[[Any], Any]] = {
    "values": lambda x: x * 2.0,
    "a number": lambda x: x.sum(),
    "the argument": lambda x: x,
}


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_what_leaks_is_an_error_to_use(transform: str, made: str) -> None:
    kept: list[Any] = []
    TRANSFORMS[transform](lambda x: (kept.append(MADE[made](x)), x * 1.0)[1])
    error = RuntimeError if transform in OWN_ERRORS else LeakedArrayError
    for name, use in USES.items():
        with pytest.raises(error, match="has ended; return it from the function" + OWN_ERRORS.get(transform, "")):
            pytest.fail(f"{name}: {use(kept[0])}")
    assert tuple(kept[0].shape) in ((), (3,))
    assert "shape" in repr(kept[0]) or "size" in repr(kept[0]) or transform in OWN_ERRORS


DERIVATIVES: dict[str, Callable[[Callable[..., Any]], Any]] = {
    "grad": lambda f: grad(lambda x: f(x).sum())(X),
    "jvp": lambda f: jvp(f, (X,), (X,)),
    "vjp": lambda f: vjp(f, X)[1](X),
    "grad of jit": lambda f: grad(lambda x: jit(f)(x).sum())(X),
}


@pytest.mark.parametrize("transform", DERIVATIVES)
def test_what_leaks_from_a_derivative_is_a_constant(transform: str) -> None:
    """It can't be told from what a function closes over that is called again when its derivative is pulled back."""
    kept: list[Any] = []
    DERIVATIVES[transform](lambda x: (kept.append(x * 2.0), x * 1.0)[1])
    torch.testing.assert_close(kept[0] + 1.0, 2.0 * X + 1.0)
    torch.testing.assert_close(grad(lambda x: (x * kept[0]).sum())(X), 2.0 * X)
    torch.testing.assert_close(jit(lambda x: x * kept[0])(X), 2.0 * X * X)
