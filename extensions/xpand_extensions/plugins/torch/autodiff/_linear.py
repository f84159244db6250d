"""Linearized functions and transposes of linear functions on PyTorch."""

from collections.abc import Callable
from typing import Any, TypeAlias

import torch

from xpand.extend import Array

from ._levels import depends, is_floating, merged
from ._products import vjp

Arrays: TypeAlias = "tuple[Array, ...]"


def linearize(function: Callable[..., Any], /, *primals: Array, has_aux: bool = False) -> tuple[Any, ...]:
    # The transpose of the pullback: torch.func's own `linearize` can't be nested.
    outs, pull, aux = vjp(function, *primals, has_aux=True)
    chosen = list(map(is_floating, outs))
    integers = [x.detach() for x in outs if not is_floating(x)]
    zeros = [torch.zeros_like(x) for x in outs if is_floating(x)]

    def filled(arrays: Arrays) -> Arrays:
        return merged(chosen, arrays, map(torch.zeros_like, integers))

    if not zeros:
        return outs, lambda *tangents: filled(()), aux
    _, push, _ = vjp(lambda *cotangents: (pull(*filled(cotangents)), ()), *zeros, has_aux=True)
    return outs, lambda *tangents: filled(push(*tangents)), aux


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
