"""What the members along a mapped axis tell each other."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from xpand import _arguments, array_namespace, trees
from xpand._namespace import describe
from xpand._typing import Array, Namespace

from .._dispatch import pluggable
from .._transforms import as_array
from . import _names as names


@pluggable
def psum(x: trees.Tree, /, axis_name: names.Names) -> trees.Tree:
    """Sum over all members along a mapped axis.

    Args:
        x: An array of a numeric or boolean data type, a Python number, or a tree of such. What is the same for all
            members counts once for each.
        axis_name: The axis's name, or a tuple of names: the sum is over all of them.

    Returns:
        A tree like `x`, the same for all members: arrays of the same data types (int32 for booleans; integers that it
        can't hold wrap around), and Python numbers times the size of the axis: `psum(1, axis_name)` is the size.

    Raises:
        TypeError: A leaf is neither an array nor a number, or what can't be a name; or (`UnsupportedError`) a library
            that can't map.
        NameError: A name that is not bound by `vmap` around the call.
        ValueError: A name twice, or none.

    Source: `jax.lax.psum`.

    >>> import torch
    >>> from xpand_extensions.vmap import vmap
    >>> vmap(lambda x: x / psum(x, "i"), axis_name="i")(torch.tensor([1.0, 3.0]))
    tensor([0.2500, 0.7500])
    """
    axes = names.several("psum", axis_name)
    size = _count(axes)

    def summed(xp: Namespace, leaf: Array) -> Array:
        if _arguments.kind(xp, leaf.dtype) == "bool":
            leaf = xp.astype(leaf, xp.int32)
        return psum.native(leaf)(leaf, tuple(axes))

    return _on_leaves("psum", x, summed, lambda number: number * size)


def pmean(x: trees.Tree, /, axis_name: names.Names) -> trees.Tree:
    """Average over all members along a mapped axis.

    Arguments and errors are those of `psum`.

    Returns:
        A tree like `x`, the same for all members: arrays of the same data types, or for integers and booleans of the
        default floating-point one; Python numbers as they are.

    Source: `jax.lax.pmean`.

    >>> import torch
    >>> from xpand_extensions.vmap import vmap
    >>> vmap(lambda x: x - pmean(x, "i"), axis_name="i")(torch.tensor([1.0, 3.0]))
    tensor([-1.,  1.])
    """
    axes = names.several("pmean", axis_name)
    size = _count(axes)

    def averaged(xp: Namespace, leaf: Array) -> Array:
        if _arguments.kind(xp, leaf.dtype) not in _arguments.FLOATING:
            defaults = xp.__array_namespace_info__().default_dtypes(device=_arguments.device_of(leaf))
            leaf = xp.astype(leaf, defaults["real floating"])
        return psum.native(leaf)(leaf, tuple(axes)) / max(size, 1)

    return _on_leaves("pmean", x, averaged, lambda number: number)


def pmax(x: trees.Tree, /, axis_name: names.Names) -> trees.Tree:
    """Take the largest over all members along a mapped axis.

    Arguments and errors are those of `psum`; complex numbers have no largest.

    Returns:
        A tree like `x`, the same for all members: arrays of the same data types, with NaN where a member has it; Python
        numbers as they are. Derivatives are those of the namespace's `max` over an axis.

    Source: `jax.lax.pmax`, which has no derivatives.

    >>> import torch
    >>> from xpand_extensions.vmap import vmap
    >>> vmap(lambda x: x / pmax(x, "i"), axis_name="i")(torch.tensor([1.0, 4.0]))
    tensor([0.2500, 1.0000])
    """
    return _extreme("pmax", x, axis_name)


def pmin(x: trees.Tree, /, axis_name: names.Names) -> trees.Tree:
    """Take the smallest over all members along a mapped axis. Arguments, result and errors are those of `pmax`.

    Source: `jax.lax.pmin`.

    >>> import torch
    >>> from xpand_extensions.vmap import vmap
    >>> vmap(lambda x: x - pmin(x, "i"), axis_name="i")(torch.tensor([1.0, 4.0]))
    tensor([0., 3.])
    """
    return _extreme("pmin", x, axis_name)


@pluggable
def all_gather(x: trees.Tree, /, axis_name: names.Names, *, axis: int = 0, tiled: bool = False) -> trees.Tree:
    """Give each member what all of them have, along a new axis.

    Args:
        x: An array, a Python number, or a tree of such.
        axis_name: The axis's name, or a tuple of names: members are then in the order of the first, and within it of
            the others.
        axis: Where the axis of the members is in the results.
        tiled: Whether the arrays are joined along an axis that they have, in place of a new one.

    Returns:
        A tree like `x` of arrays, the same for all members.

    Raises:
        TypeError: A leaf is neither an array nor a number, what can't be a name, or an option of the wrong type; or
            (`UnsupportedError`) a library that can't map.
        NameError: A name that is not bound by `vmap` around the call.
        ValueError: A name twice, or none; no such axis.

    Source: `jax.lax.all_gather`.

    >>> import torch
    >>> from xpand_extensions.vmap import vmap
    >>> vmap(lambda x: all_gather(x, "i") - x, axis_name="i")(torch.tensor([1.0, 4.0]))
    tensor([[ 0.,  3.],
            [-3.,  0.]])
    """
    axes = names.several("all_gather", axis_name)
    axis = _arguments.integer("all_gather", "axis", axis)
    _arguments.boolean("all_gather", "tiled", tiled)

    def gathered(xp: Namespace, leaf: Array) -> Array:
        return _gathered("all_gather", leaf, tuple(axes), axis, tiled)

    return _on_leaves("all_gather", _with_arrays("all_gather", x, axes), gathered)


def axis_index(axis_name: names.Names) -> Array:
    """Return the position of the member along a mapped axis.

    Args:
        axis_name: The axis's name, or a tuple of names: members are then counted in the order of the first, and within
            it of the others.

    Returns:
        An array of shape (), of int32.

    Raises:
        TypeError: What can't be a name.
        NameError: A name that is not bound by `vmap` around the call.
        ValueError: A name twice, or none.

    Source: `jax.lax.axis_index`.

    >>> import torch
    >>> from xpand_extensions.vmap import vmap
    >>> vmap(lambda x: x * axis_index("i"), axis_name="i")(torch.tensor([5, 6, 7]))
    tensor([ 0,  6, 14])
    """
    return _position(names.several("axis_index", axis_name))


@pluggable
def ppermute(x: trees.Tree, /, axis_name: names.Names, perm: Sequence[tuple[int, int]]) -> trees.Tree:
    """Send what members along a mapped axis have to others.

    Args:
        x: An array, a Python number, or a tree of such.
        axis_name: The axis's name, or a tuple of names: members are then counted as by `axis_index`.
        perm: Pairs (source, destination) of positions. None is twice a source, and none twice a destination.

    Returns:
        A tree like `x` of arrays: for each destination what its source has, and zeros for members that are none.

    Raises:
        TypeError: A leaf is neither an array nor a number, what can't be a name, or `perm` holds anything but pairs of
            integers; or (`UnsupportedError`) a library that can't map.
        NameError: A name that is not bound by `vmap` around the call.
        ValueError: A name twice, or none; positions out of bounds, or twice.

    Source: `jax.lax.ppermute`, which takes only complete permutations under `jax.vmap`.

    >>> import torch
    >>> from xpand_extensions.vmap import vmap
    >>> vmap(lambda x: ppermute(x, "i", [(0, 1), (1, 2)]), axis_name="i")(torch.tensor([5, 6, 7]))
    tensor([0, 5, 6])
    """
    axes = names.several("ppermute", axis_name)
    size = _count(axes)
    pairs = _pairs(perm, size)
    received = [destination for _, destination in pairs]
    free = sorted(set(range(size)) - {source for source, _ in pairs})
    complete = pairs + list(zip(free, sorted(set(range(size)) - set(received))))

    def permuted(xp: Namespace, leaf: Array) -> Array:
        position = _position(axes)
        xp = array_namespace(leaf, position)  # the leaf may be one that isn't mapped
        if len(axes) == 1:
            result = ppermute.native(leaf)(leaf, next(iter(axes)), complete)
        else:
            sources = [source for source, _ in sorted(complete, key=lambda pair: pair[1])]
            everything = _gathered("ppermute", leaf, tuple(axes), 0, False)
            result = _own(xp, everything, _own(xp, _table(xp, sources, xp.int32, leaf), position))
        if len(pairs) == size:
            return result
        has = _own(xp, _table(xp, [i in set(received) for i in range(size)], xp.bool, leaf), position)
        return xp.where(has, result, xp.zeros_like(result))

    return _on_leaves("ppermute", _with_arrays("ppermute", x, axes), permuted)


def _on_leaves(
    function: str,
    tree: trees.Tree,
    of_array: Callable[[Namespace, Array], Array],
    of_number: Callable[[Any], Any] | None = None,
) -> trees.Tree:
    def each(leaf: Any) -> Any:
        if _arguments.is_array(leaf):
            return of_array(array_namespace(leaf), leaf)
        if of_number is not None and isinstance(leaf, (bool, int, float, complex)):
            return of_number(leaf)
        raise TypeError(f"{function}: takes arrays, numbers, and trees of such, got {describe(leaf)}")

    return trees.map(each, tree)


def _with_arrays(function: str, tree: trees.Tree, axes: dict[names.Name, names.Axis]) -> trees.Tree:
    """Make arrays of the numbers in a tree: of the library that maps."""
    like = next(iter(axes.values())).position
    return trees.map(
        lambda leaf: leaf if _arguments.is_array(leaf) else as_array(f"{function}: takes", leaf, like()), tree
    )


def _extreme(function: str, tree: trees.Tree, axis_name: names.Names) -> trees.Tree:
    axes = names.several(function, axis_name)
    size = _count(axes)

    def extreme(xp: Namespace, leaf: Array) -> Array:
        kind = _arguments.dtype(function, "x", xp, leaf, _arguments.ORDERED)
        if not size:
            return leaf  # of no members
        everything = _gathered(function, leaf, tuple(axes), 0, False)
        xp = array_namespace(everything)
        reduce = (xp.any, xp.all) if kind == "bool" else (xp.max, xp.min)
        return reduce[function == "pmin"](everything, axis=0)

    return _on_leaves(function, tree, extreme, lambda number: number)


def _gathered(function: str, x: Array, axes: Sequence[names.Name], axis: int, tiled: bool) -> Array:
    """Gather over several axes: the innermost first, so that members of the first come first."""
    axis = _arguments.axis(function, axis, x.ndim if tiled else x.ndim + 1)
    for i, name in enumerate(reversed(axes)):
        # What the second and further gatherings add goes into the axis that the first has made.
        x = all_gather.native(x)(x, name, axis=axis, tiled=tiled or i > 0)
    return x


def _count(axes: dict[names.Name, names.Axis]) -> int:
    return math.prod([axis.size for axis in axes.values()])


def _position(axes: dict[names.Name, names.Axis]) -> Array:
    first, *others = axes.values()
    position = first.position()
    for axis in others:
        position = position * axis.size + axis.position()
    return position


def _own(xp: Namespace, table: Array, position: Array) -> Array:
    """Take the entry of a table at the position of a member."""
    return xp.take(table, xp.reshape(position, (1,)), axis=0)[0, ...]


def _table(xp: Namespace, values: list[Any], dtype: Any, like: Array) -> Array:
    return xp.asarray(values, dtype=dtype, device=_arguments.device_of(like))


def _pairs(perm: Any, size: int) -> list[tuple[int, int]]:
    if not isinstance(perm, (list, tuple)) or not all(
        isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in perm
    ):
        raise TypeError(f"ppermute: perm must be a list of pairs (source, destination), got {perm!r}")
    pairs = [
        (
            _arguments.integer("ppermute", "a source", source),
            _arguments.integer("ppermute", "a destination", destination),
        )
        for source, destination in perm
    ]
    for what, positions in (("source", [s for s, _ in pairs]), ("destination", [d for _, d in pairs])):
        for position in positions:
            if not 0 <= position < size:
                raise ValueError(f"ppermute: {what} {position} is out of bounds for an axis of size {size}")
        if len(set(positions)) < len(positions):
            raise ValueError(f"ppermute: each position may be a {what} once, got perm={pairs}")
    return pairs
