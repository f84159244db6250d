"""Sparse containers in trees: transformations trace their values, and keep their patterns constant.

A pattern consists of integers, which have no derivatives. A gradient with respect to a container is a container with
the same pattern; so are directions and Jacobians.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

from xpand import array_namespace, trees
from xpand.extend import Array, checks


class Container:
    """The base of tree nodes with values, which transformations trace, and a pattern of integers, which they don't.

    Classes such as `sparse.Sparse` inherit from it, so transformations need not know them. The leaves are the values,
    the pattern and the plan, in this order. The plan is None or a tree of arrays computed from the pattern.
    """

    __slots__ = ()

    _values: Array
    _sparse_shape: tuple[int, ...]
    _plan: Any

    if TYPE_CHECKING:

        @property
        def values(self) -> Array: ...
        @property
        def pattern(self) -> tuple[Array, ...]: ...
        @property
        def batch_ndim(self) -> int: ...
        @property
        def dense_ndim(self) -> int: ...
        @property
        def ndim(self) -> int: ...
        def _static(self) -> tuple[Any, ...]: ...
        @classmethod
        def _of(cls, values: Any, pattern: tuple[Any, ...], static: tuple[Any, ...], plan: Any = None) -> Self: ...


def is_container(x: Any) -> bool:
    """Return whether an object is a container; used as `is_leaf` for trees."""
    return isinstance(x, Container)


def has_containers(tree: trees.Tree) -> bool:
    """Return whether there are containers in a tree."""
    return any(isinstance(x, Container) for x in trees.leaves(tree, is_leaf=is_container))


def flatten_values(tree: trees.Tree) -> "tuple[list[Any], trees.Structure | Patterned]":
    """Flatten a tree. The leaves of containers are only their values."""
    leaves, structure = trees.flatten(tree)
    if len(leaves) < 2 or not has_containers(tree):
        return leaves, structure
    patterns: list[tuple[Any, ...]] = []

    def shell(x: Any) -> Any:
        if not isinstance(x, Container):
            return x
        patterns.append((x.pattern, x._static(), x._plan))
        return _Shell(type(x), (x._sparse_shape, x.dense_ndim), x._values)

    leaves, structure = trees.flatten(trees.map(shell, tree, is_leaf=is_container))
    return leaves, Patterned(structure, patterns)


def unflatten(structure: "trees.Structure | Patterned", leaves: Iterable[Any]) -> trees.Tree:
    """Make the tree from its leaves and the structure that `flatten_values` returned."""
    return structure.tree(leaves) if isinstance(structure, Patterned) else trees.unflatten(structure, leaves)


class _Shell:
    """A container without its pattern."""

    __slots__ = ("cls", "kind", "values")

    def __init__(self, cls: type[Container], kind: tuple[Any, ...], values: Any) -> None:
        self.cls, self.kind, self.values = cls, kind, values


trees.register(_Shell, lambda x: ((x.values,), (x.cls, x.kind)), lambda static, children: _Shell(*static, *children))


class Patterned:
    """The structure of a tree with containers, and their patterns. Comparison ignores the patterns."""

    __slots__ = ("_patterns", "structure")

    def __init__(self, structure: trees.Structure, patterns: list[tuple[Any, ...]]) -> None:
        """Store the structure with shells in place of containers, and the containers' patterns."""
        self.structure, self._patterns = structure, patterns

    def tree(self, leaves: Iterable[Any], shape: tuple[int, ...] = ()) -> trees.Tree:
        """Make the tree from its leaves. The leaves of containers have further leading axes of the given shape."""
        given = list(leaves)
        patterns = iter(in_namespace_of(given, self._patterns))

        def fill(x: Any) -> Any:
            if type(x) is not _Shell:
                return x
            pattern, static, plan = next(patterns)
            if shape and any(each.ndim > 1 for each in pattern):  # a pattern for each batch element
                pattern, plan = tuple(repeated(each, shape) for each in pattern), None
            return x.cls._of(x.values, pattern, static, plan)

        return trees.map(fill, trees.unflatten(self.structure, given), is_leaf=lambda x: type(x) is _Shell)

    def copy(self) -> "Patterned":
        """Return a copy that `take` and `give` can change."""
        return Patterned(self.structure, self._patterns)

    def take(self) -> tuple[Array, ...]:
        """Remove the arrays of the patterns and return them. Stored arrays would leak from a transformation."""
        found, patterns = [], []
        for pattern, static, _ in self._patterns:
            found += pattern
            patterns.append((len(pattern), static, None))
        self._patterns = patterns
        return tuple(found)

    def give(self, arrays: Sequence[Array]) -> Sequence[Array]:
        """Take the patterns back from the end of `arrays`, and return the other arrays."""
        counts = [count for count, _, _ in self._patterns]
        rest = len(arrays) - sum(counts)
        start, patterns = rest, []
        for count, static, plan in self._patterns:
            patterns.append((tuple(arrays[start : start + count]), static, plan))
            start += count
        self._patterns = patterns
        return arrays[:rest]

    def __eq__(self, other: object) -> bool:
        """Return whether the other has containers of the same sizes in the same positions."""
        return isinstance(other, Patterned) and bool(self.structure == other.structure)

    def __hash__(self) -> int:
        """Return a hash that is the same for equal structures."""
        return hash(self.structure)

    def __str__(self) -> str:
        """Write the tree, with stars for leaves."""
        return str(self.structure).replace("CustomTreeNode(_Shell[", "CustomTreeNode(container[")


def in_namespace_of(arrays: Sequence[Array], tree: trees.Tree) -> trees.Tree:
    """Convert the arrays of a tree to the namespace of `arrays`, if these are traced.

    A function then finds the same namespace for each of its arguments.
    """
    # Look in the class: a missing attribute of a module costs a microsecond.
    namespace = getattr(type(arrays[0]), "_namespace", None) if arrays else None
    if namespace is None:
        return tree
    return trees.map(lambda x: namespace.argument(x) if checks.is_array(x) else x, tree)


def pattern_positions(tree: trees.Tree) -> list[int]:
    """Return the numbers of the leaves that are patterns of containers, or were computed from patterns."""
    if not has_containers(tree):
        return []
    positions: list[int] = []
    count = 0
    for x in trees.leaves(tree, is_leaf=is_container):
        if isinstance(x, Container):
            length = len(trees.leaves((x.pattern, x._plan)))
            count += len(trees.leaves(x._values))
            positions += range(count, count + length)
            count += length
        else:
            count += 1
    return positions


def without_plans(tree: trees.Tree) -> trees.Tree:
    """Remove the data computed from patterns, which containers of the same structure may have or not."""
    if not has_containers(tree):
        return tree
    return trees.map(
        lambda x: x._of(x._values, x.pattern, x._static()) if isinstance(x, Container) else x,
        tree,
        is_leaf=is_container,
    )


def stackable(tree: trees.Tree) -> trees.Tree:
    """Give each batch element its own pattern, so that all arrays can be sliced and stacked in the same way."""
    if not has_containers(tree):
        return tree

    def made(x: Any) -> Any:
        if not isinstance(x, Container):
            return x
        batch = x.values.shape[: x.batch_ndim]
        pattern = tuple(repeated(each, batch) if each.ndim == 1 else each for each in x.pattern)
        return x._of(x.values, pattern, x._static())

    return trees.map(made, tree, is_leaf=is_container)


def sliceable(function: str, name: str, tree: trees.Tree) -> trees.Tree:
    """Convert containers so that all their arrays can be sliced along the first axis.

    Raises:
        ValueError: A container is no batch.
    """
    if not has_containers(tree):
        return tree

    for x in trees.leaves(tree, is_leaf=is_container):
        if isinstance(x, Container) and not x.batch_ndim:
            raise ValueError(
                f"{function}: takes arrays along their first axes, and {name} holds {x!r}, which is no batch"
            )
    return stackable(tree)


def flatten_without_plans(tree: trees.Tree) -> tuple[list[Any], trees.Structure]:
    """Flatten a tree without the data computed from the patterns of containers."""
    leaves, structure = trees.flatten(tree)
    return trees.flatten(without_plans(tree)) if len(leaves) > 1 and has_containers(tree) else (leaves, structure)


def repeated(x: Array, shape: tuple[int, ...]) -> Array:
    """Repeat an array along new leading axes."""
    return array_namespace(x).broadcast_to(x, (*shape, *x.shape)) if shape else x
