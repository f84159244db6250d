"""Derivatives kept to be applied, and transposed functions, on PyTorch."""

from collections.abc import Callable
from typing import Any, TypeAlias

import torch

from xpand._typing import Array

from ._levels import depends, is_floating
from ._products import vjp

Arrays: TypeAlias = "tuple[Array, ...]"


def linearize(function: Callable[..., Any], /, *primals: Array, has_aux: bool = False) -> tuple[Any, ...]:
    # The transpose of the transpose: torch.func has a `linearize` of its own, which can't be nested.
    outs, pull, aux = vjp(function, *primals, has_aux=True)
    like = [(tuple(x.shape), x.dtype, x.device, is_floating(x)) for x in outs]

    def of_floating(*cotangents: Array) -> tuple[Arrays, Arrays]:
        return pull(*_filled(like, cotangents)), ()

    zeros = [torch.zeros_like(x) for x in outs if is_floating(x)]
    if not zeros:
        return outs, lambda *tangents: _filled(like, ()), aux
    _, push, _ = vjp(of_floating, *zeros, has_aux=True)
    return outs, lambda *tangents: _filled(like, push(*tangents)), aux


def _filled(like: list[tuple[Any, ...]], arrays: Arrays) -> Arrays:
    """Put zeros in the places of integers."""
    given = iter(arrays)
    return tuple(
        next(given) if floating else torch.zeros(shape, dtype=dtype, device=device)
        for shape, dtype, device, floating in like
    )


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
