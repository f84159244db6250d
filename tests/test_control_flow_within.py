"""Transformations in the bodies of loops that PyTorch compiles: their arrays are of the body, not from outside."""

from typing import Any

import pytest
import torch

from xpand_extensions.autodiff import grad, jvp
from xpand_extensions.control_flow import scan, while_loop
from xpand_extensions.jit import jit
from xpand_extensions.vmap import vmap

C = torch.tensor([2.0, 5.0], dtype=torch.float64)
ZERO = torch.tensor(0)


def by_gradients(x: Any, c: Any) -> Any:
    return x - 0.01 * grad(lambda x: ((x * x - c) ** 2).sum())(x)


def by_outer(x: Any, c: Any) -> Any:
    # The differentiated function itself is from outside.
    return x + 0.1 * grad(lambda c: (c * c * x).sum())(c)


def by_rows(x: Any, c: Any) -> Any:
    eye = torch.eye(2, dtype=torch.float64)
    return x + 0.1 * vmap(lambda row, c: row * x + c)(eye, c).sum(0)


def by_directions(x: Any, c: Any) -> Any:
    return x - 0.1 * jvp(lambda x: x * c, (x,), (c,))[1]


@pytest.mark.parametrize("step", [by_gradients, by_outer, by_rows, by_directions])
def test_loops_over_transformations(step: Any) -> None:
    def looped(c: Any) -> Any:
        return while_loop(lambda s: s[1] < 3, lambda s: (step(s[0], c), s[1] + 1), (c, ZERO))[0]

    expected = C
    for _ in range(3):
        expected = step(expected, C)
    torch.testing.assert_close(jit(looped)(C), expected)
    torch.testing.assert_close(looped(C), expected)


def test_derivatives_of_scans_over_gradients() -> None:
    def total(c: Any) -> Any:
        return scan(lambda x, _: (by_gradients(x, c), x.sum()), c, None, length=3)[1].sum()

    def unrolled(c: Any) -> Any:
        x, found = c, 0.0
        for _ in range(3):
            x, found = by_gradients(x, c), found + x.sum()
        return found

    torch.testing.assert_close(jit(grad(total))(C), torch.func.grad(unrolled)(C))


def test_derivatives_of_compiled_loops_that_need_no_steps() -> None:
    """Of none at all, and where only their number depends on what is differentiated."""

    def from_none_on(c: Any) -> Any:
        return while_loop(lambda x: x.sum() < 9.0, lambda x: x * c, c, max_iter=(0, 2, 2)).sum()

    def none(c: Any) -> Any:
        return while_loop(lambda x: x.sum() < 9.0, lambda x: x * c, c, max_iter=0).sum()

    def up_to(c: Any) -> Any:
        total = c.sum()
        return while_loop(lambda x: x < total, lambda x: x + 1.0, ZERO * 1.0) * total

    for function in (from_none_on, none, up_to):
        torch.testing.assert_close(jit(grad(function))(C), grad(function)(C))
