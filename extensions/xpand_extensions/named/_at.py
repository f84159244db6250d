"""Parts of arrays by name: slices with starts that may be traced, updates, and references.

Updates return a new array. A reference is a Python object whose content can be replaced, as a whole or in part.
Functions under jit may make, read and write their own references. They must not write to outer references, which would
leak traced arrays: return the new values instead.
"""

import builtins
from collections.abc import Callable, Mapping
from typing import Any

from xpand.extend import Array, describe, is_array

from ..convert import pointer
from ..scatter import At, at as positional_at
from . import _axis
from ._array import NamedArray, make
from ._axis import Axis, AxisSelector
from ._creation import full_like
from ._index import Picked, dslice, entries, host_integer, indexed, pick
from ._methods import bind, method
from ._plans import array_of, check_named, check_type, position
from ._shapes import broadcast_to, permuted, rename

__all__ = ["NamedAt", "NamedRef", "freeze", "new_ref", "slice", "swap", "updated_slice"]

# --- slices ----------------------------------------------------------------------------------------------------------


@method
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
    name = array.names[position("slice", array, axis)]
    new_name, size = (name, None) if new_axis is None else _axis.selector("slice", new_axis)
    if None not in (length, size) and length != size:
        raise ValueError(f"slice: length is {length}, but new_axis {new_name!r} has size {size}")
    length = size if length is None else length
    found = _several_slices(array, {name: start}, None if length is None else {name: length})
    return found if name == new_name else rename(found, {name: new_name})


def _several_slices(array: NamedArray, start: Mapping[Any, Any], length: Mapping[Any, Any] | None = None) -> NamedArray:
    lengths = {array.names[position("slice", array, axis)]: size for axis, size in (length or {}).items()}
    parts = {}
    for axis, given in start.items():
        i, first = position("slice", array, axis), host_integer(array, given)
        name = array.names[i]
        if name not in lengths:
            if not isinstance(first, int):
                raise ValueError(f"slice: the length of axis {name!r} is needed if its start is an array")
            lengths[name] = max(0, array.array.shape[i] - first)
        parts[name] = dslice(first, lengths[name])
    if extra := [name for name in lengths if name not in parts]:
        raise ValueError(f"slice: length has the axes {extra}, which start lacks")
    return indexed("slice", array, parts)


# --- updates ---------------------------------------------------------------------------------------------------------


class NamedAt:
    """An array at an index by name, with methods to update it: `x.at[{"a": 0}].add(1.0)`.

    Every update returns a new array with the same axes. `update` is a number, or a named array that broadcasts by name
    to the selection. `mode` selects the treatment of positions out of bounds, as in `scatter.at`: "raise", "drop",
    "fill", "clip" or "wrap". JAX's hints `indices_are_sorted` and `unique_indices` have no effect.
    """

    __slots__ = ("_function", "_parts", "_x")

    def __init__(self, x: NamedArray, parts: Mapping[Any, Any] | None = None, function: str = "at") -> None:
        self._x, self._parts, self._function = x, parts, function  # errors name the function

    def __getitem__(self, index: Any, /) -> "NamedAt":
        """Return the same array at an index."""
        if self._parts is not None:
            raise TypeError("at: takes one index, got a second one; write x.at[{'a': 0, 'b': 1}]")
        return NamedAt(self._x, entries("at", index))

    def set(self, update: Any, *, mode: str | None = None, **hints: bool) -> NamedArray:
        """Put values in place of the selected elements."""
        return self._updated("set", update, mode, hints)

    def add(self, update: Any, *, mode: str | None = None, **hints: bool) -> NamedArray:
        """Add values to the selected elements."""
        return self._updated("add", update, mode, hints)

    def subtract(self, update: Any, *, mode: str | None = None, **hints: bool) -> NamedArray:
        """Subtract values from the selected elements."""
        return self._updated("subtract", update, mode, hints)

    def multiply(self, update: Any, *, mode: str | None = None, **hints: bool) -> NamedArray:
        """Multiply the selected elements by values."""
        return self._updated("multiply", update, mode, hints)

    mul = multiply

    def divide(self, update: Any, *, mode: str | None = None, **hints: bool) -> NamedArray:
        """Divide the selected elements by values."""
        return self._updated("divide", update, mode, hints)

    def power(self, update: Any, *, mode: str | None = None, **hints: bool) -> NamedArray:
        """Raise the selected elements to the power of values."""
        return self._updated("power", update, mode, hints)

    def min(self, update: Any, *, mode: str | None = None, **hints: bool) -> NamedArray:
        """Take the minimum of the selected elements and values."""
        return self._updated("min", update, mode, hints)

    def max(self, update: Any, *, mode: str | None = None, **hints: bool) -> NamedArray:
        """Take the maximum of the selected elements and values."""
        return self._updated("max", update, mode, hints)

    def apply(self, function: Callable[[Array], Array], *, mode: str | None = None, **hints: bool) -> NamedArray:
        """Apply an elementwise function of arrays to the selected elements."""
        picked, at, known = self._at("apply", mode, hints)
        return self._restored(picked, at.apply(function, mode=known))

    def get(self, *, mode: str | None = None, fill_value: Any = None, **hints: bool) -> NamedArray:
        """Return the selected elements."""
        picked, at, known = self._at("get", mode, hints)
        if picked.fills and mode is None:
            known, fill_value = "fill", 0 if fill_value is None else fill_value
        return permuted(make(at.get(mode=known, fill_value=array_of(fill_value)), picked.selection), picked.order)

    def _at(self, operation: str, mode: str | None, hints: Mapping[str, bool]) -> tuple[Picked, At, Any]:
        """Return the index by position, the array at this index, and the mode as in `scatter.at`."""
        if unknown := sorted(set(hints) - {"indices_are_sorted", "unique_indices"}):
            raise TypeError(
                f"at.{operation}: unknown arguments {unknown}; takes mode, indices_are_sorted, unique_indices"
            )
        mode = {"promise_in_bounds": None, "error": "raise"}.get(mode or "", mode)
        picked = pick(self._function, self._x, self._parts or {}, mode)
        if mode is None and picked.fills:
            mode = "drop"
        return picked, positional_at(permuted(self._x, picked.names).array)[picked.entries or ...], mode

    def _updated(self, operation: str, values: Any, mode: str | None, hints: Mapping[str, bool]) -> NamedArray:
        picked, at, known = self._at(operation, mode, hints)
        if isinstance(values, NamedArray):
            if extra := [name for name in values.names if name not in picked.selection]:
                raise ValueError(
                    f"at.{operation}: values have the axes {extra}, which the selection lacks; the selection has "
                    f"the axes {picked.selection}"
                )
            selection = picked.sizes(at.x.shape)
            values = broadcast_to(values, selection).array
        elif is_array(values) and len(values.shape):
            raise TypeError(f"at.{operation}: values must be a number or a NamedArray, got {describe(values)}")
        return self._restored(picked, getattr(at, operation)(values, mode=known))

    def _restored(self, picked: Picked, x: Array) -> NamedArray:
        return permuted(make(x, picked.names), self._x.names)


bind("at", property(NamedAt))


@method
def updated_slice(array: NamedArray, start: Mapping[Any, Any], update: NamedArray) -> NamedArray:
    """Return a copy of an array with a part replaced.

    Args:
        array: A named array.
        start: The start of the part along axes, by default 0: integers, or arrays, named or not.
        update: The new part. Its sizes are those of the part.

    Raises:
        TypeError: An argument is not a named array, or a start is not an integer.
        ValueError: There is no such axis, or `update` has an axis that the part lacks.
        IndexError: The part does not lie within the array. If the start is traced or lazy, elements out of bounds are
            dropped.

    >>> import numpy as np
    >>> x = NamedArray(np.asarray([1, 2, 3, 4]), "a")
    >>> updated_slice(x, {"a": 1}, NamedArray(np.asarray([7, 8]), "a"))
    NamedArray({'a': 4}, array([1, 7, 8, 4]))
    """
    check_named("updated_slice", "array", array)
    check_named("updated_slice", "update", update)
    parts: dict[Any, Any] = {}
    for axis, first in start.items():
        name = array.names[position("updated_slice", array, axis)]
        if name in update.names:
            parts[name] = dslice(first, update.shape[name])
        else:
            parts[name] = first
    for name in update.names:
        if name in array.names and name not in parts and update.shape[name] != array.shape[name]:
            parts[name] = builtins.slice(update.shape[name])
    return NamedAt(array, parts, "updated_slice").set(update)


# --- references ------------------------------------------------------------------------------------------------------


class NamedRef:
    """A reference to a named array: `ref[{"a": 0}]` reads a part, `ref[{"a": 0}] = 1.0` replaces it.

    `new_ref` makes references. Views, made by `slice`, share the content.

    Source: Haliax's `NamedRef`.
    """

    __slots__ = ("_content", "_prefix")

    def __init__(self, content: list[NamedArray], prefix: tuple[Mapping[Any, Any], ...] = ()) -> None:
        self._content, self._prefix = content, prefix  # all views share the list, which is empty after `freeze`

    def value(self) -> NamedArray:
        """Return the content, or the part of a view.

        Raises:
            RuntimeError: The reference is frozen.
        """
        found = self._whole()
        for part in self._prefix:
            found = found[part]
        return found

    def _whole(self) -> NamedArray:
        if not self._content:
            raise RuntimeError("NamedRef: the reference is frozen; use the array that `freeze` returned")
        return self._content[0]

    @property
    def dtype(self) -> Any:
        """The data type."""
        return self._whole().dtype

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of the content, or of the part of a view."""
        return self.value().axes

    @property
    def shape(self) -> dict[str, int]:
        """The sizes of the axes by name."""
        return self.value().shape

    named_shape = shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.value().ndim

    def resolve_axis(self, axis: AxisSelector) -> Axis:
        """Return an axis with its size.

        Raises:
            ValueError: There is no such axis.
        """
        found: Axis = self.value().resolve_axis(axis)
        return found

    def slice(self, selector: Mapping[Any, Any]) -> "NamedRef":
        """Return a view of a part, with the same methods to read and to write."""
        return NamedRef(self._content, (*self._prefix, dict(selector)))

    def unsliced(self) -> "NamedRef":
        """Return the reference to the whole array."""
        return NamedRef(self._content)

    def unsafe_buffer_pointer(self) -> int:
        """Return the memory address of the content. The next write may change it."""
        return int(pointer(self._whole().array).address)

    def __getitem__(self, index: Any) -> NamedArray:
        return self.value() if index is Ellipsis else self.value()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        indices = (*self._prefix, {} if index is Ellipsis else entries("NamedRef", index))
        self._content[:] = [_written(self._whole(), indices, value)]

    def __repr__(self) -> str:
        return f"NamedRef({self.value() if self._content else 'frozen'})"


def _written(x: NamedArray, indices: tuple[Mapping[Any, Any], ...], value: Any) -> NamedArray:
    """Replace a nested part of an array. Each index selects a part of the part before."""
    if len(indices) > 1:
        value = _written(x[indices[0]], indices[1:], value)
    if not indices[0]:
        return full_like(x, value)
    return NamedAt(x, indices[0]).set(value)


def new_ref(value: NamedArray) -> NamedRef:
    """Make a reference to a named array. The array itself never changes.

    >>> import numpy as np
    >>> ref = new_ref(NamedArray(np.asarray([1.0, 2.0, 3.0]), "a"))
    >>> ref.slice({"a": dslice(1, 2)})["a", 0] = 7.0
    >>> ref.value()
    NamedArray({'a': 3}, array([1., 7., 3.]))
    """
    check_type("new_ref", "value", value)
    return NamedRef([value])


def freeze(ref: NamedRef) -> NamedArray:
    """Return the content of a reference or the part of a view; the reference and its views can't be used any more."""
    found = ref.value()
    ref._content.clear()
    return found


def swap(ref: NamedRef, idx: Any, value: Any) -> NamedArray:
    """Replace the part at an index, and return the old part."""
    found = ref[idx]
    ref[idx] = value
    return found
