"""Derivatives kept to be applied, and transposed functions, on PyTorch."""

from collections.abc import Callable
from typing import Any, TypeAlias

import torch

from xpand._typing import Array

from ._autodiff_levels import depends
from ._autodiff_products import vjp

Arrays: TypeAlias = "tuple[Array, ...]"


def linearize(function: Callable[..., Any], /, *primals: Array, has_aux: bool = False) -> tuple[Any, ...]:
    # The transposed of the transposed: torch.func has a `linearize` of its own, which can't be nested.
    outs, pull, aux = vjp(function, *primals, has_aux=True)
    zeros = tuple(map(torch.zeros_like, outs))
    _, push, _ = vjp(lambda *cotangents: (pull(*cotangents), ()), *zeros, has_aux=True)
    return outs, push, aux


def linear_transpose(function: Callable[..., Any], /, *primals: Array) -> Callable[..., Arrays]:
    zeros = tuple(map(torch.zeros_like, primals))
    pulled = lambda *xs: vjp(lambda *leaves: (function(*leaves), ()), *xs, has_aux=True)

    def derivative(*xs: Array) -> tuple[Arrays, tuple[bool, ...]]:
        outs, pull, _ = pulled(*xs)
        back = pull(*map(torch.ones_like, outs))
        nonlinear.extend(depends(x, xs) for x in back)
        return back, ()

    nonlinear: list[bool] = []
    vjp(derivative, *zeros, has_aux=True)
    if any(nonlinear):
        raise TypeError("linear_transpose: the function is not linear: its derivative depends on where it is taken")
    _, pull, _ = pulled(*zeros)
    return lambda *cotangents: pull(*cotangents)
