"""`scatter.at` with the standard alone; libraries override single methods."""

import math
from collections.abc import Callable
from typing import Any

from xpand import UnsupportedError, array_namespace, is_concrete, is_writeable_array
from xpand.extend import DType, LibraryArray as Array, Namespace, Scalar, checks
from xpand_extensions._bounds import Mode, index_dtype
from xpand_extensions._index import Basic, Mask, Rows, Selection, rows_of_mask, select
from xpand_extensions._runs import Matches, Runs
from xpand_extensions.scatter._at import At, Operation
from xpand_extensions.scatter._segments import Combination, identity

Binary = Callable[[Array, Array], Array]


def binary(xp: Namespace, operation: Operation, dtype: DType) -> Binary:
    """Return the function of two arrays that an update applies."""
    if operation == "set":
        return lambda old, new: new
    if operation in ("min", "max"):
        if checks.kind(xp, dtype) == "bool":  # the standard does not order booleans
            return xp.logical_and if operation == "min" else xp.logical_or
        return xp.minimum if operation == "min" else xp.maximum
    name = {"power": "pow"}.get(operation, operation)
    return getattr(xp, name)


# For these updates, the values for one element can be combined before the update.
COMBINED: dict[Operation, Combination] = {
    "add": "add",
    "subtract": "add",
    "multiply": "multiply",
    "divide": "multiply",
    "min": "min",
    "max": "max",
}


class GenericAt(At):
    """An array at an index, for any library that follows the standard.

    The array is treated as `(count, width)`, and one flat index selects its rows. A library defines only how to read
    and write rows.
    """

    __slots__ = ()

    # --- overridable by libraries ----------------------------------------------------------------------------------

    @staticmethod
    def bounds(index: Array) -> tuple[int, int]:
        """Return the smallest and the largest element of a concrete, non-empty index."""
        xp = array_namespace(index)
        return int(xp.min(index)), int(xp.max(index))

    @staticmethod
    def runs(index: Array, count: int) -> Runs | Matches:
        """Find where each row is in the index."""
        return Runs.of(array_namespace(index), index, count)

    def _read_basic(self, key: tuple[int | slice, ...]) -> Array:
        return self.x[key]

    def _write_basic(self, selection: Basic, values: Array) -> Array:
        """Return a copy with new values at a basic index. The values have the shape `selection.sliced`."""
        xp = array_namespace(self.x)
        out: Array = xp.asarray(self.x, copy=True)
        if is_writeable_array(out):
            out[selection.key] = values
            return out
        # The array is read-only: number its elements, and select the numbers.
        size = math.prod(self.x.shape)
        device = checks.device_of(self.x)
        numbers = xp.reshape(xp.arange(size, dtype=index_dtype(xp, device), device=device), self.x.shape)
        rows = Rows(xp.reshape(numbers[selection.key], (-1,)), size, 1, selection.sliced, True, False)
        written = self._write_rows(xp.reshape(self.x, (size, 1)), rows, xp.reshape(values, (-1, 1)), "set")
        return xp.reshape(written, self.x.shape)

    def _update_basic(self, selection: Basic, values: Array | Scalar, operation: Operation) -> Array:
        """Update at a basic index. The values broadcast to `selection.shape`, which contains no 0."""
        xp = array_namespace(self.x)
        values = xp.reshape(xp.broadcast_to(self._values(values), selection.shape), selection.sliced)
        if operation != "set":
            values = binary(xp, operation, self.x.dtype)(self._read_basic(selection.key), values)
        return self._write_basic(selection, values)

    def _copy_basic(self, selection: Basic) -> Array:
        """Copy the values at a basic index. A view would change with the input."""
        xp = array_namespace(self.x)
        return xp.reshape(xp.asarray(self._read_basic(selection.key), copy=True), selection.shape)

    def _read_rows(self, table: Array, rows: Rows, fill: Any) -> Array:
        """Select rows of an array of shape `(count, width)`; dropped rows get the fill value."""
        xp = array_namespace(table)
        if not rows.dropped:
            return xp.take(table, rows.index, axis=0)
        if not rows.count:
            return xp.full((rows.index.shape[0], rows.width), fill, dtype=table.dtype, device=checks.device_of(table))
        inside = rows.index < rows.count
        found = xp.take(table, xp.where(inside, rows.index, xp.zeros_like(rows.index)), axis=0)
        return xp.where(xp.expand_dims(inside, axis=1), found, self._scalar(fill))

    def _write_rows(self, table: Array, rows: Rows, values: Array, operation: Operation) -> Array:
        """Update rows of an array of shape `(count, width)` with values of shape `(len(rows.index), width)`."""
        xp = array_namespace(table)
        if operation == "power":

            def power(old: Array, runs: Runs | Matches, number: int, there: Array) -> Array:
                return xp.pow(old, xp.where(there, runs.occurrence(number, values), self._scalar(1)))

            return self._in_turn(table, rows, power)
        runs = self.runs(rows.index, rows.count)
        present = xp.expand_dims(runs.present, axis=1)
        combined = COMBINED.get(operation)
        if combined is None or rows.unique:
            total = runs.last(values)
        else:
            total = runs.reduce(values, binary(xp, combined, table.dtype), identity(xp, table.dtype, combined))
        # Rows without an update have arbitrary totals: 1 avoids overflow and division by zero.
        if operation not in ("set", "min", "max"):
            total = xp.where(present, total, self._scalar(1))
        return xp.where(present, binary(xp, operation, table.dtype)(table, total), table)

    def _apply_rows(self, table: Array, rows: Rows, function: Callable[[Array], Array]) -> Array:
        """Apply a function to rows of an array of shape `(count, width)`, once for each time that a row is selected."""
        return self._in_turn(table, rows, lambda old, runs, number, there: function(old))

    def _masked(self, selection: Mask) -> Array:
        """Read the elements at the true positions of a mask with unknown values."""
        return self.x[(*([slice(None)] * selection.axis), selection.mask)]

    # --- operations behind methods of At ---------------------------------------------------------------------------

    def _write(self, operation: Operation, values: Array | Scalar, mode: Mode | None) -> Array:
        name = f"at.{operation}"
        xp = array_namespace(self.x)
        selection = self._select(name, mode)
        if isinstance(selection, Mask):
            values = self._values(values)
            spread = _spread_over_mask(name, xp, self.x, selection, values)
            if spread is not None:
                updated = binary(xp, operation, self.x.dtype)(self.x, spread)
                return xp.where(_over_axes(xp, selection, self.x.ndim), updated, self.x)
            selection = rows_of_mask(name, xp, self.x, selection, self.bounds)
        _check_broadcast(name, values, selection)
        if 0 in selection.shape:
            return xp.asarray(self.x, copy=True)
        if isinstance(selection, Basic):
            return self._update_basic(selection, values, operation)
        values = xp.broadcast_to(self._values(values), selection.shape)
        written = self._write_rows(
            self._table(selection),
            selection,
            xp.reshape(values, (selection.index.shape[0], selection.width)),
            operation,
        )
        return xp.reshape(written, self.x.shape)

    def _apply(self, function: Callable[[Array], Array], mode: Mode | None) -> Array:
        xp = array_namespace(self.x)
        selection = self._select("at.apply", mode)
        function = self._checked(function)
        if isinstance(selection, Mask):
            return xp.where(_over_axes(xp, selection, self.x.ndim), function(self.x), self.x)
        if 0 in selection.shape:
            return xp.asarray(self.x, copy=True)
        if isinstance(selection, Basic):
            return self._write_basic(selection, function(self._read_basic(selection.key)))
        table = self._table(selection)
        if selection.unique and not selection.dropped:
            new = function(self._read_rows(table, selection, None))
            written = self._write_rows(table, selection, new, "set")
        else:
            written = self._apply_rows(table, selection, function)
        return xp.reshape(written, self.x.shape)

    def _read(self, mode: Mode | None, fill_value: Array | Scalar | None) -> Array:
        xp = array_namespace(self.x)
        selection = self._select("at.get", mode)
        if isinstance(selection, Mask):
            if not is_concrete(selection.mask):
                return self._masked(selection)
            selection = rows_of_mask("at.get", xp, self.x, selection, self.bounds)
        if isinstance(selection, Basic):
            return self._copy_basic(selection)
        if 0 in selection.shape:
            return xp.zeros(selection.shape, dtype=self.x.dtype, device=checks.device_of(self.x))
        fill = self._fill_value() if fill_value is None else fill_value
        return xp.reshape(self._read_rows(self._table(selection), selection, fill), selection.shape)

    # --- parts -----------------------------------------------------------------------------------------------------

    def _select(self, name: str, mode: Mode | None) -> Selection:
        return select(name, array_namespace(self.x), self.x, self.index, mode, self.bounds)

    def _table(self, rows: Rows) -> Array:
        return array_namespace(self.x).reshape(self.x, (rows.count, rows.width))

    def _values(self, values: Array | Scalar) -> Array:
        if isinstance(values, (bool, int, float, complex)) and not hasattr(values, "dtype"):
            return self._scalar(values)
        return array_namespace(self.x).astype(values, self.x.dtype, copy=False)

    def _scalar(self, value: Any) -> Array:
        xp = array_namespace(self.x)
        if hasattr(value, "dtype"):
            return xp.astype(value, self.x.dtype, copy=False)
        return xp.full((), value, dtype=self.x.dtype, device=checks.device_of(self.x))

    def _fill_value(self) -> Any:
        xp = array_namespace(self.x)
        match checks.kind(xp, self.x.dtype):
            case "bool":
                return True
            case "signed":
                return checks.integer_range(xp, self.x.dtype)[0]
            case "unsigned":
                return checks.integer_range(xp, self.x.dtype)[1]
            case _:
                return math.nan

    def _checked(self, function: Callable[[Array], Array]) -> Callable[[Array], Array]:
        """Check the results of the user's function, and cast them to the data type of `x`."""

        def call(x: Array) -> Array:
            result = function(x)
            self._check_value("at.apply", "the function's result", result)
            if tuple(getattr(result, "shape", ())) != tuple(x.shape):
                raise ValueError(
                    f"at.apply: function must keep the shape of its argument, {tuple(x.shape)}, got "
                    f"{tuple(getattr(result, 'shape', ()))}"
                )
            return self._values(result)

        return call

    def _in_turn(self, table: Array, rows: Rows, step: Callable[[Array, Runs | Matches, int, Array], Array]) -> Array:
        """Update with the first occurrence of each index, then with the second, and so on."""
        xp = array_namespace(table)
        if not rows.unique and not is_concrete(rows.index):
            raise UnsupportedError(
                "at: power and apply need to know how often an element is selected, but the values of the index arrays "
                "aren't known here (under jit or vmap, or in a lazy array); index with slices or one mask, or call it "
                "where the values are known"
            )
        runs = self.runs(rows.index, rows.count)
        for number in range(1 if rows.unique else runs.longest):
            there = xp.expand_dims(runs.has_occurrence(number), axis=1)
            table = xp.where(there, step(table, runs, number, there), table)
        return table


def _check_broadcast(function: str, values: Array | Scalar, selection: Basic | Rows) -> None:
    if isinstance(values, Scalar) and not hasattr(values, "dtype"):
        return
    shape = checks.known_shape(function, "values", values)
    if not checks.broadcasts_to(shape, selection.shape):
        raise ValueError(
            f"{function}: values of shape {shape} do not broadcast to the selection's shape {selection.shape}"
        )


def _over_axes(xp: Namespace, selection: Mask, ndim: int) -> Array:
    """Give a mask the axes of the whole array."""
    mask = selection.mask
    after = ndim - selection.axis - mask.ndim
    return xp.reshape(mask, (1,) * selection.axis + tuple(mask.shape) + (1,) * after)


def _spread_over_mask(function: str, xp: Namespace, x: Array, selection: Mask, values: Array) -> Array | None:
    """Expand the values for a mask's selection to the whole array, for an update by `where`.

    Return None if there is one value for each true position of the mask, and their number can be checked.
    """
    mask = selection.mask
    after = x.ndim - selection.axis - mask.ndim
    shape = checks.known_shape(function, "values", values)
    position = len(shape) - after - 1  # the axis of values that runs over the mask's positions
    if position >= 0 and shape[position] != 1:
        if is_concrete(mask):
            return None
        # The number of true positions is unknown. But each one can be numbered, and a correct call has a value for
        # each.
        if shape[position] == 0:
            return x
        flat = xp.reshape(mask, (-1,))
        number = xp.clip(
            xp.cumulative_sum(xp.astype(flat, index_dtype(xp, checks.device_of(flat)))) - 1, 0, shape[position] - 1
        )
        values = xp.take(values, number, axis=position)
    if position >= 0:
        lengths = tuple(mask.shape) if shape[position] != 1 else (1,) * mask.ndim
        values = xp.reshape(values, shape[:position] + lengths + shape[position + 1 :])
    if not checks.broadcasts_to(tuple(values.shape), tuple(x.shape)):
        selected = (*x.shape[: selection.axis], "true positions of the mask", *x.shape[x.ndim - after :])
        raise ValueError(
            f"{function}: values of shape {shape} do not broadcast to the selection's shape "
            f"({', '.join(map(str, selected))})"
        )
    return values
