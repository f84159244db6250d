"""Calls positional functions on named arrays: some axes are given by name, all others are mapped over."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple

from xpand import trees
from xpand.extend import Array, checks, is_array

from .._dispatch import operation_of
from .._plans import Memory
from ..vmap import vmap
from . import _axis
from ._array import NamedArray, interned, make, no_axis
from ._axis import AxisSelection
from ._plans import (
    Pairs,
    Step,
    check_named,
    check_sizes,
    equal_axes,
    rest_of,
    selected,
    step,
    stepped,
    union,
    without_axes,
)

__all__ = ["by_name"]

Names = tuple[str, ...]
_LAYOUTS = Memory()


class Layout(NamedTuple):
    """How named arrays become arguments of a positional function."""

    batch: Names
    steps: tuple[Step | None, ...]
    """The order of each array's axes: mapped ones first, then the core axes."""
    mapped: tuple[tuple[int | None, ...], ...]
    """The `in_axes` of the arrays for each mapped axis, the outermost first."""
    same: Pairs


def by_name(
    function: Callable[..., Any], core: Any = (), out: Any = None, *, broadcasts: bool = False
) -> Callable[..., Any]:
    """Lift a positional function to named arrays.

    Args:
        function: Takes arrays as positional arguments, and options.
        core: The names of the axes that the function works on, in its order. One name or a tuple applies to all arrays:
            the core axes of an array are those that it has. A list of tuples gives the core axes of each array.
        out: The names of the result's axes: one name or a tuple; for several results, a list of tuples. By default, the
            core axes of the first array if the result has as many axes, and none if it has none.
        broadcasts: Whether the function itself broadcasts leading axes as a batch, like elementwise functions and those
            of `linalg`. By default, `vmap` maps it over them. Operations with an axis signature
            (`extend.register_rules`) broadcast, and the signature names the axes of their results.

    Returns:
        A function of named arrays, arrays without axes, and numbers, with the function's options as keywords. It maps
        over all axes that are not core axes, by name. These come first in the results.

    Raises:
        ValueError: An array lacks a core axis, sizes differ, or the names of the result's axes are unknown.
        TypeError: An array has axes without names.

    >>> import numpy as np
    >>> from xpand import named as hax, special, statistics
    >>> x = hax.named(np.asarray([[1.0, 2.0], [3.0, 5.0]]), ("time", "place"))
    >>> by_name(statistics.median, "time", out=())(x)
    NamedArray({'place': 2}, array([2. , 3.5]))
    >>> by_name(special.expit, broadcasts=True)(0 * x).array
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    checks.function("by_name", function, "function")
    per_array = isinstance(core, list)
    given = [_names(each) for each in core] if per_array else _names(core)
    outs = None if out is None else [_names(each) for each in out] if isinstance(out, list) else _names(out)
    name = getattr(function, "__name__", "by_name")
    operation = operation_of(function)
    axes = None if operation is None or operation.rules is None else operation.rules.axes
    if axes is not None and axes.signature.has_letters_only:
        broadcasts = True
        outs = _names_of_results(axes.signature, given, per_array) if outs is None else outs

    @wraps(function)
    def lifted(*args: Any, **options: Any) -> Any:
        arrays = [x for x in args if isinstance(x, NamedArray)]
        for x in args:
            if is_array(x):
                without_axes(name, x)
        cores = _cores(name, given, args, per_array)
        layout = _layout(tuple([x.names for x in arrays]), cores, broadcasts)
        check_sizes(name, layout.same, arrays)
        values = [x.array if way is None else stepped(x.array, way) for x, way in zip(arrays, layout.steps)]
        names: list[Any] = []

        def positional(*values: Array) -> Any:
            parts = iter(values)
            given = [next(parts) if isinstance(x, NamedArray) else x for x in args]
            found = function(*given, **options)
            names[:] = [_result_names(name, outs, cores, found, len(layout.batch) if broadcasts else 0)]
            return found

        call = positional
        for axis, in_axes in zip(reversed(layout.batch), reversed(layout.mapped)):
            call = vmap(call, in_axes=in_axes, axis_name=axis)
        found = call(*values)
        leaves, structure = trees.flatten(found)
        return trees.unflatten(
            structure, [make(x, interned((*layout.batch, *own))) for x, own in zip(leaves, names[0])]
        )

    return lifted


def reduced(
    positional: Callable[..., Any], x: NamedArray, axis: AxisSelection | None, *args: Any, **options: Any
) -> NamedArray:
    """Call a positional function that removes axes; None removes all."""
    name = positional.__name__
    check_named(name, "x", x)
    names = selected(name, x, axis)
    found = positional(x.array, *args, axis=tuple([x.names.index(each) for each in names]), **options)
    return make(found, rest_of(x.names, names))


def _names_of_results(signature: Any, given: Any, per_array: bool) -> Any:
    """Return the names of the results' axes from an axis signature; None if it does not determine them."""
    names: dict[str, str] = {}
    for i, argument in enumerate(signature.arguments):
        names.update(zip(argument.letters, given[i] if per_array else given))
    if any(letter not in names for result in signature.results for letter in result.letters):
        return None
    outs = [tuple([names[letter] for letter in result.letters]) for result in signature.results]
    return outs[0] if len(outs) == 1 else outs


def _names(axes: Any) -> Names:
    return tuple([name for name, _ in _axis.pairs("by_name", axes)])


def _cores(function: str, given: Any, args: Sequence[Any], per_array: bool) -> tuple[Names, ...]:
    if not per_array:
        return tuple([tuple([name for name in given if name in x.names]) for x in args if isinstance(x, NamedArray)])
    if len(given) != len(args):
        raise ValueError(f"{function}: core has the axes of {len(given)} arrays, and {len(args)} are given")
    for x, names in zip(args, given):
        for name in names if isinstance(x, NamedArray) else ():
            if name not in x.names:
                raise no_axis(function, x, name, None)
    return tuple([names for x, names in zip(args, given) if isinstance(x, NamedArray)])


def _layout(several: tuple[Names, ...], cores: tuple[Names, ...], broadcasts: bool) -> Layout:
    key = (several, cores, broadcasts)
    found: Layout | None = _LAYOUTS.get(key)
    if found is not None:
        return found
    batch = union([tuple([name for name in names if name not in core]) for names, core in zip(several, cores)])
    own = [tuple([name for name in batch if name in names]) for names in several]
    if broadcasts:
        steps = tuple([step(names, (*batch, *core), pad=bool(core)) for names, core in zip(several, cores)])
        return _LAYOUTS.add(key, Layout(batch, steps, (), equal_axes(several)))
    steps = tuple([step(names, (*mine, *core)) for names, mine, core in zip(several, own, cores)])
    mapped = tuple([tuple([0 if name in mine else None for mine in own]) for name in batch])
    return _LAYOUTS.add(key, Layout(batch, steps, mapped, equal_axes(several)))


def _result_names(
    function: str, outs: Names | list[Names] | None, cores: tuple[Names, ...], result: Any, leading: int
) -> list[Names]:
    leaves = trees.leaves(result)
    if isinstance(outs, list) and len(outs) != len(leaves):
        raise ValueError(f"{function}: out names the axes of {len(outs)} results, but there are {len(leaves)}")
    named = outs if isinstance(outs, list) else [outs] * len(leaves)
    return [_one_result(function, names, cores, leaf, leading) for names, leaf in zip(named, leaves)]


def _one_result(function: str, names: Names | None, cores: tuple[Names, ...], leaf: Any, leading: int) -> Names:
    ndim = len(leaf.shape) - leading
    if names is None and cores and ndim == len(cores[0]):
        names = cores[0]
    elif names is None and ndim == 0:
        names = ()
    if names is None or len(names) != ndim:
        problem = "are not named" if names is None else f"don't fit the names {names}"
        raise ValueError(
            f"{function}: the result has {ndim} axes, which {problem}; name them with by_name(..., out=(...))"
        )
    return names
