"""Nodes whose axes have names and coordinates, as xarray's: lanes lack the mapped axis, and results get it back."""

from collections.abc import Sequence
from typing import Any

from xpand import trees
from xpand.extend import MappedAxis, add_axis, is_labelled, knows_labels, remove_axis


def has_labels(tree: trees.Tree) -> bool:
    """Return whether there are nodes with labels in a tree."""
    return knows_labels() and any(map(is_labelled, trees.leaves(tree, is_leaf=is_labelled)))


def without_axis(function: str, tree: trees.Tree, axes: Sequence[int | None]) -> tuple[trees.Tree, MappedAxis]:
    """Return a tree whose structure makes the arguments of a lane, and the mapped axis.

    Raises:
        ValueError: An axis has several names, or one name has several coordinates.
    """
    left = list(axes)
    mapped = MappedAxis()

    def relabel(x: Any) -> Any:
        nonlocal mapped
        own = [left.pop(0) for _ in trees.leaves(x)]
        if not is_labelled(x):
            return x
        try:
            relabelled, axis = remove_axis(x, own)
        except ValueError as error:
            raise ValueError(f"{function}: {error}") from None
        mapped = _joined(function, mapped, axis)
        return relabelled

    return trees.map(relabel, tree, is_leaf=is_labelled), mapped


def _joined(function: str, first: MappedAxis, second: MappedAxis) -> MappedAxis:
    """Return the axis that two arguments share: it has the name of the first, and the coordinates of both."""
    if first.name is None or second.name is None:
        return second if first.name is None else first
    if first.name != second.name:
        return first
    for name in first.coordinates.keys() & second.coordinates.keys():
        if not first.coordinates[name][0].equals(second.coordinates[name][0]):
            raise ValueError(
                f"{function}: the arguments have different coordinates {name!r} along the mapped axis {first.name!r}; "
                "align them, such as with `xarray.align`, or drop the coordinates"
            )
    return MappedAxis(first.name, second.coordinates | first.coordinates)


def with_axis(function: str, tree: trees.Tree, positions: Sequence[int | None], axis: MappedAxis) -> trees.Tree:
    """Return a tree whose structure makes a result of all lanes from one of a lane.

    Raises:
        ValueError: A result has the name of the mapped axis already.
    """
    left = list(positions)

    def relabel(x: Any) -> Any:
        own = [left.pop(0) for _ in trees.leaves(x)]
        if not is_labelled(x):
            return x
        try:
            return add_axis(x, own, axis)
        except ValueError as error:
            raise ValueError(f"{function}: {error}") from None

    return trees.map(relabel, tree, is_leaf=is_labelled)
