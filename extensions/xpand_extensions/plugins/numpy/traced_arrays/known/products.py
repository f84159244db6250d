"""Products of vectors, matrices and other arrays."""

import string
from typing import Any, Final

import numpy as np

from xpand_extensions import linalg
from xpand_extensions.tracing._core import TracedArray

from .._arguments import all_axes, array, array_list, cast, common, integers, numeric, shape_of, written
from .._table import implements


def _contract(xp: Any, a: Any, b: Any, axis: int) -> Any:
    """Return the products with the last axis of `a` and an axis of `b`; numbers are factors."""
    x, y = common(xp, [numeric(xp, a), numeric(xp, b)])
    if not x.ndim or not y.ndim:
        return xp.multiply(x, y)
    return xp.tensordot(x, y, axes=((x.ndim - 1,), (max(y.ndim + axis, 0),)))


@implements("dot")
def _dot(xp: Any, a: Any, b: Any) -> Any:
    x, y = numeric(xp, a), numeric(xp, b)
    return xp.matmul(x, y) if x.ndim and 0 < y.ndim < 3 else _contract(xp, x, y, -2)


@implements("inner")
def _inner(xp: Any, a: Any, b: Any) -> Any:
    x, y = numeric(xp, a), numeric(xp, b)
    if x.ndim and 0 < y.ndim < 3:
        return xp.matmul(x, y if y.ndim == 1 else xp.matrix_transpose(y))
    return _contract(xp, x, y, -1)


@implements("vdot")
def _vdot(xp: Any, a: Any, b: Any) -> Any:
    x, y = common(xp, [xp.reshape(array(xp, part), (-1,)) for part in (a, b)])
    return xp.vecdot(x, y)


@implements("outer")
def _outer(xp: Any, a: Any, b: Any) -> Any:
    x, y = array(xp, a), array(xp, b)
    return xp.reshape(x, (-1, 1)) * (y if y.ndim == 1 else xp.reshape(y, (-1,)))


@implements("linalg.outer")
def _outer_of_vectors(xp: Any, x1: Any, x2: Any) -> Any:
    return xp.linalg.outer(*common(xp, [array(xp, x1), array(xp, x2)]))


@implements("linalg.matmul")
def _matmul(xp: Any, x1: Any, x2: Any) -> Any:
    return xp.matmul(array(xp, x1), array(xp, x2))


@implements("linalg.vecdot")
def _vecdot(xp: Any, x1: Any, x2: Any, *, axis: int = -1) -> Any:
    return xp.vecdot(array(xp, x1), array(xp, x2), axis=integers(axis))


@implements("tensordot")
def _tensordot(xp: Any, a: Any, b: Any, axes: Any = 2) -> Any:
    x, y = common(xp, [numeric(xp, a), numeric(xp, b)])
    if type(axes) is int or (not isinstance(axes, (tuple, list)) and np.ndim(axes) == 0):
        return xp.tensordot(x, y, axes=integers(axes))
    first, second = axes
    return xp.tensordot(x, y, axes=(all_axes(x, shape_of(first)), all_axes(y, shape_of(second))))


@implements("linalg.tensordot")
def _tensordot_of_arrays(xp: Any, x1: Any, x2: Any, *, axes: Any = 2) -> Any:
    return _tensordot(xp, x1, x2, axes)


@implements("kron")
def _kron(xp: Any, a: Any, b: Any) -> Any:
    x, y = array(xp, a), array(xp, b)
    ndim = max(x.ndim, y.ndim)
    first, second = ((1,) * (ndim - part.ndim) + tuple(part.shape) for part in (x, y))
    product = xp.reshape(x, [n for size in first for n in (size, 1)]) * xp.reshape(
        y, [n for size in second for n in (1, size)]
    )
    return xp.reshape(product, tuple([m * n for m, n in zip(first, second)]))


@implements("cross")
def _cross(xp: Any, a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = common(xp, [xp.moveaxis(array(xp, part), end, -1) for part, end in ((a, axisa), (b, axisb))])
    if x.shape[-1] != 3 or y.shape[-1] != 3:
        raise ValueError(
            f"np.cross: vectors must have three elements, got {x.shape[-1]} and {y.shape[-1]}; for vectors of two, "
            "which NumPy deprecates, write x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]"
        )
    return xp.moveaxis(xp.linalg.cross(x, y, axis=-1), -1, axisc)


@implements("linalg.cross")
def _cross_along(xp: Any, x1: Any, x2: Any, *, axis: int = -1) -> Any:
    return _cross(xp, x1, x2, axis=axis)


@implements("linalg.multi_dot")
def _multi_dot(xp: Any, arrays: Any) -> Any:
    parts = common(xp, array_list(xp, arrays))
    if len(parts) < 2:
        raise ValueError(f"np.linalg.multi_dot: takes at least two arrays, got {len(parts)}")
    ndims = [x.ndim for x in parts]
    if any(n != 2 for n in ndims[1:-1]) or not {1, 2} >= {ndims[0], ndims[-1]}:
        raise np.linalg.LinAlgError(
            f"np.linalg.multi_dot: the first and last array may be vectors, all others must be matrices, got {ndims} "
            "axes"
        )
    terms = [[i, i + 1] for i in range(len(parts))]
    terms[0], terms[-1] = terms[0][2 - ndims[0] :], terms[-1][: ndims[-1]]
    operands = [part for pair in zip(parts, terms) for part in pair]
    return linalg.einsum(*operands, [terms[0][0]] * (ndims[0] - 1) + [terms[-1][-1]] * (ndims[-1] - 1))


# Einstein's summation


@implements("einsum")
def _einsum(xp: Any, *operands: Any, out: Any = None, dtype: Any = None, casting: Any = "safe") -> Any:
    if out is not None:
        dtype = np.result_type(out.dtype, *[x.dtype for x in _subscripts(xp, operands)[1]]) if dtype is None else dtype
        return written(out, _einsum(xp, *operands, dtype=dtype, casting=casting), "einsum")
    subscripts, arrays = _subscripts(xp, operands)
    if dtype is not None:
        for x in arrays:
            if not np.can_cast(x.dtype, dtype, casting):
                raise TypeError(f"np.einsum: an array of {x.dtype} can't be cast to {np.dtype(dtype)} by {casting!r}")
        arrays = [cast(xp, x, np.dtype(dtype)) for x in arrays]
    if len(arrays) == 1:
        selected = _select(xp, subscripts, arrays[0])
        if selected is not None:
            return selected
    arrays = _with_equal_sizes(xp, subscripts, common(xp, arrays))
    if arrays[0].dtype.kind == "b":  # sums of booleans are True if one of them is
        return linalg.einsum(subscripts, *[xp.astype(x, xp.int64) for x in arrays]) != 0
    return linalg.einsum(subscripts, *arrays)


def _subscripts(xp: Any, operands: Any) -> tuple[str, list[Any]]:
    """Return the subscripts and arrays of both forms of a call."""
    if isinstance(operands[0], str):
        return operands[0].replace(" ", ""), [array(xp, x) for x in operands[1:]]
    count = len(operands) // 2
    terms = [_letters(term) for term in operands[1 : 2 * count : 2]]
    arrays = [array(xp, x) for x in operands[: 2 * count : 2]]
    output = f"->{_letters(operands[-1])}" if len(operands) % 2 else ""
    return ",".join(terms) + output, arrays


def _letters(labels: Any) -> str:
    return "".join(["..." if label is Ellipsis else string.ascii_letters[label] for label in labels])


_ELLIPSIS: Final = "..."


def _axes(term: str, ndim: int) -> list[Any]:
    """Return the label of each axis of an operand; those of an ellipsis are numbers counted from its end."""
    first, dots, last = term.partition(_ELLIPSIS)
    count = ndim - len(first) - len(last) if dots else 0
    return [*first, *range(-count, 0), *last]


def _select(xp: Any, subscripts: str, x: Any) -> Any:
    """Return an array with its axes in another order or on diagonals, which NumPy returns as views; None for a sum."""
    term, arrow, output = subscripts.partition("->")
    labels = _axes(term, x.ndim)
    if not arrow:
        repeated = {label for label in labels if labels.count(label) > 1}
        output = _ELLIPSIS * (_ELLIPSIS in term) + "".join(sorted({*term} - {"."} - repeated))
    count = sum(not isinstance(label, str) for label in labels)
    wanted = _axes(output, len(output.replace(_ELLIPSIS, "")) + count)
    if len(labels) != x.ndim or {*labels} != {*wanted} or len({*wanted}) != len(wanted):
        return None
    while len({*labels}) < len(labels):
        first = next(i for i, label in enumerate(labels) if label in labels[i + 1 :])
        second = labels.index(labels[first], first + 1)
        if x.shape[first] != x.shape[second]:
            return None
        x = xp.linalg.diagonal(xp.moveaxis(x, (first, second), (-2, -1)))
        x._view.function = _writable_diagonal
        label = labels[first]
        labels = [other for i, other in enumerate(labels) if i not in (first, second)] + [label]
    return xp.permute_dims(x, tuple([labels.index(label) for label in wanted]))


def _writable_diagonal(x: Any, **params: Any) -> Any:
    """Return NumPy's own diagonal, which unlike that of `np.diagonal` can be written to."""
    return np.einsum("...ii->...i", x)


def _with_equal_sizes(xp: Any, subscripts: str, arrays: list[Any]) -> list[Any]:
    """Extend axes of size 1 to the size of the other axes of their label, as NumPy does."""
    if not any(1 in x.shape for x in arrays):
        return arrays
    terms = [_axes(term, x.ndim) for term, x in zip(subscripts.partition("->")[0].split(","), arrays)]
    sizes: dict[Any, int] = {}
    for labels, x in zip(terms, arrays):
        for label, size in zip(labels, x.shape):
            if isinstance(label, str) and size != 1:
                sizes[label] = size
    shapes = [
        tuple([sizes.get(label, size) if size == 1 else size for label, size in zip(labels, x.shape)])
        for labels, x in zip(terms, arrays)
    ]
    return [
        x if len(shape) != x.ndim or shape == tuple(x.shape) else xp.broadcast_to(x, shape)
        for x, shape in zip(arrays, shapes)
    ]


@implements("einsum_path")
def _einsum_path(xp: Any, *operands: Any, optimize: Any = "greedy") -> Any:
    """Return NumPy's path, which depends on shapes only."""
    shapes = [np.broadcast_to(0.0, array(xp, x).shape) if isinstance(x, TracedArray) else x for x in operands]
    return np.einsum_path(*shapes, optimize=optimize)
