"""Functions of arrays with few axes made functions of arrays with any: NumPy's generalised universal functions."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import wraps
from typing import Any, Final, NamedTuple, TypeAlias

from xpand import array_namespace, trees
from xpand.extend import Array, checks, describe

from .._transformed import transformation
from .._transforms import arrays_of
from ._mapping import vmap

Dimensions: TypeAlias = tuple[tuple[str, ...], ...]
"""For each argument or result the names of its core dimensions."""


class Signature(NamedTuple):
    """The core dimensions of a function."""

    text: str
    inputs: Dimensions
    outputs: Dimensions


_CORE: Final = r"\((?:\w+(?:,\w+)*)?\)"
_SIGNATURE: Final = re.compile(rf"{_CORE}(?:,{_CORE})*->{_CORE}(?:,{_CORE})*")


@transformation
def vectorize(
    function: Callable[..., Any], /, *, excluded: Collection[int | str] = frozenset(), signature: str | None = None
) -> Callable[..., Any]:
    """Extend a function of arrays with few axes to arrays with more axes, which broadcast, by `vmap`.

    Args:
        function: Takes arrays with the core dimensions alone, and returns one, or a tuple.
        excluded: The positions of positional and the names of keyword arguments that are passed on as they are.
        signature: The core dimensions of arguments and results: "(m,n),(n)->(m)". They are the last axes; those with
            one name have one size. By default, there are none, and results have any shape.

    Returns:
        A function of as many arguments, with axes before the core dimensions, the loop dimensions, which broadcast.
        The results have them first. Keyword arguments, and positional ones that are None, are passed on as they are.

    Raises:
        TypeError: `function` can't be called, or an excluded argument is neither a position nor a name. By the function
            returned: the number of arguments or of results is not that of the signature; arguments that are not arrays;
            or (`UnsupportedError`) a library that can't map.
        ValueError: An invalid signature, or a negative position. By the function returned: an argument with too few
            axes, sizes that differ for one core dimension, loop dimensions that don't broadcast, or results of other
            core dimensions than the signature's.

    Source: `jax.numpy.vectorize`, `numpy.vectorize`; NumPy's generalised universal function API.

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

        def of_core(*given: Array) -> Any:
            everything = list(args)
            for i, x in zip(dimensions, given):
                everything[i] = x
            result = function(*everything, **kwargs)
            if core is not None:
                _check_results(result, core, sizes)
            return result

        return _over_loops(of_core, arrays, [len(names) for names in dimensions.values()])

    return over_loops


def _arrays(args: Sequence[Any], own: Iterable[int]) -> list[Array]:
    for i in own:
        if not _is_leaf(args[i]):
            raise TypeError(
                f"vectorize: argument {i} must be an array or a number, got {describe(args[i])}; exclude it, or map it "
                "with `vmap`"
            )
    return arrays_of("vectorize", "the arguments", [args[i] for i in own])[0]


def _over_loops(function: Callable[..., Any], arrays: list[Array], core: list[int]) -> Any:
    """Map a function over all loop dimensions; an array isn't repeated along those that it has of size one."""
    loops = [tuple(x.shape[: x.ndim - n]) for x, n in zip(arrays, core)]
    shape = checks.broadcast_shapes("vectorize", **{f"argument {i}": loop for i, loop in enumerate(loops)})
    included = [_mapped_axes(loop, shape) for loop in loops]
    for position in reversed(range(len(shape))):
        function = vmap(function, tuple(0 if position in positions else None for positions in included))
    return function(*(_without(x, loop, shape, positions) for x, loop, positions in zip(arrays, loops, included)))


def _mapped_axes(loop: Sequence[int], shape: Sequence[int]) -> set[int]:
    """Return for each axis of a broadcast shape whether an array of another shape is not repeated along it."""
    first = len(shape) - len(loop)
    return {first + i for i, size in enumerate(loop) if size == shape[first + i]}


def _without(x: Array, loop: Sequence[int], shape: Sequence[int], included: set[int]) -> Array:
    """Remove the axes of size one along which an array would be repeated."""
    first = len(shape) - len(loop)
    repeated = tuple(i for i in range(len(loop)) if first + i not in included)
    return array_namespace(x).squeeze(x, axis=repeated) if repeated else x


def _positions(excluded: Collection[int | str]) -> frozenset[int]:
    """Check the excluded arguments; return their positions. Keyword arguments are passed on anyway."""
    if isinstance(excluded, str) or not isinstance(excluded, Collection):
        raise TypeError(f"vectorize: excluded must be a set of positions and names, got {excluded!r}")
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
    """Give each argument that is mapped, by its position, its core dimensions."""
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
                "array, or exclude it and leave it out of the signature"
            )
    if not found:
        raise TypeError("vectorize: takes one array or more among the positional arguments that are not excluded")
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
    """Check that results have the core dimensions of the signature; new ones get the sizes found."""
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
