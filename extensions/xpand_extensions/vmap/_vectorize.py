"""Vectorization of functions of arrays with few axes: NumPy's generalised universal functions."""

import math
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import wraps
from typing import Any, Final, NamedTuple, TypeAlias

from xpand import array_namespace, trees
from xpand.extend import Array, checks, describe

from .._signatures import keeps_signature
from .._transforms import arrays_of, replaced
from .._where import clean_tracebacks
from ._mapping import vmap

Dimensions: TypeAlias = tuple[tuple[str, ...], ...]
"""The names of the core dimensions of each argument or result."""


class Signature(NamedTuple):
    """The core dimensions of a function."""

    text: str
    inputs: Dimensions
    outputs: Dimensions


_CORE: Final = r"\((?:\w+(?:,\w+)*)?\)"
_SIGNATURE: Final = re.compile(rf"{_CORE}(?:,{_CORE})*->{_CORE}(?:,{_CORE})*")


@keeps_signature
def vectorize(
    function: Callable[..., Any], /, *, excluded: Collection[int | str] = frozenset(), signature: str | None = None
) -> Callable[..., Any]:
    """Extend a function of arrays with few axes to arrays with more axes, which broadcast, by `vmap`.

    Args:
        function: Takes arrays with only the core dimensions, and returns one array or a tuple.
        excluded: The positions of positional arguments, and the names of keyword arguments, that are passed on
            unchanged.
        signature: The core dimensions of arguments and results: "(m,n),(n)->(m)". They are the last axes. Dimensions of
            the same name have one size. By default, arguments have none, and results have any shape.

    Returns:
        A function of the same arguments. They may have further axes before the core dimensions, the loop dimensions,
        which broadcast. The results start with the loop dimensions. Keyword arguments, and positional ones that are
        None, are passed on unchanged.

    Raises:
        TypeError: `function` can't be called, or an excluded argument is neither a position nor a name. The returned
            function raises it if the number of arguments or results differs from the signature, or arguments are not
            arrays; or (`UnsupportedError`) if the library has no `vmap`.
        ValueError: The signature is invalid, or a position is negative. The returned function raises it if an argument
            has too few axes, one core dimension has several sizes, loop dimensions don't broadcast, or results have
            other core dimensions than in the signature.

    Source: `jax.numpy.vectorize`, `numpy.vectorize`; NumPy's generalized universal function API.

    >>> import torch
    >>> matvec = vectorize(torch.mv, signature="(m,n),(n)->(m)")
    >>> matvec(torch.eye(2), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[1., 2.],
            [3., 4.]])
    """
    checks.function("vectorize", function)
    positions = _positions(excluded)
    core = None if signature is None else _parsed(signature)

    @wraps(function)
    def over_loops(*args: Any, **kwargs: Any) -> Any:
        dimensions = _dimensions(core, args, positions)
        arrays = _arrays(args, dimensions)
        sizes = _core_sizes(dimensions, arrays)

        def of_core(*arrays: Array) -> Any:
            result = function(*replaced(args, dimensions, arrays), **kwargs)
            if core is not None:
                _check_results(result, core, sizes)
            return result

        return _over_loops(of_core, arrays, [len(names) for names in dimensions.values()])

    return over_loops


@clean_tracebacks
def apply_along_axis(function: Callable[..., Array], axis: int, x: Array, /, *args: Any, **kwargs: Any) -> Array:
    """Apply a function of an array with one axis to all slices along an axis, by `vmap`.

    Args:
        function: Takes an array with one axis, and returns an array of any shape.
        axis: The axis of `x` along which the slices lie.
        x: An array with one or more axes, of any data type.
        *args: Further arguments of `function`, passed unchanged.
        **kwargs: Keyword arguments of `function`, passed unchanged.

    Returns:
        An array with the axes of the function's result in place of the axis.

    Raises:
        TypeError: `function` can't be called, `x` is not an array, or `axis` is not an integer; or (`UnsupportedError`)
            the library has no `vmap`.
        ValueError: There is no such axis, or there are no slices.

    Source: `numpy.apply_along_axis`, `jax.numpy.apply_along_axis`.

    >>> import numpy as np
    >>> apply_along_axis(lambda row: row[:2] - row[-1], 1, np.asarray([[1, 2, 3], [4, 6, 8]]))
    array([[-2, -1],
           [-4, -2]])
    """
    checks.function("apply_along_axis", function, "function")
    xp = checks.namespace_of("apply_along_axis", x=x)
    axis = checks.axis("apply_along_axis", axis, x.ndim)
    rows = xp.moveaxis(x, axis, -1)
    lead = rows.shape[:-1]
    if 0 in lead:
        raise ValueError(f"apply_along_axis: x must have slices along axis {axis}, got the shape {tuple(x.shape)}")
    if not lead:
        return function(x, *args, **kwargs)
    slices = xp.reshape(rows, (math.prod(lead), rows.shape[-1]))
    found = vmap(lambda row: function(row, *args, **kwargs))(slices)
    own = found.ndim - 1
    found = xp.reshape(found, (*lead, *found.shape[1:]))
    # The axes of the result are last. They go to the position of the axis.
    order = (*range(axis), *range(len(lead), len(lead) + own), *range(axis, len(lead)))
    return found if axis == len(lead) else xp.permute_dims(found, order)


def _arrays(args: Sequence[Any], own: Iterable[int]) -> list[Array]:
    for i in own:
        if not _is_leaf(args[i]):
            raise TypeError(
                f"vectorize: argument {i} must be an array or a number, got {describe(args[i])}; exclude it, or map it "
                "with `vmap`"
            )
    return arrays_of("vectorize", "the arguments", [args[i] for i in own])[0]


def _over_loops(function: Callable[..., Any], arrays: list[Array], core: list[int]) -> Any:
    """Map a function over all loop dimensions. Arrays are not repeated along loop dimensions of size one."""
    loops = [tuple(x.shape[: x.ndim - n]) for x, n in zip(arrays, core)]
    shape = checks.broadcast_shapes("vectorize", **{f"argument {i}": loop for i, loop in enumerate(loops)})
    included = [_mapped_axes(loop, shape) for loop in loops]
    for position in reversed(range(len(shape))):
        function = vmap(function, tuple(0 if position in positions else None for positions in included))
    return function(*(_without(x, loop, shape, positions) for x, loop, positions in zip(arrays, loops, included)))


def _mapped_axes(loop: Sequence[int], shape: Sequence[int]) -> set[int]:
    """Return the axes of a broadcast shape along which an array with the loop dimensions `loop` is not repeated."""
    first = len(shape) - len(loop)
    return {first + i for i, size in enumerate(loop) if size == shape[first + i]}


def _without(x: Array, loop: Sequence[int], shape: Sequence[int], included: set[int]) -> Array:
    """Remove the axes of size one along which an array would be repeated."""
    first = len(shape) - len(loop)
    repeated = tuple(i for i in range(len(loop)) if first + i not in included)
    return array_namespace(x).squeeze(x, axis=repeated) if repeated else x


def _positions(excluded: Collection[int | str]) -> frozenset[int]:
    """Check the excluded arguments, and return their positions. Keyword arguments are always passed on."""
    if isinstance(excluded, str) or not isinstance(excluded, Collection):
        raise TypeError(f"vectorize: excluded must be a set of positions and names, got {excluded!r}")
    excluded = [*map(checks.plain_integer, excluded)]
    for each in excluded:
        if isinstance(each, bool) or not isinstance(each, (int, str)):
            raise TypeError(f"vectorize: excluded must hold positions and names, got {describe(each)}")
        if isinstance(each, int) and each < 0:
            raise ValueError(f"vectorize: positions in excluded must not be negative, got {each}")
    return frozenset(each for each in excluded if isinstance(each, int))


def _parsed(signature: str) -> Signature:
    if not isinstance(signature, str):
        raise TypeError(f"vectorize: signature must be a string, got {describe(signature)}")
    bare = re.sub(r"\s+", "", signature)
    if not _SIGNATURE.fullmatch(bare):
        raise ValueError(
            f"vectorize: signature must name the core dimensions of each argument and result in brackets, such as "
            f"'(m,n),(n)->(m)', got {signature!r}"
        )
    inputs, outputs = (
        tuple(tuple(names.split(",")) if names else () for names in re.findall(r"\(([^)]*)\)", side))
        for side in bare.split("->")
    )
    return Signature(bare, inputs, outputs)


def _dimensions(core: Signature | None, args: Sequence[Any], excluded: frozenset[int]) -> dict[int, tuple[str, ...]]:
    """Return the core dimensions of each mapped argument, by its position."""
    included = [i for i in range(len(args)) if i not in excluded]
    inputs: Dimensions = ((),) * len(included) if core is None else core.inputs
    if core is not None and len(included) != len(inputs):
        raise TypeError(
            f"vectorize: the signature {core.text!r} takes {len(inputs)} positional arguments that aren't excluded, "
            f"got {len(included)}"
        )
    found = {i: names for i, names in zip(included, inputs) if args[i] is not None}
    for i, names in zip(included, inputs):
        if names and args[i] is None:
            raise ValueError(
                f"vectorize: argument {i} is None, and must have the core dimensions ({','.join(names)}); pass an "
                "array, or exclude it and remove it from the signature"
            )
    if not found:
        raise TypeError("vectorize: at least one positional argument that is not excluded must be an array")
    return found


def _core_sizes(dimensions: dict[int, tuple[str, ...]], arrays: Sequence[Array]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for (i, names), x in zip(dimensions.items(), arrays):
        if x.ndim < len(names):
            raise ValueError(
                f"vectorize: argument {i} must have the core dimensions ({','.join(names)}), got shape {tuple(x.shape)}"
            )
        for name, size in zip(names, x.shape[x.ndim - len(names) :]):
            if sizes.setdefault(name, size) != size:
                raise ValueError(
                    f"vectorize: core dimension {name!r} must have one size, got {sizes[name]} and, in argument {i} of "
                    f"shape {tuple(x.shape)}, {size}"
                )
    return sizes


def _check_results(result: Any, core: Signature, sizes: dict[str, int]) -> None:
    """Check that results have the core dimensions of the signature. Dimensions not in `sizes` may have any size."""
    dimensions = core.outputs
    if len(dimensions) > 1 and not isinstance(result, (tuple, list)):
        raise TypeError(
            f"vectorize: by the signature {core.text!r} the function must return a tuple of {len(dimensions)} arrays, "
            f"got {describe(result)}"
        )
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    if len(results) != len(dimensions):
        raise TypeError(
            f"vectorize: by the signature {core.text!r} the function must return {len(dimensions)} arrays, got "
            f"{len(results)}"
        )
    found = dict(sizes)
    for x, names in zip(results, dimensions):
        if not _is_leaf(x):
            raise TypeError(
                f"vectorize: by the signature {core.text!r} the function must return arrays, got {describe(x)}"
            )
        shape = tuple(getattr(x, "shape", ()))
        if len(shape) != len(names) or any(found.setdefault(name, size) != size for name, size in zip(names, shape)):
            raise ValueError(
                f"vectorize: by the signature {core.text!r} a result must have the core dimensions "
                f"({','.join(names)}), got shape {shape}; sizes so far are {found}"
            )


def _is_leaf(x: Any) -> bool:
    return trees.structure(x).is_leaf()
