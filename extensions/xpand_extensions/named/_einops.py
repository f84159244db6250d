"""Conversion of arrays without names, by patterns like those of einops."""

from types import EllipsisType

from xpand import array_namespace
from xpand.extend import Array, checks, describe, is_array

from . import _axis
from ._array import NamedArray, no_axis
from ._plans import check_named
from ._rearrange import side, sizes_of_parts
from ._shapes import grouped

__all__ = ["from_einops", "to_einops"]


def from_einops(array: Array, pattern: str, /, **sizes: int) -> NamedArray:
    """Name the axes of an array by a pattern, and split the groups of the pattern.

    Args:
        array: An array without names.
        pattern: The axes in the order of the array, separated by spaces. A group in parentheses is one axis of the
            array that is split into several, as in "batch (height width) channel".
        **sizes: The sizes of axes in groups: one of each group may be omitted.

    Returns:
        A named array of the same elements, without a copy if the library can do that.

    Raises:
        ValueError: The pattern can't be read or doesn't fit the array, or a size is missing or doesn't divide its axis.
        TypeError: `array` is not an array, or a size is not an integer.

    Source: the part before the arrow in `einops.rearrange`.

    >>> import numpy as np
    >>> from_einops(np.zeros((2, 12)), "batch (height width)", height=3).shape
    {'batch': 2, 'height': 3, 'width': 4}
    """
    name = "from_einops"
    if not is_array(array):
        raise TypeError(f"{name}: array must be an array without names, got {describe(array)}")
    groups = _parsed(name, pattern)
    if len(groups) != len(array.shape):
        raise ValueError(
            f"{name}: {pattern!r} has {len(groups)} axes, and the array {len(array.shape)}, of sizes "
            f"{tuple(array.shape)}"
        )
    given = {each for group in groups for each in group}
    for each, size in sizes.items():
        if each not in given:
            raise ValueError(f"{name}: {pattern!r} has no axis {each!r}, whose size is given")
        checks.integer(name, each, size, minimum=0)
    shape = [
        size
        for group, whole in zip(groups, array.shape)
        for size in sizes_of_parts(name, pattern, " ".join(group), whole, group, sizes)
    ]
    names = [each for group in groups for each in group]
    if tuple(shape) != tuple(array.shape):
        array = array_namespace(array).reshape(array, tuple(shape))
    return NamedArray(array, tuple(names))


def to_einops(x: NamedArray, pattern: str, /) -> Array:
    """Return the array without names, with its axes in the order of a pattern, and merge groups of the pattern.

    Args:
        x: A named array.
        pattern: All axes of `x`, separated by spaces. A group in parentheses becomes one axis.

    Raises:
        ValueError: The pattern can't be read, or its axes are not those of the array.
        TypeError: `x` is no named array.

    Source: the part after the arrow in `einops.rearrange`.

    >>> import numpy as np
    >>> from xpand_extensions import named as hax
    >>> to_einops(hax.named(np.zeros((2, 3, 4)), ("batch", "height", "width")), "(width height) batch").shape
    (12, 2)
    """
    name = "to_einops"
    check_named(name, "x", x)
    groups = _parsed(name, pattern)
    names = tuple([each for group in groups for each in group])
    for each in names:
        if each not in x.names:
            raise no_axis(name, x, each, None)
    missing = [each for each in x.names if each not in names]
    if missing:
        raise ValueError(f"{name}: {pattern!r} lacks the axes {', '.join(map(repr, missing))} of the array")
    return grouped(x, groups)


def _parsed(function: str, pattern: str) -> list[tuple[str, ...]]:
    """Read a pattern: the names in the group of each axis, or its own name."""
    if not isinstance(pattern, str):
        raise TypeError(f"{function}: pattern must be a string, got {describe(pattern)}")
    groups: list[tuple[str, ...]] = []
    for each in side(function, pattern, pattern, 0):
        if isinstance(each, EllipsisType) or (each.name is not None and each.parts is not None):
            raise ValueError(f"{function}: {pattern!r} must list all axes, as names or groups of names such as '(a b)'")
        groups.append((each.name,) if each.parts is None and each.name is not None else each.parts or ())
    _axis.different(function, [each for group in groups for each in group])
    return groups
