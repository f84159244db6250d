"""Forward and reverse mode by torch.func. Complex gradients follow JAX's convention: the conjugates of PyTorch's."""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from threading import RLock, _DummyThread, current_thread
from typing import Any, Final

import torch
from torch.func import debug_unwrap

from xpand import UnsupportedError
from xpand.extend import LibraryArray as Array
from xpand.torch import _private as private
from xpand_extensions._transforms import ArraySpec

from .._errors import with_errors
from ._levels import Arrays, Function, conjugated, is_floating, merged

private.load_forward_rules()  # at import, so that PyTorch does not warn in a user's call


def stop_gradient(x: Array, /) -> Array:
    return x.detach()


def jvp(
    function: Callable[..., Any], /, primals: Sequence[Array], tangents: Sequence[Array], *, has_aux: bool = False
) -> tuple[Any, ...]:
    if any(map(_is_distributed, primals)):  # distributed tensors have no forward mode
        outs, push, aux = linearize(function, *primals, has_aux=True)
        return outs, push(*tangents), aux
    count: list[int] = []

    def extended(*arrays: Array) -> Any:
        outs, aux = function(*arrays)
        count[:] = [len(outs)]
        return tuple(outs) or (arrays[0].new_zeros(()),), aux  # PyTorch needs a result

    pushed = partial(torch.func.jvp, extended, has_aux=True)
    outs, found, aux = with_errors(
        "forward mode", _in_one_thread, pushed, tuple(map(_without_shared_elements, primals)), tuple(tangents)
    )
    outs = outs[: count[0]]
    # After a Python number is added to an array without axes, PyTorch's tangents are float64.
    return outs, tuple([t.to(x.dtype) for x, t in zip(outs, found)]), aux


def _is_distributed(x: Array) -> bool:
    if torch.compiler.is_dynamo_compiling():  # the compiler can't trace this test
        return False
    distributed = sys.modules.get("torch.distributed.tensor")
    return distributed is not None and isinstance(debug_unwrap(x), distributed.DTensor)


_FORWARD: Final = RLock()
"""The lock of forward mode, which runs in one thread at a time: PyTorch counts its levels for all threads together."""


def _in_one_thread(pushed: Callable[..., Any], *args: Any) -> Any:
    """Call a function in forward mode, in one thread at a time."""
    # Threads that Python did not start run `backward` on a GPU. The thread that waits for them may have the lock.
    if torch.compiler.is_dynamo_compiling() or isinstance(current_thread(), _DummyThread):
        return pushed(*args)
    with _FORWARD:
        return pushed(*args)


def _without_shared_elements(x: Array) -> Array:
    """Copy a tensor whose elements share memory, such as a result of `expand`: forward mode does not accept it."""
    if x.layout is not torch.strided:
        return x
    repeats = any(size > 1 and stride == 0 for size, stride in zip(x.shape, x.stride()))
    return x.clone(memory_format=torch.contiguous_format) if repeats else x


def _as_gradient(x: Array) -> Array:
    """Convert a gradient to JAX's convention, and PyTorch's zeros without memory to zeros that NumPy can read."""
    if not torch.compiler.is_dynamo_compiling() and private.is_zero_tensor(x):  # the compiler can't trace this test
        return torch.zeros(x.shape, dtype=x.dtype, device=x.device)
    return conjugated(x) if x.is_complex() else x


def _with_warnings(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make PyTorch warn at every `float(x)` in a function, which loses the gradient; by default it warns only once."""

    def called(*args: Any) -> Any:
        if torch.compiler.is_dynamo_compiling() or torch.is_warn_always_enabled():
            return function(*args)
        torch.set_warn_always(True)
        try:
            return function(*args)
        finally:
            torch.set_warn_always(False)

    return called


def vjp(function: Callable[..., Any], /, *primals: Array, has_aux: bool = False) -> tuple[Any, ...]:
    floating: list[bool] = []

    # torch.func accepts floating-point results only. Return the others as auxiliary data.
    def divided(*arrays: Array) -> Any:
        outs, aux = function(*arrays)
        floating[:] = [is_floating(x) for x in outs]
        # PyTorch needs a result. If there is none, return a constant.
        taken = tuple(filter(is_floating, outs)) or (arrays[0].new_zeros(()),)
        return taken, (tuple(x for x in outs if not is_floating(x)), aux)

    of_levels = partial(torch.func.vjp, _with_warnings(divided), has_aux=True)
    found, pull, (others, aux) = with_errors("reverse mode", of_levels, *primals)
    chosen = tuple(floating)
    outs = merged(chosen, found, others)

    def pulled(*cotangents: Array) -> tuple[Array, ...]:
        given = tuple(conjugated(x) for x, is_floating in zip(cotangents, chosen) if is_floating)
        return tuple(map(_as_gradient, with_errors("reverse mode", pull, given or found)))

    return outs, pulled, aux


def linearize(function: Callable[..., Any], /, *primals: Array, has_aux: bool = False) -> tuple[Any, ...]:
    # Transpose the pullback: PyTorch's `linearize` is wrong inside other derivatives.
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


def residuals(function: Callable[..., Any], /, *specs: ArraySpec) -> tuple[list[Array], Callable[..., Any]]:
    raise UnsupportedError(
        "vjp, linearize, linear_transpose: on PyTorch, the functions that they return can't be arguments or results of "
        "transformations, be carried through loops, or be pickled; call them there, and use the results"
    )


def value_and_grad(
    function: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    numbers = tuple(argnums) if isinstance(argnums, list) else argnums
    native = torch.func.grad_and_value(_with_warnings(function), numbers)

    def both(*arrays: Array) -> tuple[Array, Any]:
        gradient, value = with_errors("reverse mode", native, *arrays)
        return value, tuple(map(_as_gradient, gradient)) if isinstance(gradient, tuple) else _as_gradient(gradient)

    return both


def linear_transpose(function: Callable[..., Any], /, *primals: Array) -> Callable[..., Arrays]:
    zeros = tuple(map(torch.zeros_like, primals))

    def pulled(*xs: Array) -> tuple[Any, ...]:
        return vjp(lambda *leaves: (function(*leaves), ()), *xs, has_aux=True)

    def derivative(*xs: Array) -> tuple[Arrays, Arrays]:
        outs, pull, _ = pulled(*xs)
        back = pull(*map(torch.ones_like, outs))
        nonlinear.extend(_depends_on(xs, x) for x in back)
        return back, ()

    nonlinear: list[bool] = []
    vjp(derivative, *zeros, has_aux=True)
    if any(nonlinear):
        raise TypeError("linear_transpose: the function is not linear: its derivative depends on where it is taken")
    _, pull, _ = pulled(*zeros)
    transposed: Callable[..., Arrays] = pull
    return transposed


def _depends_on(xs: Sequence[Array], x: Array) -> bool:
    """Return whether `x` depends on the arrays that the innermost level traces, which are among `xs`."""
    return bool(x.requires_grad and private.level_of(x) == max(map(private.level_of, xs)))


def pulled_back(function: Function, primals: Arrays, cotangents: Arrays) -> Arrays:
    """Pull back cotangents of a function's results to its arguments, in JAX's convention; to zeros for integers."""
    floating = filter(is_floating, primals)
    back = vjp(partial(_of_floating, function, primals), *floating, has_aux=True)[1](*cotangents)
    return merged(list(map(is_floating, primals)), back, (torch.zeros_like(x) for x in primals if not is_floating(x)))


def pushed_forward(function: Function, primals: Arrays, tangents: Arrays) -> tuple[Arrays, Arrays]:
    """Return a function's results and their tangents."""
    given = tuple(t for x, t in zip(primals, tangents) if is_floating(x))
    floating = tuple(filter(is_floating, primals))
    outs, found, _ = jvp(partial(_of_floating, function, primals), floating, given, has_aux=True)
    return outs, found


def _of_floating(function: Function, primals: Arrays, *floating: Array) -> tuple[Arrays, Arrays]:
    others = [x for x in primals if not is_floating(x)]
    return function(*merged(list(map(is_floating, primals)), floating, others)), ()
