"""Containers of sparse arrays in trees: transformations trace their values, and hold their patterns constant.

A pattern consists of integers, which have no derivatives: a gradient with respect to a container is one of the same
pattern, and so are directions and Jacobians.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

from xpand import array_namespace, trees
from xpand.extend import Array, checks


class Container:
    """The base of tree nodes whose values transformations trace, and whose pattern, arrays of integers, they don't.

    Classes such as `sparse.Sparse` inherit from it, so that transformations need not know them. The
    leaves are those of the values, the pattern and the plan, in this order; the plan is a tree of arrays that were
    computed from the pattern, or None.
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
    """Return whether an object is a container, at which walks through trees end."""
    return isinstance(x, Container)


def has_containers(tree: trees.Tree) -> bool:
    """Return whether there are containers in a tree."""
    return any(isinstance(x, Container) for x in trees.leaves(tree, is_leaf=is_container))


def flatten_values(tree: trees.Tree) -> "tuple[list[Any], trees.Structure | Patterned]":
    """Flatten a tree; only the values of its containers are leaves."""
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
    """Make the tree of a structure that `flatten_values` found, and of leaves."""
    return structure.tree(leaves) if isinstance(structure, Patterned) else trees.unflatten(structure, leaves)


class _Shell:
    """A container without its pattern."""

    __slots__ = ("cls", "kind", "values")

    def __init__(self, cls: type[Container], kind: tuple[Any, ...], values: Any) -> None:
        self.cls, self.kind, self.values = cls, kind, values


trees.register(_Shell, lambda x: ((x.values,), (x.cls, x.kind)), lambda static, children: _Shell(*static, *children))


class Patterned:
    """The structure of a tree with containers, and their patterns. It equals others with the same values' structure."""

    __slots__ = ("_patterns", "structure")

    def __init__(self, structure: trees.Structure, patterns: list[tuple[Any, ...]]) -> None:
        """Take the structure with shells in place of containers, and the containers' patterns."""
        self.structure, self._patterns = structure, patterns

    def tree(self, leaves: Iterable[Any], shape: tuple[int, ...] = ()) -> trees.Tree:
        """Make the tree of leaves, those of containers with further axes of a shape before their own."""
        given = list(leaves)
        patterns = iter(in_namespace_of(given, self._patterns))

        def fill(x: Any) -> Any:
            if type(x) is not _Shell:
                return x
            pattern, static, plan = next(patterns)
            if shape and any(each.ndim > 1 for each in pattern):  # one for each batch element
                pattern, plan = tuple(_repeated(each, shape) for each in pattern), None
            return x.cls._of(x.values, pattern, static, plan)

        return trees.map(fill, trees.unflatten(self.structure, given), is_leaf=lambda x: type(x) is _Shell)

    def copy(self) -> "Patterned":
        """Return another that `take` and `give` can change."""
        return Patterned(self.structure, self._patterns)

    def take(self) -> tuple[Array, ...]:
        """Return the arrays of patterns and drop them: stored ones would escape from a transformation."""
        found, patterns = [], []
        for pattern, static, _ in self._patterns:
            found += pattern
            patterns.append((len(pattern), static, None))
        self._patterns = patterns
        return tuple(found)

    def give(self, arrays: Sequence[Array]) -> Sequence[Array]:
        """Take the patterns back from the end of other arrays; return the others."""
        counts = [count for count, _, _ in self._patterns]
        rest = len(arrays) - sum(counts)
        start, patterns = rest, []
        for count, static, plan in self._patterns:
            patterns.append((tuple(arrays[start : start + count]), static, plan))
            start += count
        self._patterns = patterns
        return arrays[:rest]

    def __eq__(self, other: object) -> bool:
        """Return whether another has its containers, of the same sizes, in the same positions."""
        return isinstance(other, Patterned) and bool(self.structure == other.structure)

    def __hash__(self) -> int:
        """Return a hash that is equal for equal ones."""
        return hash(self.structure)

    def __str__(self) -> str:
        """Write the tree, with stars for leaves."""
        return str(self.structure).replace("CustomTreeNode(_Shell[", "CustomTreeNode(container[")


def in_namespace_of(arrays: Sequence[Array], tree: trees.Tree) -> trees.Tree:
    """Convert the arrays of a tree to the namespace of traced arrays, if those have one.

    So a function finds the same namespace for each of its arguments.
    """
    # Look in the class: for modules, a missing attribute costs a microsecond.
    namespace = getattr(type(arrays[0]), "_namespace", None) if arrays else None
    if namespace is None:
        return tree
    return trees.map(lambda x: namespace.argument(x) if checks.is_array(x) else x, tree)


def pattern_positions(tree: trees.Tree) -> list[int]:
    """Return which leaves of a tree, by their numbers, are patterns of containers, or were computed from them."""
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
    """Omit the data computed from patterns: containers of one structure may have it or not."""
    if not has_containers(tree):
        return tree
    return trees.map(
        lambda x: x._of(x._values, x.pattern, x._static()) if isinstance(x, Container) else x,
        tree,
        is_leaf=is_container,
    )


def stackable(tree: trees.Tree) -> trees.Tree:
    """Give each batch element a pattern of its own, so that all arrays can be cut and stacked alike."""
    if not has_containers(tree):
        return tree

    def made(x: Any) -> Any:
        if not isinstance(x, Container):
            return x
        batch = x.values.shape[: x.batch_ndim]
        pattern = tuple(_repeated(each, batch) if batch and each.ndim == 1 else each for each in x.pattern)
        return x._of(x.values, pattern, x._static())

    return trees.map(made, tree, is_leaf=is_container)


def sliceable(function: str, name: str, tree: trees.Tree) -> trees.Tree:
    """Convert containers so that all their arrays can be cut along the first axis.

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
    """Flatten a tree, without the data computed from the patterns of containers."""
    leaves, structure = trees.flatten(tree)
    return trees.flatten(without_plans(tree)) if len(leaves) > 1 and has_containers(tree) else (leaves, structure)


def _repeated(x: Array, shape: tuple[int, ...]) -> Array:
    return array_namespace(x).broadcast_to(x, (*shape, *x.shape))
