"""Trees of arrays: lists, tuples, dictionaries, and classes registered with optree, nested to any depth.

optree decides which objects are nodes and which are leaves. None is a node without children. Dictionaries are ordered
by their keys. Classes are registered with `register`, with optree itself, or with `jax.tree_util`, as those of Equinox
and Flax are. xarray's `DataArray`, `Dataset` and `Variable` are nodes, whose leaves are the arrays of their data.
"""

import builtins
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias

import optree

from . import _arguments
from ._imports import import_module, trace_instead
from ._labelled import Relabelled
from ._namespace import array_namespace, describe
from .common import is_writeable_array
from .typing import Array, Tree

__all__ = [
    "Structure",
    "Tree",
    "concat",
    "copy",
    "flatten",
    "leaves",
    "map",
    "register",
    "stack",
    "structure",
    "unflatten",
    "unstack",
]
__dir__ = __all__.copy

Structure: TypeAlias = optree.PyTreeSpec
"""The structure of a tree, without its leaves."""


def register(
    cls: type, flatten: Callable[[Any], tuple[Iterable[Tree], Any]], unflatten: Callable[[Any, Iterable[Tree]], Any], /
) -> None:
    """Register a class whose instances are nodes of trees, here and in optree.

    Args:
        cls: The class. Subclasses must be registered separately.
        flatten: Takes an instance, and returns its children and its static data, which must support `==`.
        unflatten: Takes the static data and the children, and returns an instance. It must not check the children,
            which can be any objects in transformations.

    Raises:
        ValueError: The class is already registered.

    Source: `jax.tree_util.register_pytree_node`.

    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> register(Pair, lambda pair: ((pair.a, pair.b), None), lambda _, children: Pair(*children))
    >>> leaves([Pair(1, 2), 3])
    [1, 2, 3]
    """
    optree.register_pytree_node(
        cls,
        lambda node: (*flatten(node), None),  # None: children are named by position
        unflatten,
        namespace=optree.registry.__GLOBAL_NAMESPACE,
    )


def map(function: Callable[..., Any], tree: Tree, /, *rest: Tree, is_leaf: Callable[[Any], bool] | None = None) -> Tree:
    """Call a function on the leaves at each position of one or more trees, and return the tree of results.

    Args:
        function: Takes a leaf of each tree, and returns a leaf of the result.
        tree: A tree.
        *rest: More trees with the same structure. Where the first tree has a leaf, they may have a subtree.
        is_leaf: Returns whether to treat an object as a leaf.

    Raises:
        ValueError: The structures of the trees differ.

    Source: `jax.tree.map`.

    >>> map(lambda x, y: x + y, {"a": 1, "b": (2, 3)}, {"a": 10, "b": (20, 30)})
    {'a': 11, 'b': (22, 33)}
    """
    found, spec = flatten(tree, is_leaf=is_leaf)
    others = [spec.flatten_up_to(each) for each in rest]
    return unflatten(spec, [function(*each) for each in zip(found, *others)])


def leaves(tree: Tree, /, *, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """Return the leaves of a tree, in order.

    >>> leaves({"b": (2, 3), "a": 1})
    [1, 2, 3]
    """
    return flatten(tree, is_leaf=is_leaf)[0]


def structure(tree: Tree, /, *, is_leaf: Callable[[Any], bool] | None = None) -> Structure:
    """Return the structure of a tree. Structures can be compared with `==`.

    >>> structure((1, [2])) == structure((3, [4]))
    True
    """
    return flatten(tree, is_leaf=is_leaf)[1]


def flatten(tree: Tree, /, *, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], Structure]:
    """Split a tree into its leaves and its structure. `unflatten` is the inverse.

    >>> flatten((1, [2]))[0]
    [1, 2]
    """
    found, spec = optree.tree_flatten(tree, is_leaf=is_leaf)
    if _adopt_nodes(found):
        return flatten(tree, is_leaf=is_leaf)
    return found, spec


_plain: Final[set[type]] = {int, float, complex, bool, str}
"""Classes of leaves that are no nodes of another package."""
_MAX_TYPES: Final = 4096  # a bound for programs that keep making classes

_PACKAGES: Final = {"xarray": "_xarray_trees"}
"""For packages, the module here that registers their classes. It is imported at the first instance of one of them."""


def _adopt_nodes(leaves: list[Any]) -> bool:
    """Register the classes of leaves that other packages have for nodes; return whether there are any."""
    if _plain.issuperset(builtins.map(type, leaves)):
        return False
    adopts = False
    for leaf in leaves:
        cls = type(leaf)
        if cls in _plain or not optree.tree_is_leaf(leaf):  # a node that `is_leaf` stops at
            continue
        if _arguments.is_array(leaf):
            if len(_plain) < _MAX_TYPES:
                _plain.add(cls)
        elif _adopt_nodes_of_package(leaf) or _adopt_nodes_of_jax(leaf):
            adopts = True
    return adopts


trace_instead(_adopt_nodes, lambda leaves: False)


def _adopt_nodes_of_package(leaf: Any) -> bool:
    """Register the classes of the package of a leaf, if it is in the table; return whether the leaf is a node now."""
    module = _PACKAGES.get(type(leaf).__module__.partition(".")[0])
    if module is None:
        return False
    import_module(f"{__package__}.{module}").register()
    return not optree.tree_is_leaf(leaf)


def _adopt_nodes_of_jax(leaf: Any) -> bool:
    """Register the class of a leaf that is a node of JAX's trees, if JAX is imported; return whether it is."""
    if (jax := sys.modules.get("jax")) is None or jax.tree_util.all_leaves([leaf]):
        return False
    register(type(leaf), _one_level_of_jax, lambda spec, children: spec.unflatten(children))
    return True


def _one_level_of_jax(node: Any) -> tuple[Iterable[Tree], Any]:
    children, spec = sys.modules["jax"].tree_util.tree_flatten(node, is_leaf=lambda x: x is not node)
    return children, spec


def unflatten(structure: Structure, leaves: Iterable[Any], /) -> Tree:
    """Rebuild a tree from its structure and its leaves.

    Raises:
        ValueError: There are too few or too many leaves.

    >>> leaves, structure = flatten((1, [2]))
    >>> unflatten(structure, [x * 10 for x in leaves])
    (10, [20])
    """
    return optree.tree_unflatten(structure, leaves)


def stack(trees: Sequence[Tree], /, *, axis: int = 0) -> Tree:
    """Stack the arrays at the same position of several trees along a new axis.

    Args:
        trees: One or more trees of arrays with the same structure.
        axis: The position of the new axis in the results.

    Raises:
        TypeError: A leaf is not an array, or the arrays at a position belong to two libraries, or have data types that
            the standard doesn't promote.
        ValueError: There are no trees or no such axis, or structures, shapes or devices differ.

    Source: PhiML's `stack_leaves`.

    >>> import numpy as np
    >>> stack([{"a": np.asarray(1.0)}, {"a": np.asarray(2.0)}])
    {'a': array([1., 2.])}
    """
    return _join("stack", trees, axis)


def concat(trees: Sequence[Tree], /, *, axis: int = 0) -> Tree:
    """Join the arrays at the same position of several trees along an existing axis.

    Arguments and errors are the same as for `stack`.

    >>> import numpy as np
    >>> concat([[np.asarray([1, 2])], [np.asarray([3])]])
    [array([1, 2, 3])]
    """
    return _join("concat", trees, axis)


def unstack(tree: Tree, /, *, axis: int = 0) -> list[Tree]:
    """Split the arrays of a tree along an axis, into a list of trees. This is the inverse of `stack`.

    Raises:
        TypeError: A leaf is not an array.
        ValueError: There are no leaves, an array has no such axis, or the sizes along it differ.

    >>> import numpy as np
    >>> unstack({"x": np.asarray([[1, 2], [3, 4]])})[1]
    {'x': array([3, 4])}
    """
    found, spec = flatten(tree)
    if not found:
        raise ValueError("unstack: the tree has no leaves, so the number of results is unknown")
    parts = []
    for leaf in found:
        xp = _arguments.namespace_of("unstack", leaf=leaf)
        parts.append(xp.unstack(leaf, axis=_arguments.axis("unstack", axis, leaf.ndim)))
    if len({len(each) for each in parts}) > 1:
        raise ValueError(
            f"unstack: all arrays must have one size along axis {axis}, got {sorted({len(each) for each in parts})}"
        )
    return [unflatten(spec, leaves) for leaves in zip(*parts)]


def copy(tree: Tree, /, *, only_writeable: bool = False) -> Tree:
    """Copy the arrays of a tree. Other leaves are not copied.

    Args:
        tree: A tree.
        only_writeable: Whether to copy only arrays that can be written into, unlike JAX's and read-only arrays.

    Raises:
        TypeError: `only_writeable` is not a bool.

    Source: PhiML's `copy_leaves`.

    >>> import numpy as np
    >>> x = np.asarray([1, 2])
    >>> y = copy([x, "name"])
    >>> y, y[0] is x
    ([array([1, 2]), 'name'], False)
    """
    _arguments.boolean("copy", "only_writeable", only_writeable)

    def copied(leaf: Any) -> Any:
        if not _arguments.is_array(leaf) or (only_writeable and not is_writeable_array(leaf)):
            return leaf
        return array_namespace(leaf).asarray(leaf, copy=True)

    return map(copied, tree)


def _leaves_at(spec: Structure, tree: Tree) -> list[Any] | None:
    """Return the leaves of a tree, or None if it has another structure. PyTorch 2.11 cannot compare two structures."""
    try:
        found = spec.flatten_up_to(tree)
    except ValueError:
        return None
    return found if all(optree.tree_is_leaf(leaf) for leaf in found) else None


def _join(function: str, trees: Sequence[Tree], axis: int) -> Tree:
    if not isinstance(trees, (list, tuple)):
        raise TypeError(f"{function}: trees must be a list or a tuple of trees, got {describe(trees)}")
    if not trees:
        raise ValueError(f"{function}: takes one tree or more, got none")
    first, spec = flatten(trees[0])
    columns = [first]
    for number, tree in enumerate(trees[1:], 1):
        found = _leaves_at(spec, tree)
        if found is None:
            other = structure(tree)
            raise ValueError(f"{function}: trees must have one structure, got {spec} and, at {number}, {other}")
        columns.append(found)

    def joined(*leaves: Array) -> Array:
        named = {f"trees[{i}]": leaf for i, leaf in enumerate(leaves)}
        xp = _arguments.namespace_of(function, **named)
        _arguments.one_device(function, **named)
        leaves = _arguments.promote(function, xp, **named)
        new = function == "stack"
        where = _arguments.axis(function, axis, leaves[0].ndim + new)
        shapes = [tuple(leaf.shape) for leaf in leaves]
        compared = shapes if new else [shape[:where] + shape[where + 1 :] for shape in shapes]
        if len(set(compared)) > 1:
            raise ValueError(f"{function}: the arrays at the same position must have the same shape, got {shapes}")
        return xp.stack(leaves, axis=where) if new else xp.concat(leaves, axis=where)

    return unflatten(spec, [joined(*leaves) for leaves in zip(*columns)])


register(Relabelled, lambda node: (node.children, node.labels), lambda labels, children: labels.build(children))
