"""Transposes of linear functions on PyTorch."""

from collections.abc import Callable
from typing import Any, TypeAlias

import torch

from xpand.extend import Array

from ._levels import depends
from ._products import vjp

Arrays: TypeAlias = "tuple[Array, ...]"


def linear_transpose(function: Callable[..., Any], /, *primals: Array) -> Callable[..., Arrays]:
    zeros = tuple(map(torch.zeros_like, primals))

    def pulled(*xs: Array) -> tuple[Any, ...]:
        return vjp(lambda *leaves: (function(*leaves), ()), *xs, has_aux=True)

    def derivative(*xs: Array) -> tuple[Arrays, Arrays]:
        outs, pull, _ = pulled(*xs)
        back = pull(*map(torch.ones_like, outs))
        nonlinear.extend(depends(x, xs) for x in back)
        return back, ()

    nonlinear: list[bool] = []
    vjp(derivative, *zeros, has_aux=True)
    if any(nonlinear):
        raise TypeError("linear_transpose: the function is not linear: its derivative depends on where it is taken")
    _, pull, _ = pulled(*zeros)
    transposed: Callable[..., Arrays] = pull
    return transposed
