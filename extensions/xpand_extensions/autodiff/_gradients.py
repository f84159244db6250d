"""Gradients, Jacobians and Hessians of functions of trees."""

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from xpand import array_namespace
from xpand.extend import Array, checks

from .._direct_calls import Direct, IndirectError, compiled_as
from .._dispatch import pluggable
from .._signatures import (
    gradient_transformation,
    jacobian_transformation,
    reverse_jacobian_transformation,
    value_and_gradient_transformation,
)
from ..vmap import mapped
from ._arguments import Chosen, argnums_of, check_field, check_scalar
from ._products import Function, jvp, vjp


@gradient_transformation
def grad(
    function: Function,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Function:
    """Return a function that computes the gradient of a scalar function.

    Args:
        function: Takes trees of arrays and returns an array of shape (), or a Python number.
        argnums: The positions of the arguments to differentiate with respect to: trees of floating-point arrays.
        has_aux: Whether the function returns a pair: the output, and auxiliary data that is not differentiated.
        holomorphic: Whether the function is holomorphic. Arguments and output must then be complex.
        allow_int: Whether the arguments may contain integers and booleans. Their gradients are zeros of their own data
            types. JAX's are of type `float0`, which other libraries don't have.

    Returns:
        A function of the same arguments that returns a tree like the argument, or a tuple of trees if `argnums` has
        several positions. With `has_aux`, it returns a pair of the gradient and the auxiliary data.

    Raises:
        TypeError: The returned function raises it if arguments are not floating-point or the output is not a real
            number (complex with `holomorphic`); or (`UnsupportedError`) if the library has no derivatives.
        ValueError: The returned function raises it if it has no argument for a position in `argnums`.

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


@value_and_gradient_transformation
@pluggable
def value_and_grad(
    function: Function,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Function:
    """Return a function that computes the value of a scalar function and its gradient.

    Arguments and errors are as in `grad`.

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
    checks.function(name, function)
    numbers, several = argnums_of(name, argnums), isinstance(argnums, (tuple, list))

    def of_trees(*args: Any, **kwargs: Any) -> Any:
        chosen = Chosen(name, function, args, kwargs, numbers, has_aux=has_aux, allow_int=allow_int)
        outs, pull, aux = pullback(chosen)
        check_scalar(name, chosen.flat, outs, holomorphic)
        back = chosen.tree(pull(array_namespace(outs[0]).ones_like(outs[0])))
        value = chosen.flat.output(outs)
        gradient = back if several else back[0]
        return ((value, chosen.flat.aux(aux)), gradient) if has_aux else (value, gradient)

    # A fast path for the common case, a real function of arrays, which is all that implementations support.
    if has_aux or holomorphic or allow_int:
        return wraps(function)(of_trees)

    direct = Direct(
        function,
        lambda args, checked: value_and_grad.native(*args)(checked, numbers if several else numbers[0]),
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
    """Call a function at its chosen arguments. Return the results, the pullback and the auxiliary data."""
    arrays = chosen.arrays
    if not arrays:
        outs, aux = chosen()
        return outs, lambda *cotangents: (), chosen.flat.take_patterns(aux)
    outs, pull, aux = vjp.native(*arrays)(chosen, *arrays, has_aux=True)
    return outs, pull, chosen.flat.take_patterns(aux)


@reverse_jacobian_transformation
def jacrev(
    function: Function,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Function:
    """Return a function that computes the Jacobian by reverse mode, which suits functions with fewer outputs than
    arguments.

    Args:
        function: Takes trees of arrays and returns one.
        argnums: As in `grad`.
        has_aux: As in `grad`.
        holomorphic: As in `grad`.
        allow_int: As in `grad`.

    Returns:
        A function of the same arguments that returns a tree like the output. Each array of the output is replaced by a
        tree like the argument (or a tuple of trees), whose arrays have the axes of the output before their own.

    Raises:
        TypeError, ValueError: As `grad`, except that the output may have any shape.

    Source: `jax.jacrev`.

    >>> import torch
    >>> jacrev(lambda x: x * x)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    return _jacobian("jacrev", _by_rows, function, argnums, has_aux, holomorphic, allow_int)


@jacobian_transformation
def jacfwd(
    function: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Function:
    """Return a function that computes the Jacobian by forward mode, which suits functions with fewer arguments than
    outputs.

    Arguments, results and errors are as in `jacrev`, without `allow_int`. Without `holomorphic`, only the arguments
    must be real; the output may be complex.

    Source: `jax.jacfwd`.

    >>> import torch
    >>> jacfwd(lambda x: x * x)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    return _jacobian("jacfwd", _by_columns, function, argnums, has_aux, holomorphic)


@jacobian_transformation
def hessian(
    function: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Function:
    """Return a function that computes the Hessian by forward over reverse mode.

    Arguments and errors are as in `jacrev`, without `allow_int`. Without `holomorphic`, the arguments must be real,
    too.

    Returns:
        A function of the same arguments that returns the Jacobian of the Jacobian.

    Source: `jax.hessian`.

    >>> import torch
    >>> hessian(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    first = _jacobian("hessian", _by_rows, function, argnums, has_aux, holomorphic)
    return _jacobian("hessian", _by_columns, first, argnums, has_aux, holomorphic)


def _jacobian(
    name: str,
    blocks_of: Callable[[Chosen], tuple[Any, list[list[Array]], Any]],
    function: Function,
    argnums: int | Sequence[int],
    has_aux: bool,
    holomorphic: bool,
    allow_int: bool = False,
) -> Function:
    checks.function(name, function)
    numbers, several = argnums_of(name, argnums), isinstance(argnums, (tuple, list))

    @wraps(function)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        chosen = Chosen(name, function, args, kwargs, numbers, has_aux=has_aux, allow_int=allow_int)
        forward = blocks_of is _by_columns
        for x in chosen.arrays:
            check_field(name, "the arguments", x, holomorphic, must_be_real=forward)
        outs, blocks, aux = blocks_of(chosen)
        for x in outs:
            check_field(name, "the output", x, holomorphic, must_be_real=not forward)
        rows = [chosen.tree(block, tuple(out.shape)) for out, block in zip(outs, blocks)]
        result = chosen.flat.output(rows if several else [row[0] for row in rows])
        return (result, chosen.flat.aux(aux)) if has_aux else result

    return jacobian


def _by_rows(chosen: Chosen) -> tuple[Any, list[list[Array]], Any]:
    """Pull back each element of each output. Return the derivatives with respect to each argument, by output."""
    outs, pull, aux = pullback(chosen)
    if not chosen.arrays:
        return outs, [[] for _ in outs], aux
    blocks = []
    for i, out in enumerate(outs):
        zeros = [array_namespace(x).zeros_like(x) for x in outs]

        def pull_one(unit: Array, i: int = i, zeros: list[Array] = zeros) -> tuple[Array, ...]:
            return tuple(pull(*zeros[:i], unit, *zeros[i + 1 :]))

        if out.shape == ():  # a gradient, which needs no vmap
            blocks.append(list(pull_one(array_namespace(out).ones_like(out))))
            continue
        back = mapped(pull_one, _units(out))
        blocks.append([array_namespace(x).reshape(x, (*out.shape, *x.shape[1:])) for x in back])
    return outs, blocks, aux


def _by_columns(chosen: Chosen) -> tuple[Any, list[list[Array]], Any]:
    """Push each element of each argument forward."""
    columns: list[list[Array]] = []
    outs: Any = ()
    aux: Any = ()
    arrays = chosen.arrays
    if not arrays:
        outs, aux = chosen()
        return outs, [[] for _ in outs], chosen.flat.take_patterns(aux)
    for i, leaf in enumerate(arrays):
        zeros = [array_namespace(x).zeros_like(x) for x in arrays]

        def push(unit: Array, i: int = i, zeros: list[Array] = zeros) -> tuple[Array, ...]:
            nonlocal outs, aux
            directions = (*zeros[:i], unit, *zeros[i + 1 :])
            outs, derivatives, aux = jvp.native(*arrays)(chosen, tuple(arrays), directions, has_aux=True)
            return tuple(derivatives)

        found = mapped(push, _units(leaf))
        last = [array_namespace(x).moveaxis(x, 0, -1) for x in found]
        columns.append([array_namespace(x).reshape(x, (*x.shape[:-1], *leaf.shape)) for x in last])
    return outs, [list(row) for row in zip(*columns)], chosen.flat.take_patterns(aux)


def _units(x: Array) -> Array:
    """Stack the unit arrays of the shape of `x`, with one element equal to one and the others zero."""
    xp = array_namespace(x)
    size = math.prod(x.shape)
    found = xp.eye(size, dtype=x.dtype, device=checks.device_of(x))
    if type(x) is not type(found) and isinstance(x, type(found)):  # made from `x`, so it is distributed like `x`
        numbers = xp.cumulative_sum(xp.ones_like(xp.reshape(x, (-1,)), dtype=xp.int64))
        found = xp.astype(numbers[:, None] == numbers[None, :], x.dtype)
    return xp.reshape(found, (size, *x.shape))
