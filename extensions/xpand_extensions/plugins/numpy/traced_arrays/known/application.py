"""Functions of a part of an array, and choices between arrays."""

from typing import Any

import numpy as np

from xpand import check, is_concrete
from xpand_extensions.tracing._array import concrete

from .._arguments import array, array_list, common, common_dtype, integers, ndim
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
        axis = axis % ndim(a)
        reduced = func(result, axis)
        result = reduced if reduced.ndim == result.ndim else xp.expand_dims(reduced, axis=axis)
        if result.ndim != ndim(a):
            raise ValueError("np.apply_over_axes: func must return an array of the same or one less number of axes")
    return result


@implements("piecewise")
def _piecewise(xp: Any, x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    x = array(xp, x)
    conditions = [xp.broadcast_to(xp.astype(part, xp.bool), tuple(x.shape)) for part in _conditions(xp, x, condlist)]
    if len(funclist) == len(conditions) + 1:
        others = conditions[0]
        for condition in conditions[1:]:
            others = others | condition
        conditions.append(~others)
    elif len(funclist) != len(conditions):
        raise ValueError(
            f"np.piecewise: {len(conditions)} conditions take as many functions, or one more, got {len(funclist)}"
        )
    result = xp.zeros_like(x)
    for condition, function in zip(conditions, funclist):
        if callable(function):
            values = _values_where(xp, x, condition, function, args, kw)
        else:
            values = array(xp, function)
        result = xp.where(condition, xp.astype(values, x.dtype, copy=False), result)
    return result


def _conditions(xp: Any, x: Any, condlist: Any) -> list[Any]:
    """Return the conditions: NumPy also takes one condition in place of a list."""
    if not ndim(condlist) and not isinstance(condlist, (list, tuple)):
        return [array(xp, condlist)]
    is_one = not isinstance(condlist[0], (list, tuple)) and ndim(condlist[0]) == 0 and x.ndim != 0
    return [array(xp, condlist)] if is_one else array_list(xp, condlist)


def _values_where(xp: Any, x: Any, condition: Any, function: Any, args: Any, kw: Any) -> Any:
    """Apply a function to the elements that a condition selects, as NumPy does; if it is abstract, to all elements.

    The results are at the positions of the elements. The other positions have values that are not used.
    """
    if not is_concrete(condition):
        return array(xp, function(x, *args, **kw))
    mask = np.asarray(concrete(condition, "np.piecewise"))
    positions = np.flatnonzero(mask)
    if not len(positions):
        return xp.zeros_like(x)
    selected = xp.take(xp.reshape(x, (-1,)), array(xp, positions))
    values = xp.broadcast_to(array(xp, function(selected, *args, **kw)), (len(positions),))
    numbers = np.maximum(np.cumsum(mask.reshape(-1)) - 1, 0)
    return xp.reshape(xp.take(values, array(xp, numbers)), tuple(x.shape))


@implements("select")
def _select(xp: Any, condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    conditions, choices = array_list(xp, condlist), array_list(xp, choicelist)
    if len(conditions) != len(choices) or not conditions:
        raise ValueError(f"np.select: takes a choice for each condition, got {len(conditions)} and {len(choices)}")
    for i, condition in enumerate(conditions):
        if not xp.isdtype(condition.dtype, "bool"):
            raise TypeError(f"np.select: condition {i} must have booleans, got {condition.dtype}")
    given = [*(choicelist if isinstance(choicelist, (list, tuple)) else choices), default]
    dtype = common_dtype(xp, given)
    result = xp.astype(array(xp, default), dtype, copy=False)
    for condition, choice in zip(conditions[::-1], choices[::-1]):
        result = xp.where(condition, xp.astype(choice, dtype, copy=False), result)
    return result


@implements("choose")
def _choose(xp: Any, a: Any, choices: Any, mode: str = "raise") -> Any:
    arrays = xp.broadcast_arrays(array(xp, a), *common(xp, array_list(xp, choices)))
    index, number = arrays[0], len(arrays) - 1
    if mode == "raise":
        check((index >= 0) & (index < number), f"np.choose: indices must be from 0 to {number - 1}")
    index = index % number if mode == "wrap" else xp.clip(index, 0, number - 1) if mode == "clip" else index
    index = xp.astype(index, xp.int64, copy=False)
    return xp.take_along_axis(xp.stack(arrays[1:]), index[None, ...], axis=0)[0, ...]
