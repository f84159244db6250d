"""Indices by name: parts, single positions, and arrays of positions whose names take the place of an axis's."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from xpand import array_namespace, is_concrete
from xpand.extend import Array, describe, device_of, is_array

from .._bounds import index_dtype
from .._plans import Memory
from ..scatter import At
from ..scatter import at as positional_at
from . import _axis
from ._array import NamedArray, interned, make
from ._axis import Axis, AxisSelector
from ._calls import call, operation
from ._plans import aligned, array_of, check_named, check_rank, position, rest_of, union
from ._shapes import permuted

_whole: Final = slice(None)


@dataclass(frozen=True, slots=True)
class dslice:
    """A part of an axis whose start may be traced, and whose length is static.

    Args:
        start: The first position: an integer, or an array or a named array without axes; a named array with axes gives
            one part for each of its elements.
        length: The number of elements, or an `Axis` that takes the place of the one selected from.

    What lies past the end of the axis reads as 0, and is not written.

    >>> import numpy as np
    >>> x = NamedArray(np.asarray([1, 2, 3, 4]), "a")
    >>> x["a", dslice(1, 2)]
    NamedArray({'a': 2}, array([2, 3]))
    """

    start: Any
    length: Any

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.length.size if isinstance(self.length, Axis) else self.length


ds = dslice


def dblock(idx: Any, size: int, /) -> dslice:
    """Return the part that is block number `idx` of blocks of one size.

    >>> dblock(2, 16)
    dslice(start=32, length=16)
    """
    return dslice(idx * size, size)


def entries(function: str, index: Any) -> dict[Any, Any]:
    """Return an index as a dictionary: it may be pairs, `x["a", 0, "b", 1:]`, or `...` for all."""
    if type(index) is tuple and len(index) == 2 and type(index[0]) is str:
        return {index[0]: index[1]}
    if isinstance(index, Mapping):
        return dict(index)
    if index is Ellipsis or index == ():
        return {}
    if isinstance(index, tuple) and len(index) % 2 == 0 and all(isinstance(i, (str, Axis)) for i in index[::2]):
        found = dict(zip(index[::2], index[1::2]))
        if len(found) * 2 == len(index):
            return found
    raise TypeError(
        f"{function}: an index names its axes, as in x[{{'a': 0}}] or x['a', 0, 'b', 1:]; got {describe(index)}"
    )


_WITHOUT: Final = Memory()


def _without(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    found: tuple[str, ...] | None = _WITHOUT.get((names, name))
    if found is None:
        _WITHOUT.add((names, name), found := rest_of(names, (name,)))
    return found


@operation
def _getitem(x: NamedArray, index: Any) -> NamedArray:
    found = index if type(index) is dict else entries("index", index)
    # Positions and slices with Python numbers are the most frequent: they need no plan.
    names, array = x.names, x.array
    shape = array.shape
    if len(shape) == len(names):
        parts: list[Any] = [_whole] * len(names)
        rest = names
        for axis, part in found.items():
            if axis not in names:
                break
            i = names.index(axis)
            kind = type(part)
            if parts[i] is not _whole:
                break
            if kind is int and -shape[i] <= part < shape[i]:
                rest = _without(rest, axis)
            elif kind is not slice or (part.step is not None and part.step < 0):
                break
            parts[i] = part
        else:
            # Without axes left, libraries such as NumPy return a number unless there are dots.
            return make(array[(*parts, ...)] if not rest else array[tuple(parts)], rest)
    return _index(x, found)


class Picked(NamedTuple):
    """An index of an array as one by position."""

    names: tuple[str, ...]
    """The axes of the array in the order of the index: those with arrays of positions first."""
    entries: tuple[Any, ...]
    """An entry for each: arrays that broadcast, then slices and integers."""
    selection: tuple[str, ...]
    """The names of the selected part: those of the arrays, then the axes that remain."""
    order: tuple[str, ...]
    """The same names, where those of the arrays take the place of the first axis that they select from."""
    fills: bool
    """Whether a part may lie past the end."""

    @property
    def is_basic(self) -> bool:
        """Whether there are no arrays of positions."""
        return all(isinstance(part, (int, slice)) for part in self.entries)


@operation
def _index(array: NamedArray, slices: Mapping[Any, Any]) -> NamedArray:
    check_named("index", "array", array)
    picked = pick("index", array, slices)
    x = permuted(array, picked.names).array
    if picked.is_basic:
        return make(x[(*picked.entries, ...)], picked.selection)
    at = positional_at(x)[picked.entries]
    return permuted(
        make(at.get(mode="fill", fill_value=0) if picked.fills else at.get(), picked.selection), picked.order
    )


def pick(function: str, x: NamedArray, slices: Mapping[Any, Any]) -> Picked:
    """Return an index by name as one by position.

    Raises:
        TypeError: A part that is no index.
        ValueError: No such axis, or an axis that would be there twice.
        IndexError: A position out of bounds.
    """
    check_rank(function, x)
    shape = x.shape
    basic: dict[str, Any] = {}
    arrays: dict[str, NamedArray] = {}
    renamed: dict[str, str] = {}
    fills = False
    for axis, part in slices.items():
        name = x.names[position(function, x, axis)]
        if name in basic or name in arrays:
            raise ValueError(f"{function}: axis {name!r} is indexed twice")
        if isinstance(part, dslice):
            if isinstance(part.start, int) and 0 <= part.start <= part.start + part.size <= shape[name]:
                basic[name] = slice(part.start, part.start + part.size)
                if isinstance(part.length, Axis):
                    renamed[name] = part.length.name
            else:
                arrays[name], fills = _positions_of_slice(function, x, name, part), True
        elif isinstance(part, slice):
            if part.step is not None and part.step < 0:
                arrays[name] = _indices(x, list(range(*part.indices(shape[name]))), (name,))
            else:
                basic[name] = part
        elif isinstance(part, NamedArray) or is_array(part) or isinstance(part, list):
            arrays[name] = _positions(function, x, name, part)
        elif hasattr(type(part), "__index__") and not isinstance(part, bool):
            at = part.__index__()
            if not -shape[name] <= at < shape[name]:
                raise IndexError(f"{function}: position {at} is out of bounds for axis {name!r} of size {shape[name]}")
            basic[name] = at
        else:
            raise TypeError(
                f"{function}: the index of axis {name!r} must be an integer, a slice, a dslice, or an array of "
                f"integers or booleans, got {describe(part)}"
            )
    return _picked(function, x, basic, arrays, renamed, fills)


def _picked(
    function: str,
    x: NamedArray,
    basic: Mapping[str, Any],
    arrays: dict[str, NamedArray],
    renamed: Mapping[str, str],
    fills: bool,
) -> Picked:
    rest = [name for name in x.names if name not in arrays]
    new: tuple[str, ...] = ()
    if arrays:
        # Axes of an index that the array has, too, run along: each position has its own.
        for name in union([each.names for each in arrays.values()]):
            if name in rest:
                if name in basic:
                    raise ValueError(f"{function}: axis {name!r} is indexed, and an axis of another index as well")
                arrays[name] = _indices(x, list(range(x.shape[name])), (name,))
                rest.remove(name)
        new, indices = aligned(function, list(arrays.values()))
    remaining = [renamed.get(name, name) for name in rest if not isinstance(basic.get(name), int)]
    selection = (*new, *remaining)
    _axis.different(function, selection)
    first = min([x.names.index(name) for name in arrays], default=0)
    before = [renamed.get(name, name) for name in x.names[:first] if not isinstance(basic.get(name), int)]
    return Picked(
        interned((*arrays, *rest)),
        (*(indices if arrays else ()), *(basic.get(name, _whole) for name in rest)),
        interned(selection),
        interned((*before, *new, *remaining[len(before) :])),
        fills,
    )


def _indices(x: NamedArray, values: list[int], names: tuple[str, ...]) -> NamedArray:
    xp = array_namespace(x.array)
    device = device_of(x.array)
    return make(xp.asarray(values, dtype=index_dtype(xp, device), device=device), interned(names))


def _positions_of_slice(function: str, x: NamedArray, name: str, part: dslice) -> NamedArray:
    new = part.length.name if isinstance(part.length, Axis) else name
    run = _indices(x, list(range(part.size)), (new,))
    start = part.start
    if is_array(start):
        if len(start.shape):
            raise TypeError(
                f"{function}: the start of a dslice must have no axes, or named ones, got {describe(start)}"
            )
        start = make(start, ())
    found: NamedArray = call.add(run, start)
    return found


def _positions(function: str, x: NamedArray, name: str, given: Any) -> NamedArray:
    """Return an index as a named array of integers: unnamed ones of one axis have the name of the axis."""
    if isinstance(given, list):
        if not all(isinstance(i, int) and not isinstance(i, bool) for i in given):
            raise TypeError(f"{function}: a list that indexes axis {name!r} must be of integers")
        return _indices(x, given, (name,))
    if not isinstance(given, NamedArray) and len(given.shape) > 1:
        raise TypeError(
            f"{function}: the index of axis {name!r} is {describe(given)}, whose axes have no names; name them with "
            "`named(index, axes)`"
        )
    part = given if isinstance(given, NamedArray) else make(given, interned((name,) * len(given.shape)))
    check_rank(function, part)
    xp = array_namespace(part.array)
    if not xp.isdtype(part.array.dtype, "bool"):
        return part
    if len(part.names) != 1 or part.array.shape[0] != x.shape[name]:
        raise ValueError(
            f"{function}: a mask for axis {name!r} must have one axis, of size {x.shape[name]}, got "
            f"{_axis.written(part.shape.items())}"
        )
    if not is_concrete(part.array):
        raise ValueError(
            f"{function}: the number of elements that a mask selects isn't known while its values are traced or lazy; "
            "use `where`, or `nonzero` with a size"
        )
    return make(xp.nonzero(part.array)[0], part.names)


@operation
def _take(array: NamedArray, axis: AxisSelector, index: Any) -> NamedArray:
    check_named("take", "array", array)
    return _index(array, {axis: index})


@operation
def _slice(array: NamedArray, *args: Any, **kwargs: Any) -> NamedArray:
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
        raise ValueError(f"slice: length is {length}, and new_axis {new_name!r} has size {new_size}")
    if length is None:
        if not isinstance(start, int):
            raise ValueError("slice: length is needed where start is an array")
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
                raise ValueError(f"slice: the length of axis {name!r} is needed where its start is an array")
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
    return _index(array, parts)


@operation
def _updated_slice(array: NamedArray, start: Mapping[Any, Any], update: NamedArray) -> NamedArray:
    check_named("updated_slice", "array", array)
    check_named("updated_slice", "update", update)
    parts: dict[Any, Any] = {}
    for axis, first in start.items():
        name = array.names[position("updated_slice", array, axis)]
        first = make(first, ()) if is_array(first) else first
        if name in update.names:
            parts[name] = dslice(first, update.shape[name])
        else:
            parts[name] = first
    for name in update.names:
        if name in array.names and name not in parts and update.shape[name] != array.shape[name]:
            parts[name] = slice(0, update.shape[name])
    return NamedAt(array)[parts].set(update)


class NamedAt:
    """An array at an index by name, with the updates that it takes: `x.at[{"a": 0}].add(1.0)`.

    Every method returns a new array with the axes of the array. `values` is a number or a named array that broadcasts
    by name to the selection. `mode` selects the treatment of positions out of bounds, as in `scatter.at`: "raise",
    "drop", "fill", "clip" or "wrap".
    """

    __slots__ = ("_parts", "_x")

    def __init__(self, x: NamedArray, parts: Mapping[Any, Any] | None = None) -> None:
        self._x, self._parts = x, parts

    def __getitem__(self, index: Any, /) -> "NamedAt":
        """Return the same array at an index."""
        return NamedAt(self._x, entries("at", index))

    def set(self, values: Any, /, *, mode: str | None = None) -> NamedArray:
        """Put values in place of the selected elements."""
        return self._updated("set", values, mode)

    def add(self, values: Any, /, *, mode: str | None = None) -> NamedArray:
        """Add values to the selected elements."""
        return self._updated("add", values, mode)

    def subtract(self, values: Any, /, *, mode: str | None = None) -> NamedArray:
        """Subtract values from the selected elements."""
        return self._updated("subtract", values, mode)

    def multiply(self, values: Any, /, *, mode: str | None = None) -> NamedArray:
        """Multiply the selected elements by values."""
        return self._updated("multiply", values, mode)

    def divide(self, values: Any, /, *, mode: str | None = None) -> NamedArray:
        """Divide the selected elements by values."""
        return self._updated("divide", values, mode)

    def power(self, values: Any, /, *, mode: str | None = None) -> NamedArray:
        """Raise the selected elements to the power of values."""
        return self._updated("power", values, mode)

    def min(self, values: Any, /, *, mode: str | None = None) -> NamedArray:
        """Take the minimum of the selected elements and values."""
        return self._updated("min", values, mode)

    def max(self, values: Any, /, *, mode: str | None = None) -> NamedArray:
        """Take the maximum of the selected elements and values."""
        return self._updated("max", values, mode)

    def apply(self, function: Callable[[Array], Array], /, *, mode: str | None = None) -> NamedArray:
        """Apply an elementwise function of arrays to the selected elements."""
        picked, at = self._at()
        return self._restored(picked, at.apply(function, mode=_mode(mode, picked)))

    def get(self, *, mode: str | None = None, fill_value: Any = None) -> NamedArray:
        """Return the selected elements."""
        picked, at = self._at()
        if picked.fills and mode is None:
            mode, fill_value = "fill", 0 if fill_value is None else fill_value
        found = at.get(mode=_mode(mode, picked), fill_value=array_of(fill_value))
        return permuted(make(found, picked.selection), picked.order)

    def _at(self) -> tuple[Picked, At]:
        picked = pick("at", self._x, self._parts or {})
        return picked, positional_at(permuted(self._x, picked.names).array)[picked.entries or ...]

    def _updated(self, operation: str, values: Any, mode: str | None) -> NamedArray:
        picked, at = self._at()
        if isinstance(values, NamedArray):
            if extra := [name for name in values.names if name not in picked.selection]:
                raise ValueError(
                    f"at.{operation}: values have the axes {extra}, which the selection lacks; it has the axes "
                    f"{picked.selection}"
                )
            selection = dict(zip(picked.selection, _selected_shape(picked, at)))
            values = call.broadcast_to(values, selection).array
        elif is_array(values) and len(values.shape):
            raise TypeError(f"at.{operation}: values must be a number or a NamedArray, got {describe(values)}")
        return self._restored(picked, getattr(at, operation)(values, mode=_mode(mode, picked)))

    def _restored(self, picked: Picked, x: Array) -> NamedArray:
        return permuted(make(x, picked.names), self._x.names)


def _selected_shape(picked: Picked, at: At) -> tuple[int, ...]:
    """Return the sizes of a selection."""
    shape = at.x.shape
    arrays = [part for part in picked.entries if not isinstance(part, (int, slice))]
    lead: list[int] = []
    for part in arrays:
        sizes = [1] * (len(lead) - len(part.shape)) + list(part.shape)
        lead = [1] * (len(sizes) - len(lead)) + lead
        lead = [max(one, other) if one and other else 0 for one, other in zip(lead, sizes)]
    rest = [
        len(range(*part.indices(shape[len(arrays) + i])))
        for i, part in enumerate(picked.entries[len(arrays) :])
        if isinstance(part, slice)
    ]
    return (*lead, *rest)


def _mode(mode: str | None, picked: Picked) -> Any:
    if mode in ("promise_in_bounds", None):
        return "drop" if picked.fills else None
    return "raise" if mode == "error" else mode


@operation
def _at(x: NamedArray) -> NamedAt:
    return NamedAt(x)
