"""The result of `scatter.at`: an array at an index, with the methods that update it."""

from collections.abc import Callable
from dataclasses import dataclass
from types import EllipsisType
from typing import Any, Final, Literal, NoReturn, Self, TypeAlias

from xpand import array_namespace, is_concrete
from xpand.extend import Array, ArrayLike, checks, eager

from .._bounds import MODES, Mode
from .._dispatch import in_one_namespace, pluggable
from .._where import clean_tracebacks

Entry: TypeAlias = int | slice | EllipsisType | Array | None
Index: TypeAlias = Entry | tuple[Entry, ...]
Operation: TypeAlias = Literal["set", "add", "subtract", "multiply", "divide", "power", "min", "max"]
"""The names of the updates."""

_NUMBERS: Final = (bool, int, float, complex)
_KINDS: Final = {
    "add": checks.NUMERIC,
    "subtract": checks.NUMERIC,
    "multiply": checks.NUMERIC,
    "divide": checks.FLOATING,
    "power": checks.NUMERIC,
    "min": checks.ORDERED,
    "max": checks.ORDERED,
}


@dataclass(frozen=True, slots=True, eq=False)
class At:
    """An array `x` at an index. Methods that update return a new array of the shape, data type and device of `x`.

    `values` is an array that broadcasts to the shape of the selection, or a Python scalar. It is cast to the data type
    of `x`; a kind that doesn't promote to that of `x` (floating-point values into an integer array) raises a
    `TypeError`. An element that is selected several times gets all of its updates, in the order of the selection; so
    `set` leaves the last value.

    `mode` selects the treatment of integer indices out of bounds: "raise" an `IndexError`; "drop" (or "fill") the
    update; "clip" to the nearest element; "wrap" around. The default is "raise" if the values of the indices are known,
    otherwise (under jit and vmap, in lazy arrays) "drop". Negative indices count from the end, and slices end with the
    array.
    """

    x: Any
    index: Any = ...

    def __getitem__(self, index: Any, /) -> Self:
        """Return the same array at `index`."""
        if self.index is not ...:
            raise TypeError("at: x has an index already; index once, as in `at(x)[rows, columns]`")
        return type(self)(self.x, index)

    def __setitem__(self, index: Any, values: Any, /) -> NoReturn:
        """Raise an error: `at` never writes into an array."""
        raise TypeError("at: takes no assignment, since it never writes into x; write `x = at(x)[index].set(values)`")

    def set(self, values: ArrayLike, /, *, mode: Mode | None = None) -> Array:
        """Replace the selected elements by `values`."""
        return self._update("set", values, mode)

    def add(self, values: ArrayLike, /, *, mode: Mode | None = None) -> Array:
        """Add `values` to the selected elements, of a numeric data type."""
        return self._update("add", values, mode)

    def subtract(self, values: ArrayLike, /, *, mode: Mode | None = None) -> Array:
        """Subtract `values` from the selected elements, of a numeric data type."""
        return self._update("subtract", values, mode)

    def multiply(self, values: ArrayLike, /, *, mode: Mode | None = None) -> Array:
        """Multiply the selected elements, of a numeric data type, by `values`."""
        return self._update("multiply", values, mode)

    mul = multiply

    def divide(self, values: ArrayLike, /, *, mode: Mode | None = None) -> Array:
        """Divide the selected elements, of a floating-point data type, by `values`.

        If an element has several divisors, their product is the divisor, except on NumPy.
        """
        return self._update("divide", values, mode)

    def power(self, values: ArrayLike, /, *, mode: Mode | None = None) -> Array:
        """Raise the selected elements, of a numeric data type, to the power `values`.

        Negative powers of integers raise `ValueError` if the powers are known; otherwise the result is arbitrary.

        Except on JAX, an index with integer arrays whose values aren't known raises `UnsupportedError`, since it might
        select an element twice.
        """
        return self._update("power", values, mode)

    def min(self, values: ArrayLike, /, *, mode: Mode | None = None) -> Array:
        """Replace the selected elements, boolean or real, by the minimum of them and `values`; NaN if either is."""
        return self._update("min", values, mode)

    def max(self, values: ArrayLike, /, *, mode: Mode | None = None) -> Array:
        """Replace the selected elements, boolean or real, by the maximum of them and `values`; NaN if either is."""
        return self._update("max", values, mode)

    @clean_tracebacks
    def apply(self, function: Callable[[Array], Array], /, *, mode: Mode | None = None) -> Array:
        """Apply an elementwise function to the selected elements, once for each time that an element is selected.

        The function takes an array and returns an array of the same shape. It may be called with further elements,
        whose results are discarded. Raises `UnsupportedError` in the same cases as `power`.
        """
        checks.function("at.apply", function, "function")
        checks.choice("at.apply", "mode", mode, MODES)
        x = self._traced(None)
        return self._apply(function, mode) if x is self.x else self._of(x).apply(function, mode=mode)

    def get(self, *, mode: Mode | None = None, fill_value: ArrayLike | None = None) -> Array:
        """Return the selected elements.

        Args:
            mode: As for updates, but "fill" (or "drop") returns `fill_value` for indices out of bounds.
            fill_value: A Python scalar or an array of shape `()`. By default: NaN for floating-point types, the
                smallest signed integer, the largest unsigned integer, True for booleans.
        """
        checks.choice("at.get", "mode", mode, MODES)
        if fill_value is not None:
            checks.scalar("at.get", "fill_value", array_namespace(self.x), fill_value, self.x, "x")
        x = self._traced(fill_value)
        if x is not self.x:
            return self._of(x).get(mode=mode, fill_value=fill_value)
        if fill_value is None and mode in (None, "raise"):
            _, is_positions = at.planned(_are_positions, (x, self._index_alike))
            if is_positions:
                return self._read_positions()
        return self._read(mode, fill_value)

    def _update(self, operation: Operation, values: ArrayLike, mode: Mode | None) -> Array:
        if isinstance(values, float):
            values = float(values)  # NumPy's float64 is also an array of NumPy
        index = self._index_alike
        _, is_plain = at.planned(_check_update, (self.x, index, values), operation, mode)
        x = self._traced(values)
        if x is not self.x:
            return self._of(x)._update(operation, values, mode)
        if is_plain:
            return self._write_positions(operation, values, mode)
        if operation == "power":
            self._check_exponent(values)
        return self._write(operation, values, mode)

    @property
    def _index_alike(self) -> Array | None:
        """The index if it is an array of the type of `x`, else None. It may select along the first axis."""
        return self.index if type(self.index) is type(self.x) else None

    def _traced(self, values: Any) -> Array:
        """Return `x`, as a traced constant if only the index or the values are traced."""
        parts = self.index if isinstance(self.index, tuple) else (self.index,)
        return in_one_namespace(self.x, values, *parts)[0]

    def _of(self, x: Array) -> "At":
        """Return another array at the same index."""
        found: At = at.native(x)(x, self.index)
        return found

    def _check_value(self, function: str, name: str, value: Any) -> None:
        _check_value(function, name, self.x, value)

    def _check_exponent(self, values: Any) -> None:
        # For negative exponents, libraries raise errors or return zeros or noise.
        xp = array_namespace(self.x)
        if checks.kind(xp, self.x.dtype) not in checks.INTEGERS:
            return
        if not hasattr(values, "dtype"):
            negative = values < 0
        elif checks.kind(xp, values.dtype) == "unsigned" or not is_concrete(values) or 0 in values.shape:
            return
        else:
            with eager(xp):
                negative = bool(xp.any(values < 0))
        if negative:
            raise ValueError(
                f"at.power: values must not be negative where x has {self.x.dtype}, an integer data type; convert x "
                "to a floating-point data type with `xp.astype` first"
            )

    # Libraries implement these methods. All arguments have been checked, except the index and shapes.

    def _write(self, operation: Operation, values: ArrayLike, mode: Mode | None) -> Array:
        raise NotImplementedError

    def _write_positions(self, operation: Operation, values: Any, mode: Mode | None) -> Array:
        """Write a number, or values that need no cast or broadcast, at one integer array, in the mode "raise"."""
        return self._write(operation, values, mode)

    def _read_positions(self) -> Array:
        """Read at an index that is one integer array, in the mode "raise"."""
        return self._read(None, None)

    def _apply(self, function: Callable[[Array], Array], mode: Mode | None) -> Array:
        raise NotImplementedError

    def _read(self, mode: Mode | None, fill_value: ArrayLike | None) -> Array:
        raise NotImplementedError


@pluggable
def at(x: Array, index: Index = ..., /) -> At:
    """Select elements of an array by an index, to update or read them: `at(x)[index].add(values)`.

    Args:
        x: An array of any shape and data type. It is never changed.
        index: An index as in NumPy, except lists: integers, slices, None, `...`, integer arrays of any shape that
            broadcast together, boolean masks, and tuples of these. `at(x, index)` is `at(x)[index]`. By default, all
            elements are selected.

    Returns:
        An object with the methods `set`, `add`, `subtract`, `multiply`, `divide`, `power`, `min`, `max`, `apply`, which
        return an updated copy of `x`, and `get`, which returns the selected elements. See `At` for their arguments.

    Raises:
        TypeError: `x` is not an array. The methods raise it for arrays of two libraries, for data types that don't
            promote to that of `x`, and for objects that are not indices.
        IndexError: The methods raise it for indices out of bounds, too many indices, and shapes that don't fit.
        ValueError: The methods raise it for values that don't broadcast to the selection, and for arrays on two
            devices.

    An update copies `x` and reads `values` once; libraries that can't write into arrays also sort the indices.

    Source: the property `at` of JAX's arrays.

    >>> import numpy as np
    >>> x = np.asarray([1.0, 2.0, 3.0])
    >>> at(x)[np.asarray([0, 0, 2])].add(10.0)
    array([21.,  2., 13.])
    >>> at(x, slice(1, None)).set(np.asarray([7.0, 8.0]))
    array([1., 7., 8.])
    >>> at(x)[np.asarray([0, 5])].get(mode="fill", fill_value=-1.0)
    array([ 1., -1.])
    """
    return at.native(x)(x, index)


def _check_value(function: str, name: str, x: Array, value: Any) -> None:
    if type(value) not in _NUMBERS:
        checks.together(function, x=x, **{name: value})
    checks.castable(function, name, array_namespace(x), value, x, "x")


def _check_update(_: str, x: Array, index: Any, values: Any, operation: Operation, mode: Any) -> tuple[bool]:
    """Check the arguments of an update.

    Return whether it writes at an integer array along the first axis, with a value for each index or one number.
    """
    name = f"at.{operation}"
    checks.choice(name, "mode", mode, MODES)
    if operation != "set":
        checks.dtype(name, "x", array_namespace(x), x, _KINDS[operation])
    _check_value(name, "values", x, values)
    return (
        operation not in ("divide", "power")
        and mode in (None, "raise")
        and _are_positions(name, x, index)[0]
        and (
            type(values) in _NUMBERS
            or (
                type(values) is type(x)
                and values.dtype == x.dtype
                and tuple(values.shape) == (*index.shape, *x.shape[1:])
            )
        ),
    )


def _are_positions(_: str, x: Array, index: Any) -> tuple[bool]:
    """Return whether an index is an integer array for the first axis, on the device of `x`, and neither is empty."""
    if index is None or not index.ndim or not x.ndim or 0 in (*x.shape, *index.shape):
        return (False,)
    is_integer = checks.kind_of(index) in checks.INTEGERS
    return (is_integer and checks.device_of(x) == checks.device_of(index),)
