"""Functions of one thing made functions of many: mapped over axes of their arguments, in one pass."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeAlias

from xpand import _arguments, array_namespace, trees
from xpand._namespace import describe
from xpand._typing import Array

from ._dispatch import pluggable
from ._transforms import Flat, arrays_of

__all__ = ["vmap"]

Axes: TypeAlias = "int | Sequence[Any] | dict[Any, Any] | None"
"""An axis for all arrays of a tree, or a tree of axes whose nodes are the first of the tree's own; None: not mapped."""


@pluggable
def vmap(function: Callable[..., Any], /, in_axes: Axes = 0, out_axes: Axes = 0) -> Callable[..., Any]:
    """Make the function that calls another for each position along an axis of its arguments, all of them at once.

    Args:
        function: Takes trees of arrays and returns one.
        in_axes: Which axis of its arguments to map over: one for all, or one for each positional argument, in a tuple
            or list; each an integer, None for arguments that are the same in all calls, or a tree of these, for the
            parts of an argument. Keyword arguments are mapped over their first axis.
        out_axes: Where the mapped axis is in the results: an integer, None for what is the same in all calls, or a tree
            of these.

    Returns:
        A function of the same arguments, each with one axis more where it is mapped over, that returns what the
        function does with one axis more.

    Raises:
        TypeError: By the function returned: leaves that are no arrays, or axes that are no integers; or
            (`UnsupportedError`) a library that can't map.
        ValueError: By the function returned: nothing to map over, arrays without such an axis, axes of different sizes,
            or trees of axes that don't fit.

    Source: `jax.vmap`.

    >>> import torch
    >>> vmap(torch.dot, in_axes=(0, None))(torch.eye(2), torch.tensor([2.0, 3.0]))
    tensor([2., 3.])
    """
    if not callable(function):
        raise TypeError(f"vmap: takes a function, got {describe(function)}")

    @wraps(function)
    def over_axes(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_axes, (tuple, list)) and len(in_axes) != len(args):
            raise ValueError(
                f"vmap: in_axes={in_axes} must have an entry for each positional argument; there are {len(args)}"
            )
        leaves, structure = arrays_of("vmap", "the arguments", (args, kwargs))
        positional = tuple(in_axes) if isinstance(in_axes, (tuple, list)) else in_axes
        axes = [*_spread("in_axes", positional, args), *_spread("in_axes", 0, kwargs)]
        axes = [
            _arguments.axis("vmap", axis, x.ndim, "in_axes") if axis is not None else None
            for axis, x in zip(axes, leaves)
        ]
        sizes = {x.shape[axis] for axis, x in zip(axes, leaves) if axis is not None}
        if len(sizes) != 1:
            shapes = ", ".join(f"{tuple(x.shape)} along {axis}" for axis, x in zip(axes, leaves) if axis is not None)
            raise ValueError(
                f"vmap: the arrays must have one size along the mapped axes, got shapes {shapes}"
                if sizes
                else "vmap: no argument is mapped over: in_axes has an integer for none of the arrays"
            )
        flat = Flat("vmap", lambda given, named: function(*given, **named), structure, False)
        native = vmap.native(*leaves)
        outs = native(lambda *arrays: flat(*arrays)[0], tuple(axes), 0)(*leaves)
        result = flat.output(outs)
        if out_axes == 0:
            return result
        places = _spread("out_axes", out_axes, result)
        if None in places:  # whether it can be None is the library's to say
            places = [None if place is None else 0 for place in places]
            outs = native(lambda *arrays: flat(*arrays)[0], tuple(axes), tuple(places))(*leaves)
            places = _spread("out_axes", out_axes, result)
        return flat.output([_placed(x, place) for x, place in zip(outs, places)])

    return over_axes


def mapped(function: Callable[[Array], tuple[Array, ...]], x: Array) -> tuple[Array, ...]:
    """Map a function of an array, which returns a tuple of arrays, over the first axis."""
    found: tuple[Array, ...] = vmap.native(x)(function, (0,), 0)(x)
    return found


def _placed(x: Array, place: int | None) -> Array:
    if not place:
        return x
    place = _arguments.axis("vmap", place, x.ndim, "out_axes")
    return array_namespace(x).moveaxis(x, 0, place)


def _spread(name: str, axes: Axes, tree: trees.Tree) -> list[int | None]:
    """Give each leaf of a tree its axis, from a tree of axes that ends sooner."""
    if axes is None or isinstance(axes, int):
        return [axes] * len(trees.leaves(tree))
    is_end = lambda x: x is None or isinstance(x, int)
    found: list[int | None] = []
    try:
        trees.map(lambda axis, part: found.extend([axis] * len(trees.leaves(part))), axes, tree, is_leaf=is_end)
    except (ValueError, TypeError):
        raise ValueError(
            f"vmap: {name} must be an integer, None, or a tree that the arrays' tree begins with, got {axes}"
        ) from None
    return found
