"""Methods of universal functions: `reduce`, `accumulate`, `reduceat`, `outer` and `at`."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from xpand_extensions.control_flow import associative_scan, scan
from xpand_extensions.scatter import at as at_index
from xpand_extensions.statistics import cumulative_max, cumulative_min
from xpand_extensions.tracing._core import TracedArray

from ._arguments import all_axes, array, contains_traced, writable, written
from ._table import NO_VALUE
from ._ufunc_calls import call, convert, has_own_types, implementation, mask_of, name_of, operands

Combine = Callable[[Any, Any], Any]

_ASSOCIATIVE: Final = frozenset(
    {
        *(np.add, np.multiply, np.maximum, np.minimum, np.fmax, np.fmin, np.hypot, np.gcd, np.lcm),
        *(np.logical_and, np.logical_or, np.logical_xor, np.bitwise_and, np.bitwise_or, np.bitwise_xor),
        *(np.logaddexp, np.logaddexp2),
    }
)
"""Functions whose order of evaluation changes results only by rounding. All are commutative, too."""

_OF_BOOLEANS: Final = {
    **dict.fromkeys((np.add, np.maximum, np.logical_or, np.bitwise_or), "any"),
    **dict.fromkeys((np.multiply, np.minimum, np.logical_and, np.bitwise_and), "all"),
}
_REDUCTIONS: Final = {np.add: "sum", np.multiply: "prod", np.maximum: "max", np.minimum: "min"}
_CUMULATIVE: Final[dict[np.ufunc, Callable[..., Any]]] = {
    np.add: lambda xp, x, axis: xp.cumulative_sum(x, axis=axis, dtype=x.dtype),
    np.multiply: lambda xp, x, axis: xp.cumulative_prod(x, axis=axis, dtype=x.dtype),
    np.maximum: lambda xp, x, axis: cumulative_max(x, axis=axis),
    np.minimum: lambda xp, x, axis: cumulative_min(x, axis=axis),
}
_UPDATES: Final = {
    np.add: "add",
    np.subtract: "subtract",
    np.multiply: "multiply",
    np.maximum: "max",
    np.minimum: "min",
}


def _binary(ufunc: np.ufunc, method: str) -> None:
    if ufunc.signature is not None or ufunc.nin != 2 or ufunc.nout != 1:
        raise ValueError(f"np.{name_of(ufunc)}.{method}: the method is for elementwise functions of two arrays")
    if ufunc is np.ldexp:
        raise TypeError(f"np.ldexp.{method}: a result, a floating-point number, can't be the next exponent")
    implementation(ufunc)


def _combine(xp: Any, ufunc: np.ufunc, dtype: Any) -> Combine:
    return lambda x, y: convert(xp, call(xp, ufunc, (x, y)), dtype)


def _of_one_element(x: Any) -> Any:
    """Return NumPy's array of ones with at most one element along each axis: NumPy checks arguments with it."""
    return np.ones([min(n, 1) for n in x.shape], dtype=x.dtype)


def _return(ufunc: np.ufunc, method: str, out: Any, result: Any) -> Any:
    return result if out is None else written(out, result, f"{name_of(ufunc)}.{method}")


def _default_dtype(dtype: Any, out: Any) -> Any:
    (array_out,) = out if isinstance(out, tuple) else (out,)
    return array_out.dtype if dtype is None and array_out is not None else dtype


# Reductions


def reduce(
    xp: Any,
    ufunc: np.ufunc,
    x: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = NO_VALUE,
    where: Any = True,
) -> Any:
    """Combine the elements along axes."""
    _binary(ufunc, "reduce")
    x = array(xp, x)
    dtype = _default_dtype(dtype, out)
    options: dict[str, Any] = {} if initial is NO_VALUE else {"initial": 1 if contains_traced(initial) else initial}
    if has_own_types(ufunc):
        target: Any = x.dtype if dtype is None else np.dtype(dtype)
    else:
        target = ufunc.reduce(_of_one_element(x), axis=axis, dtype=dtype, keepdims=keepdims, **options).dtype
    axes = all_axes(x, axis if x.ndim else None)
    x = convert(xp, x, target)
    identity = None if initial is None or ufunc.identity is None else _constant(xp, ufunc.identity, target)
    initial = None if initial is None or initial is NO_VALUE else convert(xp, initial, target)
    mask = None
    if where is not True:
        mask = xp.broadcast_to(mask_of(xp, where), x.shape)
        if identity is None and initial is None:
            raise ValueError(
                f"np.{name_of(ufunc)}.reduce: without an identity, where= needs initial=, the result for no elements"
            )
    result = _reduced(xp, ufunc, x, axes, mask, initial, identity)
    if keepdims:
        result = xp.reshape(result, tuple([1 if i in axes else n for i, n in enumerate(x.shape)]))
    return _return(ufunc, "reduce", out, result)


def _reduced(
    xp: Any, ufunc: np.ufunc, x: Any, axes: tuple[int, ...], mask: Any = None, initial: Any = None, identity: Any = None
) -> Any:
    count = math.prod([x.shape[i] for i in axes])
    if not count:
        shape = tuple([n for i, n in enumerate(x.shape) if i not in axes])
        return xp.broadcast_to(identity if initial is None else initial, shape)
    combine = _combine(xp, ufunc, x.dtype)
    if ufunc not in _ASSOCIATIVE:
        mask = None if mask is None else _to_front(xp, mask, axes)
        return _fold(xp, combine, _to_front(xp, x, axes), mask, initial)
    if mask is not None:
        x = xp.where(mask, x, initial if identity is None else identity)
    names = _OF_BOOLEANS if x.dtype == np.bool_ else _REDUCTIONS
    if ufunc in names:
        result = getattr(xp, names[ufunc])(x, axis=axes)
        result = convert(xp, result, x.dtype)
    else:
        result = _combine_halves(xp, combine, _to_front(xp, x, axes))
    return result if initial is None else combine(initial, result)


def _constant(xp: Any, value: Any, dtype: Any) -> Any:
    return convert(xp, array(xp, np.asarray(value)), dtype)


def _to_front(xp: Any, x: Any, axes: tuple[int, ...]) -> Any:
    """Return an array whose first axis combines the given ones."""
    rest = [i for i in range(x.ndim) if i not in axes]
    moved = xp.permute_dims(x, (*axes, *rest))
    return xp.reshape(moved, (math.prod([x.shape[i] for i in axes]), *[x.shape[i] for i in rest]))


def _combine_halves(xp: Any, combine: Combine, x: Any) -> Any:
    while x.shape[0] > 1:
        end = x.shape[0] // 2 * 2
        pairs = combine(x[0:end:2], x[1:end:2])
        x = pairs if end == x.shape[0] else xp.concat([pairs, x[end:]])
    return x[0]


def _fold(xp: Any, combine: Combine, x: Any, mask: Any, initial: Any) -> Any:
    """Combine the rows of an array in order."""
    if mask is None:
        first, rest = (x[0], x[1:]) if initial is None else (xp.broadcast_to(initial, x.shape[1:]), x)
        return first if not rest.shape[0] else scan(lambda carry, row: (combine(carry, row), None), first, rest)[0]
    # The masked elements are replaced: the derivative of the function may be NaN there.
    safe = xp.where(mask, x, x.dtype.type(1))

    def step(carry: Any, row: tuple[Any, Any]) -> tuple[Any, None]:
        return xp.where(row[1], combine(carry, row[0]), carry), None

    return scan(step, xp.broadcast_to(initial, x.shape[1:]), (safe, mask))[0]


def accumulate(xp: Any, ufunc: np.ufunc, x: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    """Combine the elements along an axis up to each position."""
    _binary(ufunc, "accumulate")
    x = array(xp, x)
    dtype = _default_dtype(dtype, out)
    if has_own_types(ufunc):
        target: Any = x.dtype if dtype is None else np.dtype(dtype)
    else:
        target = ufunc.accumulate(_of_one_element(x), axis=axis, dtype=dtype).dtype
    x = convert(xp, x, target)
    (axis,) = all_axes(x, axis)
    combine = _combine(xp, ufunc, target)
    if not x.shape[axis]:
        result = xp.asarray(x, copy=True)
    elif ufunc in _CUMULATIVE and target.kind in "iuf":
        result = _CUMULATIVE[ufunc](xp, x, axis)
    elif ufunc in _ASSOCIATIVE:
        result = associative_scan(combine, x, axis=axis)
    else:
        result = _accumulate_in_order(xp, combine, x, axis)
    return _return(ufunc, "accumulate", out, result)


def _accumulate_in_order(xp: Any, combine: Combine, x: Any, axis: int) -> Any:
    rows = xp.moveaxis(x, axis, 0)
    if rows.shape[0] == 1:
        return xp.asarray(x, copy=True)

    def step(carry: Any, row: Any) -> tuple[Any, Any]:
        total = combine(carry, row)
        return total, total

    _, totals = scan(step, rows[0], rows[1:])
    return xp.moveaxis(xp.concat([rows[:1], totals]), 0, axis)


def reduceat(xp: Any, ufunc: np.ufunc, x: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    """Combine the elements of slices along an axis."""
    _binary(ufunc, "reduceat")
    x, starts = array(xp, x), np.asarray(indices)
    starts = starts if starts.size else starts.astype(np.intp)
    dtype = _default_dtype(dtype, out)
    (axis,) = all_axes(x, axis)
    if has_own_types(ufunc):
        target: Any = x.dtype if dtype is None else np.dtype(dtype)
    else:
        target = ufunc.reduceat(np.ones(x.shape[axis], dtype=x.dtype), starts, dtype=dtype).dtype
    rows = xp.moveaxis(convert(xp, x, target), axis, 0)
    ends = [*starts[1:].tolist(), rows.shape[0]]
    if ufunc is np.add and target.kind in "iufc" and starts.size and (starts < ends).all():
        parts: Any = np.repeat(np.arange(len(starts)), np.asarray(ends) - starts)
        zeros = xp.zeros((len(starts), *rows.shape[1:]), dtype=target)
        result = at_index(zeros)[parts].add(rows[int(starts[0]) :])
    else:
        pieces = [_reduced(xp, ufunc, rows[i:j], (0,)) if i < j else rows[i] for i, j in zip(starts.tolist(), ends)]
        result = xp.stack(pieces) if pieces else rows[:0]
    return _return(ufunc, "reduceat", out, xp.moveaxis(result, 0, axis))


# Pairs, and elements at indices


def outer(xp: Any, ufunc: np.ufunc, x: Any, y: Any, **options: Any) -> Any:
    """Apply the function to all pairs of elements of two arrays."""
    if ufunc.signature is not None or ufunc.nin != 2:
        raise ValueError(f"np.{name_of(ufunc)}.outer: the method is for elementwise functions of two arrays")
    x, y = array(xp, x), array(xp, y)
    return call(xp, ufunc, (xp.reshape(x, (*x.shape, *[1] * y.ndim)), y), **options)


def at(xp: Any, ufunc: np.ufunc, x: Any, indices: Any, *others: Any) -> None:
    """Apply the function in place to elements at indices, once for each time that one is selected."""
    name = f"{name_of(ufunc)}.at"
    if ufunc.signature is not None or ufunc.nout != 1 or ufunc.nin != 1 + len(others):
        raise ValueError(f"np.{name}: the method is for elementwise functions of one or two arrays, with one result")
    target = writable(name, x)
    index = _index(indices)
    # NumPy converts results to the data type of the array, also numbers with a fraction to integers.
    (_, *values), dtypes = operands(xp, ufunc, (target, *others), None, "unsafe", (None,))
    result_dtype = target.dtype if dtypes is None else dtypes[0]
    if ufunc in _UPDATES and _can_update(ufunc, target.dtype, result_dtype):
        update = getattr(at_index(target)[index], _UPDATES[ufunc])
        target[...] = update(convert(xp, values[0], target.dtype))
    else:
        target[...] = _apply_at(xp, ufunc, target, index, others)


def _can_update(ufunc: np.ufunc, dtype: Any, result_dtype: Any) -> bool:
    """Return whether an update of `scatter.at` has NumPy's result: NumPy rounds it to the data type each time."""
    kinds = "iuf" if ufunc in (np.maximum, np.minimum) else "iufc"
    return dtype.kind in kinds and (dtype == result_dtype or dtype.kind == result_dtype.kind == "f")


def _index(indices: Any) -> Any:
    """Return an index with arrays in place of lists."""
    if isinstance(indices, tuple):
        return tuple([_index(i) for i in indices])
    return np.asarray(indices) if isinstance(indices, list) else indices


def _known_index(index: Any) -> Any:
    if isinstance(index, tuple):
        return tuple([_known_index(i) for i in index])
    return np.asarray(index) if isinstance(index, TracedArray) else index


def _apply_at(xp: Any, ufunc: np.ufunc, x: Any, index: Any, others: Sequence[Any]) -> Any:
    """Apply a function at indices whose values are known, first where elements are selected for the first time."""
    positions = np.arange(x.size).reshape(x.shape)[_known_index(index)]
    operand = [xp.reshape(xp.broadcast_to(array(xp, y), positions.shape), (-1,)) for y in others]
    flat, result = positions.ravel(), xp.reshape(x, (-1,))
    repetitions = _repetitions(flat)
    for number in range(max(repetitions, default=-1) + 1):
        selection = np.flatnonzero(repetitions == number)
        elements = call(xp, ufunc, (result[flat[selection]], *[y[selection] for y in operand]))
        result = at_index(result)[flat[selection]].set(convert(xp, elements, x.dtype))
    return xp.reshape(result, x.shape)


def _repetitions(positions: Any) -> Any:
    """Return, for each position, how often it occurs before."""
    _, inverse, counts = np.unique(positions, return_inverse=True, return_counts=True)
    order = np.argsort(inverse, kind="stable")
    result: Any = np.empty(len(positions), dtype=np.intp)
    result[order] = np.arange(len(positions)) - (np.cumsum(counts) - counts)[inverse[order]]
    return result


METHODS: Final[dict[str, Callable[..., Any]]] = {
    "accumulate": accumulate,
    "at": at,
    "outer": outer,
    "reduce": reduce,
    "reduceat": reduceat,
}
"""The methods of universal functions, as functions of a namespace, the universal function, and NumPy's arguments."""
