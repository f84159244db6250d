"""Sorting, searching, sets."""

from typing import Any, Final

import numpy as np

from xpand import sets
from xpand_extensions import sorting
from xpand_extensions.tracing import _methods
from xpand_extensions.tracing._reductions import flat

from .._arguments import array, array_list, common, integers, values_of
from .._table import Implementation, implements

_FIXED_SIZE: Final = "write `xpand_extensions.sorting.unique(x, size=…)`, or a function of `xpand.sets` with size="
_SELECTION: Final = "write `np.where(condition, x, …)`, or `xpand_extensions.indexing.nonzero(condition, size=…)`"


@implements("sort")
def _sort(xp: Any, a: Any, axis: Any = -1, kind: Any = None, *, stable: Any = None) -> Any:
    return _methods.sort(array(xp, a), integers(axis))


@implements("argsort")
def _argsort(xp: Any, a: Any, axis: Any = -1, kind: Any = None, *, stable: Any = None) -> Any:
    return _methods.argsort(array(xp, a), integers(axis))


@implements("sort_complex")
def _sort_complex(xp: Any, a: Any) -> Any:
    a = array(xp, a)
    return _methods.sort(a if xp.is_complex(a.dtype) else xp.astype(a, np.sort_complex(np.ones(1, a.dtype)).dtype))


def _partition(name: str) -> Implementation:
    partition, sort = getattr(sorting, name), {"partition": _methods.sort, "argpartition": _methods.argsort}[name]

    def compute(xp: Any, a: Any, kth: Any, axis: Any = -1) -> Any:
        a, axis, kth = array(xp, a), integers(axis), integers(kth)
        if axis is None:
            a, axis = flat(a), -1
        if isinstance(kth, int) and xp.isdtype(a.dtype, ("integral", "real floating")):
            return partition(a, kth, axis=axis)
        for position in kth if isinstance(kth, tuple) else (kth,):
            if not -a.shape[axis] <= position < a.shape[axis]:
                raise ValueError(f"np.{name}: kth={position} is out of bounds for {a.shape[axis]} elements")
        return sort(a, axis)  # sorted arrays are partitioned at all positions

    return compute


for _name in ("partition", "argpartition"):
    implements(_name)(_partition(_name))


@implements("lexsort")
def _lexsort(xp: Any, keys: Any, axis: Any = -1) -> Any:
    return sorting.lexsort(array_list(xp, keys), axis=integers(axis))


@implements("searchsorted")
def _searchsorted(xp: Any, a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    a, v = common(xp, [array(xp, a), array(xp, v)])
    return sorting.searchsorted(a, v, side=side, sorter=None if sorter is None else array(xp, sorter))


# Positions and elements that fulfil a condition


@implements("nonzero")
def _nonzero(xp: Any, a: Any) -> Any:
    a = array(xp, a)
    values_of("nonzero", a, _SELECTION)
    return xp.nonzero(a)


@implements("flatnonzero")
def _flatnonzero(xp: Any, a: Any) -> Any:
    return _positions(xp, "flatnonzero", flat(array(xp, a)))


@implements("argwhere")
def _argwhere(xp: Any, a: Any) -> Any:
    return array(xp, np.argwhere(values_of("argwhere", array(xp, a), _SELECTION)))


@implements("extract")
def _extract(xp: Any, condition: Any, arr: Any) -> Any:
    return xp.take(flat(array(xp, arr)), _positions(xp, "extract", flat(array(xp, condition))))


@implements("compress")
def _compress(xp: Any, condition: Any, a: Any, axis: Any = None) -> Any:
    a, axis = array(xp, a), integers(axis)
    if axis is None:
        a, axis = flat(a), 0
    return xp.take(a, _positions(xp, "compress", array(xp, condition)), axis=axis)


def _positions(xp: Any, name: str, x: Any) -> Any:
    """Return the positions of the nonzero elements of an array with one axis."""
    if x.ndim != 1:
        raise ValueError(f"np.{name}: the condition must have one axis, got {x.ndim}")
    return array(xp, np.flatnonzero(values_of(name, x, _SELECTION)))


@implements("trim_zeros")
def _trim_zeros(xp: Any, filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    filt = array(xp, filt)
    positions = np.argwhere(values_of("trim_zeros", filt, "trim the zeros outside of the function"))
    axes = range(filt.ndim) if axis is None else np.lib.array_utils.normalize_axis_tuple(integers(axis), filt.ndim)
    key = [slice(None)] * filt.ndim
    for i in axes:
        start, stop = (positions[:, i].min(), positions[:, i].max() + 1) if len(positions) else (0, 0)
        key[i] = slice(int(start) if "f" in trim.lower() else 0, int(stop) if "b" in trim.lower() else filt.shape[i])
        if not len(positions):
            key[i] = slice(0, 0)
    return filt[tuple(key)]


# Sets


@implements("unique")
def _unique(
    xp: Any,
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    ar, axis = array(xp, ar), integers(axis)
    # NumPy finds the positions, so its options need no other implementation.
    find: Any = np.unique
    values = values_of("unique", ar, _FIXED_SIZE)
    _, index, *others = find(values, True, return_inverse, return_counts, axis, equal_nan=equal_nan)
    index = array(xp, index)
    values = xp.take(flat(ar) if axis is None else ar, index, axis=0 if axis is None else axis)
    results = (values, *([index] if return_index else []), *[array(xp, x) for x in others])
    return results if len(results) > 1 else values


def _unique_with(name: str) -> Implementation:
    def compute(xp: Any, x: Any) -> Any:
        x = array(xp, x)
        values_of(name, x, _FIXED_SIZE)
        return getattr(xp, name)(x)

    return compute


for _name in ("unique_all", "unique_counts", "unique_inverse", "unique_values"):
    implements(_name)(_unique_with(_name))


@implements("isin")
def _isin(
    xp: Any, element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Any:
    element, test_elements = common(xp, [array(xp, element), array(xp, test_elements)])
    return xp.isin(element, flat(test_elements), invert=bool(invert))


@implements("in1d")  # before NumPy 2.4
def _in1d(xp: Any, ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None) -> Any:
    return _isin(xp, flat(array(xp, ar1)), ar2, invert=invert)


def _both(xp: Any, name: str, ar1: Any, ar2: Any) -> list[Any]:
    arrays = common(xp, [array(xp, ar1), array(xp, ar2)])
    for x in arrays:
        values_of(name, x, _FIXED_SIZE)
    return arrays


@implements("union1d")
def _union1d(xp: Any, ar1: Any, ar2: Any) -> Any:
    return _unique(xp, xp.concat([flat(x) for x in _both(xp, "union1d", ar1, ar2)]))


@implements("intersect1d")
def _intersect1d(xp: Any, ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    first, second = _both(xp, "intersect1d", ar1, ar2)
    return sets.intersect1d(first, second, assume_unique=bool(assume_unique), return_indices=bool(return_indices))


@implements("setdiff1d")
def _setdiff1d(xp: Any, ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    first, second = _both(xp, "setdiff1d", ar1, ar2)
    return sets.setdiff1d(flat(first) if assume_unique else _unique(xp, first), second, assume_unique=True)


@implements("setxor1d")
def _setxor1d(xp: Any, ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    first, second = _both(xp, "setxor1d", ar1, ar2)
    if not assume_unique:
        first, second = _unique(xp, first), _unique(xp, second)
    return sets.setxor1d(first, second, assume_unique=True)
