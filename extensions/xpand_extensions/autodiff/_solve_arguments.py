"""Shared code of solvers with implicit derivatives: functions of trees and other objects become functions of arrays."""

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from xpand import array_namespace, trees
from xpand.extend import Array, DType, checks, describe, same_structure

from .._transforms import as_array

Arrays: TypeAlias = tuple[Array, ...]


class Arguments:
    """The further arguments of a call: arrays, and other objects that functions get unchanged."""

    __slots__ = ("_static", "_structure", "arrays")

    def __init__(self, name: str, args: Any) -> None:
        """Take `args` of the function `name` apart."""
        if not isinstance(args, tuple):
            raise TypeError(f"{name}: args must be a tuple of further arguments, got {describe(args)}")
        leaves, self._structure = trees.flatten(args)
        self.arrays: Arrays = tuple(x for x in leaves if checks.is_array(x))
        self._static = [_HOLE if checks.is_array(x) else x for x in leaves]

    def filled(self, arrays: Sequence[Array]) -> tuple[Any, ...]:
        """Return the arguments with other arrays."""
        given = iter(arrays)
        args: tuple[Any, ...] = trees.unflatten(
            self._structure, [next(given) if x is _HOLE else x for x in self._static]
        )
        return args


class Aux:
    """The auxiliary data that a solver returns with the solution: its arrays, and the rest."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: list[tuple[list[Any], trees.Structure]] = []

    def arrays(self, tree: trees.Tree) -> Arrays:
        """Split a tree into arrays and other objects; store the latter."""
        leaves, structure = trees.flatten(tree)
        if not self._found:  # once: PyTorch's compiler lets nothing be changed when it is called again
            self._found.append(([_HOLE if checks.is_array(x) else x for x in leaves], structure))
        return tuple(x for x in leaves if checks.is_array(x))

    def tree(self, arrays: Sequence[Array]) -> trees.Tree:
        """Combine arrays with the other objects."""
        leaves, structure = self._found[0]
        given = iter(arrays)
        return trees.unflatten(structure, [next(given) if x is _HOLE else x for x in leaves])


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


class _Hole:
    """The place of an array."""


_HOLE: Final = _Hole()
