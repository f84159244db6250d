"""Containers as trees: for optree at once, for a library's own trees when the first container of its arrays is made."""

from functools import partial
from typing import Any

from xpand import trees
from xpand._typing import Array

from ._dispatch import pluggable
from ._sparse_containers import COO, CSC, CSR, Sparse

CLASSES: tuple[type[Sparse], ...] = (COO, CSR, CSC)


def flatten(a: Sparse) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Take a container apart: its arrays, and what isn't one."""
    return (a._values, a.pattern, a._plan), a._static()


def unflatten(cls: type[Sparse], static: tuple[Any, ...], children: Any) -> Sparse:
    """Put a container together; its parts may be anything."""
    values, pattern, plan = children
    return cls._of(values, pattern, static, plan)


@pluggable(capability="sparse")
def register_trees(x: Array, /) -> None:
    """Make the containers known to the trees that the library of an array has of its own.

    >>> import numpy as np
    >>> register_trees(np.asarray([1.0]))
    """
    register_trees.native(x)(x)


for _class in CLASSES:
    trees.register(_class, flatten, partial(unflatten, _class))
