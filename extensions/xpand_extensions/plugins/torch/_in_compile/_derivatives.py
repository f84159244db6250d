"""Derivatives by torch.func. Its gradients of complex functions are the conjugates of JAX's."""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeAlias

import torch
import torch.utils.checkpoint

from xpand.extend import LibraryArray as Array
from xpand.torch import _private as private
from xpand_extensions.autodiff.checkpoint_policies import AnyPolicy, check_no_offload, everything_saveable
from xpand_extensions.generic import autodiff

from .._gradients import conjugated, is_floating
from ._replaced import INSTEAD, in_place_of, refuse

Arrays: TypeAlias = "tuple[Array, ...]"
Function: TypeAlias = Callable[..., Any]


def with_aux(function: Function) -> Function:
    """Make a function return empty auxiliary data, too."""
    return lambda *xs: (function(*xs), ())


@in_place_of(autodiff.jvp)
def jvp(
    function: Function, /, primals: Sequence[Array], tangents: Sequence[Array], *, has_aux: bool = False
) -> tuple[Any, ...]:
    def extended(*xs: Array) -> Any:
        outs, aux = function(*xs)
        return (xs[0].new_zeros(()), *outs), aux  # PyTorch needs a result

    # Forward mode accepts no tensors whose elements share memory, such as results of `expand`.
    at = tuple([x.contiguous() for x in primals])
    (_, *outs), (_, *along), aux = torch.func.jvp(extended, at, tuple(tangents), has_aux=True)
    # After a Python number is added to an array without axes, PyTorch's tangents are float64.
    return tuple(outs), tuple([t.to(x.dtype) for x, t in zip(outs, along)]), aux


@in_place_of(autodiff.vjp)
def vjp(function: Function, /, *primals: Array, has_aux: bool = False) -> tuple[Any, ...]:
    chosen: list[bool] = []

    def divided(*xs: Array) -> Any:
        outs, aux = function(*xs)
        chosen[:] = map(is_floating, outs)
        taken = (xs[0].new_zeros(()), *filter(is_floating, outs))  # PyTorch needs a result, and only floating ones
        return taken, (tuple([x for x in outs if not is_floating(x)]), aux)

    (zero, *floating), pull, (others, aux) = torch.func.vjp(divided, *primals, has_aux=True)
    some, rest = iter(floating), iter(others)
    outs = tuple([next(some) if each else next(rest) for each in chosen])

    def pulled(*cotangents: Array) -> Arrays:
        of_floating = [conjugated(ct) for ct, each in zip(cotangents, chosen) if each]
        return tuple(map(conjugated, pull((torch.zeros_like(zero), *of_floating))))

    return outs, pulled, aux


@in_place_of(autodiff.value_and_grad)
def value_and_grad(
    function: Function,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Function:
    native = torch.func.grad_and_value(function, tuple(argnums) if isinstance(argnums, list) else argnums)

    def both(*arrays: Array) -> tuple[Array, Any]:
        gradient, value = native(*arrays)
        return value, tuple(map(conjugated, gradient)) if isinstance(gradient, tuple) else conjugated(gradient)

    return both


@in_place_of(autodiff.linearize)
def linearize(function: Function, /, *primals: Array, has_aux: bool = False) -> tuple[Any, ...]:
    # Transpose the pullback: torch.compile can't trace PyTorch's `linearize`.
    outs, pull, aux = vjp(function, *primals, has_aux=True)
    chosen = list(map(is_floating, outs))

    def of_chosen(*cotangents: Array) -> tuple[Arrays, Arrays]:
        rest = iter(cotangents)
        return pull(*[next(rest) if each else x for x, each in zip(outs, chosen)]), ()

    zeros = [torch.zeros_like(x) for x, each in zip(outs, chosen) if each]
    push = vjp(of_chosen, *zeros, has_aux=True)[1] if zeros else lambda *tangents: ()

    def pushed(*tangents: Array) -> Arrays:
        moved = iter(push(*tangents))
        return tuple([next(moved) if each else torch.zeros_like(x) for x, each in zip(outs, chosen)])

    return outs, pushed, aux


@in_place_of(autodiff.linear_transpose)
def linear_transpose(function: Function, /, *primals: Array) -> Function:
    zeros = tuple(map(torch.zeros_like, primals))
    nonlinear: list[bool] = []

    def derivative(*xs: Array) -> tuple[Arrays, Arrays]:
        outs, pull, _ = vjp(with_aux(function), *xs, has_aux=True)
        back = pull(*map(torch.ones_like, outs))
        nonlinear.extend([bool(x.requires_grad) for x in back])
        return back, ()

    with torch.no_grad():  # so that the derivative requires gradients only if it depends on the arguments
        vjp(derivative, *zeros, has_aux=True)
    if any(nonlinear):
        raise TypeError("linear_transpose: the function is not linear: its derivative depends on where it is taken")
    pull: Function = vjp(with_aux(function), *zeros, has_aux=True)[1]
    return pull


@in_place_of(autodiff.residuals)
def residuals(function: Function, /, *specs: Any) -> NoReturn:
    refuse(
        "vjp, linearize, linear_transpose: inside torch.compile, the functions that they return can't be arguments or "
        f"results of transformations, or be carried through loops; call them, and use the results, or {INSTEAD}"
    )


@in_place_of(autodiff.checkpoint)
def checkpoint(
    function: Function,
    /,
    *,
    prevent_cse: bool = True,
    policy: AnyPolicy | None = None,
    static_argnums: int | Sequence[int] = (),
) -> Function:
    if policy is everything_saveable:
        return function
    check_no_offload(policy)

    def checkpointed(*xs: Array) -> Any:
        results = function(*xs)  # it stores the structure of its results, which torch.compile forbids inside
        if private.are_levels_active():  # torch.func doesn't support checkpoints
            return results
        return torch.utils.checkpoint.checkpoint(function, *xs, use_reentrant=False)

    return checkpointed
