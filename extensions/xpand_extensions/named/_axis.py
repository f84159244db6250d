"""Axes: names with sizes, and functions that combine them."""

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import Any, TypeAlias, cast

from xpand.extend import describe

__all__ = [
    "Axis",
    "AxisSelection",
    "AxisSelector",
    "AxisSpec",
    "axis_name",
    "concat_axes",
    "eliminate_axes",
    "intersect_axes",
    "is_axis_compatible",
    "make_axes",
    "selects_axis",
    "union_axes",
    "without_axes",
]


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: a name and a size. Two axes are equal if both name and size are.

    Raises:
        TypeError: The name is not a string, or the size is not an integer.
        ValueError: The size is negative.

    >>> batch = Axis("batch", 32)
    >>> batch.size, batch == Axis("batch", 32)
    (32, True)
    """

    name: str
    size: int

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise TypeError(f"Axis: name must be a string, got {describe(self.name)}")
        # Symbolic sizes, and unknown sizes of lazy arrays, are not ints.
        size = cast("Any", self.size)
        if isinstance(size, (bool, float, str, bytes, type(None))) and size == size:  # NaN is an unknown size
            raise TypeError(f"Axis: size of axis {self.name!r} must be an integer, got {describe(self.size)}")
        if isinstance(size, int) and size < 0:
            raise ValueError(f"Axis: size of axis {self.name!r} must not be negative, got {self.size}")

    def alias(self, name: str) -> "Axis":
        """Return an axis of the same size with another name."""
        return Axis(name, self.size)

    def resize(self, size: int) -> "Axis":
        """Return an axis of the same name with another size."""
        return Axis(self.name, size)

    def __str__(self) -> str:
        return f"{self.name}({self.size})"


AxisSelector: TypeAlias = Axis | str
"""One axis of an array: its name, or an `Axis`, whose size must then be that of the array."""

AxisSpec: TypeAlias = Axis | Sequence[Axis] | Mapping[str, int]
"""Axes with their sizes: one `Axis`, several, or a dictionary from names to sizes."""

AxisSelection: TypeAlias = AxisSelector | Sequence[AxisSelector] | Mapping[Any, int | None]
"""Axes of an array: one selector, several, or a dictionary from names to sizes, or to None for any size."""

Pair: TypeAlias = tuple[str, int | None]


def pairs(function: str, axes: Any) -> tuple[Pair, ...]:
    """Return the name and size of each axis; the size is None if it isn't given."""
    if isinstance(axes, str):
        return ((axes, None),)
    if isinstance(axes, Axis):
        return ((axes.name, axes.size),)
    if isinstance(axes, Mapping):
        found = [_entry(function, key, value) for key, value in axes.items()]
    elif isinstance(axes, Iterable) and not isinstance(axes, (bytes, set, frozenset)) and not hasattr(axes, "dtype"):
        found = [selector(function, axis) for axis in axes]
    else:
        raise _wrong(function, axes)
    return tuple(found)


def specified(function: str, axes: AxisSpec) -> tuple[Axis, ...]:
    """Return axes with their sizes. Check that all sizes are given, and that names are different."""
    found = pairs(function, axes)
    for name, size in found:
        if size is None:
            raise ValueError(
                f"{function}: the size of axis {name!r} is needed; pass Axis({name!r}, size) or {{{name!r}: size}}"
            )
    different(function, [name for name, _ in found])
    return tuple([Axis(name, size) for name, size in found if size is not None])


def selector(function: str, axis: Any) -> Pair:
    """Return the name and size of one axis; the size is None if it isn't given."""
    if isinstance(axis, str):
        return axis, None
    if isinstance(axis, Axis):
        return axis.name, axis.size
    raise _wrong(function, axis)


def has_sizes(function: str, axes: Any) -> bool:
    """Return whether a selection gives sizes. Each call then compares them, so that its plan can't be cached."""
    return any(size is not None for _, size in pairs(function, axes))


def different(function: str, names: Sequence[str]) -> None:
    """Check that no name occurs twice."""
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ValueError(
            f"{function}: axis names must be different, got {', '.join(map(repr, twice))} more than once in "
            f"({', '.join(map(repr, names))}); rename one of them"
        )


def written(axes: Iterable[tuple[str, Any]]) -> str:
    """Write axes with their sizes, for messages."""
    return "{" + ", ".join(f"{name!r}: {size}" for name, size in axes) + "}"


def entries(function: str, axes: Any) -> tuple[Pair | EllipsisType, ...]:
    """Return the name and size of each axis, and each `...`, in a sequence of axes and `...`."""
    if isinstance(axes, (str, Axis)) or axes is Ellipsis:
        axes = (axes,)
    return tuple([axis if axis is Ellipsis else selector(function, axis) for axis in axes])


def completed(function: str, natural: tuple[str, ...], wanted: Sequence[str | EllipsisType]) -> tuple[str, ...]:
    """Return the complete order of axes, from an order that may contain `...`.

    `...` stands for the axes that are not listed. Of several `...`, an axis goes to the first that comes after all
    listed axes before it in the natural order.

    Raises:
        ValueError: An axis is unknown, listed twice, or not listed without a `...`.
    """
    listed = [name for name in wanted if isinstance(name, str)]
    different(function, listed)
    if missing := [name for name in listed if name not in natural]:
        raise ValueError(f"{function}: no axis {', '.join(map(repr, missing))}; there are the axes {natural}")
    free = [name for name in natural if name not in listed]
    if free and Ellipsis not in wanted:
        raise ValueError(
            f"{function}: the order {tuple(listed)} lacks {', '.join(map(repr, free))} of the axes {natural}; list "
            "them, or write ... for the rest"
        )
    return tuple([name for part in filled(natural, wanted) for name in part])


def filled(natural: Sequence[Any], wanted: Sequence[Any]) -> list[list[Any]]:
    """Return the labels of each entry of an order: the label itself, or those for which a `...` stands.

    Source: Haliax's `rearrange_for_partial_order`.
    """
    parts = [[] if label is Ellipsis else [label] for label in wanted]
    listed = {label: i for i, label in enumerate(wanted) if label is not Ellipsis}
    target = next((i for i, part in enumerate(parts) if not part), 0)
    for label in natural:
        if label in listed:
            first = max(listed[label] + 1, target)
            target = next((i for i in range(first, len(parts)) if not parts[i]), target)
        else:
            parts[target].append(label)
    return parts


def _entry(function: str, key: Any, value: Any) -> Pair:
    name, size = selector(function, key)
    if isinstance(value, Axis):
        value = value.size
    if value is not None:
        if size is not None and size != value:
            raise ValueError(f"{function}: axis {name!r} is given with two sizes, {size} and {value}")
        size = value
    return name, size


def _wrong(function: str, axis: Any) -> TypeError:
    return TypeError(f"{function}: an axis must be a name or an Axis, got {describe(axis)}")


def make_axes(**sizes: int) -> tuple[Axis, ...]:
    """Make an axis from each keyword argument.

    >>> X, Y = make_axes(X=10, Y=20)
    >>> Y
    Axis(name='Y', size=20)
    """
    return tuple([Axis(name, operator.index(size)) for name, size in sizes.items()])


def axis_name(ax: AxisSelection) -> Any:
    """Return the name of an axis, or a tuple with the names of several.

    Raises:
        TypeError: The argument is not an axis.

    >>> axis_name(Axis("a", 3)), axis_name(["a", Axis("b", 2)])
    ('a', ('a', 'b'))
    """
    if isinstance(ax, (str, Axis)):
        return selector("axis_name", ax)[0]
    return tuple([name for name, _ in pairs("axis_name", ax)])


def concat_axes(a1: AxisSelection, a2: AxisSelection) -> Any:
    """Return the axes of the first argument, then those of the second: a dictionary if the first is one, else a tuple.

    Raises:
        ValueError: Both have an axis with the same name.

    >>> concat_axes(Axis("a", 2), Axis("b", 3))
    (Axis(name='a', size=2), Axis(name='b', size=3))
    """
    found = (*pairs("concat_axes", a1), *pairs("concat_axes", a2))
    different("concat_axes", [name for name, _ in found])
    return _like(a1, found)


def union_axes(a1: AxisSelection, a2: AxisSelection) -> Any:
    """Return the axes of both, in this order and each once: a dictionary if one of the arguments is, else a tuple.

    Raises:
        ValueError: An axis is in both with different sizes.

    >>> union_axes({"a": 2, "b": 3}, Axis("a", 2))
    {'a': 2, 'b': 3}
    """
    found: dict[str, int | None] = {}
    for name, size in (*pairs("union_axes", a1), *pairs("union_axes", a2)):
        _same_size("union_axes", name, found.get(name), size)
        if found.get(name) is None:
            found[name] = size
    return _like(a2 if isinstance(a2, Mapping) else a1, tuple(found.items()))


def intersect_axes(ax1: AxisSelection, ax2: AxisSelection) -> Any:
    """Return the axes of the first that the second also has: a dictionary if the first is one, else a tuple.

    Raises:
        ValueError: An axis is in both with different sizes.

    >>> intersect_axes((Axis("a", 2), Axis("b", 3)), "b")
    (Axis(name='b', size=3),)
    """
    others = dict(pairs("intersect_axes", ax2))
    found = []
    for name, size in pairs("intersect_axes", ax1):
        if name in others:
            _same_size("intersect_axes", name, size, others[name])
            found.append((name, others[name] if size is None else size))
    return _like(ax1, tuple(found))


def eliminate_axes(axis_spec: AxisSelection, to_remove: AxisSelection) -> Any:
    """Return axes without some of them: a dictionary if the first argument is one, else a tuple.

    Raises:
        ValueError: An axis to remove doesn't exist, or has another size.

    >>> eliminate_axes((Axis("a", 2), Axis("b", 3)), "a")
    (Axis(name='b', size=3),)
    """
    found = pairs("eliminate_axes", axis_spec)
    missing = [name for name, _ in pairs("eliminate_axes", to_remove) if name not in dict(found)]
    if missing:
        raise ValueError(
            f"eliminate_axes: no axis {', '.join(map(repr, missing))}; there are the axes {written(found)}"
        )
    return _without("eliminate_axes", axis_spec, to_remove, allow_mismatched_sizes=False)


def without_axes(axis_spec: AxisSelection, to_remove: AxisSelection, allow_mismatched_sizes: bool = False) -> Any:
    """Return axes without those of some names, which need not exist: a dictionary if the first is one, else a tuple.

    Raises:
        ValueError: An axis to remove has another size, and `allow_mismatched_sizes` is false.

    >>> without_axes((Axis("a", 2), Axis("b", 3)), ("a", "c"))
    (Axis(name='b', size=3),)
    """
    return _without("without_axes", axis_spec, to_remove, allow_mismatched_sizes=allow_mismatched_sizes)


def _without(function: str, axes: AxisSelection, to_remove: AxisSelection, *, allow_mismatched_sizes: bool) -> Any:
    removed = dict(pairs(function, to_remove))
    found = []
    for name, size in pairs(function, axes):
        if name not in removed:
            found.append((name, size))
        elif not allow_mismatched_sizes:
            _same_size(function, name, size, removed[name])
    return _like(axes, tuple(found))


def selects_axis(selector: AxisSelection, selected: AxisSelection) -> bool:
    """Return whether the first has every axis of the second, with the same size if both give one.

    >>> selects_axis((Axis("a", 2), "b"), {"b": 3}), selects_axis("a", "c")
    (True, False)
    """
    own = dict(pairs("selects_axis", selector))
    return all(
        name in own and (size is None or own[name] is None or own[name] == size)
        for name, size in pairs("selects_axis", selected)
    )


def is_axis_compatible(ax1: AxisSelector, ax2: AxisSelector) -> bool:
    """Return whether two axes have the same name, and the same size if both give one.

    >>> is_axis_compatible("a", Axis("a", 2)), is_axis_compatible(Axis("a", 3), Axis("a", 2))
    (True, False)
    """
    (name1, size1), (name2, size2) = selector("is_axis_compatible", ax1), selector("is_axis_compatible", ax2)
    return name1 == name2 and (size1 is None or size2 is None or size1 == size2)


def _same_size(function: str, name: str, size: int | None, other: int | None) -> None:
    if size is not None and other is not None and size != other:
        raise ValueError(f"{function}: axis {name!r} has the sizes {size} and {other}")


def _like(axes: AxisSelection, found: tuple[Pair, ...]) -> Any:
    """Return axes in the form of `axes`: a dictionary, or a tuple."""
    if isinstance(axes, Mapping):
        return dict(found)
    return tuple([name if size is None else Axis(name, size) for name, size in found])
