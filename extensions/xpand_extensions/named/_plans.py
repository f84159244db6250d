"""Plans: the positional form of an operation on names, found once for each combination of names.

A plan is derived from the operation's axis signature (`tracing._signature`). It says how arrays are aligned, which
positions the parameters stand for, and the names of the results. Sizes belong to the arrays, so each call compares
them.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple

from xpand import array_namespace, default_namespace
from xpand.extend import Array, Namespace, describe, is_array, knows_namespace

from .._plans import Memory
from ..tracing._functions import FUNCTIONS
from ..tracing._signature import Axis as SignatureAxis, parse
from . import _axis
from ._array import NamedArray, interned, no_axis
from ._axis import AxisSelection, AxisSelector
from ._calls import operation

_MAX_TYPES: Final = 1024
_NUMBERS: Final = (bool, int, float, complex)


# --- positional functions --------------------------------------------------------------------------------------------


class Positional:
    """The positional function of an operation, for arrays of any library.

    Args:
        function: The function, or its path: one of the standard such as "fft.fft", or of a capability such as
            "special.cbrt".
    """

    __slots__ = ("by_type", "function", "path")

    def __init__(self, function: str | Callable[..., Any]) -> None:
        self.path = function if isinstance(function, str) else ""
        self.function = None if isinstance(function, str) else function
        self.by_type: dict[type, Callable[..., Any]] = {}

    def of(self, array: Array) -> Callable[..., Any]:
        """Return the function for an array."""
        return self.by_type.get(type(array)) or self.found(array)

    def found(self, array: Array) -> Callable[..., Any]:
        """Find the function for an array, and cache it if the array's type decides."""
        if self.function is not None or self.path not in FUNCTIONS:
            if self.function is None:
                capability, _, name = self.path.rpartition(".")
                self.function = getattr(import_module(f"..{capability}", __package__), name)
            function: Callable[..., Any] = self.function
        else:
            function = attribute(array_namespace(array), self.path)
        if knows_namespace(type(array)) and len(self.by_type) < _MAX_TYPES:
            self.by_type[type(array)] = function
        return function


def attribute(xp: Namespace, path: str) -> Any:
    """Return a function of a namespace, or of one of its extensions."""
    found: Any = xp
    for part in path.split("."):
        found = getattr(found, part)
    return found


def array_of(x: Any) -> Any:
    """Return the wrapped array, or the object itself."""
    return x.array if isinstance(x, NamedArray) else x


def namespace_of(*operands: Any) -> Namespace:
    """Return the namespace of arrays and numbers; the default one if all are numbers."""
    arrays = [x for x in map(array_of, operands) if is_array(x)]
    return array_namespace(*arrays) if arrays else default_namespace()


def floating(xp: Namespace, x: Array) -> Array:
    """Convert integers and booleans to floating-point numbers of the default data type."""
    if xp.isdtype(x.dtype, ("real floating", "complex floating")):
        return x
    return xp.astype(x, xp.__array_namespace_info__().default_dtypes(device=None)["real floating"])


@operation
def _asarray(x: Any) -> Array:
    return default_namespace().asarray(x)


def check_named(function: str, parameter: str, x: Any) -> None:
    """Raise if an argument is no named array."""
    if not isinstance(x, NamedArray):
        raise TypeError(
            f"{function}: {parameter} must be a NamedArray, got {describe(x)}; name its axes with `named(array, axes)`"
        )


def without_axes(function: str, x: Any) -> bool:
    """Return whether an operand is a Python number or an array without axes; raise for an array with axes."""
    if isinstance(x, _NUMBERS):
        return True
    if not is_array(x):
        raise TypeError(f"{function}: takes named arrays and numbers, got {describe(x)}")
    if len(x.shape):
        raise TypeError(
            f"{function}: got a NamedArray and {describe(x)}, whose {len(x.shape)} axes have no names; name them with "
            "`named(array, axes)`"
        )
    return True


# --- axes of one array -----------------------------------------------------------------------------------------------


def check_rank(function: str, x: NamedArray) -> None:
    """Raise if a transformation has inserted an array with another number of axes."""
    shape = getattr(x.array, "shape", None)
    if shape is None:
        raise TypeError(f"{function}: the NamedArray wraps no array but {describe(x.array)}")
    if len(shape) != len(x.names):
        raise ValueError(
            f"{function}: the array has {len(shape)} axes for the names {x.names}: a positional transformation has "
            "added or removed one; use the one by name, or wrap the array again with `named(x.array, axes)`"
        )


def position(function: str, x: NamedArray, axis: AxisSelector) -> int:
    """Return the position of an axis."""
    name, size = _axis.selector(function, axis)
    if name not in x.names:
        check_rank(function, x)
        raise no_axis(function, x, name, size)
    found = x.names.index(name)
    if size is not None and x.array.shape[found] != size:
        check_rank(function, x)
        raise no_axis(function, x, name, size)
    return found


def selected(function: str, x: NamedArray, axes: AxisSelection | None) -> tuple[str, ...]:
    """Return the names of axes that the array must have; None: all."""
    if axes is None:
        return x.names
    found = _axis.pairs(function, axes)
    for name, size in found:
        position(function, x, name if size is None else _axis.Axis(name, size))
    names = tuple([name for name, _ in found])
    _axis.different(function, names)
    return names


def hashable(axes: Any) -> Any:
    """Return a hashable key for a selection of axes; lists and dictionaries are not hashable."""
    if isinstance(axes, list):
        return tuple(axes)
    return tuple(axes.items()) if isinstance(axes, Mapping) else axes


# --- several arrays: names in line -----------------------------------------------------------------------------------


class Step(NamedTuple):
    """The alignment of one array: its axes are permuted, then new ones inserted."""

    order: tuple[int, ...] | None
    new: tuple[int, ...]
    inserted: tuple[Any, ...]


class Alignment(NamedTuple):
    """The alignment of arrays with certain names for broadcasting."""

    names: tuple[str, ...]
    steps: tuple[Step | None, ...]
    same: tuple[tuple[int, int, int, int], ...]
    """Axes of one name: (array, position, array, position), whose sizes must be equal."""


_ALIGNMENTS: Final = Memory()


def union(several: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return all names, in the order of the first array that has all, or in order of appearance."""
    found = dict.fromkeys(name for names in several for name in names)
    for names in several:
        if len(names) == len(found):
            return interned(names)
    return interned(tuple(found))


def step(own: tuple[str, ...], names: tuple[str, ...], *, pad: bool = False) -> Step | None:
    """Return how an array gets further names. Leading ones are left to broadcasting unless `pad`."""
    present = [name for name in names if name in own]
    order = tuple([own.index(name) for name in present])
    first = 0 if pad or not present else names.index(present[0])
    covered = names[first:] if present or pad else ()
    new = tuple([i for i, name in enumerate(covered) if name not in own])
    if not new and order == tuple(range(len(order))):
        return None
    index = tuple([None if name not in own else slice(None) for name in covered])
    return Step(None if order == tuple(range(len(order))) else order, new, index)


def alignment(several: tuple[tuple[str, ...], ...]) -> Alignment:
    """Return how arrays with these names are aligned."""
    names = union(several)
    first: dict[str, tuple[int, int]] = {}
    same = []
    for i, own in enumerate(several):
        for j, name in enumerate(own):
            if name in first:
                same.append((*first[name], i, j))
            first.setdefault(name, (i, j))
    plan = Alignment(names, tuple([step(own, names) for own in several]), tuple(same))
    _ALIGNMENTS.add(several, plan)
    return plan


def stepped(array: Array, step: Step) -> Array:
    """Permute an array and insert axes of size one."""
    xp = array_namespace(array)
    if step.order is not None:
        array = xp.permute_dims(array, step.order)
    if not step.new:
        return array
    # For arrays in memory an index is fastest; elsewhere it would be a gather.
    if hasattr(array, "__array_interface__"):
        return array[step.inserted]
    return xp.expand_dims(array, axis=step.new[0] if len(step.new) == 1 else step.new)


def check_sizes(function: str, plan: Alignment, operands: Sequence[NamedArray]) -> None:
    """Raise if two arrays have an axis of the same name with different sizes."""
    for i, j, k, m in plan.same:
        one, other = operands[i], operands[k]
        if one.array.shape[j] != other.array.shape[m]:
            check_rank(function, one)
            check_rank(function, other)
            raise different_sizes(function, one, other, one.names[j])


def different_sizes(function: str, one: NamedArray, other: NamedArray, name: str) -> ValueError:
    """Return the error for an axis that two arrays have with different sizes."""
    return ValueError(
        f"{function}: axis {name!r} has size {one.shape[name]} in one array and {other.shape[name]} in another; the "
        f"axes are {_axis.written(one.shape.items())} and {_axis.written(other.shape.items())}"
    )


def aligned(function: str, operands: Sequence[Any]) -> tuple[tuple[str, ...], list[Any]]:
    """Align named arrays and numbers: return all names, and arrays that broadcast."""
    arrays = [x for x in operands if isinstance(x, NamedArray)]
    several = tuple([x.names for x in arrays])
    plan = _ALIGNMENTS.get(several) or alignment(several)
    shapes = [x.array.shape for x in arrays]
    if [len(shape) for shape in shapes] != [len(names) for names in several]:
        for x in arrays:
            check_rank(function, x)
    for i, j, k, m in plan.same:
        if shapes[i][j] != shapes[k][m]:
            raise different_sizes(function, arrays[i], arrays[k], several[i][j])
    steps = iter(plan.steps)
    found = []
    for x in operands:
        if isinstance(x, NamedArray):
            way = next(steps)
            found.append(x.array if way is None else stepped(x.array, way))
        else:
            without_axes(function, x)
            found.append(x)
    return plan.names, found


def rest_of(names: tuple[str, ...], removed: Sequence[str]) -> tuple[str, ...]:
    """Return the names without some of them."""
    return interned(tuple([name for name in names if name not in removed]))


# --- operations of one array, by their axis signatures ---------------------------------------------------------------


class Plan(NamedTuple):
    """An operation on an array of certain names."""

    order: tuple[int, ...] | None
    """The permutation of its axes that makes those of letters the last."""
    params: dict[str, Any]
    """The positions for parameters that name axes."""
    names: tuple[tuple[str, ...], ...]
    """The names of each result."""


def derived(
    signature: str,
    names: tuple[str, ...],
    *,
    letters: Mapping[str, str] | None = None,
    params: Mapping[str, tuple[str, ...]] | None = None,
    new: Mapping[str, str] | None = None,
) -> Plan:
    """Derive a plan from an axis signature with one argument.

    Args:
        signature: The axis signature.
        names: The names of the array.
        letters: The name of the axis of each letter of the argument.
        params: The names that each parameter stands for.
        new: The name of the axis of each letter that only results have, and of a parameter's axis whose name changes.
    """
    parsed = parse(signature)
    letters, params, new = letters or {}, params or {}, new or {}
    core = [letters[letter] for letter in parsed.arguments[0].letters]
    moved = (*[name for name in names if name not in core], *core)
    order = tuple([names.index(name) for name in moved])
    lead = moved[: len(moved) - len(core)]

    def positions(axis: SignatureAxis, ndim: int) -> tuple[int, ...]:
        return tuple([lead.index(name) for name in params[axis.name]])

    layout = parsed.layout((len(moved),), {}, positions)
    results = []
    for result, dimensions in zip(parsed.results, layout.results):
        ends = dimensions[len(dimensions) - len(result.letters) :] if result.letters else ()
        found = [moved[each.sources[0][1]] if each.sources else "" for each in dimensions]
        for i, letter in enumerate(result.letters):
            if not ends[i].sources or letter in new:
                found[len(dimensions) - len(result.letters) + i] = new[letter]
        results.append(interned(tuple([new.get(name, name) for name in found])))
    return Plan(
        None if moved == names else order,
        {name: tuple([lead.index(each) for each in several]) for name, several in params.items()},
        tuple(results),
    )
