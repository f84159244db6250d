"""Conversion of arrays without names, by patterns like those of einops."""

import math
import re
from typing import Final

from xpand import array_namespace
from xpand.extend import Array, checks, describe, is_array

from . import _axis
from ._array import NamedArray, no_axis
from ._plans import check_named
from ._shapes import grouped

__all__ = ["from_einops", "to_einops"]

_TOKEN: Final = re.compile(r"\s*(?:(?P<name>[^\W\d]\w*)|(?P<mark>[()])|(?P<other>\S))")


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
    shape = [size for group, whole in zip(groups, array.shape) for size in _split(name, pattern, group, whole, sizes)]
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
    inner: list[str] | None = None
    at = 0
    while pattern[at:].strip():
        match = _TOKEN.match(pattern, at)
        assert match is not None  # the text does not consist of spaces
        if match["other"] or (match["mark"] and (match["mark"] == "(") != (inner is None)):
            place = match.start("other") if match["other"] else match.start("mark")
            raise ValueError(
                f"{function}: {pattern[place]!r} at position {place} of {pattern!r} is neither a name nor a group in "
                "parentheses"
            )
        if match["name"]:
            inner.append(match["name"]) if inner is not None else groups.append((match["name"],))
        elif inner is None:
            inner = []
        else:
            groups.append(tuple(inner))
            inner = None
        at = match.end()
    if inner is not None:
        raise ValueError(f"{function}: a '(' in {pattern!r} is not closed")
    _axis.different(function, [each for group in groups for each in group])
    return groups


def _split(function: str, pattern: str, group: tuple[str, ...], whole: int, sizes: dict[str, int]) -> list[int]:
    """Return the sizes of the axes of a group. The others determine one that is not given."""
    unknown = [each for each in group if each not in sizes]
    if len(group) == 1 and unknown:
        return [whole]
    known = math.prod(sizes[each] for each in group if each in sizes)
    if len(unknown) > 1:
        raise ValueError(
            f"{function}: the sizes of {', '.join(map(repr, unknown))} in {pattern!r} can't be found; give all but one"
        )
    if (known != whole and not unknown) or (unknown and (known == 0 or whole % known)):
        raise ValueError(
            f"{function}: an axis of size {whole} can't be split into ({' '.join(group)}) of {pattern!r} with the "
            f"sizes {_axis.written([(each, sizes[each]) for each in group if each in sizes])}"
        )
    return [sizes[each] if each in sizes else whole // known for each in group]
