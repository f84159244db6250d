"""The key of `x[key]`: its static part, its arrays, and the selected elements."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from xpand.extend import describe

from ._fit import broadcast

ARRAY: Final = "array"
"""The placeholder of an array in a key."""


def taken_apart(key: Any, from_list: Callable[[Sequence[Any]], Any] | None = None) -> tuple[tuple[Any, ...], list[Any]]:
    """Split a key into its static part and its arrays.

    `from_list` converts lists, and tuples within the key, if the library accepts them.
    """
    arrays: list[Any] = []
    parts: list[Any] = []
    for part in key if isinstance(key, tuple) else (key,):
        if from_list is not None and isinstance(part, (list, tuple)):
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
    if not arrays:
        return key[0] if len(key) == 1 else key
    given = iter(arrays)
    parts = tuple(next(given) if part is ARRAY else part for part in key)
    return parts[0] if len(parts) == 1 else parts


def passes_over(part: Any) -> bool:
    """Return whether a part of a key is a slice with a step above 1."""
    return isinstance(part, slice) and part.step is not None and part.step > 1


def is_mask(xp: Any, x: Any) -> bool:
    """Return whether an array of a key is a mask."""
    return bool(xp.isdtype(x.dtype, "bool"))


def spelled_out(xp: Any, ndim: int, key: tuple[Any, ...], arrays: Sequence[Any]) -> list[Any]:
    """List the parts of a key with its arrays, and one slice for each axis that the key omits."""
    given = iter(arrays)
    parts = [next(given) if part is ARRAY else part for part in key]
    taken = 0
    for part in parts:
        if isinstance(part, bool):
            raise TypeError(f"x[key]: takes integers, slices, None, ... and arrays, got {part}")
        taken += axes_taken(xp, part)
    if taken > ndim:
        raise IndexError(f"x[key]: too many indices: {taken} for an array of {ndim} axes")
    positions = [i for i, part in enumerate(parts) if part is Ellipsis]
    if len(positions) > 1:
        raise IndexError(f"x[key]: takes one ellipsis ('...'), got {len(positions)}")
    position = positions[0] if positions else len(parts)
    return [*parts[:position], *[slice(None)] * (ndim - taken), *parts[position + 1 :]]


def axes_taken(xp: Any, part: Any) -> int:
    """Return the number of axes that a part of a key indexes."""
    if part is None or part is Ellipsis:
        return 0
    return len(part.shape) if hasattr(part, "dtype") and is_mask(xp, part) else 1


def selected(xp: Any, shape: Sequence[int], key: tuple[Any, ...], arrays: Sequence[Any]) -> tuple[tuple[int, ...], int]:
    """Return the shape that a key without masks selects, and the positions of the axes of its arrays in this shape."""
    sizes: list[int] = []
    positions: list[int] = []  # the positions of integers and arrays in the key
    position = axis = 0
    shapes = []
    for i, part in enumerate(spelled_out(xp, len(shape), key, arrays)):
        if part is None:
            sizes.append(1)
            continue
        if isinstance(part, slice):
            sizes.append(len(range(*part.indices(shape[axis]))))
        else:
            if not positions:
                position = len(sizes)
            positions.append(i)
            if hasattr(part, "dtype"):
                shapes.append(tuple(part.shape))
            elif not -shape[axis] <= part < shape[axis]:
                raise IndexError(f"x[key]: index {part} is out of bounds for axis {axis} of size {shape[axis]}")
        axis += 1
    if not shapes:
        return tuple(sizes), 0
    # NumPy's rule: the axes of arrays come first if other entries are between them.
    if positions[-1] - positions[0] >= len(positions):
        position = 0
    return (*sizes[:position], *broadcast(*shapes), *sizes[position:]), position


def is_rows(key: tuple[Any, ...]) -> bool:
    """Return whether a key is one array, for the first axis."""
    return key[0] is ARRAY and all(part is Ellipsis or part == slice(None) for part in key[1:])


def without_masks(xp: Any, key: tuple[Any, ...], arrays: Sequence[Any]) -> tuple[tuple[Any, ...], list[Any], list[int]]:
    """Replace masks by the indices of their true positions.

    Returns:
        The key, its arrays, and the number of the original array of each.
    """
    found: list[Any] = []
    sources: list[int] = []
    parts: list[Any] = []
    for part in key:
        if part is not ARRAY:
            parts.append(part)
            continue
        i = sources[-1] + 1 if sources else 0
        new = list(xp.nonzero(arrays[i])) if is_mask(xp, arrays[i]) else [arrays[i]]
        found.extend(new)
        sources.extend([i] * len(new))
        parts.extend([ARRAY] * len(new))
    return tuple(parts), found, sources


def axis_for_mask(xp: Any, ndim: int, key: tuple[Any, ...], arrays: Sequence[Any]) -> tuple[int, list[Any]] | None:
    """Add an axis to the first mask without axes. The indexed array must get the same axis."""
    i = next((i for i, x in enumerate(arrays) if not len(x.shape) and is_mask(xp, x)), None)
    if i is None:
        return None
    parts = spelled_out(xp, ndim, key, arrays)
    before = next(position for position, part in enumerate(parts) if part is arrays[i])
    axis = sum(axes_taken(xp, part) for part in parts[:before])
    return axis, [*arrays[:i], xp.reshape(arrays[i], (1,)), *arrays[i + 1 :]]


def backwards(key: tuple[Any, ...]) -> bool:
    """Return whether a slice of a key has a negative step."""
    return any(isinstance(part, slice) and part.step is not None and part.step < 0 for part in key)


def forwards(
    xp: Any, shape: Sequence[int], key: tuple[Any, ...], arrays: Sequence[Any]
) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """Return the key with positive steps for an array that is flipped along axes, and these axes."""
    parts: list[Any] = []
    axes: list[int] = []
    axis = 0
    for part in spelled_out(xp, len(shape), key, arrays):
        if isinstance(part, slice) and part.step is not None and part.step < 0:
            start, stop, step = part.indices(shape[axis])
            count, first = len(range(start, stop, step)), shape[axis] - 1 - start
            axes.append(axis)
            parts.append(slice(first, min(first - count * step, shape[axis]), -step) if count else slice(0, 0))
        else:
            parts.append(ARRAY if hasattr(part, "dtype") else part)
        axis += axes_taken(xp, part)
    return tuple(parts), tuple(axes)
