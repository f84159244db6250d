"""Gradients of scalar functions of trees."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from xpand import array_namespace
from xpand.extend import Array, checks

from .._dispatch import pluggable
from .._transformed import transformation
from .._transforms import Direct, IndirectError, compiled_as
from ._arguments import Chosen, argnums_of, check_callable, check_scalar
from ._products import Function, vjp


@transformation
def grad(
    function: Function,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Function:
    """Make the function that returns the gradient of a scalar function.

    Args:
        function: Takes trees of arrays and returns an array of no axes, or a Python number.
        argnums: Which of its positional arguments to differentiate with respect to: trees of floating-point arrays.
        has_aux: Whether the function returns a pair, of the output and of auxiliary data that is not differentiated.
        holomorphic: A promise that the function is holomorphic: arguments and output are then complex.
        allow_int: Whether the arguments may hold integers and booleans. Their gradients are zeros of their own data
            types instead of JAX's `float0`, which other libraries don't have.

    Returns:
        A function of the same arguments that returns a tree like the argument, or a tuple of several where `argnums`
        names several; with `has_aux` a pair of that and the auxiliary data.

    Raises:
        TypeError: By the function returned: arguments that are not floating-point, or an output that is no real number
            (complex with `holomorphic`); or (`UnsupportedError`) a library without derivatives.
        ValueError: By the function returned: `argnums` that the call has no arguments for.

    Source: `jax.grad`.

    >>> import torch
    >>> grad(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))
    tensor([ 3., 12.])
    """
    both = _value_and_grad("grad", function, argnums, has_aux, holomorphic, allow_int)

    @wraps(function)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, result = both(*args, **kwargs)
        return (result, value[1]) if has_aux else result

    return gradient


@transformation
@pluggable
def value_and_grad(
    function: Function,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Function:
    """Make the function that returns the value of another and its gradient.

    Arguments and errors are those of `grad`.

    Returns:
        A function of the same arguments that returns a pair: the function's result, and the gradient.

    Source: `jax.value_and_grad`.

    >>> import torch
    >>> value_and_grad(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))
    (tensor(9.), tensor([ 3., 12.]))
    """
    return _value_and_grad("value_and_grad", function, argnums, has_aux, holomorphic, allow_int)


def _value_and_grad(
    name: str, function: Function, argnums: int | Sequence[int], has_aux: bool, holomorphic: bool, allow_int: bool
) -> Function:
    check_callable(name, function)
    numbers = argnums_of(name, argnums)

    def of_trees(*args: Any, **kwargs: Any) -> Any:
        chosen = Chosen(name, function, args, kwargs, numbers, has_aux=has_aux, allow_int=allow_int)
        outs, pull, aux = pullback(chosen)
        check_scalar(name, chosen.flat, outs, holomorphic)
        back = chosen.tree(pull(array_namespace(outs[0]).ones_like(outs[0])))
        value = chosen.flat.output(outs)
        gradient = back if isinstance(argnums, (tuple, list)) else back[0]
        return ((value, chosen.flat.aux(aux)), gradient) if has_aux else (value, gradient)

    # A fast path for the common case, a real function of arrays, which is all that implementations support.
    if has_aux or holomorphic or allow_int:
        return wraps(function)(of_trees)

    direct = Direct(
        function,
        lambda args, checked: value_and_grad.native(*args)(checked, argnums),
        lambda x: x.shape == () and checks.kind_of(x) == "real",
    )

    differentiated: set[Any] = set()

    def have_been(args: tuple[Any, ...]) -> bool:
        for number in numbers:
            x = args[number]
            if (type(x), x.dtype) not in differentiated:
                return False
        return True

    @wraps(function)
    def both(*args: Any, **kwargs: Any) -> Any:
        native = None if kwargs else direct.find(args)
        if native is not None and have_been(args):
            try:
                return native(*args)
            except IndirectError:
                direct.turn_off()
        found = of_trees(*args, **kwargs)
        if not kwargs and hasattr(found[0], "dtype"):
            direct.add(args)
            if direct.find(args) is not None:
                differentiated.update([(type(args[number]), args[number].dtype) for number in numbers])
        return found

    return compiled_as(of_trees, both)


def pullback(chosen: Chosen) -> tuple[tuple[Array, ...], Callable[..., tuple[Array, ...]], Sequence[Array]]:
    """Call a function at its chosen arguments: return the results, the pullback and the auxiliary data."""
    arrays = chosen.arrays
    if not arrays:
        outs, aux = chosen()
        return outs, lambda *cotangents: (), chosen.flat.take_patterns(aux)
    outs, pull, aux = vjp.native(*arrays)(chosen, *arrays, has_aux=True)
    return outs, pull, chosen.flat.take_patterns(aux)
