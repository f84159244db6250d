"""Derivatives, of functions of trees of arrays: JAX's names, arguments and conventions, on every library that has them.

The library is that of the arrays of a call. A function may take and return arrays, Python numbers, and trees of such.
The gradient of a real function of complex numbers is JAX's: its conjugate is the direction of steepest ascent.
"""

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeAlias

from xpand import _arguments, array_namespace, trees
from xpand._namespace import describe
from xpand._typing import Array

from ._dispatch import pluggable
from ._transforms import Flat, arrays_of, differentiable, is_floating, like_tree
from .vmap import mapped

__all__ = ["grad", "hessian", "jacfwd", "jacrev", "jvp", "stop_gradient", "value_and_grad", "vjp"]

Function: TypeAlias = Callable[..., Any]


@pluggable
def stop_gradient(x: trees.Tree, /) -> trees.Tree:
    """Return the same values, as constants for differentiation: no gradient flows through them.

    Args:
        x: An array of any library, or a tree of arrays. Leaves that are no arrays stay as they are.

    Returns:
        The same tree. Its arrays may share memory with those given.

    Source: `jax.lax.stop_gradient`; PhiML's `stop_gradient_tree`.

    >>> import numpy as np
    >>> stop_gradient({"x": np.asarray([1.0, 2.0])})
    {'x': array([1., 2.])}
    """

    def stop(leaf: trees.Tree) -> trees.Tree:
        return stop_gradient.native(leaf)(leaf) if _arguments.is_array(leaf) else leaf

    return trees.map(stop, x)


@pluggable
def jvp(
    function: Function, primals: Sequence[trees.Tree], tangents: Sequence[trees.Tree], /, *, has_aux: bool = False
) -> tuple[Any, ...]:
    """Evaluate a function, and its derivative along a direction: forward mode.

    Args:
        function: Takes trees of arrays and returns one.
        primals: The arguments at which to evaluate: a sequence of trees, of floating-point arrays.
        tangents: The direction: for each argument a tree of its structure, shapes and data types.
        has_aux: Whether the function returns a pair, of the output and of auxiliary data that is not differentiated.

    Returns:
        The output and its derivative, a tree like the output; with `has_aux` the auxiliary data after them. The
        derivative of what is no floating-point array is zero.

    Raises:
        TypeError: Arguments that are no floating-point arrays, or tangents of another structure or data type; or
            (`UnsupportedError`) a library without derivatives.
        ValueError: As many tangents as primals are needed, and of their shapes.

    Source: `jax.jvp`.

    >>> import torch
    >>> jvp(torch.sin, (torch.tensor(0.0),), (torch.tensor(2.0),))
    (tensor(0.), tensor(2.))
    """
    for name, value in (("primals", primals), ("tangents", tangents)):
        if not isinstance(value, (tuple, list)):
            raise TypeError(f"jvp: {name} must be a tuple or a list of arguments, got {describe(value)}")
    leaves, structure = arrays_of("jvp", "primals", tuple(primals))
    differentiable("jvp", "primals", leaves)
    directions = like_tree("jvp", "tangents", tuple(tangents), structure, leaves)
    flat = Flat("jvp", function, structure, has_aux)
    outs, derivatives, aux = jvp.native(*leaves)(flat, tuple(leaves), tuple(directions), has_aux=True)
    result = flat.output(outs), flat.output(derivatives)
    return (*result, flat.aux(aux)) if has_aux else result


@pluggable
def vjp(function: Function, /, *primals: trees.Tree, has_aux: bool = False) -> tuple[Any, ...]:
    """Evaluate a function, and return what pulls derivatives of its output back to its arguments: reverse mode.

    Args:
        function: Takes trees of arrays and returns one.
        *primals: The arguments at which to evaluate: trees of floating-point arrays.
        has_aux: Whether the function returns a pair, of the output and of auxiliary data that is not differentiated.

    Returns:
        The output and the pullback; with `has_aux` the auxiliary data after them. The pullback takes a tree like the
        output and returns a tuple with a tree like each argument.

    Raises:
        TypeError: Arguments that are no floating-point arrays; or (`UnsupportedError`) a library without derivatives.
            By the pullback, for a tree that is not like the output.

    Source: `jax.vjp`.

    >>> import torch
    >>> value, pullback = vjp(lambda x, y: x * y, torch.tensor(2.0), torch.tensor(3.0))
    >>> value, pullback(torch.tensor(1.0))
    (tensor(6.), (tensor(3.), tensor(2.)))
    """
    leaves, structure = arrays_of("vjp", "primals", primals)
    differentiable("vjp", "primals", leaves)
    flat = Flat("vjp", function, structure, has_aux)
    outs, pull, aux = vjp.native(*leaves)(flat, *leaves, has_aux=True)
    result = flat.result
    assert result is not None, "the function has been called"

    def pullback(cotangents: trees.Tree) -> tuple[trees.Tree, ...]:
        back: tuple[trees.Tree, ...] = trees.unflatten(
            structure, pull(*like_tree("vjp", "cotangents", cotangents, result, outs))
        )
        return back

    return (flat.output(outs), pullback, flat.aux(aux)) if has_aux else (flat.output(outs), pullback)


def grad(
    function: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Function:
    """Make the function that returns the gradient of another, whose output is one number.

    Args:
        function: Takes trees of arrays and returns an array of no axes, or a Python number.
        argnums: Which of its positional arguments to differentiate with respect to: trees of floating-point arrays.
        has_aux: Whether the function returns a pair, of the output and of auxiliary data that is not differentiated.
        holomorphic: A promise that the function is holomorphic: arguments and output are then complex.

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
    both = _value_and_grad("grad", function, argnums, has_aux, holomorphic)

    @wraps(function)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, result = both(*args, **kwargs)
        return (result, value[1]) if has_aux else result

    return gradient


def value_and_grad(
    function: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Function:
    """Make the function that returns the value of another and its gradient.

    Arguments and errors are those of `grad`.

    Returns:
        A function of the same arguments that returns a pair: what the function returns, and what `grad` does.

    Source: `jax.value_and_grad`.

    >>> import torch
    >>> value_and_grad(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))
    (tensor(9.), tensor([ 3., 12.]))
    """
    return _value_and_grad("value_and_grad", function, argnums, has_aux, holomorphic)


def _value_and_grad(
    name: str, function: Function, argnums: int | Sequence[int], has_aux: bool, holomorphic: bool
) -> Function:
    _check_callable(name, function)
    numbers = _argnums(name, argnums)

    @wraps(function)
    def both(*args: Any, **kwargs: Any) -> Any:
        chosen, of_chosen = _choose(name, function, args, kwargs, numbers)
        leaves, structure = arrays_of(name, "the arguments", chosen, (args, kwargs))
        differentiable(name, "the arguments", leaves)
        flat = Flat(name, of_chosen, structure, has_aux)
        outs, pull, aux = vjp.native(*leaves)(flat, *leaves, has_aux=True)
        _check_scalar(name, outs, holomorphic)
        xp = array_namespace(outs[0])
        back = trees.unflatten(structure, pull(xp.ones_like(outs[0])))
        value = flat.output(outs)
        gradient = back if isinstance(argnums, (tuple, list)) else back[0]
        return ((value, flat.aux(aux)), gradient) if has_aux else (value, gradient)

    return both


def jacrev(
    function: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Function:
    """Make the function that returns the Jacobian of another, by reverse mode: for few outputs of many arguments.

    Args:
        function: Takes trees of arrays and returns one.
        argnums: As in `grad`.
        has_aux: As in `grad`.
        holomorphic: As in `grad`.

    Returns:
        A function of the same arguments that returns a tree like the output; in the place of each array of it, a tree
        like the argument (a tuple of such for several), whose arrays have the output's axes before their own.

    Raises:
        TypeError, ValueError: As `grad`, except that the output has any shape.

    Source: `jax.jacrev`.

    >>> import torch
    >>> jacrev(lambda x: x * x)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    return _jacobian("jacrev", function, argnums, has_aux, holomorphic)


def jacfwd(
    function: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Function:
    """Make the function that returns the Jacobian of another, by forward mode: for few arguments of many outputs.

    Arguments, results and errors are those of `jacrev`.

    Source: `jax.jacfwd`.

    >>> import torch
    >>> jacfwd(lambda x: x * x)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    return _jacobian("jacfwd", function, argnums, has_aux, holomorphic)


def hessian(
    function: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Function:
    """Make the function that returns the second derivatives of another: forward over reverse mode.

    Arguments and errors are those of `jacrev`.

    Returns:
        A function of the same arguments that returns the Jacobian of the Jacobian.

    Source: `jax.hessian`.

    >>> import torch
    >>> hessian(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    first = jacrev(function, argnums, has_aux, holomorphic)
    return jacfwd(first, argnums, has_aux, holomorphic)


def _jacobian(
    name: str, function: Function, argnums: int | Sequence[int], has_aux: bool, holomorphic: bool
) -> Function:
    _check_callable(name, function)
    numbers = _argnums(name, argnums)
    several = isinstance(argnums, (tuple, list))

    @wraps(function)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        chosen, of_chosen = _choose(name, function, args, kwargs, numbers)
        leaves, structure = arrays_of(name, "the arguments", chosen, (args, kwargs))
        differentiable(name, "the arguments", leaves)
        for x in leaves:
            _check_field(name, "arguments", x, holomorphic)
        flat = Flat(name, of_chosen, structure, has_aux)
        if name == "jacrev":
            outs, blocks, aux = _by_rows(flat, leaves)
        else:
            outs, blocks, aux = _by_columns(flat, leaves)
        for x in outs:
            _check_field(name, "the output", x, holomorphic)
        rows = [trees.unflatten(structure, block) for block in blocks]
        result = flat.output(rows if several else [row[0] for row in rows])
        return (result, flat.aux(aux)) if has_aux else result

    return jacobian


def _by_rows(flat: Flat, leaves: list[Array]) -> tuple[Any, list[list[Array]], Any]:
    """Pull each element of each output back: for each output, the derivatives with respect to each argument."""
    outs, pull, aux = vjp.native(*leaves)(flat, *leaves, has_aux=True)
    blocks = []
    for i, out in enumerate(outs):
        zeros = [array_namespace(x).zeros_like(x) for x in outs]

        def pull_one(unit: Array, i: int = i, zeros: list[Array] = zeros) -> tuple[Array, ...]:
            return tuple(pull(*zeros[:i], unit, *zeros[i + 1 :]))

        back = mapped(pull_one, _units(out))
        blocks.append([array_namespace(x).reshape(x, (*out.shape, *x.shape[1:])) for x in back])
    return outs, blocks, aux


def _by_columns(flat: Flat, leaves: list[Array]) -> tuple[Any, list[list[Array]], Any]:
    """Push each element of each argument forward."""
    columns: list[list[Array]] = []
    outs: Any = ()
    aux: Any = ()
    for i, leaf in enumerate(leaves):
        zeros = [array_namespace(x).zeros_like(x) for x in leaves]

        def push(unit: Array, i: int = i, zeros: list[Array] = zeros) -> tuple[Array, ...]:
            nonlocal outs, aux
            directions = (*zeros[:i], unit, *zeros[i + 1 :])
            outs, derivatives, aux = jvp.native(*leaves)(flat, tuple(leaves), directions, has_aux=True)
            return tuple(derivatives)

        found = mapped(push, _units(leaf))
        last = [array_namespace(x).moveaxis(x, 0, -1) for x in found]
        columns.append([array_namespace(x).reshape(x, (*x.shape[:-1], *leaf.shape)) for x in last])
    return outs, [list(row) for row in zip(*columns)], aux


def _units(x: Array) -> Array:
    """Stack the arrays of the shape of `x` that are one in one place and zero elsewhere."""
    xp = array_namespace(x)
    size = math.prod(x.shape)
    return xp.reshape(xp.eye(size, dtype=x.dtype, device=_arguments.device_of(x)), (size, *x.shape))


def _check_callable(name: str, function: Any) -> None:
    if not callable(function):
        raise TypeError(f"{name}: takes a function, got {describe(function)}")


def _argnums(name: str, argnums: int | Sequence[int]) -> tuple[int, ...]:
    given = argnums if isinstance(argnums, (tuple, list)) else (argnums,)
    return tuple(_arguments.integer(name, "argnums", number) for number in given)


def _choose(
    name: str, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any], numbers: tuple[int, ...]
) -> tuple[tuple[Any, ...], Function]:
    """Take the arguments with given numbers; make the function of them alone, the others held."""
    for number in numbers:
        if not -len(args) <= number < len(args):
            raise ValueError(
                f"{name}: argnums names argument {number}, and the function was called with {len(args)} positional "
                "arguments"
            )
    places = [number % len(args) for number in numbers]
    if len(set(places)) < len(places):
        raise ValueError(f"{name}: argnums={numbers} names an argument twice")

    def of_chosen(*chosen: Any) -> Any:
        given = list(args)
        for place, value in zip(places, chosen):
            given[place] = value
        return function(*given, **kwargs)

    return tuple(args[place] for place in places), of_chosen


def _check_scalar(name: str, outs: Sequence[Array], holomorphic: bool) -> None:
    if len(outs) != 1 or tuple(outs[0].shape) != ():
        shapes = [tuple(x.shape) for x in outs]
        raise TypeError(
            f"{name}: the function must return one number, an array of shape (), got arrays of shapes {shapes}; sum "
            "it, or use `jacrev` for all derivatives"
        )
    _check_field(name, "the output", outs[0], holomorphic)


def _check_field(name: str, what: str, x: Array, holomorphic: bool) -> None:
    xp = array_namespace(x)
    if holomorphic and _arguments.kind(xp, x.dtype) != "complex":
        raise TypeError(f"{name}: with holomorphic=True {what} must be complex, got {x.dtype}")
    if not holomorphic and what == "the output" and _arguments.kind(xp, x.dtype) != "real":
        mend = "take its real part, or say holomorphic=True" if is_floating(xp, x) else "convert it with `xp.astype`"
        raise TypeError(f"{name}: {what} must be real, got {x.dtype}; {mend}")
