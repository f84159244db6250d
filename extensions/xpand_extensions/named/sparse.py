"""Sparse arrays. Each call names their axes.

A sparse container of `xpand.sparse` has no names: `axes` lists the names of all its axes, in order. Results
are named arrays. `linear_solve.solve` also takes such containers.

>>> import numpy as np
>>> from xpand import named as hax
>>> a = hax.sparse.from_dense(hax.named(np.asarray([[0.0, 2.0], [3.0, 0.0]]), ("i", "j")), ("i", "j"))
>>> hax.sparse.matmul(a, hax.named(np.asarray([1.0, 10.0]), "j"), axes=("i", "j"))
NamedArray({'i': 2}, array([20.,  3.]))
"""

from collections.abc import Callable, Sequence
from typing import Any

from .. import sparse as _sparse
from . import _axis
from ._array import NamedArray, created, no_axis
from ._axis import AxisSelection, AxisSelector
from ._plans import check_named, rest_of
from ._rearrange import rearrange
from ._shapes import broadcast_to, grouped, ungrouped
from .linear_solve import matrices

__all__ = ["from_dense", "matmul", "max", "mean", "min", "sum", "todense"]
__dir__ = __all__.copy

Axes = Sequence[AxisSelector]


def from_dense(x: NamedArray, axes: Axes, **options: Any) -> _sparse.Sparse:
    """Make a sparse container from a named array, with its axes in a given order.

    Args:
        x: A named array.
        axes: All axes of `x`, in the order of the container.
        **options: Options of `xpand.sparse.from_dense`, such as `format` and `batch_ndim`.

    Raises:
        ValueError: `axes` are not those of the array.
    """
    check_named("from_dense", "x", x)
    return _sparse.from_dense(rearrange(x, tuple(axes)).array, **options)


def todense(a: Any, axes: Axes) -> NamedArray:
    """Convert a sparse container to a dense named array."""
    return NamedArray(_sparse.todense(a), tuple(axes))


def matmul(a: Any, x: NamedArray, *, axes: Axes) -> NamedArray:
    """Multiply sparse matrices by an array, and sum over the column axis: see `xpand.sparse.matmul`.

    Args:
        a: A sparse container.
        x: A named array with the column axis.
        axes: The axes of the container. The last two are the row and the column axis.

    Returns:
        An array with the axes of the matrices without the column axis, then the other axes of `x`.

    Raises:
        ValueError: `x` lacks the column axis, or an axis has another size.
    """
    check_named("matmul", "x", x)
    a, stack, row, column = matrices("matmul", a, axes)
    if column not in x.names:
        raise no_axis("matmul", x, column)
    rest = rest_of(x.names, (*stack, column))
    names = (*stack, row, *rest)
    _axis.different("matmul", names)
    sizes = {**x.shape, **dict(zip((*stack, row, column), a.shape))}
    whole = broadcast_to(x, {name: sizes[name] for name in (*stack, column, *rest)})
    singles = [(name,) for name in stack]
    found = _sparse.matmul(a, grouped(whole, [*singles, (column,), rest]))
    return ungrouped(found, [*singles, (row,), rest], sizes)


def sum(a: Any, axis: AxisSelection | None = None, *, axes: Axes) -> NamedArray:
    """Sum the elements of a sparse container over axes, by default over all."""
    return _reduced(_sparse.sum, a, axis, axes)


def mean(a: Any, axis: AxisSelection | None = None, *, axes: Axes) -> NamedArray:
    """Compute the mean of the elements of a sparse container over axes, by default over all."""
    return _reduced(_sparse.mean, a, axis, axes)


def max(a: Any, axis: AxisSelection | None = None, *, axes: Axes) -> NamedArray:
    """Compute the maximum of the elements of a sparse container over axes, by default over all."""
    return _reduced(_sparse.max, a, axis, axes)


def min(a: Any, axis: AxisSelection | None = None, *, axes: Axes) -> NamedArray:
    """Compute the minimum of the elements of a sparse container over axes, by default over all."""
    return _reduced(_sparse.min, a, axis, axes)


def _reduced(positional: Callable[..., Any], a: Any, axis: AxisSelection | None, axes: Axes) -> NamedArray:
    function = positional.__name__
    names = tuple([name for name, _ in _axis.pairs(function, axes)])
    _axis.different(function, names)
    removed = names if axis is None else tuple([name for name, _ in _axis.pairs(function, axis)])
    for name in removed:
        if name not in names:
            raise ValueError(f"{function}: no axis {name!r}; the sparse array has the axes {names}")
    found = positional(a, axis=tuple([names.index(name) for name in removed]))
    return created(_sparse.todense(found), rest_of(names, removed))
