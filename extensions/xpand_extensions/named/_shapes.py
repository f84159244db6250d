"""Renames, adds, merges, splits and joins axes."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from xpand import array_namespace, default_namespace
from xpand.extend import Array, is_array

from .._plans import Memory
from . import _axis
from ._array import NamedArray, check_rank, interned, make
from ._axis import Axis, AxisSelector, AxisSpec
from ._methods import method
from ._plans import check_named, different_sizes, position, rest_of, selected, step, stepped

__all__ = [
    "broadcast_axis",
    "broadcast_to",
    "concatenate",
    "flatten",
    "flatten_axes",
    "ravel",
    "rename",
    "split",
    "stack",
    "unbind",
    "unflatten_axis",
]

_PERMUTATIONS: Final = Memory()


def permuted(x: NamedArray, names: tuple[str, ...]) -> NamedArray:
    """Return an array with its axes in another order."""
    if x.names == names:
        return x
    key = (x.names, names)
    order = _PERMUTATIONS.get(key)
    if order is None:
        order = _PERMUTATIONS.add(key, (tuple([x.names.index(name) for name in names]), interned(names)))
    return make(array_namespace(x.array).permute_dims(x.array, order[0]), order[1])


def reordered(function: str, x: NamedArray, names: tuple[str, ...], what: str) -> NamedArray:
    """Return an array with its axes in another order, and check that it has these axes."""
    if set(x.names) != set(names):
        raise ValueError(f"{function}: {what} the axes {names}, got {_axis.written(x.shape.items())}")
    return permuted(x, names)


def grouped(x: NamedArray, groups: Sequence[tuple[str, ...]]) -> Array:
    """Return an array with one axis for each group of names. Several names are merged; an empty group has size 1."""
    found = permuted(x, tuple([name for group in groups for name in group])).array
    if all(len(group) == 1 for group in groups):
        return found
    sizes = x.shape
    return array_namespace(found).reshape(found, tuple([math.prod(sizes[each] for each in group) for group in groups]))


def ungrouped(array: Array, groups: Sequence[tuple[str, ...]], sizes: Mapping[str, int]) -> NamedArray:
    """Split an array with one axis for each group into named axes. Groups of several names need their sizes."""
    names = [name for group in groups for name in group]
    _axis.different("named", names)
    shape: list[int] = []
    for size, group in zip(array.shape, groups):
        shape.extend([size] if len(group) == 1 else [sizes[name] for name in group])
    if any(len(group) != 1 for group in groups):
        array = array_namespace(array).reshape(array, tuple(shape))
    return make(array, interned(tuple(names)))


@method
def rename(array: NamedArray, renames: Mapping[Any, AxisSelector]) -> NamedArray:
    """Rename axes, from the keys of a dictionary to its values.

    Raises:
        ValueError: There is no such axis, a name would occur twice, or an `Axis` has another size.

    >>> import numpy as np
    >>> rename(NamedArray(np.zeros((2, 3)), ("a", "b")), {"a": "c"}).shape
    {'c': 2, 'b': 3}
    """
    check_named("rename", "array", array)
    if not isinstance(renames, Mapping):
        raise TypeError("rename: renames must be a dictionary from axes to new names")
    new = {}
    for old, to in renames.items():
        i = position("rename", array, old)
        name, size = _axis.selector("rename", to)
        if size is not None and size != array.array.shape[i]:
            raise ValueError(
                f"rename: axis {array.names[i]!r} has size {array.array.shape[i]}, and its new axis {name!r} {size}"
            )
        new[array.names[i]] = name
    names = tuple([new.get(name, name) for name in array.names])
    _axis.different("rename", names)
    return make(array.array, interned(names))


@method
def broadcast_to(a: Any, axes: AxisSpec, ensure_order: bool = True, enforce_no_extra_axes: bool = True) -> NamedArray:
    """Broadcast an array, or a number, to given axes.

    Args:
        a: A named array or a number.
        axes: The axes of the result, with sizes.
        ensure_order: Whether the axes of the result have this order. Otherwise new axes come first, then those of the
            array in their own order.
        enforce_no_extra_axes: Whether it is an error if the array has axes that `axes` lacks. Otherwise they come
            first.

    Raises:
        ValueError: Extra axes, or an axis of another size.

    >>> import numpy as np
    >>> broadcast_to(NamedArray(np.zeros(3), "b"), {"a": 2, "b": 3}).shape
    {'a': 2, 'b': 3}
    """
    target = _axis.specified("broadcast_to", axes)
    if not isinstance(a, NamedArray):
        a = make(a if is_array(a) else default_namespace().asarray(a), ())
    check_rank("broadcast_to", a)
    own = a.shape
    sizes = {axis.name: axis.size for axis in target}
    extra = [name for name in a.names if name not in sizes]
    if extra and enforce_no_extra_axes:
        raise ValueError(
            f"broadcast_to: the array has the axes {', '.join(map(repr, extra))}, which are not among "
            f"{_axis.written(sizes.items())}; pass enforce_no_extra_axes=False to keep them"
        )
    for name, size in sizes.items():
        if name in own and own[name] != size:
            raise ValueError(
                f"broadcast_to: axis {name!r} has size {own[name]}, not {size}; the array has the axes "
                f"{_axis.written(own.items())}"
            )
    if ensure_order:
        names = (*extra, *sizes)
    else:
        names = (*(name for name in sizes if name not in own), *a.names)
    names = interned(names)
    if names == a.names:
        return make(a.array, names)
    way = step(a.names, names)
    x = a.array if way is None else stepped(a.array, way)
    shape = tuple([own[name] if name in own else sizes[name] for name in names])
    return make(x if tuple(x.shape) == shape else array_namespace(x).broadcast_to(x, shape), names)


@method
def broadcast_axis(a: NamedArray, axis: AxisSpec) -> NamedArray:
    """Add the axes that an array lacks, like `broadcast_to`. Extra axes of the array are no error."""
    return broadcast_to(a, axis, True, False)


@method
def flatten_axes(array: Any, old_axes: Any, new_axis: AxisSelector | None = None) -> Any:
    """Merge axes into one, which replaces the first of them in the array.

    Args:
        array: A named array; or axes with sizes, for which axes are returned.
        old_axes: The axes to merge. The last one varies fastest. If `array` are axes, `old_axes` may be omitted to
            merge all of them.
        new_axis: The new axis.

    Raises:
        ValueError: There is no such axis, or the size of the new axis isn't the product of the merged axes' sizes.

    >>> import numpy as np
    >>> x = NamedArray(np.zeros((2, 3, 4)), ("a", "b", "c"))
    >>> flatten_axes(x, ("a", "b"), "d").shape
    {'d': 6, 'c': 4}
    >>> flatten_axes(x.axes, "e")
    Axis(name='e', size=24)
    """
    if isinstance(array, NamedArray):
        order, sizes = _flattened(array.shape, selected("flatten_axes", array, old_axes), new_axis)
        x = permuted(array, order).array
        if len(sizes) < len(order):
            x = array_namespace(x).reshape(x, tuple(sizes.values()))
        return make(x, interned(tuple(sizes)))
    is_one = new_axis is None or isinstance(array, Axis)
    if new_axis is None:
        old_axes, new_axis = array, old_axes
    own = {axis.name: axis.size for axis in _axis.specified("flatten_axes", array)}
    old = _axis.pairs("flatten_axes", old_axes)
    for each, size in old:
        if each not in own or (size is not None and size != own[each]):
            raise ValueError(f"flatten_axes: no axis {each!r}; there are the axes {_axis.written(own.items())}")
    sizes = _flattened(own, tuple([each for each, _ in old]), new_axis)[1]
    axes = tuple([Axis(*each) for each in sizes.items()])
    return axes[0] if is_one else sizes if isinstance(array, Mapping) else axes


def _flattened(
    own: Mapping[str, int], merged: tuple[str, ...], new_axis: AxisSelector | None
) -> tuple[tuple[str, ...], dict[str, int]]:
    """Return an order in which the axes to merge are next to each other, and the sizes of the axes of the result."""
    name, size = _axis.selector("flatten_axes", new_axis)
    if not merged:
        raise ValueError("flatten_axes: takes one axis or more, got none")
    total = math.prod([own[each] for each in merged])
    if size is not None and size != total:
        raise ValueError(f"flatten_axes: axis {name!r} has size {size}, but the merged axes have {total} together")
    start = min([i for i, each in enumerate(own) if each in merged])
    rest = [each for each in own if each not in merged]
    _axis.different("flatten_axes", [name, *rest])
    sizes = {**{each: own[each] for each in rest[:start]}, name: total, **{each: own[each] for each in rest[start:]}}
    return (*rest[:start], *merged, *rest[start:]), sizes


@method
def unflatten_axis(array: NamedArray, axis: AxisSelector, new_axes: AxisSpec) -> NamedArray:
    """Split one axis into several. The last one varies fastest.

    Raises:
        ValueError: The product of the new sizes isn't the size of the axis.

    >>> import numpy as np
    >>> unflatten_axis(NamedArray(np.zeros(6), "a"), "a", {"b": 2, "c": 3}).shape
    {'b': 2, 'c': 3}
    """
    check_named("unflatten_axis", "array", array)
    i = position("unflatten_axis", array, axis)
    new = _axis.specified("unflatten_axis", new_axes)
    x = array.array
    total = math.prod([each.size for each in new])
    if total != x.shape[i]:
        raise ValueError(
            f"unflatten_axis: axis {array.names[i]!r} has size {x.shape[i]}, but the new axes have {total} together: "
            f"{_axis.written((each.name, each.size) for each in new)}"
        )
    names = (*array.names[:i], *(each.name for each in new), *array.names[i + 1 :])
    _axis.different("unflatten_axis", names)
    if len(new) != 1:
        sizes = (*x.shape[:i], *(each.size for each in new), *x.shape[i + 1 :])
        x = array_namespace(x).reshape(x, sizes)
    return make(x, interned(names))


@method
def ravel(array: NamedArray, new_axis_name: AxisSelector) -> NamedArray:
    """Merge all axes into one."""
    check_named("ravel", "array", array)
    if array.names:
        return flatten_axes(array, array.names, new_axis_name)
    name, size = _axis.selector("ravel", new_axis_name)
    if size not in (None, 1):
        raise ValueError(f"ravel: axis {name!r} has size {size}, but an array without axes has one element")
    return make(array_namespace(array.array).expand_dims(array.array, axis=0), interned((name,)))


@method
def flatten(array: NamedArray, new_axis_name: AxisSelector) -> NamedArray:
    """Merge all axes into one, like `ravel`."""
    return ravel(array, new_axis_name)


@method
def split(a: NamedArray, axis: AxisSelector, new_axes: Sequence[Axis]) -> list[NamedArray]:
    """Split an array along an axis into parts. Each part has one of the new axes in its place.

    Raises:
        ValueError: The sum of the new sizes isn't the size of the axis.

    >>> import numpy as np
    >>> [x.shape for x in split(NamedArray(np.zeros(3), "a"), "a", [Axis("b", 1), Axis("c", 2)])]
    [{'b': 1}, {'c': 2}]
    """
    check_named("split", "a", a)
    i = position("split", a, axis)
    new = [_axis.specified("split", each)[0] for each in new_axes]
    if sum(each.size for each in new) != a.array.shape[i]:
        raise ValueError(
            f"split: axis {a.names[i]!r} has size {a.array.shape[i]}, but the new axes have "
            f"{sum(each.size for each in new)} together: {', '.join(map(str, new))}"
        )
    found, start = [], 0
    for each in new:
        names = (*a.names[:i], each.name, *a.names[i + 1 :])
        _axis.different("split", names)
        found.append(make(a.array[(slice(None),) * i + (slice(start, start + each.size), ...)], interned(names)))
        start += each.size
    return found


@method
def unbind(array: NamedArray, axis: AxisSelector) -> list[NamedArray]:
    """Return a list with the part of an array at each position along an axis, without that axis."""
    check_named("unbind", "array", array)
    i = position("unbind", array, axis)
    names = rest_of(array.names, (array.names[i],))
    return [make(x, names) for x in array_namespace(array.array).unstack(array.array, axis=i)]


def _ordered(function: str, arrays: Sequence[NamedArray], but: str | None = None) -> list[NamedArray]:
    """Bring the axes of all arrays into the order of the first. Except one axis, sizes must be equal."""
    if isinstance(arrays, NamedArray) or not isinstance(arrays, Sequence):
        raise TypeError(f"{function}: arrays must be a list or a tuple of NamedArrays")
    if not arrays:
        raise ValueError(f"{function}: takes one array or more, got none")
    for i, x in enumerate(arrays):
        check_named(function, f"arrays[{i}]", x)
    first = arrays[0]
    found = []
    for i, x in enumerate(arrays):
        if set(x.names) != set(first.names):
            raise ValueError(
                f"{function}: all arrays must have the same axes; arrays[0] has {_axis.written(first.shape.items())}, "
                f"arrays[{i}] {_axis.written(x.shape.items())}"
            )
        for name in first.names:
            if name != but and x.shape[name] != first.shape[name]:
                raise different_sizes(function, first, x, name)
        found.append(permuted(x, first.names))
    return found


def concatenate(axis: AxisSelector, arrays: Sequence[NamedArray]) -> NamedArray:
    """Join arrays along an axis that all have. The first array determines the order of axes.

    Raises:
        ValueError: No array, different axes, or an `Axis` whose size isn't the sum of the arrays' sizes.

    >>> import numpy as np
    >>> x = NamedArray(np.zeros((2, 3)), ("a", "b"))
    >>> concatenate("a", [x, x.rearrange(("b", "a"))]).shape
    {'a': 4, 'b': 3}
    """
    name, size = _axis.selector("concatenate", axis)
    found = _ordered("concatenate", arrays, but=name)
    i = position("concatenate", found[0], name)
    x = array_namespace(*[each.array for each in found]).concat([each.array for each in found], axis=i)
    if size is not None and x.shape[i] != size:
        raise ValueError(
            f"concatenate: axis {name!r} has size {size}, but the arrays have {x.shape[i]} along it together"
        )
    return make(x, found[0].names)


def stack(axis: AxisSelector, arrays: Sequence[NamedArray]) -> NamedArray:
    """Join arrays along a new axis, which is the first of the result.

    Raises:
        ValueError: No array, different axes, or an `Axis` whose size isn't the number of arrays.

    >>> import numpy as np
    >>> stack("s", [NamedArray(np.zeros(3), "a")] * 2).shape
    {'s': 2, 'a': 3}
    """
    name, size = _axis.selector("stack", axis)
    found = _ordered("stack", arrays)
    if size is not None and size != len(found):
        raise ValueError(f"stack: axis {name!r} has size {size}, but there are {len(found)} arrays")
    names = (name, *found[0].names)
    _axis.different("stack", names)
    x = array_namespace(*[each.array for each in found]).stack([each.array for each in found], axis=0)
    return make(x, interned(names))
