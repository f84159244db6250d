"""Functions of a part of an array, and choices between arrays."""

from functools import partial
from typing import Any

import numpy as np

from xpand import check, is_concrete
from xpand_extensions.tracing._array import concrete

from .._arguments import array, array_list, common, integers
from .._table import implements


@implements("apply_along_axis")
def _apply_along_axis(xp: Any, func1d: Any, axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Any:
    arr, axis = array(xp, arr), integers(axis)
    axis = np.lib.array_utils.normalize_axis_index(axis, arr.ndim)
    rows = xp.moveaxis(arr, axis, -1)
    lead = tuple(rows.shape[:-1])
    if 0 in lead:
        raise ValueError("np.apply_along_axis: the array has no rows along the axis, so the result has no shape")
    rows = xp.reshape(rows, (-1, rows.shape[-1]))
    results = [array(xp, func1d(row, *args, **kwargs)) for row in xp.unstack(rows)]
    inner = tuple(results[0].shape)
    result = xp.reshape(xp.stack(common(xp, results)), (*lead, *inner))
    # The axes of the function's results take the place of the axis.
    last = range(len(lead), len(lead) + len(inner))
    return xp.moveaxis(result, tuple(last), tuple(range(axis, axis + len(inner)))) if inner else result


@implements("apply_over_axes")
def _apply_over_axes(xp: Any, func: Any, a: Any, axes: Any) -> Any:
    result = array(xp, a)
    axes = integers(axes)
    for axis in axes if isinstance(axes, tuple) else (axes,):
        axis = axis % np.ndim(a)
        reduced = func(result, axis)
        result = reduced if reduced.ndim == result.ndim else xp.expand_dims(reduced, axis=axis)
        if result.ndim != np.ndim(a):
            raise ValueError("np.apply_over_axes: func must return an array of the same or one less number of axes")
    return result


def _called(function: Any, args: Any, kwargs: Any, x: Any) -> Any:
    return function(x, *args, **kwargs)


def _conditions(xp: Any, x: Any, condlist: Any) -> list[Any]:
    """Return the conditions of a list, or the only one."""
    if isinstance(condlist, (list, tuple)) and condlist and np.ndim(condlist[0]):
        return array_list(xp, condlist)
    if isinstance(condlist, (list, tuple)) and not x.ndim:
        return array_list(xp, condlist)
    condition = array(xp, condlist)
    return [condition] if condition.ndim == x.ndim else xp.unstack(condition)


def _with_function(xp: Any, x: Any, condition: Any, function: Any, others: Any) -> Any:
    """Replace elements by a function of them, which as in NumPy gets only the elements that a condition selects."""
    mask = np.asarray(concrete(condition, "np.piecewise"))
    if not mask.any():
        return others
    positions = np.flatnonzero(mask)
    part = xp.take(xp.reshape(x, (-1,)), xp.wrap(positions))
    part = xp.astype(array(xp, function(part)), x.dtype, copy=False)
    # Put each selected element where it was.
    order = np.zeros(mask.shape, dtype=np.int64)
    order[mask] = np.arange(len(positions))
    spread = xp.take(xp.broadcast_to(part, (len(positions),)), xp.wrap(order.reshape(-1)))
    return xp.where(condition, xp.reshape(spread, mask.shape), others)


@implements("piecewise")
def _piecewise(xp: Any, x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    x = array(xp, x)
    conditions = [xp.broadcast_to(xp.astype(c, xp.bool), x.shape) for c in _conditions(xp, x, condlist)]
    if len(conditions) + 1 == len(funclist):
        others = conditions[0]
        for condition in conditions[1:]:
            others = others | condition
        conditions.append(~others)
    elif len(conditions) != len(funclist):
        raise ValueError(
            f"np.piecewise: {len(conditions)} conditions take {len(conditions)} or {len(conditions) + 1} functions, got "
            f"{len(funclist)}"
        )
    result = xp.zeros_like(x)
    for condition, function in zip(conditions, funclist):
        if not callable(function):
            result = xp.where(condition, xp.astype(array(xp, function), x.dtype, copy=False), result)
        elif is_concrete(condition):
            result = _with_function(xp, x, condition, partial(_called, function, args, kw), result)
        else:
            result = xp.where(condition, xp.astype(array(xp, function(x, *args, **kw)), x.dtype, copy=False), result)
    return result


@implements("select")
def _select(xp: Any, condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    if len(condlist) != len(choicelist):
        raise ValueError(f"np.select: got {len(condlist)} conditions for {len(choicelist)} arrays")
    if not len(condlist):
        raise ValueError("np.select: takes at least one condition")
    conditions, choices = array_list(xp, condlist), [*array_list(xp, choicelist)]
    for i, condition in enumerate(conditions):
        if not xp.isdtype(condition.dtype, "bool"):
            raise TypeError(f"np.select: condition {i} must have booleans, got {condition.dtype}")
    # Python's numbers do not determine the data type.
    dtype = np.result_type(
        *(x if type(x) in (int, float, complex) else x.dtype for x in _dtypes(choicelist, choices, default))
    )
    result = xp.astype(array(xp, default), dtype, copy=False)
    for condition, choice in zip(conditions[::-1], choices[::-1]):
        result = xp.where(condition, xp.astype(choice, dtype, copy=False), result)
    shape = np.broadcast_shapes(*(tuple(x.shape) for x in (*conditions, *choices, result)))
    return xp.broadcast_to(result, shape)


def _dtypes(choicelist: Any, choices: Any, default: Any) -> list[Any]:
    given = list(choicelist) if isinstance(choicelist, (list, tuple)) else list(choices)
    numbers = [x if type(x) in (int, float, complex) else choice for x, choice in zip(given, choices)]
    return [
        *numbers,
        default if type(default) in (int, float, complex) or hasattr(default, "dtype") else np.asarray(default),
    ]


@implements("choose")
def _choose(xp: Any, a: Any, choices: Any, mode: str = "raise") -> Any:
    arrays = xp.broadcast_arrays(array(xp, a), *common(xp, array_list(xp, choices)))
    index, number = arrays[0], len(arrays) - 1
    if mode == "raise":
        check((index >= 0) & (index < number), f"np.choose: indices must be from 0 to {number - 1}")
    index = index % number if mode == "wrap" else xp.clip(index, 0, number - 1) if mode == "clip" else index
    index = xp.astype(index, xp.int64, copy=False)
    return xp.take_along_axis(xp.stack(arrays[1:]), index[None, ...], axis=0)[0, ...]
