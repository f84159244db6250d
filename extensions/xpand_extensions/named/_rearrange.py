"""Orders, merges and splits axes, by a sequence or a string, and converts patterns like those of einops."""

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import EllipsisType
from typing import Any, Final, NamedTuple

from xpand import array_namespace
from xpand.extend import Array, checks, describe, is_array

from .._plans import Memory
from . import _axis
from ._array import NamedArray, interned, make, no_axis
from ._axis import Axis, AxisSelector
from ._methods import method
from ._plans import check_named, hashable
from ._shapes import grouped, permuted

__all__ = ["from_einops", "rearrange", "to_einops"]


class Group(NamedTuple):
    """An axis in a string: a name, or axes in parentheses that form one axis: `(E: H W)`."""

    name: str | None
    parts: tuple[str, ...] | None


class Pattern(NamedTuple):
    """A parsed string."""

    ordered: bool
    left: tuple[Group | EllipsisType, ...]
    right: tuple[Group | EllipsisType, ...]


class Rearrangement(NamedTuple):
    """The steps for an array with given names and sizes. All but the names may be None."""

    split: tuple[int, ...] | None
    order: tuple[int, ...] | None
    merged: tuple[int, ...] | None
    names: tuple[str, ...]


_REARRANGEMENTS: Final = Memory()
_ORDERS: Final = Memory()
_UNBOUND: Final = (None, None)
"""The name and the size that no binding gives."""
_TOKEN: Final = re.compile(r"\s*(?:(?P<name>[^\W\d]\w*)|(?P<dots>\.\.\.|…)|(?P<mark>[(){}:])|(?P<other>\S))")


@method
def rearrange(array: NamedArray, *args: Any, **bindings: AxisSelector | int) -> NamedArray:
    """Order, merge and split axes.

    Args:
        array: A named array.
        *args: A sequence of axes, where `...` stands for the rest; or a string. A string that starts with a brace finds
            axes by name, and may omit some: `"{H W} -> ... W H"`. Any other string lists all axes in order:
            `"B H W -> B (E: H W)"`. `(E: H W)` means one axis `E` made of two: before the arrow it is split, after the
            arrow the two are merged. After the arrow, `...` stands for the rest. Of several, an axis goes to the first
            that comes after all listed axes before it.
        **bindings: For names in the string: sizes of parts of split axes, names of axes, or both as an `Axis`.

    Returns:
        The array, after at most two reshapes and a transpose. Steps that aren't needed are skipped.

    Raises:
        TypeError: An argument is neither a string nor a sequence of axes.
        ValueError: An axis is unknown, missing or repeated; sizes don't fit; the string can't be read, or lacks a
            binding.

    >>> import numpy as np
    >>> x = NamedArray(np.zeros((8, 4, 6)), ("B", "H", "W"))
    >>> rearrange(x, ("W", ..., "B")).shape
    {'W': 6, 'H': 4, 'B': 8}
    >>> rearrange(x, "{B (H: h1 H) (W: w1 W)} -> (B: B h1 w1) ... H W", H=2, W=3).shape
    {'B': 32, 'H': 2, 'W': 3}
    """
    check_named("rearrange", "array", array)
    if len(args) != 1:
        raise TypeError(
            f"rearrange: takes an array, and a string or a sequence of axes; got {len(args)} arguments after the array"
        )
    (axes,) = args
    if isinstance(axes, str):
        return _by_string(array, axes, bindings)
    if bindings:
        raise TypeError("rearrange: bindings are for strings")
    key = (array.names, hashable(axes))
    names = _ORDERS.get(key)
    if names is None:
        if not isinstance(axes, Sequence):
            raise TypeError(f"rearrange: takes a string or a sequence of axes, got {describe(axes)}")
        found = _axis.entries("rearrange", axes)
        own = array.shape
        for each in found:
            if each is not Ellipsis and (each[0] not in own or each[1] not in (None, own[each[0]])):
                raise no_axis("rearrange", array, *each)
        names = interned(
            _axis.completed("rearrange", array.names, [each if each is Ellipsis else each[0] for each in found])
        )
        if all(each is Ellipsis or each[1] is None for each in found):
            _ORDERS.add(key, names)
    return permuted(array, names)


def _by_string(array: NamedArray, text: str, bindings: Mapping[str, Any]) -> NamedArray:
    x = array.array
    key = (text, array.names, tuple(x.shape), tuple(bindings.items()))
    plan = _REARRANGEMENTS.get(key)
    if plan is None:
        plan = _REARRANGEMENTS.add(key, _planned(parsed(text), text, array, bindings))
    split, order, merged, names = plan
    if split is not None or order is not None or merged is not None:
        xp = array_namespace(x)
        if split is not None:
            x = xp.reshape(x, split)
        if order is not None:
            x = xp.permute_dims(x, order)
        if merged is not None:
            x = xp.reshape(x, merged)
    return make(x, names)


# --- strings ---------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def parsed(text: str) -> Pattern:
    """Read a string.

    Raises:
        ValueError: The string doesn't follow the grammar; the message gives the position.

    >>> parsed("{ B (H: h H) } -> (B: B h) H").right[0]
    Group(name='B', parts=('B', 'h'))
    """
    if text.count("->") != 1:
        raise ValueError(f"rearrange: {text!r} must have one '->'")
    left = text.partition("->")[0]
    stripped = left.strip()
    ordered = not stripped.startswith("{")
    start = 0
    if not ordered:
        start = left.index("{") + 1
        if not stripped.endswith("}"):
            raise ValueError(f"rearrange: the '{{' at position {start - 1} of {text!r} isn't closed")
        left = left[: left.rindex("}")]
    return Pattern(
        ordered,
        side("rearrange", text, left, start, several_dots=not ordered),
        side("rearrange", text, text, text.index("->") + 2, several_dots=True),
    )


def side(
    function: str, text: str, until: str, start: int, *, several_dots: bool = False
) -> tuple[Group | EllipsisType, ...]:
    """Read the axes in a part of a text, from a position up to the end of `until`, with which the text starts."""
    found: list[Group | EllipsisType] = []
    group: list[str] | None = None
    name: str | None = None
    opened = at = start
    while until[at:].strip():
        match = _TOKEN.match(until, at)
        assert match is not None  # the text does not consist of spaces
        place, at = match.end() - len(match[0].strip()), match.end()
        mark = match["mark"]
        if match["name"]:
            if group is None:
                found.append(Group(match["name"], None))
            else:
                group.append(match["name"])
        elif match["dots"] and group is None:
            if Ellipsis in found and not several_dots:
                raise _unreadable(function, text, place, "'...' occurs twice")
            found.append(Ellipsis)
        elif mark == "(" and group is None:
            group, name, opened = [], None, place
        elif mark == ":" and group is not None and name is None and len(group) == 1:
            name, group = group[0], []
        elif mark == ")" and group is not None:
            found.append(Group(name, tuple(group)))
            group = None
        else:
            raise _unreadable(function, text, place, f"{match[0].strip()!r} is not expected here")
    if group is not None:
        raise _unreadable(function, text, opened, "'(' isn't closed")
    return tuple(found)


def _unreadable(function: str, text: str, place: int, what: str) -> ValueError:
    groups = ", '(new: a b)'" if function == "rearrange" else ", '(a b)'" if function != "einsum" else ""
    return ValueError(
        f"{function}: at position {place} of {text!r}: {what}; write axes as 'a'{groups} or '...', separated by spaces"
    )


def _planned(pattern: Pattern, text: str, array: NamedArray, bindings: Mapping[str, Any]) -> Rearrangement:
    """Plan the steps of a string for an array."""
    bound: dict[Any, Any] = {name: _binding(name, value) for name, value in bindings.items()}
    groups = [group for group in (*pattern.left, *pattern.right) if not isinstance(group, EllipsisType)]
    names_in_text = {name for group in groups for name in (group.name, *(group.parts or ()))}
    if unused := [name for name in bound if name not in names_in_text]:
        raise ValueError(f"rearrange: {text!r} lacks {', '.join(map(repr, unused))}, which is bound")
    own = array.shape
    parts: list[tuple[Any, str, int]] = []  # the label, the name of the axis, and the size
    for axis, left in zip(array.names, _in_order(pattern, text, array, bound)):
        if left is None:
            parts.append(((axis,), axis, own[axis]))  # a label unlike those in the string
        elif left.parts is None:
            size = bound.get(left.name, _UNBOUND)[1]
            if size is not None and size != own[axis]:
                raise ValueError(
                    f"rearrange: {left.name!r} in {text!r} is bound to size {size}, but the axis has {own[axis]}"
                )
            parts.append((left.name, axis, own[axis]))
        else:
            given = {part: bound[part][1] for part in left.parts if part in bound}
            sizes = sizes_of_parts("rearrange", text, axis, own[axis], left.parts, given)
            parts.extend((part, bound.get(part, _UNBOUND)[0] or part, size) for part, size in zip(left.parts, sizes))
    labels = [label for label, _, _ in parts]
    if twice := sorted({label for label in labels if labels.count(label) > 1}):
        raise ValueError(f"rearrange: {', '.join(map(repr, twice))} occurs more than once before '->' in {text!r}")
    table = {label: (name, size) for label, name, size in parts}
    rights = [(group, _merged(group)) for group in pattern.right]
    wanted = [part for _, merged in rights for part in merged]
    filled = iter(_axis.filled(labels, wanted))
    result: list[tuple[str, int]] = []
    order: list[Any] = []
    for group, merged in rights:
        if isinstance(group, EllipsisType):
            rest = next(filled)
            order.extend(rest)
            result.extend(table[label] for label in rest)
            continue
        for part in merged:
            next(filled)
            if part not in table:
                raise ValueError(
                    f"rearrange: {part!r} after '->' in {text!r} is not bound, and is none of the axes before '->'; "
                    f"the array has the axes {_axis.written(own.items())}"
                )
        order.extend(merged)
        total = math.prod([table[part][1] for part in merged])
        name, size = bound.get(group.name, _UNBOUND)
        if group.parts is None:
            result.append((table[group.name][0] if not pattern.ordered or name is None else name, total))
            continue
        if group.name is None:
            raise ValueError(f"rearrange: the merged axes {group.parts} in {text!r} have no name; write '(name: a b)'")
        # A merged axis may have the name of one of its parts. The given size then belongs to the part.
        if size is not None and group.name not in table and size != total:
            raise ValueError(f"rearrange: axis {group.name!r} has size {size}, but the merged axes have {total}")
        result.append((name or table.get(group.name, (group.name,))[0], total))
    if len(set(order)) < len(order):
        raise ValueError(f"rearrange: an axis occurs twice after '->' in {text!r}")
    if missing := [name for label, name, _ in parts if label not in order]:
        raise ValueError(
            f"rearrange: {text!r} lacks the axes {', '.join(map(repr, missing))} after '->'; list them, or write ... "
            "for the rest"
        )
    names = tuple([name for name, _ in result])
    _axis.different("rearrange", names)
    return Rearrangement(
        tuple([size for _, _, size in parts]) if len(parts) != len(own) else None,
        tuple([labels.index(label) for label in order]) if order != labels else None,
        tuple([size for _, size in result]) if len(result) != len(parts) else None,
        interned(names),
    )


def _merged(group: Group | EllipsisType) -> tuple[Any, ...]:
    """Return the parts of an item after `->`."""
    if isinstance(group, EllipsisType):
        return (Ellipsis,)
    return (group.name,) if group.parts is None else group.parts


def _in_order(
    pattern: Pattern, text: str, array: NamedArray, bound: Mapping[Any, tuple[str | None, int | None]]
) -> list[Group | None]:
    """Return the item before `->` for each axis of the array; None for no item, or for `...`."""
    left = pattern.left
    if pattern.ordered:
        count = len(array.names) - (len(left) - 1 if Ellipsis in left else len(left))
        if count < 0 or (count and Ellipsis not in left):
            raise ValueError(
                f"rearrange: {text!r} lists {len(left) - (Ellipsis in left)} axes before '->'; the array has the axes "
                f"{_axis.written(array.shape.items())}"
            )
        found: list[Group | None] = []
        for each in left:
            found.extend([None] * count if isinstance(each, EllipsisType) else [each])
        return found
    by_name: dict[str, Group] = {}
    for group in left:
        if isinstance(group, EllipsisType):
            continue
        if group.name is None:
            raise ValueError(
                f"rearrange: {group.parts} in {text!r} doesn't say which axis it splits; write '(axis: a b)'"
            )
        name = bound.get(group.name, _UNBOUND)[0] or group.name
        if name not in array.names:
            raise no_axis("rearrange", array, name)
        if name in by_name:
            raise ValueError(f"rearrange: axis {name!r} occurs twice before '->' in {text!r}")
        by_name[name] = group
    return [by_name.get(name) for name in array.names]


def _binding(name: str, value: Any) -> tuple[str | None, int | None]:
    if isinstance(value, Axis):
        return value.name, value.size
    if isinstance(value, str):
        return value, None
    if hasattr(type(value), "__index__") and not isinstance(value, bool):
        return None, value.__index__()
    raise TypeError(f"rearrange: {name} must be a size, a name or an Axis, got {describe(value)}")


def sizes_of_parts(
    function: str, text: str, axis: str, total: int, parts: Sequence[str], given: Mapping[str, int | None]
) -> list[int]:
    """Return the sizes of the parts of an axis. The others determine one that is not given."""
    sizes = [given.get(part) for part in parts]
    known = math.prod([size for size in sizes if size is not None])
    unknown = [part for part, size in zip(parts, sizes) if size is None]
    if len(unknown) > 1:
        raise ValueError(
            f"{function}: the sizes of {', '.join(map(repr, unknown))} in {text!r} are not given; pass all but one, as "
            f"in {unknown[0]}=2"
        )
    if (unknown and (known == 0 or total % known)) or (not unknown and known != total):
        raise ValueError(
            f"{function}: axis {axis!r} of size {total} can't be split into parts of sizes {tuple(sizes)} in {text!r}"
        )
    return [total // known if size is None else size for size in sizes]


# --- patterns of einops ----------------------------------------------------------------------------------------------


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
    >>> from xpand import named as hax
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
