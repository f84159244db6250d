"""Jacobians and Hessians of functions of trees."""

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from xpand import array_namespace
from xpand.extend import Array, checks

from .._transformed import transformation
from ..vmap import mapped
from ._arguments import Chosen, argnums_of, check_callable, check_field
from ._gradients import pullback
from ._products import Function, jvp


@transformation
def jacrev(
    function: Function,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Function:
    """Make the function that returns the Jacobian of another by reverse mode, for fewer outputs than arguments.

    Args:
        function: Takes trees of arrays and returns one.
        argnums: As in `grad`.
        has_aux: As in `grad`.
        holomorphic: As in `grad`.
        allow_int: As in `grad`.

    Returns:
        A function of the same arguments that returns a tree like the output; in place of each array of it, a tree
        like the argument (a tuple of such for several), whose arrays have the output's axes before their own.

    Raises:
        TypeError, ValueError: As `grad`, except that the output has any shape.

    Source: `jax.jacrev`.

    >>> import torch
    >>> jacrev(lambda x: x * x)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    return _jacobian("jacrev", _by_rows, function, argnums, has_aux, holomorphic, allow_int)


@transformation
def jacfwd(
    function: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Function:
    """Make the function that returns the Jacobian of another by forward mode, for fewer arguments than outputs.

    Arguments, results and errors are those of `jacrev`, without `allow_int`; but without `holomorphic` only the
    arguments must be real, and the output may be complex.

    Source: `jax.jacfwd`.

    >>> import torch
    >>> jacfwd(lambda x: x * x)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    return _jacobian("jacfwd", _by_columns, function, argnums, has_aux, holomorphic)


@transformation
def hessian(
    function: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Function:
    """Make the function that returns the second derivatives of another, by forward over reverse mode.

    Arguments and errors are those of `jacrev`, without `allow_int`; without `holomorphic` the arguments must be real,
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
    check_callable(name, function)
    numbers = argnums_of(name, argnums)
    several = isinstance(argnums, (tuple, list))

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
    """Pull back each element of each output; return for each output the derivatives with respect to each argument."""
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
    if type(x) is not type(found) and isinstance(
        x, type(found)
    ):  # made from `x`, so that it is distributed where `x` is
        numbers = xp.cumulative_sum(xp.ones_like(xp.reshape(x, (-1,)), dtype=xp.int64))
        found = xp.astype(numbers[:, None] == numbers[None, :], x.dtype)
    return xp.reshape(found, (size, *x.shape))
