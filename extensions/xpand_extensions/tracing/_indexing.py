"""`x[key]` and `x[key] = value` as operations: the arrays of a key are arguments, the rest of it is static."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from xpand import is_writeable_array
from xpand._arguments import device_of
from xpand._namespace import describe, is_lazy

from ._matrices import MATRICES
from ._rows import ROWS

ARRAY: Final = "array"
"""The placeholder of an array in a key."""


def taken_apart(key: Any, from_list: Callable[[list[Any]], Any] | None = None) -> tuple[tuple[Any, ...], list[Any]]:
    """Divide a key into its static part and its arrays, which `from_list` makes of lists where the library does."""
    arrays: list[Any] = []
    parts: list[Any] = []
    for part in key if isinstance(key, tuple) else (key,):
        if from_list is not None and isinstance(part, list):
            part = from_list(part)
        if hasattr(part, "dtype"):
            arrays.append(part)
            parts.append(ARRAY)
        elif isinstance(part, slice):
            parts.append(slice(*(_index(x) for x in (part.start, part.stop, part.step))))
        else:
            parts.append(part if part is None or part is Ellipsis or isinstance(part, bool) else _index(part))
    return tuple(parts), arrays


def _index(x: Any) -> Any:
    if x is None:
        return None
    if not hasattr(x, "__index__"):
        raise TypeError(
            f"x[key]: takes integers, slices, None, '...', and integer or boolean arrays, got {describe(x)}; turn a "
            "list into an array with `xp.asarray`"
        )
    return x.__index__()


def put_together(key: tuple[Any, ...], arrays: Sequence[Any]) -> Any:
    """Build the key from its static part and its arrays."""
    given = iter(arrays)
    parts = tuple(next(given) if part is ARRAY else part for part in key)
    return parts[0] if len(parts) == 1 else parts


def _getitem(base: Any) -> Callable[..., Any]:
    def getitem(x: Any, *arrays: Any, key: tuple[Any, ...]) -> Any:
        return x[put_together(key, arrays)]

    def ending(x: Any, *arrays: Any, key: tuple[Any, ...]) -> Any:
        return x[_ending(base, x, key, arrays) if any(map(passes_over, key)) else put_together(key, arrays)]

    return ending if is_lazy(base) else getitem


def passes_over(part: Any) -> bool:
    """Tell whether a part of a key is a slice with a step above 1."""
    return isinstance(part, slice) and part.step is not None and part.step > 1


def _ending(base: Any, x: Any, key: tuple[Any, ...], arrays: Sequence[Any]) -> tuple[Any, ...]:
    """Return the key whose slices end right behind the last element that they select.

    Where further elements lie in a chunk of their own, Dask keeps that chunk, now empty. For a result with one element
    it then takes both chunks for that element, so that operations on it are wrong.
    """
    from .rules._keys import axes_taken, spelled_out

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
    from .rules._keys import backwards, forwards, spelled_out

    def setitem(x: Any, value: Any, *arrays: Any, key: tuple[Any, ...]) -> Any:
        if not is_writeable_array(x):
            from ..scatter import at

            return at(x)[put_together(key, arrays)].set(value)
        if is_lazy(base) and not arrays:
            found = _by_choice(base, x, value, spelled_out(base, x.ndim, key, ()))
            if found is not None:
                return found
        if is_lazy(base) and backwards(key):  # where Dask sets the wrong elements if the key has an integer too
            key, axes = forwards(base, x.shape, key, arrays)
            return base.flip(_setitem(base)(base.flip(x, axis=axes), value, *arrays, key=key), axis=axes)
        if is_lazy(base) and 0 in value.shape and 0 in x[put_together(key, arrays)].shape:
            return x  # Dask refuses an empty selection
        x = base.asarray(x, copy=True)
        x[put_together(key, arrays)] = value
        return x

    return setitem


def _by_choice(base: Any, x: Any, value: Any, parts: Sequence[Any]) -> Any:
    """Set the elements that integers and slices select by `where`; return None for other keys.

    Dask serializes its whole graph at each assignment, which takes time quadratic in their number.
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
    sizes = iter([len(places) for places, part in zip(selected, wanted) if isinstance(part, slice)])
    shape = tuple(1 if part is None else next(sizes) for part in parts if not isinstance(part, int))
    if value.ndim > len(shape):  # leading axes of size 1, or it doesn't fit
        value = base.squeeze(value, axis=tuple(range(value.ndim - len(shape))))
    value = base.astype(base.broadcast_to(value, shape), x.dtype)
    value = base.reshape(value, tuple(map(len, selected)))
    is_set = None
    for axis, (places, size) in enumerate(zip(selected, x.shape)):
        if places == range(size):
            continue
        if places.step < 0:
            value, places = base.flip(value, axis=axis), places[::-1]
        numbers = base.arange(size, dtype=base.int64, device=device_of(x))
        here = (numbers >= places[0]) & (numbers <= places[-1]) & ((numbers - places[0]) % places.step == 0)
        here = base.reshape(here, tuple(size if i == axis else 1 for i in range(x.ndim)))
        is_set = here if is_set is None else base.logical_and(is_set, here)
        if isinstance(wanted[axis], slice):
            value = _spread(base, value, axis, places, size)
    return value if is_set is None else base.where(is_set, value, x)


def _spread(base: Any, value: Any, axis: int, places: range, size: int) -> Any:
    """Scatter the elements along an axis into zeros."""

    def zeros(count: int, *more: int) -> Any:
        shape = (*value.shape[:axis], count, *more, *value.shape[axis + 1 :])
        return base.zeros(shape, dtype=value.dtype, device=device_of(value))

    found, count = value, len(places)
    if places.step > 1 and count > 1:
        spaced = base.concat([base.expand_dims(found, axis=axis + 1), zeros(count, places.step - 1)], axis=axis + 1)
        found = base.reshape(spaced, (*value.shape[:axis], count * places.step, *value.shape[axis + 1 :]))
        found = found[(*(slice(None),) * axis, slice(0, places[-1] - places[0] + 1))]
    around = (places[0], size - 1 - places[-1])
    pieces = [zeros(around[0])] * bool(around[0]) + [found] + [zeros(around[1])] * bool(around[1])
    return base.concat(pieces, axis=axis) if len(pieces) > 1 else found


def _to_device(base: Any) -> Callable[..., Any]:
    def to_device(x: Any, *, device: Any) -> Any:
        return base.asarray(x, device=device)

    return to_device


def _stop_gradient(base: Any) -> Callable[..., Any]:
    def stop_gradient(x: Any) -> Any:
        return x

    return stop_gradient


INDEXING: Final[dict[str, Callable[[Any], Callable[..., Any]]]] = {
    "getitem": _getitem,
    "setitem": _setitem,
    "to_device": _to_device,
    "stop_gradient": _stop_gradient,
    **MATRICES,
    **ROWS,
}
"""Operations outside of the namespace."""
