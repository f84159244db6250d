"""`x[key]` and `x[key] = value` as operations: the arrays of a key are arguments, its other parts are static."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from xpand import array_namespace, is_writeable_array
from xpand.extend import LibraryArray as Array, LibraryNamespace, device_of, is_lazy
from xpand_extensions._at import GenericAt

from .._bounds import index_dtype
from .._index import Basic, Rows
from ..scatter._at import At, Operation
from ._core import TracedArray, bind
from ._keys import axes_taken, backwards, forwards, passes_over, put_together, spelled_out


def block(xp: Any, x: Array, e: Array) -> Array:
    """Build matrices `[[x, e], [0, x]]`. The upper right block of their function is the derivative along `e`."""
    lower = xp.concat([xp.zeros_like(x), x], axis=-1)
    return xp.concat([xp.concat([x, e], axis=-1), lower], axis=-2)


def _logm_along(base: Any) -> Callable[..., Any]:
    def logm_along(x: Array, e: Array) -> Array:
        """Compute the derivative of the logarithm at `x` along `e`.

        (R. Mathias, SIAM J. Matrix Anal. Appl. 17 (1996) 610.)
        """
        from xpand_extensions import linalg

        size = x.shape[-1]
        return linalg.logm(block(array_namespace(x), x, e))[..., :size, size:]

    return logm_along


MATRICES: Final[dict[str, Callable[[Any], Callable[..., Any]]]] = {"linalg.logm_along": _logm_along}
"""Operations outside of the namespace."""


def _written(operation: Operation) -> Callable[[Any], Callable[..., Any]]:
    def make(base: Any) -> Callable[..., Any]:
        def write(table: Any, values: Any, index: Any, *, dropped: bool, unique: bool) -> Any:
            from xpand_extensions._rows import row_kernels

            if 0 in values.shape or 0 in table.shape:
                return base.asarray(table, copy=True)
            rows = Rows(index, table.shape[0], table.shape[1], tuple(index.shape), unique, dropped)
            return row_kernels(table)._write_rows(table, rows, values, operation)

        return write

    return make


ROWS: Final[dict[str, Callable[[Any], Callable[..., Any]]]] = {
    f"rows.{operation}": _written(operation) for operation in ("set", "add", "multiply", "min", "max")
}
"""Operations outside of the namespace."""


def _getitem(base: Any) -> Callable[..., Any]:
    def getitem(x: Any, *arrays: Any, key: tuple[Any, ...]) -> Any:
        return x[put_together(key, arrays)]

    def ending(x: Any, *arrays: Any, key: tuple[Any, ...]) -> Any:
        return x[_ending(base, x, key, arrays) if any(map(passes_over, key)) else put_together(key, arrays)]

    return ending if is_lazy(base) else getitem


def _ending(base: Any, x: Any, key: tuple[Any, ...], arrays: Sequence[Any]) -> tuple[Any, ...]:
    """Return the key with slices that end right after the last selected element.

    If the other elements lie in a separate chunk, Dask keeps this chunk, now empty. If the result has one element, Dask
    takes both chunks for this element, and operations on it are wrong.
    """
    parts = []
    axis = 0
    for part in spelled_out(base, x.ndim, key, arrays):
        size = x.shape[axis] if axis < x.ndim else 0
        if passes_over(part) and not math.isnan(size):
            selected = range(size)[part]
            parts.append(slice(selected[0], selected[-1] + 1, part.step) if selected else slice(0, 0))
        else:
            parts.append(part)
        axis += axes_taken(base, part)
    return tuple(parts)


def _setitem(base: Any) -> Callable[..., Any]:
    def setitem(x: Any, value: Any, *arrays: Any, key: tuple[Any, ...]) -> Any:
        if not is_writeable_array(x):
            from ..scatter import at

            return at(x)[put_together(key, arrays)].set(base.astype(value, x.dtype, copy=False))
        if is_lazy(base) and not arrays:
            found = _by_choice(base, x, value, spelled_out(base, x.ndim, key, ()))
            if found is not None:
                return found
        if is_lazy(base) and backwards(key):  # Dask sets the wrong elements if the key also has an integer
            key, axes = forwards(base, x.shape, key, arrays)
            return base.flip(_setitem(base)(base.flip(x, axis=axes), value, *arrays, key=key), axis=axes)
        if is_lazy(base) and 0 in value.shape and 0 in x[put_together(key, arrays)].shape:
            return x  # Dask refuses an empty selection
        x = base.asarray(x, copy=True)
        x[put_together(key, arrays)] = value
        return x

    return setitem


def _by_choice(base: Any, x: Any, value: Any, parts: Sequence[Any]) -> Any:
    """Set elements by `where`, if only integers and slices select them; return None for other keys.

    Dask serializes its whole graph at each assignment, so the time is quadratic in the number of assignments.
    """
    wanted = [part for part in parts if part is not None]
    if len(wanted) != x.ndim or not all(
        isinstance(part, slice) or (isinstance(part, int) and -size <= part < size)
        for part, size in zip(wanted, x.shape)
    ):
        return None
    selected = [
        range(size)[part] if isinstance(part, slice) else range(part % size, part % size + 1)
        for part, size in zip(wanted, x.shape)
    ]
    if not all(selected):
        return x
    sizes = iter([len(positions) for positions, part in zip(selected, wanted) if isinstance(part, slice)])
    shape = tuple(1 if part is None else next(sizes) for part in parts if not isinstance(part, int))
    if value.ndim > len(shape):  # leading axes of size 1, or an error
        value = base.squeeze(value, axis=tuple(range(value.ndim - len(shape))))
    value = base.astype(base.broadcast_to(value, shape), x.dtype)
    value = base.reshape(value, tuple(map(len, selected)))
    is_set = None
    for axis, (positions, size) in enumerate(zip(selected, x.shape)):
        if positions == range(size):
            continue
        if positions.step < 0:
            value, positions = base.flip(value, axis=axis), positions[::-1]
        numbers = base.arange(size, dtype=base.int64, device=device_of(x))
        here = (numbers >= positions[0]) & (numbers <= positions[-1]) & ((numbers - positions[0]) % positions.step == 0)
        here = base.reshape(here, tuple(size if i == axis else 1 for i in range(x.ndim)))
        is_set = here if is_set is None else base.logical_and(is_set, here)
        if isinstance(wanted[axis], slice):
            value = _spread(base, value, axis, positions, size)
    return value if is_set is None else base.where(is_set, value, x)


def _spread(base: Any, value: Any, axis: int, positions: range, size: int) -> Any:
    """Scatter the elements along an axis into zeros."""

    def zeros(count: int, *more: int) -> Any:
        shape = (*value.shape[:axis], count, *more, *value.shape[axis + 1 :])
        return base.zeros(shape, dtype=value.dtype, device=device_of(value))

    found, count = value, len(positions)
    if positions.step > 1 and count > 1:
        spaced = base.concat([base.expand_dims(found, axis=axis + 1), zeros(count, positions.step - 1)], axis=axis + 1)
        found = base.reshape(spaced, (*value.shape[:axis], count * positions.step, *value.shape[axis + 1 :]))
        found = found[(*(slice(None),) * axis, slice(0, positions[-1] - positions[0] + 1))]
    around = (positions[0], size - 1 - positions[-1])
    pieces = [zeros(around[0])] * bool(around[0]) + [found] + [zeros(around[1])] * bool(around[1])
    return base.concat(pieces, axis=axis) if len(pieces) > 1 else found


def unchanged(x: Array) -> Array:
    """Return an array."""
    return x


INDEXING: Final[dict[str, Callable[[Any], Callable[..., Any]]]] = {
    "getitem": _getitem,
    "setitem": _setitem,
    "to_device": lambda base: lambda x, *, device: base.asarray(x, device=device),
    "stop_gradient": lambda base: unchanged,
    **MATRICES,
    **ROWS,
}
"""Operations outside of the namespace."""


def applied(xp: Any, name: str, args: Any, params: dict[str, Any]) -> Array:
    """Apply an operation outside of the namespace to arrays, traced or not."""
    if "operations" in vars(xp):  # faster than hasattr for modules with `__getattr__`
        return xp.wrap(bind(xp.operations[name], args, params))
    return INDEXING[name](xp)(*args, **params)


def get(xp: Any, x: Any, key: tuple[Any, ...], arrays: Sequence[Any] = ()) -> Any:
    """Select elements, traced or not."""
    return applied(xp, "getitem", (x, *arrays), {"key": key})


def put(xp: Any, x: Any, value: Any, key: tuple[Any, ...], arrays: Sequence[Any] = ()) -> Any:
    """Set elements, traced or not."""
    return applied(xp, "setitem", (x, value, *arrays), {"key": key})


def numbers_of(xp: Any, shape: Sequence[int], key: tuple[Any, ...], arrays: Sequence[Any], device: Any) -> Any:
    """Return the flat numbers of the elements that a key selects in an array with a shape."""
    shape = tuple(shape)
    return get(
        xp, xp.reshape(xp.arange(math.prod(shape), dtype=index_dtype(xp, device), device=device), shape), key, arrays
    )


def write_rows(
    xp: Any, operation: str, table: Array, values: Array, index: Array, *, dropped: bool = False, unique: bool = False
) -> Array:
    """Update rows of a table."""
    return applied(xp, f"rows.{operation}", (table, values, index), {"dropped": dropped, "unique": unique})


def read_rows(xp: Any, table: Array, index: Array, *, dropped: bool = False) -> Array:
    """Read rows of a table. Dropped rows are zero."""
    count, width = table.shape
    if not count:
        return xp.zeros((*index.shape, width), dtype=table.dtype, device=getattr(table, "device", None))
    inside = None
    if dropped:
        inside = index < count
        index = xp.where(inside, index, xp.zeros_like(index))
    if width == 1:  # without the axis, NumPy reads four times as fast
        found = xp.reshape(xp.take(xp.reshape(table, (count,)), index), (index.shape[0], 1))
    else:
        found = xp.take(table, index, axis=0)
    return found if inside is None else xp.where(xp.expand_dims(inside, axis=1), found, xp.zeros_like(found))


class TracedAt(GenericAt):
    """A traced array at an index. Operations with rules read and write its rows."""

    __slots__ = ()

    def _write_basic(self, selection: Basic, values: Array) -> Array:
        namespace: LibraryNamespace = array_namespace(self.x)
        x = namespace.wrap(self.x)
        return applied(x._namespace, "setitem", (x, values), {"key": selection.key})

    def _read_rows(self, table: Array, rows: Rows, fill: Any) -> Array:
        if rows.dropped or rows.width != 1:
            return super()._read_rows(table, rows, fill)
        return read_rows(array_namespace(table), table, rows.index)

    def _write_rows(self, table: Array, rows: Rows, values: Array, operation: Operation) -> Array:
        xp = array_namespace(table)
        options = {"dropped": rows.dropped, "unique": rows.unique}
        if operation == "power":
            return super()._write_rows(table, rows, values, operation)
        if operation == "subtract":
            return table - write_rows(xp, "add", xp.zeros_like(table), values, rows.index, **options)
        if operation == "divide":
            return table / write_rows(xp, "multiply", xp.ones_like(table), values, rows.index, **options)
        return write_rows(xp, operation, table, values, rows.index, **options)


def at(x: TracedArray, index: Any = ..., /) -> At:
    """Return a traced array at an index."""
    return TracedAt(x, index)
