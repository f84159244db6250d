"""Steps of collectives: trees of arrays, positions of lanes, division of axes, and permutations."""

import math
from collections.abc import Callable
from typing import Any

from xpand import array_namespace, is_concrete, trees
from xpand.extend import Array, Namespace, checks, describe

from .._transforms import as_array
from . import _names as names


def on_leaves(
    function: str,
    tree: trees.Tree,
    of_array: Callable[[Namespace, Array], Array],
    of_number: Callable[[Any], Any] | None = None,
) -> trees.Tree:
    """Apply one function to the arrays of a tree, and another to its numbers."""

    def each(leaf: Any) -> Any:
        if checks.is_array(leaf):
            return of_array(array_namespace(leaf), leaf)
        if of_number is not None and isinstance(leaf, (bool, int, float, complex)):
            return of_number(leaf)
        raise TypeError(f"{function}: takes arrays, numbers, and trees of these, got {describe(leaf)}")

    return trees.map(each, tree)


def with_arrays(function: str, tree: trees.Tree, axes: dict[names.Name, names.Axis]) -> trees.Tree:
    """Convert the numbers in a tree to arrays of the library that maps."""
    like = next(iter(axes.values())).position
    return trees.map(lambda leaf: leaf if checks.is_array(leaf) else as_array(f"{function}: takes", leaf, like()), tree)


def count_of(axes: dict[names.Name, names.Axis]) -> int:
    """Return the number of lanes along several axes together."""
    return math.prod([axis.size for axis in axes.values()])


def position_of(axes: dict[names.Name, names.Axis]) -> Array:
    """Return the position of the lane along several axes; the last axis varies fastest."""
    first, *others = axes.values()
    position = first.position()
    for axis in others:
        position = position * axis.size + axis.position()
    return position


def own_entry(xp: Namespace, table: Array, position: Array) -> Array:
    """Return the entry of a table at the position of a lane."""
    return xp.take(table, xp.reshape(position, (1,)), axis=0)[0, ...]


def table_of(xp: Namespace, values: list[Any], dtype: Any, like: Array) -> Array:
    """Make an array of values on the device of another array."""
    return xp.asarray(values, dtype=dtype, device=checks.device_of(like))


def divided(function: str, xp: Namespace, x: Array, argument: str, axis: int, size: int, tiled: bool) -> Array:
    """Split an axis into one of the size of the mapped axis, followed by one for the slices."""
    length = x.shape[axis]
    if not tiled:
        if length != size:
            raise ValueError(
                f"{function}: the axis {argument}={axis} must have the size {size} of the mapped axis, got {length}; "
                "tiled=True takes multiples of it"
            )
        return x
    if not size or length % size:
        raise ValueError(
            f"{function}: with tiled=True the size of the axis {argument}={axis} must be a multiple of {size}, the "
            f"size of the mapped axis, got {length}"
        )
    return xp.reshape(x, (*x.shape[:axis], size, length // size, *x.shape[axis + 1 :]))


def pairs_of(perm: Any, size: int) -> list[tuple[int, int]]:
    """Check a permutation, and return its pairs (source, destination)."""
    if checks.is_array(perm):
        perm = _listed(perm)
    if not isinstance(perm, (list, tuple)) or not all(
        isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in perm
    ):
        raise TypeError(f"ppermute: perm must be a list of pairs (source, destination), got {perm!r}")
    pairs = [
        (checks.integer("ppermute", "a source", source), checks.integer("ppermute", "a destination", destination))
        for source, destination in perm
    ]
    for what, positions in (("source", [s for s, _ in pairs]), ("destination", [d for _, d in pairs])):
        for position in positions:
            if not 0 <= position < size:
                raise ValueError(f"ppermute: {what} {position} is out of bounds for an axis of size {size}")
        if len(set(positions)) < len(positions):
            raise ValueError(f"ppermute: each position may be a {what} once, got perm={pairs}")
    return pairs


def _listed(perm: Array) -> list[list[int]]:
    if not is_concrete(perm):
        raise TypeError(
            "ppermute: perm must be concrete, got a traced or lazy array; pass a list of pairs (source, destination)"
        )
    xp = array_namespace(perm)
    if perm.ndim != 2 or perm.shape[1] != 2 or not xp.isdtype(perm.dtype, "integral"):
        raise TypeError(
            f"ppermute: an array perm must be of integers and of shape (n, 2), got the shape {tuple(perm.shape)} and "
            f"the data type {perm.dtype}"
        )
    return [[int(perm[i, 0]), int(perm[i, 1])] for i in range(perm.shape[0])]
