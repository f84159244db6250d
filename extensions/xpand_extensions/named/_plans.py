"""Plans: the alignment of arrays with given names, found once for each combination of names.

Sizes are not part of a plan, so each call compares them.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from xpand import array_namespace, default_namespace
from xpand.extend import Array, Namespace, checks, describe, device_of, is_array, knows_namespace

from .._plans import Memory
from ..tracing._functions import FUNCTIONS
from . import _axis
from ._array import NamedArray, check_rank, interned, make, no_axis
from ._axis import AxisSelection, AxisSelector

F = TypeVar("F", bound=Callable[..., Any])

_MAX_TYPES: Final = 1024
NUMBERS: Final = (bool, int, float, complex)


# --- positional functions --------------------------------------------------------------------------------------------


class Positional:
    """The positional function of an operation, for arrays of any library.

    Args:
        function: The function; or its path in the standard, such as "fft.fft", or in a capability, such as
            "special.cbrt".
    """

    __slots__ = ("by_type", "function", "path")

    def __init__(self, function: str | Callable[..., Any]) -> None:
        self.path = function if isinstance(function, str) else ""
        self.function = None if isinstance(function, str) else function
        self.by_type: dict[type, Callable[..., Any]] = {}

    def __call__(self, array: Array, /, *args: Any, **params: Any) -> Any:
        """Call the function with an array, and other arguments."""
        return (self.by_type.get(type(array)) or self.found(array))(array, *args, **params)

    def of(self, array: Array) -> Callable[..., Any]:
        """Return the function for an array."""
        return self.by_type.get(type(array)) or self.found(array)

    def among(self, operands: Sequence[Any]) -> Callable[..., Any]:
        """Return the function for arrays and numbers. Of several arrays, some may be traced and others constants."""
        arrays = [x for x in operands if type(x) not in NUMBERS and is_array(x)]
        first = arrays[0]
        kind = type(first)
        for x in arrays:
            if type(x) is not kind and self.path in FUNCTIONS:
                function: Callable[..., Any] = attribute(array_namespace(*arrays), self.path)
                return function
        return self.of(first)

    def found(self, array: Array) -> Callable[..., Any]:
        """Find the function for an array, and cache it if it depends only on the array's type."""
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


def as_array(x: Any, *others: Any) -> Array:
    """Convert a number, or lists of numbers, to an array on the device of the first array among others."""
    if is_array(x):
        return x
    device = next((device_of(each) for each in others if is_array(each)), None)
    return namespace_of(*others).asarray(x, device=device)


def array_like(x: Any, like: Array) -> Array:
    """Convert a number, or lists of numbers, to an array like another one, of its data type if possible."""
    found = as_array(x, like)
    if found is x:
        return found
    xp = array_namespace(like)
    kinds = ("bool", "integral", "real floating", "complex floating")
    rank, own = [[xp.isdtype(each.dtype, kind) for kind in kinds].index(True) for each in (found, like)]
    return xp.astype(found, like.dtype) if rank <= own else found


def floating(xp: Namespace, x: Array) -> Array:
    """Convert integers and booleans to floating-point numbers of the default data type."""
    if xp.isdtype(x.dtype, ("real floating", "complex floating")):
        return x
    return xp.astype(x, xp.__array_namespace_info__().default_dtypes(device=None)["real floating"])


def check_type(function: str, parameter: str, x: Any) -> None:
    """Check that an argument is a named array."""
    if not isinstance(x, NamedArray):
        raise TypeError(
            f"{function}: {parameter} must be a NamedArray, got {describe(x)}; name its axes with `named(array, axes)`"
        )


def check_named(function: str, parameter: str, x: Any) -> None:
    """Check that an argument is a named array, and that it has a name for each axis."""
    check_type(function, parameter, x)
    if len(getattr(x.array, "shape", ())) != len(x.names):
        check_rank(function, x)


def without_axes(function: str, x: Any) -> None:
    """Check that an operand is a Python number or an array without axes."""
    if isinstance(x, NUMBERS):
        return
    if not is_array(x):
        raise TypeError(f"{function}: takes named arrays and numbers, got {describe(x)}")
    if len(x.shape):
        raise TypeError(
            f"{function}: got {describe(x)}, whose {len(x.shape)} axes have no names; name them with "
            "`named(array, axes)`"
        )


def documented(name: str, doc: str, function: F, module: str = __package__) -> F:
    """Give a generated function the name, the module and the docstring of a public function."""
    function.__name__ = function.__qualname__ = name
    function.__module__, function.__doc__ = module, doc
    return function


# --- axes of one array -----------------------------------------------------------------------------------------------


def position(function: str, x: NamedArray, axis: AxisSelector) -> int:
    """Return the position of an axis."""
    name, size = _axis.selector(function, axis)
    if name in x.names:
        found = x.names.index(name)
        if size is None or x.array.shape[found] == size:
            return found
    raise no_axis(function, x, name, size)


def selected(function: str, x: NamedArray, axes: AxisSelection | None) -> tuple[str, ...]:
    """Return the names of selected axes, and check that the array has them; None selects all."""
    if axes is None:
        return x.names
    found = _axis.pairs(function, axes)
    for name, size in found:
        position(function, x, name if size is None else _axis.Axis(name, size))
    names = tuple([name for name, _ in found])
    _axis.different(function, names)
    return names


def along(
    function: str, positional: Callable[..., Any], x: Any, axis: AxisSelector, parameter: str = "x", **params: Any
) -> NamedArray:
    """Call a positional function along one axis, which stays in its result."""
    check_named(function, parameter, x)
    if isinstance(params.get("dtype"), str):
        params["dtype"] = checks.named_dtype(function, array_namespace(x.array), params["dtype"])
    return make(positional(x.array, axis=position(function, x, axis), **params), x.names)


def hashable(axes: Any) -> Any:
    """Return a hashable key for a selection of axes, which may be a list or a dictionary."""
    if isinstance(axes, list):
        return tuple(axes)
    return tuple(axes.items()) if isinstance(axes, Mapping) else axes


# --- alignment of several arrays -------------------------------------------------------------------------------------


class Step(NamedTuple):
    """The alignment of one array: its axes are permuted, then new axes are inserted."""

    order: tuple[int, ...] | None
    new: tuple[int, ...]
    inserted: tuple[Any, ...]


Pairs: TypeAlias = tuple[tuple[int, int, int, int], ...]
"""Axes whose sizes must be equal: (array, position, array, position)."""


class Alignment(NamedTuple):
    """The alignment of arrays with certain names for broadcasting."""

    names: tuple[str, ...]
    steps: tuple[Step | None, ...]
    same: Pairs


ALIGNMENTS: Final = Memory()


def union(several: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return all names, in the order of the first array that has all, else in order of appearance."""
    found = dict.fromkeys(name for names in several for name in names)
    for names in several:
        if len(names) == len(found):
            return interned(names)
    return interned(tuple(found))


def step(own: tuple[str, ...], names: tuple[str, ...], *, pad: bool = False) -> Step | None:
    """Return the step that adds names to an array. Broadcasting adds leading axes, unless `pad` is set."""
    present = [name for name in names if name in own]
    order = tuple([own.index(name) for name in present])
    first = 0 if pad or not present else names.index(present[0])
    covered = names[first:] if present or pad else ()
    new = tuple([i for i, name in enumerate(covered) if name not in own])
    if not new and order == tuple(range(len(order))):
        return None
    index = tuple([None if name not in own else slice(None) for name in covered])
    return Step(None if order == tuple(range(len(order))) else order, new, index)


def equal_axes(several: Sequence[tuple[Any, ...]]) -> Pairs:
    """Find pairs of axes with equal labels, from the labels of each array's axes."""
    first: dict[Any, tuple[int, int]] = {}
    same = []
    for i, own in enumerate(several):
        for j, label in enumerate(own):
            if label in first:
                same.append((*first[label], i, j))
            first.setdefault(label, (i, j))
    return tuple(same)


def alignment(several: tuple[tuple[str, ...], ...]) -> Alignment:
    """Return the alignment of arrays with these names."""
    names = union(several)
    plan = Alignment(names, tuple([step(own, names) for own in several]), equal_axes(several))
    ALIGNMENTS.add(several, plan)
    return plan


def stepped(array: Array, step: Step) -> Array:
    """Permute an array and insert axes of size one."""
    xp = array_namespace(array)
    if step.order is not None:
        array = xp.permute_dims(array, step.order)
    if not step.new:
        return array
    # An index is fastest for NumPy. For other libraries it would be a gather.
    if hasattr(array, "__array_interface__"):
        return array[step.inserted]
    return xp.expand_dims(array, axis=step.new[0] if len(step.new) == 1 else step.new)


def check_sizes(function: str, same: Pairs, operands: Sequence[NamedArray]) -> None:
    """Check that arrays have a name for each axis, and that axes with the same name have equal sizes."""
    for x in operands:
        if len(x.array.shape) != len(x.names):
            check_rank(function, x)
    for i, j, k, m in same:
        one, other = operands[i], operands[k]
        if one.array.shape[j] != other.array.shape[m]:
            raise different_sizes(function, one, other, one.names[j])


def different_sizes(function: str, one: NamedArray, other: NamedArray, name: str) -> ValueError:
    """Return the error for an axis that has different sizes in two arrays."""
    return ValueError(
        f"{function}: axis {name!r} has size {one.shape[name]} in one array and {other.shape[name]} in another; the "
        f"axes are {_axis.written(one.shape.items())} and {_axis.written(other.shape.items())}"
    )


def aligned(function: str, operands: Sequence[Any]) -> tuple[tuple[str, ...], list[Any]]:
    """Align named arrays and numbers. Return all names, and arrays that broadcast."""
    arrays = [x for x in operands if isinstance(x, NamedArray)]
    several = tuple([x.names for x in arrays])
    plan = ALIGNMENTS.get(several) or alignment(several)
    check_sizes(function, plan.same, arrays)
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
