"""Slices by name, with starts that may be traced."""

from collections.abc import Mapping
from typing import Any

from . import _axis
from ._array import NamedArray
from ._axis import Axis, AxisSelector
from ._calls import operation
from ._index import dslice, index
from ._plans import check_named, position

__all__ = ["slice"]


@operation
def slice(array: NamedArray, *args: Any, **kwargs: Any) -> NamedArray:
    """Select a part: `slice(array, axis, new_axis=None, start=0, length=None)` or `slice(array, start, length)`.

    The second form takes dictionaries: from axes to starts, and from axes to lengths or new axes. Starts may be arrays
    without axes, which may be traced.

    Raises:
        ValueError: There is no such axis, or a length is needed and missing.
        IndexError: The part isn't within the array.

    >>> import numpy as np
    >>> x = NamedArray(np.asarray([1, 2, 3, 4]), "a")
    >>> slice(x, "a", "b", start=1, length=2)
    NamedArray({'b': 2}, array([2, 3]))
    """
    check_named("slice", "array", array)
    first = args[0] if args else kwargs.get("axis", kwargs.get("start"))
    if isinstance(first, Mapping):
        return _several_slices(array, *args, **kwargs)
    return _one_slice(array, *args, **kwargs)


def _one_slice(
    array: NamedArray,
    axis: AxisSelector,
    new_axis: AxisSelector | None = None,
    start: Any = 0,
    length: int | None = None,
) -> NamedArray:
    i = position("slice", array, axis)
    name, size = array.names[i], array.array.shape[i]
    new_name, new_size = (name, None) if new_axis is None else _axis.selector("slice", new_axis)
    if length is None:
        length = new_size
    elif new_size is not None and new_size != length:
        raise ValueError(f"slice: length is {length}, but new_axis {new_name!r} has size {new_size}")
    if length is None:
        if not isinstance(start, int):
            raise ValueError("slice: length is needed if start is an array")
        length = size - start
    return _sliced(array, {name: dslice(start, Axis(new_name, length))})


def _several_slices(array: NamedArray, start: Mapping[Any, Any], length: Mapping[Any, Any] | None = None) -> NamedArray:
    lengths = {array.names[position("slice", array, axis)]: size for axis, size in (length or {}).items()}
    parts = {}
    for axis, first in start.items():
        i = position("slice", array, axis)
        name = array.names[i]
        if name not in lengths:
            if not isinstance(first, int):
                raise ValueError(f"slice: the length of axis {name!r} is needed if its start is an array")
            lengths[name] = array.array.shape[i] - first
        parts[name] = dslice(first, lengths[name])
    if extra := [name for name in lengths if name not in parts]:
        raise ValueError(f"slice: length has the axes {extra}, which start lacks")
    return _sliced(array, parts)


def _sliced(array: NamedArray, parts: dict[str, dslice]) -> NamedArray:
    for name, part in parts.items():
        size = array.shape[name]
        if isinstance(part.start, int) and not 0 <= part.start <= part.start + part.size <= size:
            raise IndexError(
                f"slice: positions {part.start} to {part.start + part.size} don't lie within axis {name!r} of size "
                f"{size}"
            )
    return index(array, parts)
