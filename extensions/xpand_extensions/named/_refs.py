"""References to named arrays: their content can be replaced, as a whole or in part.

A reference is a Python object. Functions under jit may make, read and write their own references. They must not write
to outer references, which would leak traced arrays: return the new values instead.
"""

from collections.abc import Mapping
from typing import Any

from ..convert import pointer
from ._array import NamedArray
from ._at import NamedAt
from ._axis import Axis, AxisSelector
from ._calls import call
from ._index import entries
from ._plans import check_named

__all__ = ["NamedRef", "freeze", "new_ref", "swap"]


class _Cell:
    """The content that all views of a reference share."""

    __slots__ = ("value",)

    def __init__(self, value: NamedArray | None) -> None:
        self.value = value


class NamedRef:
    """A reference to a named array: `ref[{"a": 0}]` reads a part, `ref[{"a": 0}] = 1.0` replaces it.

    `new_ref` makes references. Views, made by `slice`, share the content.

    Source: Haliax's `NamedRef`.
    """

    __slots__ = ("_cell", "_prefix")

    def __init__(self, cell: _Cell, prefix: tuple[Mapping[Any, Any], ...] = ()) -> None:
        self._cell, self._prefix = cell, prefix

    def value(self) -> NamedArray:
        """Return the content, or the part of a view.

        Raises:
            RuntimeError: The reference is frozen.
        """
        found = self._content()
        for index in self._prefix:
            found = found[index]
        return found

    def _content(self) -> NamedArray:
        if self._cell.value is None:
            raise RuntimeError("NamedRef: the reference is frozen; use the array that `freeze` returned")
        return self._cell.value

    @property
    def dtype(self) -> Any:
        """The data type."""
        return self._content().dtype

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of the content, or of the part of a view."""
        return self.value().axes

    @property
    def shape(self) -> dict[str, int]:
        """The sizes of the axes by name."""
        return self.value().shape

    @property
    def named_shape(self) -> dict[str, int]:
        """The sizes of the axes by name."""
        return self.value().shape

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
        return NamedRef(self._cell, (*self._prefix, dict(selector)))

    def unsliced(self) -> "NamedRef":
        """Return the reference to the whole array."""
        return NamedRef(self._cell)

    def unsafe_buffer_pointer(self) -> int:
        """Return the memory address of the content. The next write may change it."""
        return int(pointer(self._content().array).address)

    def __getitem__(self, index: Any) -> NamedArray:
        return self.value() if index is Ellipsis else self.value()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        indices = (*self._prefix, {} if index is Ellipsis else entries("NamedRef", index))
        self._cell.value = _written(self._content(), indices, value)

    def __repr__(self) -> str:
        return f"NamedRef({self.value() if self._cell.value is not None else 'frozen'})"


def _written(x: NamedArray, indices: tuple[Mapping[Any, Any], ...], value: Any) -> NamedArray:
    """Replace a nested part of an array. Each index selects a part of the part before."""
    if len(indices) > 1:
        value = _written(x[indices[0]], indices[1:], value)
    if not indices[0]:
        return call.full_like(x, value)
    return NamedAt(x, indices[0]).set(value)


def new_ref(value: NamedArray) -> NamedRef:
    """Make a reference to a named array. The array itself never changes.

    >>> import numpy as np
    >>> ref = new_ref(NamedArray(np.asarray([1.0, 2.0, 3.0]), "a"))
    >>> ref.slice({"a": slice(1, 3)})["a", 0] = 7.0
    >>> ref.value()
    NamedArray({'a': 3}, array([1., 7., 3.]))
    """
    check_named("new_ref", "value", value)
    return NamedRef(_Cell(value))


def freeze(ref: NamedRef) -> NamedArray:
    """Return the content of a reference or the part of a view; the reference and its views can't be used any more."""
    found = ref.value()
    ref._cell.value = None
    return found


def swap(ref: NamedRef, idx: Any, value: Any) -> NamedArray:
    """Replace the part at an index, and return the old part."""
    found = ref[idx]
    ref[idx] = value
    return found
