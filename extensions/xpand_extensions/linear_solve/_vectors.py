"""Conversion between trees of arrays and flat vectors: `(*batch, n)`, with one vector for each system."""

from collections.abc import Sequence
from math import prod
from typing import Any

from xpand import array_namespace, trees
from xpand.extend import Array, DType, checks, same_structure

from .._transforms import as_array
from ..control_flow._trees import one_library, paths, skeleton


class Vectors:
    """A space of vectors that are trees of arrays: their structure, shapes and data type."""

    __slots__ = ("batch", "dtype", "is_columns", "shapes", "size", "skeleton")

    def __init__(
        self,
        tree: trees.Tree,
        shapes: Sequence[tuple[int, ...]],
        batch: tuple[int, ...],
        dtype: DType,
        is_columns: bool = False,
    ):
        """Store a tree's structure, the shapes of its leaves without the batch axes, and the data type.

        With `is_columns`, a tree is one array of columns: its last axis is the last batch axis.
        """
        self.skeleton, self.shapes, self.batch, self.dtype = skeleton(tree), tuple(shapes), batch, dtype
        self.is_columns = is_columns
        self.size = sum([prod(shape) for shape in shapes])

    def _key(self) -> tuple[Any, ...]:
        return trees.structure(self.skeleton), self.shapes, self.batch, self.dtype, self.is_columns

    def __eq__(self, other: object) -> bool:
        """Return whether the spaces are equal, for caches of compiled programs."""
        return isinstance(other, Vectors) and self._key() == other._key()

    def __hash__(self) -> int:
        """Hash the attributes that are compared."""
        return hash(self._key())

    def flat(self, what: str, tree: trees.Tree) -> Array:
        """Check that a tree is a vector of this space, and flatten it to one array.

        Raises:
            TypeError: Another structure or data type.
            ValueError: Another shape.
        """
        found, structure = trees.flatten(tree)
        if not same_structure(structure, trees.structure(self.skeleton)):
            raise TypeError(f"{what} a tree like b, of the structure {trees.structure(self.skeleton)}, got {structure}")
        arrays = [as_array(what, x, None) for x in found]
        for i, (x, shape) in enumerate(zip(arrays, self.shapes)):
            whole = (*self.batch[:-1], *shape, self.batch[-1]) if self.is_columns else (*self.batch, *shape)
            if tuple(x.shape) != whole:
                name = paths("b", self.skeleton)[i]
                raise ValueError(f"{what} an array of the shape of {name}, {whole}, got {tuple(x.shape)}")
            if x.dtype != self.dtype:
                raise TypeError(f"{what} arrays of the data type of b, {self.dtype}, got {x.dtype}")
        return self._joined(arrays)

    def _joined(self, arrays: Sequence[Array]) -> Array:
        xp = array_namespace(arrays[0])
        if self.is_columns:
            return xp.matrix_transpose(arrays[0])
        rows = [
            x if len(shape) == 1 else xp.reshape(x, (*self.batch, prod(shape))) for x, shape in zip(arrays, self.shapes)
        ]
        return rows[0] if len(rows) == 1 else xp.concat(rows, axis=-1)

    def tree(self, x: Array, before: tuple[int, ...] = ()) -> trees.Tree:
        """Convert a flat array to a tree; `before` has the sizes of axes before the batch."""
        xp = array_namespace(x)
        if self.is_columns:
            return trees.unflatten(trees.structure(self.skeleton), [xp.matrix_transpose(x)])
        arrays, start = [], 0
        for shape in self.shapes:
            size = prod(shape)
            part = x if size == self.size else x[..., start : start + size]
            arrays.append(part if len(shape) == 1 else xp.reshape(part, (*before, *self.batch, *shape)))
            start += size
        return trees.unflatten(trees.structure(self.skeleton), arrays)

    def example(self, like: Array) -> trees.Tree:
        """Make a vector of zeros."""
        xp = array_namespace(like)
        return self.tree(xp.zeros((*self.batch, self.size), dtype=self.dtype, device=checks.device_of(like)))


def vectors_of(function: str, name: str, tree: trees.Tree, batch_ndim: int) -> tuple[Array, Vectors]:
    """Flatten a tree of arrays to one array; also return its space.

    Raises:
        TypeError: Leaves that aren't arrays of one library and one floating-point data type.
        ValueError: Arrays on two devices, or different batch axes.
    """
    leaves = trees.leaves(tree)
    if not leaves:
        raise TypeError(f"{function}: {name} must hold an array, got none")
    named = paths(name, tree)
    for key, x in zip(named, leaves):
        xp = checks.namespace_of(function, **{key: x})
        checks.dtype(function, key, xp, x, checks.FLOATING)
        if x.dtype != leaves[0].dtype:
            raise TypeError(
                f"{function}: the arrays of {name} must have one data type, got {leaves[0].dtype} and {x.dtype}; "
                "convert one with `xp.astype`"
            )
        if x.ndim < batch_ndim:
            raise ValueError(f"{function}: {key} must have batch_ndim={batch_ndim} axes or more, got {tuple(x.shape)}")
    one_library(function, **{name: leaves})
    shapes = [checks.known_shape(function, key, x) for key, x in zip(named, leaves)]
    batch = shapes[0][:batch_ndim]
    if any(shape[:batch_ndim] != batch for shape in shapes):
        raise ValueError(f"{function}: the first {batch_ndim} axes of all of {name} are the batch, got shapes {shapes}")
    space = Vectors(tree, [shape[batch_ndim:] for shape in shapes], batch, leaves[0].dtype)
    return space._joined(leaves), space


def conj(x: Array) -> Array:
    """Conjugate complex numbers; return real numbers unchanged."""
    xp = array_namespace(x)
    return xp.conj(x) if xp.isdtype(x.dtype, "complex floating") else x
