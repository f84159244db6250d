"""Indices by name: parts, single positions, and arrays of positions, with axes that replace the indexed one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from xpand import array_namespace, is_concrete
from xpand.extend import checks, describe, device_of, eager, is_array

from .._bounds import index_dtype
from .._plans import Memory
from ..scatter import at as positional_at
from . import _axis
from ._array import NamedArray, check_rank, interned, make
from ._axis import Axis, AxisSelector
from ._elementwise import add
from ._methods import bind, method
from ._plans import aligned, check_named, position, rest_of, union
from ._shapes import permuted

__all__ = ["dblock", "ds", "dslice", "index", "take"]

_whole: Final = slice(None)


@dataclass(frozen=True, slots=True)
class dslice:
    """A part of an axis. Its start may be traced; its length is static.

    Args:
        start: The first position: an integer, or an array without axes, named or not. A named array with axes selects
            one part for each of its elements.
        length: The number of elements, or an `Axis` that replaces the indexed one.

    A part that does not lie within its axis raises an `IndexError` if its start is known. If the start is traced or
    lazy, positions out of bounds read as 0, and are not written.

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


def dblock(idx: Any, size: int) -> dslice:
    """Return the part that is block number `idx`, for blocks of equal size.

    >>> dblock(2, 16)
    dslice(start=32, length=16)
    """
    return dslice(idx * size, size)


def entries(function: str, index: Any) -> dict[Any, Any]:
    """Return an index as a dictionary. Indices may be pairs, `x["a", 0, "b", 1:]`, or `...` for everything."""
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


def _getitem(x: NamedArray, given: Any) -> NamedArray:
    found = given if type(given) is dict else entries("index", given)
    # The most common indices, positions and slices with Python numbers, need no plan.
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
            # If no axes are left, libraries such as NumPy return a number, except with an ellipsis.
            return make(array[(*parts, ...)] if not rest else array[tuple(parts)], rest)
    return index(x, found)


bind("__getitem__", _getitem)


class Picked(NamedTuple):
    """An index by position."""

    names: tuple[str, ...]
    """The axes of the array in the order of the index. Axes with arrays of positions come first."""
    entries: tuple[Any, ...]
    """An entry for each axis: arrays that broadcast, then slices and integers."""
    selection: tuple[str, ...]
    """The names of the selected part: first those of the arrays, then the remaining axes."""
    order: tuple[str, ...]
    """The same names in the final order: those of the arrays replace the first axis that they select from."""
    fills: bool
    """Whether a part may lie past the end."""

    @property
    def is_basic(self) -> bool:
        """Whether there are no arrays of positions."""
        return all(isinstance(part, (int, slice)) for part in self.entries)

    def sizes(self, shape: tuple[int, ...]) -> dict[str, int]:
        """Return the sizes of the selected part, from the shape of the array in the order of the index."""
        arrays = [part for part in self.entries if not isinstance(part, (int, slice))]
        lead = checks.broadcast_shapes("at", **{f"index {i}": x.shape for i, x in enumerate(arrays)}) if arrays else ()
        rest = zip(self.entries[len(arrays) :], shape[len(arrays) :])
        lengths = [len(range(*part.indices(size))) for part, size in rest if isinstance(part, slice)]
        return dict(zip(self.selection, (*lead, *lengths)))


def index(array: NamedArray, slices: Mapping[Any, Any]) -> NamedArray:
    """Select along axes, like `array[slices]`.

    Args:
        array: A named array.
        slices: For each axis an integer, which removes the axis; a slice or a `dslice`; a named array of integers,
            whose axes replace the axis; a list or a one-dimensional array of integers, which keeps the axis name; or a
            mask of one axis.

    Axes that an index shares with the array are matched by name: `x[{"token": best}]`, where `best` has the axis
    "batch", selects a token for each batch element. New axes replace the first axis that they select from.

    Raises:
        TypeError: An invalid index.
        ValueError: There is no such axis, or an axis would occur twice.
        IndexError: A known position is out of bounds.

    >>> import numpy as np
    >>> x = NamedArray(np.asarray([[1, 2, 3], [4, 5, 6]]), ("a", "b"))
    >>> index(x, {"a": 0, "b": [1, 2]})
    NamedArray({'b': 2}, array([2, 3]))
    >>> x["b", NamedArray(np.asarray([2, 0]), "a")]
    NamedArray({'a': 2}, array([3, 4]))
    """
    check_named("index", "array", array)
    return indexed("index", array, slices)


def indexed(function: str, array: NamedArray, slices: Mapping[Any, Any]) -> NamedArray:
    """Select along axes, for the function that errors name."""
    picked = pick(function, array, slices)
    x = permuted(array, picked.names).array
    if picked.is_basic:
        return make(x[(*picked.entries, ...)], picked.selection)
    at = positional_at(x)[picked.entries]
    return permuted(
        make(at.get(mode="fill", fill_value=0) if picked.fills else at.get(), picked.selection), picked.order
    )


def pick(function: str, x: NamedArray, slices: Mapping[Any, Any], mode: str | None = None) -> Picked:
    """Convert an index by name to an index by position.

    `mode` is the treatment of positions out of bounds, as in `scatter.at`. With None and "raise", known integers and
    starts of slices are checked here; arrays of positions are checked where they are used.

    Raises:
        TypeError: An invalid index.
        ValueError: There is no such axis, or an axis would occur twice.
        IndexError: A known position is out of bounds.
    """
    check_rank(function, x)
    shape = x.shape
    basic: dict[str, Any] = {}
    arrays: dict[str, NamedArray] = {}
    renamed: dict[str, str] = {}
    fills = False
    for axis, given in slices.items():
        name, part = x.names[position(function, x, axis)], host_integer(x, given)
        if name in basic or name in arrays:
            raise ValueError(f"{function}: axis {name!r} is indexed twice")
        if isinstance(part, dslice):
            start, length = _start(function, x, name, part.start), _length(function, name, part.length)
            if mode in (None, "raise"):
                _check_slice(function, name, shape[name], start, length)
            if isinstance(start, int) and 0 <= start <= shape[name] - length:
                basic[name] = slice(start, start + length)
                if isinstance(part.length, Axis):
                    renamed[name] = part.length.name
            else:
                new = part.length.name if isinstance(part.length, Axis) else name
                arrays[name], fills = _positions_of_slice(x, name, start, length, new, mode), True
        elif isinstance(part, slice):
            if part.step is not None and part.step < 0:
                arrays[name] = _indices(x, list(range(*part.indices(shape[name]))), (name,))
            else:
                basic[name] = part
        elif isinstance(part, NamedArray) or is_array(part) or isinstance(part, list):
            arrays[name] = _positions(function, x, name, part)
        elif hasattr(type(part), "__index__") and not isinstance(part, bool):
            basic[name] = at = part.__index__()
            if mode in (None, "raise") and not -shape[name] <= at < shape[name]:
                raise IndexError(f"{function}: position {at} is out of bounds for axis {name!r} of size {shape[name]}")
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
        # Axes that an index shares with the array are matched: each position uses its own part.
        for name in union([each.names for each in arrays.values()]):
            if name in rest:
                if name in basic:
                    raise ValueError(f"{function}: axis {name!r} is indexed, but also an axis of another index")
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


def host_integer(x: NamedArray, part: Any) -> Any:
    """Convert a concrete integer of another library, such as NumPy's, to a Python integer."""
    if type(part) is type(x.array) or not is_array(part) or len(part.shape):
        return part
    return int(part) if checks.kind_of(part) in checks.INTEGERS and is_concrete(part) else part


def _start(function: str, x: NamedArray, name: str, start: Any) -> int | NamedArray:
    """Return the start of a `dslice` as a Python integer or a named array."""
    start = host_integer(x, start)
    if isinstance(start, int) and not isinstance(start, bool):
        return start
    part = start if isinstance(start, NamedArray) else make(start, ()) if is_array(start) else None
    if part is None or (part is not start and len(start.shape)) or checks.kind_of(part.array) not in checks.INTEGERS:
        raise TypeError(
            f"{function}: the start of a dslice of axis {name!r} must be an integer or an array of integers, without "
            f"axes or with named ones, got {describe(start)}"
        )
    check_rank(function, part)
    return part


def _length(function: str, name: str, length: Any) -> int:
    size = length.size if isinstance(length, Axis) else length
    return checks.integer(f"{function}: dslice of axis {name!r}", "length", size, minimum=0)


def _check_slice(function: str, name: str, size: int, start: int | NamedArray, length: int) -> None:
    """Check that a part lies within its axis, if its start is known."""
    if isinstance(start, int):
        first = last = start
    elif is_concrete(start.array) and 0 not in start.array.shape:
        xp = array_namespace(start.array)
        with eager(xp):
            first, last = int(xp.min(start.array)), int(xp.max(start.array))
    else:
        return
    if first < 0 or last > size - length:
        wrong = first if first < 0 else last
        raise IndexError(
            f"{function}: positions {wrong}:{wrong + length} do not lie within axis {name!r} of size {size}; to read "
            'or write those that do, use `x.at[...]` with mode="fill" or "drop"'
        )


def _positions_of_slice(
    x: NamedArray, name: str, start: int | NamedArray, length: int, new: str, mode: str | None
) -> NamedArray:
    found: NamedArray = add(_indices(x, list(range(length)), (new,)), start)
    if mode in ("clip", "wrap"):
        return found
    # A negative position is out of bounds, although it would count from the end elsewhere.
    xp = array_namespace(found.array)
    return make(xp.where(found.array < 0, x.shape[name], found.array), found.names)


def _positions(function: str, x: NamedArray, name: str, given: Any) -> NamedArray:
    """Return an index as a named array of integers. An array without names gets the name of the indexed axis."""
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


@method
def take(array: NamedArray, axis: AxisSelector, index: Any) -> NamedArray:
    """Select along an axis by an integer, or by an array with axes that replace it: see `index`."""
    check_named("take", "array", array)
    return _getitem(array, {axis: index})
