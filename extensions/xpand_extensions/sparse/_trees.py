"""Containers as trees: for optree at once, for a library's own trees when the first container of its arrays is made."""

from collections.abc import Callable
from functools import partial
from typing import Any

from xpand import trees
from xpand.extend import Array, checks

from ._containers import COO, CSC, CSR, Sparse
from ._libraries import container_of, native_format
from ._native import to_native

CLASSES: tuple[type[Sparse], ...] = (COO, CSR, CSC)


def flatten(a: Sparse) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Take a container apart: its arrays, and the rest."""
    return (a._values, a.pattern, a._plan), a._static()


def unflatten(cls: type[Sparse], static: tuple[Any, ...], children: Any) -> Sparse:
    """Put a container together; its parts may be anything."""
    values, pattern, plan = children
    return cls._of(values, pattern, static, plan)


def disassemble(tree: trees.Tree, /) -> tuple[Callable[..., trees.Tree], list[Array]]:
    """Take a tree of sparse arrays apart into dense arrays, and make the function that puts it together.

    Args:
        tree: A tree of arrays, containers, sparse arrays of libraries' own, and anything else.

    Returns:
        A function, and the list of the arrays. The function takes as many arrays, of any library, and returns the tree
        with these; sparse arrays of a library's own become those of the arrays' library, as `to_native` makes them.
        Other objects are returned as they are.

    Raises:
        ValueError: By the function: another number of arrays.

    Source: PhiML's `disassemble`.

    >>> import numpy as np
    >>> assemble, arrays = disassemble({"a": COO(np.asarray([1.0]), (np.asarray([2]),), (3,)), "name": "x"})
    >>> arrays
    [array([1.]), array([2])]
    >>> assemble(10 * arrays[0], arrays[1])
    {'a': <COO of shape (3,), 1 entries of float64>, 'name': 'x'}
    """
    formats: dict[int, Any] = {}
    given = trees.leaves(tree)
    for i, leaf in enumerate(given):
        if native_format(leaf) is not None:
            given[i] = container_of(leaf)
            formats[i] = given[i].format
    outer = trees.structure(tree)
    leaves, inner = trees.flatten(given)
    positions = [i for i, leaf in enumerate(leaves) if checks.is_array(leaf)]
    rest = [None if checks.is_array(leaf) else leaf for leaf in leaves]

    def assemble(*arrays: Array) -> trees.Tree:
        if len(arrays) != len(positions):
            raise ValueError(
                f"assemble: takes as many arrays as `disassemble` found, {len(positions)}, got {len(arrays)}"
            )
        whole = list(rest)
        for position, x in zip(positions, arrays):
            whole[position] = x
        found = trees.unflatten(inner, whole)
        for i, format in formats.items():
            found[i] = to_native(found[i], format=format)
        return trees.unflatten(outer, found)

    return assemble, [leaves[i] for i in positions]


for _class in CLASSES:
    trees.register(_class, flatten, partial(unflatten, _class))
