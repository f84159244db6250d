"""Products with Jacobians: forward mode, reverse mode, and constants for differentiation."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from xpand import trees
from xpand.extend import Array, checks, describe

from .._dispatch import pluggable
from .._signatures import forward_product, reverse_product
from .._transforms import ArraySpec, like_tree
from .._where import clean_tracebacks
from ._arguments import Floating
from ._linear import LinearFunction

Function: TypeAlias = Callable[..., Any]


@pluggable
def stop_gradient(x: trees.Tree, /) -> trees.Tree:
    """Return the same values as constants for differentiation: no gradient flows through them.

    Args:
        x: An array of any library, or a tree of arrays. Leaves that are not arrays stay unchanged.

    Returns:
        The same tree. Its arrays may share memory with those of `x`.

    Source: `jax.lax.stop_gradient`; PhiML's `stop_gradient_tree`.

    >>> import numpy as np
    >>> stop_gradient({"x": np.asarray([1.0, 2.0])})
    {'x': array([1., 2.])}
    """

    def stop(leaf: trees.Tree) -> trees.Tree:
        return stop_gradient.native(leaf)(leaf) if checks.is_array(leaf) else leaf

    return trees.map(stop, x)


@pluggable
def is_differentiated(x: Array, /) -> bool:
    """Return whether a concrete array is being differentiated, as PyTorch's tensors may be."""
    return is_differentiated.native(x)(x)


@forward_product
@clean_tracebacks
@pluggable
def jvp(
    function: Function, /, primals: Sequence[trees.Tree], tangents: Sequence[trees.Tree], *, has_aux: bool = False
) -> tuple[Any, ...]:
    """Evaluate a function and its derivative along a direction, by forward mode.

    Args:
        function: Takes trees of arrays and returns one.
        primals: The arguments at which to evaluate: a sequence of trees of arrays.
        tangents: The direction: for each argument, a tree of its structure, shapes and data types. Values for integers
            and booleans count as zeros.
        has_aux: Whether the function returns a pair: the output, and auxiliary data that is not differentiated.

    Returns:
        The output and its derivative, a tree like the output; with `has_aux`, followed by the auxiliary data. Leaves
        that are not floating-point arrays have the derivative zero.

    Raises:
        TypeError: Arguments are not arrays, or tangents have another structure or data type; or (`UnsupportedError`)
            the library has no derivatives.
        ValueError: The numbers of tangents and primals differ, or a shape differs.

    Source: `jax.jvp`.

    >>> import torch
    >>> jvp(torch.sin, (torch.tensor(0.0),), (torch.tensor(2.0),))
    (tensor(0.), tensor(2.))
    """
    for name, value in (("primals", primals), ("tangents", tangents)):
        if not isinstance(value, (tuple, list)):
            raise TypeError(f"jvp: {name} must be a tuple or a list of arguments, got {describe(value)}")
    call = Floating("jvp", function, tuple(primals), has_aux)
    directions = like_tree("jvp", "tangents", tuple(tangents), call.structure, call.leaves)
    arrays, along = call.chosen(call.leaves), call.chosen(directions)
    if arrays:
        outs, derivatives, aux = jvp.native(*call.leaves)(call, tuple(arrays), tuple(along), has_aux=True)
    else:
        outs, aux = call()
        derivatives = [ArraySpec.of(x).zeros() for x in outs]
    values, rest = call.finished(outs, aux)
    return call.flat.output(values), call.flat.output(call.derivatives(values, derivatives)), *rest


@reverse_product
@clean_tracebacks
@pluggable
def vjp(function: Function, /, *primals: trees.Tree, has_aux: bool = False) -> tuple[Any, ...]:
    """Evaluate a function and return its pullback, which maps cotangents of the output to cotangents of the arguments.

    Args:
        function: Takes trees of arrays and returns one.
        *primals: The arguments at which to evaluate: trees of arrays. Derivatives of integers and booleans are zeros of
            their own data types; JAX's are of type `float0`.
        has_aux: Whether the function returns a pair: the output, and auxiliary data that is not differentiated.

    Returns:
        The output and the pullback; with `has_aux`, followed by the auxiliary data. The pullback takes a tree like the
        output and returns a tuple with a tree like each argument. It is itself a tree, of its residuals, so `jit` and
        `vmap` can take and return it.

    Raises:
        TypeError: Arguments are not arrays; or (`UnsupportedError`) the library has no derivatives. The pullback raises
            it for a tree that is not like the output.

    Source: `jax.vjp`.

    >>> import torch
    >>> value, pullback = vjp(lambda x, y: x * y, torch.tensor(2.0), torch.tensor(3.0))
    >>> value, pullback(torch.tensor(1.0))
    (tensor(6.), (tensor(3.), tensor(2.)))
    """
    call = Floating("vjp", function, primals, has_aux)
    arrays = call.chosen(call.leaves)
    if arrays:
        outs, pull, aux = vjp.native(*call.leaves)(call, *arrays, has_aux=True)
    else:
        (outs, aux), pull = call(), None
    values, rest = call.finished(outs, aux)
    gives, takes = call.inputs_and_outputs(values)
    return call.flat.output(values), LinearFunction("vjp", "cotangents", pull, takes, gives), *rest
