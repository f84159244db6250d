"""Collectives: operations that combine the lanes along a mapped axis."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from xpand import array_namespace, trees
from xpand.extend import Array, Namespace, checks

from .._dispatch import pluggable
from . import _names as names
from ._lanes import count_of, divided, on_leaves, own_entry, pairs_of, position_of, table_of, with_arrays

Perm: TypeAlias = Sequence[tuple[int, int]] | Array
"""Pairs (source, destination): a list, or an integer array of shape (n, 2)."""


def axis_size(axis_name: names.Names) -> int:
    """Return the size of a mapped axis.

    Args:
        axis_name: The axis's name, or a tuple of names, whose sizes are multiplied.

    Returns:
        A Python integer.

    Raises:
        TypeError: A value that cannot be a name.
        NameError: A name that is not bound around the call.
        ValueError: A name given twice, or no name.

    Source: `jax.lax.axis_size`.

    >>> import torch
    >>> from xpand_extensions.vmap import vmap
    >>> vmap(lambda x: x / axis_size("i"), axis_name="i")(torch.tensor([1.0, 3.0]))
    tensor([0.5000, 1.5000])
    """
    return count_of(names.several("axis_size", axis_name))


@pluggable
def psum(x: trees.Tree, /, axis_name: names.Names) -> trees.Tree:
    """Sum over all lanes along a mapped axis.

    Args:
        x: An array of a numeric or boolean data type, a Python number, or a tree of such. A value that all lanes share
            counts once for each lane.
        axis_name: The axis's name, or a tuple of names: the sum is over all of them.

    Returns:
        A tree like `x`, the same for all lanes: arrays of the same data types (int32 for booleans; integers that it
        can't hold wrap around), and Python numbers times the size of the axis: `psum(1, axis_name)` is the size.

    Raises:
        TypeError: A leaf is neither an array nor a number, a value can't be a name; or (`UnsupportedError`) a library
            that can't map.
        NameError: A name that is not bound by `vmap` around the call.
        ValueError: A name given twice, or no name.

    Source: `jax.lax.psum`.

    >>> import torch
    >>> from xpand_extensions.vmap import vmap
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

    Arguments and errors are those of `psum`.

    Returns:
        A tree like `x`, the same for all lanes: arrays of the same data types, or for integers and booleans of the
        default floating-point one; Python numbers as they are.

    Source: `jax.lax.pmean`.

    >>> import torch
    >>> from xpand_extensions.vmap import vmap
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


@pluggable
def pmax(x: trees.Tree, /, axis_name: names.Names) -> trees.Tree:
    """Return the maximum over all lanes along a mapped axis.

    Arguments and errors are those of `psum`; complex numbers have no largest.

    Returns:
        A tree like `x`, the same for all lanes: arrays of the same data types, with NaN where a lane has it; Python
        numbers as they are. Derivatives are those of the namespace's `max` over an axis.

    Source: `jax.lax.pmax`, which has no derivatives.

    >>> import torch
    >>> from xpand_extensions.vmap import vmap
    >>> vmap(lambda x: x / pmax(x, "i"), axis_name="i")(torch.tensor([1.0, 4.0]))
    tensor([0.2500, 1.0000])
    """
    return _extreme("pmax", pmax, x, axis_name)


@pluggable
def pmin(x: trees.Tree, /, axis_name: names.Names) -> trees.Tree:
    """Return the minimum over all lanes along a mapped axis. Arguments, result and errors are those of `pmax`.

    Source: `jax.lax.pmin`.

    >>> import torch
    >>> from xpand_extensions.vmap import vmap
    >>> vmap(lambda x: x - pmin(x, "i"), axis_name="i")(torch.tensor([1.0, 4.0]))
    tensor([0., 3.])
    """
    return _extreme("pmin", pmin, x, axis_name)


@pluggable
def all_gather(x: trees.Tree, /, axis_name: names.Names, *, axis: int = 0, tiled: bool = False) -> trees.Tree:
    """Gather the values of all lanes along a new axis, in each lane.

    Args:
        x: An array, a Python number, or a tree of such.
        axis_name: The axis's name, or a tuple of names: lanes are then in the order of the first, and within it of
            the others.
        axis: The position of the axis of the lanes in the results.
        tiled: Whether the arrays are concatenated along an existing axis instead of stacked along a new one.

    Returns:
        A tree like `x` of arrays, the same for all lanes.

    Raises:
        TypeError: A leaf is neither an array nor a number, a value that cannot be a name, or an option of the wrong
            type; or (`UnsupportedError`) a library that can't map.
        NameError: A name that is not bound by `vmap` around the call.
        ValueError: A name given twice, or no name; no such axis.

    Source: `jax.lax.all_gather`.

    >>> import torch
    >>> from xpand_extensions.vmap import vmap
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
        axis_name: The axis's name, or a tuple of names: lanes are then counted in the order of the first, and within
            it of the others.

    Returns:
        An array of shape (), of int32.

    Raises:
        TypeError: A value that cannot be a name.
        NameError: A name that is not bound by `vmap` around the call.
        ValueError: A name given twice, or no name.

    Source: `jax.lax.axis_index`.

    >>> import torch
    >>> from xpand_extensions.vmap import vmap
    >>> vmap(lambda x: x * axis_index("i"), axis_name="i")(torch.tensor([5, 6, 7]))
    tensor([ 0,  6, 14])
    """
    return position_of(names.several("axis_index", axis_name))


@pluggable
def psum_scatter(
    x: trees.Tree, /, axis_name: names.Names, *, scatter_dimension: int = 0, tiled: bool = False
) -> trees.Tree:
    """Sum over a mapped axis, and keep only this lane's slice of the sum.

    Args:
        x: An array of a numeric or boolean data type, or a tree of such.
        axis_name: The axis's name, or a tuple of names, which are counted as by `axis_index`.
        scatter_dimension: The axis of the arrays along which the sum is divided.
        tiled: By default this axis has the size of the mapped axis, each lane gets one entry, and the axis is removed.
            With True it is a multiple of that size, and each lane gets a slice.

    Returns:
        A tree like `x` of arrays, with the data types of `psum`.

    Raises:
        TypeError: A leaf is not an array, a value cannot be a name, or an option has the wrong type; or
            (`UnsupportedError`) a library that cannot map.
        NameError: A name that is not bound around the call.
        ValueError: A name given twice, or no name; no such axis, or one of the wrong size.

    Source: `jax.lax.psum_scatter`.

    >>> import torch
    >>> from xpand_extensions.vmap import vmap
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
        return parts  # with `tiled`, a slice lies where its axis was: the others have kept their order

    return on_leaves("psum_scatter", with_arrays("psum_scatter", x, axes), scattered)


@pluggable
def all_to_all(
    x: trees.Tree, /, axis_name: names.Names, split_axis: int, concat_axis: int, *, tiled: bool = False
) -> trees.Tree:
    """Send one slice of an array to each lane along a mapped axis, and collect the slices received.

    Args:
        x: An array, or a tree of such.
        axis_name: The axis's name, or a tuple of names, which are counted as by `axis_index`.
        split_axis: The axis along which the arrays are divided, a slice for each lane.
        concat_axis: The axis of the results along which the slices of all lanes lie, in the lanes' order.
        tiled: By default `split_axis` has the size of the mapped axis and is removed, and `concat_axis` is a new axis.
            With True, `split_axis` is a multiple of that size, and slices are concatenated along an existing axis.

    Returns:
        A tree like `x` of arrays of the same data types.

    Raises:
        TypeError: A leaf is not an array, a value cannot be a name, or an option has the wrong type; or
            (`UnsupportedError`) a library that cannot map.
        NameError: A name that is not bound around the call.
        ValueError: A name given twice, or no name; no such axis, or one of the wrong size.

    Source: `jax.lax.all_to_all`.

    >>> import torch
    >>> from xpand_extensions.vmap import vmap
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
        for i, name in enumerate(axes):  # each name exchanges along its own part of the first axis
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


@pluggable
def ppermute(x: trees.Tree, /, axis_name: names.Names, perm: Perm) -> trees.Tree:
    """Send the values of lanes along a mapped axis to other lanes.

    Args:
        x: An array, a Python number, or a tree of such.
        axis_name: The axis's name, or a tuple of names: lanes are then counted as by `axis_index`.
        perm: Pairs (source, destination) of positions: a list, or a concrete integer array of shape (n, 2), of any
            library. Sources are different from each other, and so are destinations.

    Returns:
        A tree like `x` of arrays: each destination has the value of its source; other lanes have zeros.

    Raises:
        TypeError: A leaf is neither an array nor a number, a value that cannot be a name, or `perm` holds anything but
            pairs of integers, or is a traced array; or (`UnsupportedError`) a library that can't map.
        NameError: A name that is not bound by `vmap` around the call.
        ValueError: A name given twice, or no name; positions out of bounds, or twice.

    Source: `jax.lax.ppermute`, which takes only complete permutations under `jax.vmap`.

    >>> import torch
    >>> from xpand_extensions.vmap import vmap
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
        xp = array_namespace(leaf, position)  # the leaf may be one that isn't mapped
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
    """Gather over several axes: the innermost first, so that lanes of the first come first."""
    axis = checks.axis(function, axis, x.ndim if tiled else x.ndim + 1)
    for i, name in enumerate(reversed(axes)):
        # Further gatherings extend the axis that the first one has made.
        x = all_gather.native(x)(x, name, axis=axis, tiled=tiled or i > 0)
    return x
