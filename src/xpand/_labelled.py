"""Nodes of trees whose axes have names and coordinates, as xarray's: `vmap` removes an axis from them and adds one.

The static data of such a node are *labels*. They say how to build the node from its leaves, whose axes may differ.
`xpand.trees` registers the classes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, Self


@dataclass(frozen=True)
class MappedAxis:
    """An axis that a function is mapped over."""

    name: Any = None
    """The name of the axis; None if no argument names it."""
    coordinates: dict[Any, tuple[Any, Any]] = field(default_factory=dict)
    """The coordinates along the axis, by name: a variable and its index, which is None for most."""


class Labels(Protocol):
    """The static data of a node whose axes have names."""

    def build(self, children: Sequence[Any], /) -> Any:
        """Make the node from its leaves."""
        ...

    def remove_axis(self, axes: Sequence[int | None], /) -> tuple[Self, MappedAxis]:
        """Return the labels without an axis of each leaf, and the axis."""
        ...

    def add_axis(self, positions: Sequence[int | None], axis: MappedAxis, /) -> Self:
        """Return the labels with a further axis of each leaf."""
        ...


FLATTEN: Final[dict[type, Callable[[Any], tuple[Sequence[Any], Labels]]]] = {}
"""For each class of nodes with labels, the function that returns the leaves and the labels of a node."""


class Relabelled:
    """A node whose structure makes nodes with other labels."""

    __slots__ = ("children", "labels")

    def __init__(self, labels: Labels, children: Sequence[Any]) -> None:
        """Store the other labels, and the leaves of a node."""
        self.labels, self.children = labels, children


def knows_labels() -> bool:
    """Return whether a class of nodes with labels is registered."""
    return bool(FLATTEN)


def is_labelled(x: Any) -> bool:
    """Return whether an object is a node with labels; used as `is_leaf` for trees."""
    return type(x) in FLATTEN


def remove_axis(node: Any, axes: Sequence[int | None]) -> tuple[Any, MappedAxis]:
    """Return a node with the same leaves, whose structure makes nodes without an axis of each leaf; and the axis.

    Args:
        node: The node.
        axes: The axis of each leaf. It is None for leaves that keep their axes.

    Raises:
        ValueError: The axes of the leaves have several names.
    """
    children, labels = FLATTEN[type(node)](node)
    labels, axis = labels.remove_axis(axes)
    return Relabelled(labels, children), axis


def add_axis(node: Any, positions: Sequence[int | None], axis: MappedAxis) -> Any:
    """Return a node with the same leaves, whose structure makes nodes with a further axis of each leaf.

    Args:
        node: The node.
        positions: The position of the axis in each leaf. It is None for leaves that keep their axes.
        axis: Its name and coordinates.

    Raises:
        ValueError: The node has an axis of this name.
    """
    children, labels = FLATTEN[type(node)](node)
    return Relabelled(labels.add_axis(positions, axis), children)
