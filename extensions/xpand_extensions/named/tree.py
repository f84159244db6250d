"""Functions of trees with named arrays as leaves. In `xpand.trees`, a named array is a node, and its array a leaf.

Source: `haliax.tree`.
"""

from collections.abc import Callable, Iterable
from typing import Any

from xpand import trees

from ._array import NamedArray

__all__ = ["flatten", "leaves", "map", "scan_aware_map", "structure", "unflatten"]
__dir__ = __all__.copy

IsLeaf = Callable[[Any], bool] | None


def _is_leaf(is_leaf: IsLeaf) -> Callable[[Any], bool]:
    if is_leaf is None:
        return lambda x: isinstance(x, NamedArray)
    return lambda x: isinstance(x, NamedArray) or is_leaf(x)


def map(fn: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """Call a function with the leaves at each position of one or several trees. Named arrays are leaves.

    >>> import numpy as np
    >>> map(lambda x: x.sum("a"), {"x": NamedArray(np.asarray([[1, 2], [3, 4]]), ("a", "b"))})
    {'x': NamedArray({'b': 2}, array([4, 6]))}
    """
    return trees.map(fn, tree, *rest, is_leaf=_is_leaf(is_leaf))


def scan_aware_map(fn: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """Call a function with each leaf, like `map`. xpand has no stacked layers, which Haliax treats separately."""
    return map(fn, tree, *rest, is_leaf=is_leaf)


def flatten(tree: Any, *, is_leaf: IsLeaf = None) -> tuple[list[Any], trees.Structure]:
    """Split a tree into its leaves, which may be named arrays, and its structure."""
    return trees.flatten(tree, is_leaf=_is_leaf(is_leaf))


def unflatten(treedef: trees.Structure, leaves: Iterable[Any]) -> Any:
    """Rebuild a tree from its structure and its leaves."""
    return trees.unflatten(treedef, leaves)


def leaves(tree: Any, *, is_leaf: IsLeaf = None) -> list[Any]:
    """List the leaves of a tree, which may be named arrays."""
    return trees.leaves(tree, is_leaf=_is_leaf(is_leaf))


def structure(tree: Any, *, is_leaf: IsLeaf = None) -> trees.Structure:
    """Return the structure of a tree whose leaves are named arrays."""
    return trees.structure(tree, is_leaf=_is_leaf(is_leaf))
