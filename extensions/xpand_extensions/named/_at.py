"""Updates of parts of an array by name, which return a new array."""

from collections.abc import Callable, Mapping
from typing import Any

from xpand.extend import Array, describe, is_array

from ..scatter import At, at as positional_at
from ._array import NamedArray, make
from ._calls import call, operation
from ._index import Picked, dslice, entries, pick
from ._plans import array_of, check_named, position
from ._shapes import permuted

__all__ = ["NamedAt", "updated_slice"]


class NamedAt:
    """An array at an index by name, with methods to update it: `x.at[{"a": 0}].add(1.0)`.

    Every update returns a new array with the same axes. `update` is a number, or a named array that broadcasts by name
    to the selection. `mode` selects the treatment of positions out of bounds, as in `scatter.at`: "raise", "drop",
    "fill", "clip" or "wrap". JAX's hints `indices_are_sorted` and `unique_indices` have no effect.
    """

    __slots__ = ("_parts", "_x")

    def __init__(self, x: NamedArray, parts: Mapping[Any, Any] | None = None) -> None:
        self._x, self._parts = x, parts

    def __getitem__(self, index: Any, /) -> "NamedAt":
        """Return the same array at an index."""
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
        _check_hints("apply", hints)
        picked, at = self._at()
        return self._restored(picked, at.apply(function, mode=_mode(mode, picked)))

    def get(self, *, mode: str | None = None, fill_value: Any = None, **hints: bool) -> NamedArray:
        """Return the selected elements."""
        _check_hints("get", hints)
        picked, at = self._at()
        if picked.fills and mode is None:
            mode, fill_value = "fill", 0 if fill_value is None else fill_value
        found = at.get(mode=_mode(mode, picked), fill_value=array_of(fill_value))
        return permuted(make(found, picked.selection), picked.order)

    def _at(self) -> tuple[Picked, At]:
        picked = pick("at", self._x, self._parts or {})
        return picked, positional_at(permuted(self._x, picked.names).array)[picked.entries or ...]

    def _updated(self, operation: str, values: Any, mode: str | None, hints: Mapping[str, bool]) -> NamedArray:
        _check_hints(operation, hints)
        picked, at = self._at()
        if isinstance(values, NamedArray):
            if extra := [name for name in values.names if name not in picked.selection]:
                raise ValueError(
                    f"at.{operation}: values have the axes {extra}, which the selection lacks; the selection has "
                    f"the axes {picked.selection}"
                )
            selection = dict(zip(picked.selection, _selected_shape(picked, at)))
            values = call.broadcast_to(values, selection).array
        elif is_array(values) and len(values.shape):
            raise TypeError(f"at.{operation}: values must be a number or a NamedArray, got {describe(values)}")
        return self._restored(picked, getattr(at, operation)(values, mode=_mode(mode, picked)))

    def _restored(self, picked: Picked, x: Array) -> NamedArray:
        return permuted(make(x, picked.names), self._x.names)


def _check_hints(function: str, hints: Mapping[str, bool]) -> None:
    if unknown := sorted(set(hints) - {"indices_are_sorted", "unique_indices"}):
        raise TypeError(f"at.{function}: unknown arguments {unknown}; takes mode, indices_are_sorted, unique_indices")


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


@operation
def updated_slice(array: NamedArray, start: Mapping[Any, Any], update: NamedArray) -> NamedArray:
    """Return a copy of an array with a part replaced.

    Args:
        array: A named array.
        start: The start of the part along axes, by default 0: integers, or arrays, named or not.
        update: The new part. Its sizes are those of the part.

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
        first = make(first, ()) if is_array(first) else first
        if name in update.names:
            parts[name] = dslice(first, update.shape[name])
        else:
            parts[name] = first
    for name in update.names:
        if name in array.names and name not in parts and update.shape[name] != array.shape[name]:
            parts[name] = slice(0, update.shape[name])
    return NamedAt(array)[parts].set(update)
