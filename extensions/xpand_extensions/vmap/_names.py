"""Names of mapped axes: the names bound inside a mapped function, and the properties of their axes.

`axis_around` finds the axes of a library's own transformations, such as `jax.shard_map` and `jax.pmap`. All others are
stored by thread, not in a context variable, which torch.compile can't trace. Both are equivalent here: a mapped
function runs to its end in one thread, without a switch to another task.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

from xpand.extend import LibraryArray as Array, Namespace, describe, imported_libraries

from .._ambient import BOUND as _BOUND, Bound
from .._dispatch import pluggable

Name: TypeAlias = Hashable
"""The name of a mapped axis, mostly a string."""

Names: TypeAlias = Name | tuple[Name, ...]
"""One name, or several."""


class Axis(NamedTuple):
    """The properties of a mapped axis inside the mapped function."""

    size: int
    position: Callable[[], Array]
    """Returns the position of the lane along the axis: an array of shape () and type int32, which is mapped."""


@contextmanager
def bound(name: Name, axis: Axis) -> Iterator[None]:
    """Bind a name within a block. It hides an outer axis of the same name."""
    Bound.ever = True
    before = _BOUND.axes
    _BOUND.axes = {**before, name: axis}
    try:
        yield
    finally:
        _BOUND.axes = before


def lookups() -> int:
    """Return the number of look-ups of names so far, which shows whether a function has any."""
    return _BOUND.lookups


def all_bound() -> Mapping[Name, Axis]:
    """Return all bound names and their axes."""
    return _BOUND.axes


def stepped_safely(step: Callable[..., Any], carry: tuple[Array, ...], safe: Callable[[], tuple[Array, ...]]) -> Any:
    """Take a step of a loop in which some lanes are finished.

    Args:
        step: Takes the carry.
        carry: The carry, also of finished lanes: a step from there may be undefined, but other lanes may use it.
        safe: Returns the carry with safe values for finished lanes. Used if the step looks up no names, so no lane uses
            values of others.
    """
    before = lookups()
    found = step(*safe())
    return found if lookups() == before else step(*carry)


def axis_of(function: str, name: Name) -> Axis:
    """Look up a name.

    Raises:
        NameError: It is not bound.
    """
    found = _BOUND.axes.get(name)
    _BOUND.lookups += 1
    if found is None:
        found = _around(name)
    if found is None:
        known = ", ".join(map(repr, _BOUND.axes)) or "none"
        raise NameError(
            f"{function}: no mapped axis is called {name!r} here; those bound are: {known}. Call the function inside "
            f"one mapped with `vmap(…, axis_name={name!r})`"
        )
    return found


@pluggable
def axis_around(name: Name, /, *, xp: Namespace | str | None = None) -> Axis | None:
    """Find an axis of this name in a library's own transformations around the call; None if there is none."""
    return axis_around.native_for(xp)(name, xp=xp)


def _around(name: Name) -> Axis | None:
    found = (axis_around(name, xp=library) for library in imported_libraries())
    return next((axis for axis in found if axis is not None), None)


def checked(function: str, name: Any) -> Name:
    """Check that a value can be the name of an axis.

    Raises:
        TypeError: It can't.
    """
    if isinstance(name, (int, tuple)) or name is None or not _is_hashable(name):
        raise TypeError(
            f"{function}: axis_name must be a string, or another hashable value except integers, tuples and None, got "
            f"{describe(name)}"
        )
    known: Name = name
    return known


def several(function: str, names: Any) -> dict[Name, Axis]:
    """Look up one name, or each of a tuple or list of names, in order.

    Raises:
        TypeError: A value can't be a name.
        NameError: A name is not bound.
        ValueError: There is no name, or a name is given twice.
    """
    given = tuple(names) if isinstance(names, (tuple, list)) else (names,)
    found = {name: axis_of(function, name) for name in (checked(function, each) for each in given)}
    if not given or len(found) < len(given):
        raise ValueError(f"{function}: axis_name must name at least one axis, and each axis once, got {names!r}")
    return found


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
