"""Collectives: operations that combine the lanes along a mapped axis."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from xpand import array_namespace, trees
from xpand.extend import Array, Namespace, checks

from .._dispatch import pluggable, untraceable
from . import _names as names
from ._lanes import count_of, divided, on_leaves, own_entry, pairs_of, position_of, table_of, with_arrays

Perm: TypeAlias = Sequence[tuple[int, int]] | Array
"""Pairs (source, destination): a list, or an integer array of shape (n, 2)."""


def axis_size(axis_name: names.Names) -> int:
    """Return the size of a mapped axis.

    Args:
        axis_name: The name of the axis. For a tuple of names, sizes are multiplied.

    Returns:
        A Python integer.

    Raises:
        TypeError: A value can't be a name.
        NameError: No mapped axis around the call has the name.
        ValueError: A name is given twice, or there is no name.

    Source: `jax.lax.axis_size`.

    >>> import torch
    >>> from xpand import vmap
    >>> vmap(lambda x: x / axis_size("i"), axis_name="i")(torch.tensor([1.0, 3.0]))
    tensor([0.5000, 1.5000])
    """
    return count_of(names.several("axis_size", axis_name))


@untraceable
@pluggable
def psum(x: trees.Tree, /, axis_name: names.Names) -> trees.Tree:
    """Sum over all lanes along a mapped axis.

    Args:
        x: An array of a numeric or boolean data type, a Python number, or a tree of these. A value that all lanes share
            counts once for each lane.
        axis_name: The name of the axis, or a tuple of names: the sum is over all these axes.

    Returns:
        A tree like `x`, the same for all lanes. Arrays keep their data types: integers that overflow wrap around, and
        booleans become int32. Python numbers are multiplied by the size of the axis: `psum(1, axis_name)` is the size.

    Raises:
        TypeError: A leaf is neither an array nor a number, or a value can't be a name; or (`UnsupportedError`) the
            library has no `vmap`.
        NameError: `vmap` does not bind the name around the call.
        ValueError: A name is given twice, or there is no name.

    Source: `jax.lax.psum`.

    >>> import torch
    >>> from xpand import vmap
    >>> vmap(lambda x: x / psum(x, "i"), axis_name="i")(torch.tensor([1.0, 3.0]))
    tensor([0.2500, 0.7500])
    """
    axes = names.several("psum", axis_name)
    size = count_of(axes)

    def summed(xp: Namespace, leaf: Array) -> Array:
        if checks.kind(xp, leaf.dtype) == "bool":
            leaf = xp.astype(leaf, xp.int32)
        return psum.native(leaf)(leaf, tuple(axes))

    return on_leaves("psum", x, summed, lambda number: number * size)


def pmean(x: trees.Tree, /, axis_name: names.Names) -> trees.Tree:
    """Average over all lanes along a mapped axis.

    Arguments and errors are as in `psum`.

    Returns:
        A tree like `x`, the same for all lanes. Arrays keep their data types; integers and booleans become the default
        floating-point type. Python numbers are unchanged.

    Source: `jax.lax.pmean`.

    >>> import torch
    >>> from xpand import vmap
    >>> vmap(lambda x: x - pmean(x, "i"), axis_name="i")(torch.tensor([1.0, 3.0]))
    tensor([-1.,  1.])
    """
    axes = names.several("pmean", axis_name)
    size = count_of(axes)

    def averaged(xp: Namespace, leaf: Array) -> Array:
        if checks.kind(xp, leaf.dtype) not in checks.FLOATING:
            defaults = xp.__array_namespace_info__().default_dtypes(device=checks.device_of(leaf))
            leaf = xp.astype(leaf, defaults["real floating"])
        return psum.native(leaf)(leaf, tuple(axes)) / max(size, 1)

    return on_leaves("pmean", x, averaged, lambda number: number)


@untraceable
@pluggable
def pmax(x: trees.Tree, /, axis_name: names.Names) -> trees.Tree:
    """Return the maximum over all lanes along a mapped axis.

    Arguments and errors are as in `psum`. Complex numbers have no maximum.

    Returns:
        A tree like `x`, the same for all lanes. Arrays keep their data types and have NaN where a lane has it. Python
        numbers are unchanged. Derivatives are those of the namespace's `max` over an axis.

    Source: `jax.lax.pmax`, which has no derivatives.

    >>> import torch
    >>> from xpand import vmap
    >>> vmap(lambda x: x / pmax(x, "i"), axis_name="i")(torch.tensor([1.0, 4.0]))
    tensor([0.2500, 1.0000])
    """
    return _extreme("pmax", pmax, x, axis_name)


@untraceable
@pluggable
def pmin(x: trees.Tree, /, axis_name: names.Names) -> trees.Tree:
    """Return the minimum over all lanes along a mapped axis. Arguments, result and errors are as in `pmax`.

    Source: `jax.lax.pmin`.

    >>> import torch
    >>> from xpand import vmap
    >>> vmap(lambda x: x - pmin(x, "i"), axis_name="i")(torch.tensor([1.0, 4.0]))
    tensor([0., 3.])
    """
    return _extreme("pmin", pmin, x, axis_name)


@untraceable
@pluggable
def all_gather(x: trees.Tree, /, axis_name: names.Names, *, axis: int = 0, tiled: bool = False) -> trees.Tree:
    """Gather the values of all lanes along a new axis, in each lane.

    Args:
        x: An array, a Python number, or a tree of these.
        axis_name: The name of the axis, or a tuple of names: the last axis varies fastest.
        axis: The position of the new axis in the results.
        tiled: Whether the arrays are concatenated along an existing axis instead of stacked along a new one.

    Returns:
        A tree of arrays like `x`, the same for all lanes.

    Raises:
        TypeError: A leaf is neither an array nor a number, a value can't be a name, or an option has the wrong type; or
            (`UnsupportedError`) the library has no `vmap`.
        NameError: `vmap` does not bind the name around the call.
        ValueError: A name is given twice, or there is no name or no such axis.

    Source: `jax.lax.all_gather`.

    >>> import torch
    >>> from xpand import vmap
    >>> vmap(lambda x: all_gather(x, "i") - x, axis_name="i")(torch.tensor([1.0, 4.0]))
    tensor([[ 0.,  3.],
            [-3.,  0.]])
    """
    axes = names.several("all_gather", axis_name)
    axis = checks.integer("all_gather", "axis", axis)
    checks.boolean("all_gather", "tiled", tiled)

    def gathered_leaf(xp: Namespace, leaf: Array) -> Array:
        return gathered("all_gather", leaf, tuple(axes), axis, tiled)

    return on_leaves("all_gather", with_arrays("all_gather", x, axes), gathered_leaf)


def axis_index(axis_name: names.Names) -> Array:
    """Return the position of the lane along a mapped axis.

    Args:
        axis_name: The name of the axis, or a tuple of names: positions are then counted with the last axis varying
            fastest.

    Returns:
        An array of shape (), of int32.

    Raises:
        TypeError: A value can't be a name.
        NameError: No mapped axis around the call has the name.
        ValueError: A name is given twice, or there is no name.

    Source: `jax.lax.axis_index`.

    >>> import torch
    >>> from xpand import vmap
    >>> vmap(lambda x: x * axis_index("i"), axis_name="i")(torch.tensor([5, 6, 7]))
    tensor([ 0,  6, 14])
    """
    return position_of(names.several("axis_index", axis_name))


@untraceable
@pluggable
def psum_scatter(
    x: trees.Tree, /, axis_name: names.Names, *, scatter_dimension: int = 0, tiled: bool = False
) -> trees.Tree:
    """Sum over a mapped axis, and return this lane's slice of the sum.

    Args:
        x: An array of a numeric or boolean data type, or a tree of these.
        axis_name: The name of the axis, or a tuple of names, whose lanes are counted as by `axis_index`.
        scatter_dimension: The axis of the arrays along which the sum is divided.
        tiled: By default, this axis has the size of the mapped axis. Each lane gets one entry, and the axis is removed.
            With True, it is a multiple of that size, and each lane gets a slice.

    Returns:
        A tree of arrays like `x`, with the data types of `psum`.

    Raises:
        TypeError: A leaf is not an array, a value can't be a name, or an option has the wrong type; or
            (`UnsupportedError`) the library has no `vmap`.
        NameError: No mapped axis around the call has the name.
        ValueError: A name is given twice, there is no name or no such axis, or the axis has the wrong size.

    Source: `jax.lax.psum_scatter`.

    >>> import torch
    >>> from xpand import vmap
    >>> vmap(lambda x: psum_scatter(x, "i"), axis_name="i")(torch.tensor([[1.0, 2.0], [10.0, 20.0]]))
    tensor([11., 22.])
    """
    axes = names.several("psum_scatter", axis_name)
    size = count_of(axes)
    scatter_dimension = checks.integer("psum_scatter", "scatter_dimension", scatter_dimension)
    checks.boolean("psum_scatter", "tiled", tiled)

    def scattered(xp: Namespace, leaf: Array) -> Array:
        axis = checks.axis("psum_scatter", scatter_dimension, leaf.ndim, "scatter_dimension")
        if checks.kind(xp, leaf.dtype) == "bool":
            leaf = xp.astype(leaf, xp.int32)
        parts = xp.moveaxis(divided("psum_scatter", xp, leaf, "scatter_dimension", axis, size, tiled), axis, 0)
        parts = xp.reshape(parts, (*[each.size for each in axes.values()], *parts.shape[1:]))
        for name in axes:
            parts = psum_scatter.native(parts)(parts, name)
        return parts  # with `tiled`, a slice stays where its axis was: the other axes have kept their order

    return on_leaves("psum_scatter", with_arrays("psum_scatter", x, axes), scattered)


@untraceable
@pluggable
def all_to_all(
    x: trees.Tree, /, axis_name: names.Names, split_axis: int, concat_axis: int, *, tiled: bool = False
) -> trees.Tree:
    """Send one slice of an array to each lane along a mapped axis, and collect the slices received.

    Args:
        x: An array, or a tree of arrays.
        axis_name: The name of the axis, or a tuple of names, whose lanes are counted as by `axis_index`.
        split_axis: The axis along which the arrays are divided into one slice for each lane.
        concat_axis: The axis of the results for the slices of all lanes, in the lanes' order.
        tiled: By default, `split_axis` has the size of the mapped axis and is removed, and `concat_axis` is a new axis.
            With True, `split_axis` is a multiple of that size, and slices are concatenated along an existing axis.

    Returns:
        A tree of arrays like `x`, of the same data types.

    Raises:
        TypeError: A leaf is not an array, a value can't be a name, or an option has the wrong type; or
            (`UnsupportedError`) the library has no `vmap`.
        NameError: No mapped axis around the call has the name.
        ValueError: A name is given twice, there is no name or no such axis, or an axis has the wrong size.

    Source: `jax.lax.all_to_all`.

    >>> import torch
    >>> from xpand import vmap
    >>> vmap(lambda x: all_to_all(x, "i", 0, 0), axis_name="i")(torch.tensor([[1, 2], [3, 4]]))
    tensor([[1, 3],
            [2, 4]])
    """
    axes = names.several("all_to_all", axis_name)
    size, sizes = count_of(axes), [axis.size for axis in axes.values()]
    split_axis = checks.integer("all_to_all", "split_axis", split_axis)
    concat_axis = checks.integer("all_to_all", "concat_axis", concat_axis)
    checks.boolean("all_to_all", "tiled", tiled)

    def exchanged(xp: Namespace, leaf: Array) -> Array:
        split = checks.axis("all_to_all", split_axis, leaf.ndim, "split_axis")
        concat = checks.axis("all_to_all", concat_axis, leaf.ndim, "concat_axis")
        parts = xp.moveaxis(divided("all_to_all", xp, leaf, "split_axis", split, size, tiled), split, 0)
        parts = xp.reshape(parts, (*sizes, *parts.shape[1:]))
        for i, name in enumerate(axes):  # each name exchanges along its part of the first axis
            moved = array_namespace(parts).moveaxis(parts, i, 0)
            found = all_to_all.native(moved)(moved, name, 0, 0)
            parts = array_namespace(found).moveaxis(found, 0, i)
        xp = array_namespace(parts)
        received = xp.reshape(parts, (size, *parts.shape[len(axes) :]))
        received = xp.moveaxis(received, 0, concat)
        if not tiled:
            return received
        shape = received.shape
        return xp.reshape(received, (*shape[:concat], size * shape[concat + 1], *shape[concat + 2 :]))

    return on_leaves("all_to_all", with_arrays("all_to_all", x, axes), exchanged)


@untraceable
@pluggable
def ppermute(x: trees.Tree, /, axis_name: names.Names, perm: Perm) -> trees.Tree:
    """Send the values of lanes along a mapped axis to other lanes.

    Args:
        x: An array, a Python number, or a tree of these.
        axis_name: The name of the axis, or a tuple of names, whose lanes are counted as by `axis_index`.
        perm: Pairs (source, destination) of positions: a list, or a concrete integer array of shape (n, 2), of any
            library. Each position is a source at most once, and a destination at most once.

    Returns:
        A tree of arrays like `x`: each destination has the value of its source; other lanes have zeros.

    Raises:
        TypeError: A leaf is neither an array nor a number, a value can't be a name, or `perm` contains something other
            than pairs of integers or is a traced array; or (`UnsupportedError`) the library has no `vmap`.
        NameError: `vmap` does not bind the name around the call.
        ValueError: A name is given twice, there is no name, or positions are out of bounds or given twice.

    Source: `jax.lax.ppermute`, which takes only complete permutations under `jax.vmap`.

    >>> import torch
    >>> from xpand import vmap
    >>> vmap(lambda x: ppermute(x, "i", [(0, 1), (1, 2)]), axis_name="i")(torch.tensor([5, 6, 7]))
    tensor([0, 5, 6])
    """
    axes = names.several("ppermute", axis_name)
    size = count_of(axes)
    pairs = pairs_of(perm, size)
    received = [destination for _, destination in pairs]
    free = sorted(set(range(size)) - {source for source, _ in pairs})
    complete = pairs + list(zip(free, sorted(set(range(size)) - set(received))))

    def permuted(xp: Namespace, leaf: Array) -> Array:
        position = position_of(axes)
        xp = array_namespace(leaf, position)  # the leaf may be an unmapped array
        if len(axes) == 1:
            result = ppermute.native(leaf)(leaf, next(iter(axes)), complete)
        else:
            sources = [source for source, _ in sorted(complete, key=lambda pair: pair[1])]
            everything = gathered("ppermute", leaf, tuple(axes), 0, False)
            result = own_entry(xp, everything, own_entry(xp, table_of(xp, sources, xp.int32, leaf), position))
        if len(pairs) == size:
            return result
        has = own_entry(xp, table_of(xp, [i in set(received) for i in range(size)], xp.bool, leaf), position)
        return xp.where(has, result, xp.zeros_like(result))

    return on_leaves("ppermute", with_arrays("ppermute", x, axes), permuted)


def _extreme(function: str, operation: Any, tree: trees.Tree, axis_name: names.Names) -> trees.Tree:
    axes = names.several(function, axis_name)
    size = count_of(axes)

    def extreme(xp: Namespace, leaf: Array) -> Array:
        checks.dtype(function, "x", xp, leaf, checks.ORDERED)
        return operation.native(leaf)(leaf, tuple(axes)) if size else leaf

    return on_leaves(function, tree, extreme, lambda number: number)


def gathered(function: str, x: Array, axes: Sequence[names.Name], axis: int, tiled: bool) -> Array:
    """Gather over several axes, the innermost first, so that the last axis varies fastest."""
    axis = checks.axis(function, axis, x.ndim if tiled else x.ndim + 1)
    for i, name in enumerate(reversed(axes)):
        # Each further gathering extends the axis of the first one.
        x = all_gather.native(x)(x, name, axis=axis, tiled=tiled or i > 0)
    return x
