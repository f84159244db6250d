"""Shared code of solvers with implicit derivatives: functions of trees and other objects become functions of arrays."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from xpand import array_namespace, trees
from xpand.extend import Array, DType, checks, describe, same_structure

from .._transforms import HOLE, Partial, as_array

Arrays: TypeAlias = tuple[Array, ...]


class Arguments:
    """The further arguments of a call: arrays, and other objects that functions get unchanged."""

    __slots__ = ("_rest", "arrays")

    def __init__(self, name: str, args: Any) -> None:
        """Take `args` of the function `name` apart."""
        if not isinstance(args, tuple):
            raise TypeError(f"{name}: args must be a tuple of further arguments, got {describe(args)}")
        self.arrays, self._rest = _divided(args)

    def filled(self, arrays: Sequence[Array]) -> tuple[Any, ...]:
        """Return the arguments with other arrays."""
        args: tuple[Any, ...] = self._rest.tree(arrays)
        return args


class Aux:
    """The auxiliary data that a solver returns with the solution: its arrays, and the rest."""

    __slots__ = ("_rest",)

    def __init__(self) -> None:
        self._rest: list[Partial] = []

    def arrays(self, tree: trees.Tree) -> Arrays:
        """Split a tree into arrays and other objects; store the latter."""
        arrays, rest = _divided(tree)
        if not self._rest:  # once: PyTorch's compiler lets nothing be changed when it is called again
            self._rest.append(rest)
        return arrays

    def tree(self, arrays: Sequence[Array]) -> trees.Tree:
        """Combine arrays with the other objects."""
        return self._rest[0].tree(arrays)


def _divided(tree: trees.Tree) -> tuple[Arrays, Partial]:
    """Split a tree into its arrays, and all else."""
    leaves, structure = trees.flatten(tree)
    rest = Partial(structure, [HOLE if checks.is_array(x) else x for x in leaves])
    return tuple(rest.given(leaves)), rest


class Form:
    """The form that a tree of arrays must have: its structure, and the shapes and data types of its leaves."""

    __slots__ = ("kinds", "structure")

    def __init__(self, structure: trees.Structure, arrays: Sequence[Array]) -> None:
        self.structure = structure
        self.kinds: list[tuple[tuple[int, ...], DType]] = [(tuple(x.shape), x.dtype) for x in arrays]

    def tree(self, arrays: Sequence[Array]) -> trees.Tree:
        """Give arrays the structure."""
        return trees.unflatten(self.structure, arrays)

    def arrays(self, what: str, like: str, tree: trees.Tree, reference: Array) -> Arrays:
        """Flatten a tree, called `what` in errors, that must be like another, called `like`.

        Raises:
            TypeError: It is of another structure, or of other data types, or no tree of arrays.
            ValueError: It is of other shapes.
        """
        leaves, structure = trees.flatten(tree)
        if not same_structure(structure, self.structure):
            raise TypeError(f"{what} a tree like {like}, of the structure {self.structure}, got {structure}")
        found = []
        for leaf, (shape, dtype) in zip(leaves, self.kinds):
            x = as_array(f"{what} a tree of arrays like {like}; it holds", leaf, reference)
            if not isinstance(leaf, complex) and not checks.is_array(leaf) and x.dtype != dtype:
                x = array_namespace(x).astype(x, dtype)
            if tuple(x.shape) != shape:
                raise ValueError(f"{what} a tree like {like}, of the shape {shape}, got {tuple(x.shape)}")
            if x.dtype != dtype:
                raise TypeError(
                    f"{what} a tree like {like}, of the data type {dtype}, got {x.dtype}; convert one of them with "
                    "`xp.astype`"
                )
            found.append(x)
        return tuple(found)


def pair(what: str, found: Any) -> tuple[Any, Any]:
    """Split the result of a solver with auxiliary data."""
    if not isinstance(found, tuple) or len(found) != 2:
        raise TypeError(
            f"{what} must return a pair (solution, auxiliary data) with has_aux=True, got {describe(found)}"
        )
    return found
