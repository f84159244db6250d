"""Rules for batches, derived from axis signatures."""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

from ..._dispatch import OPERATIONS
from ..._plans import Memory
from .._functions import FUNCTIONS, parsed
from .._indexing import INDEXING, applied
from .._signature import Layout, Signature
from ._derived import Axes, Function, Params, flattened, is_flat, key_of, lengthened
from ._derived_shapes import check_letters, shapes_of


class _Plan(NamedTuple):
    """The plan for an operation on batches of given shapes."""

    params: Params
    """The static parameters, with axes counted after the batch axis."""
    layout: Layout
    ndims: tuple[int, ...]
    """For each array, the number of axes after the batch axis to extend it to. Empty if no array changes."""
    shape: tuple[int, ...] | None
    """The shape of a flattened result; None if the operation does not flatten."""
    has_axis: bool
    """Whether there is an axis to reduce. Some functions can't reduce over no axis."""


def batching_rule(name: str, axes: Axes) -> Function:
    """Derive the rule for batches: the batch axis is one more broadcast axis."""
    call, signature = _caller(name, axes), axes.signature
    assert isinstance(signature, Signature)
    if signature.is_elementwise and not axes.same_shape:

        def elementwise(xp: Any, mapped: Any, /, *args: Any, **params: Any) -> Any:
            if args:
                if len(args) > 1:
                    ndim = max([x.ndim - is_mapped for x, is_mapped in zip(args, mapped) if hasattr(x, "dtype")])
                    args = tuple([lengthened(xp, x, is_mapped, ndim) for x, is_mapped in zip(args, mapped)])
                return call(xp, args, params)
            names = _arrays(mapped, params)
            if len(names) > 1:
                ndim = max([params[key].ndim - mapped[key] for key in names])
                params |= {key: lengthened(xp, params[key], mapped[key], ndim) for key in names}
            return call(xp, (), params)

        return elementwise
    order = [each.name for each in signature.arguments if each.name is not None]
    plans = Memory()

    def rule(xp: Any, mapped: Any, /, *args: Any, **params: Any) -> Any:
        names: Sequence[str] = ()
        arrays: Sequence[Any] = args
        flags, static = mapped, params
        if not args:
            present = _arrays(mapped, params)
            names = order or present
            arrays = [params[key] if key in present else None for key in names]
            flags = tuple([key in present and mapped[key] for key in names])
            static = {key: x for key, x in params.items() if key not in names}
        shapes = tuple([_shape(x, is_mapped) for x, is_mapped in zip(arrays, flags)])
        key = key_of(flags, shapes, params=static)
        plan = plans.get(key)
        if plan is None:
            plan = _planned(name, axes, signature, flags, shapes, static, by_name=not args)
            if key is not None:
                plans.add(key, plan)
        if plan.shape is not None:
            arrays = [flattened(xp, x, is_mapped) for x, is_mapped in zip(arrays, flags)]
        if axes.same_shape:
            shapes = tuple([_shape(x, is_mapped) for x, is_mapped in zip(arrays, flags)])
            arrays = _of_same_shape(xp, signature, plan.layout, arrays, flags, shapes)
        elif plan.ndims:
            arrays = [lengthened(xp, x, is_mapped, ndim) for x, is_mapped, ndim in zip(arrays, flags, plan.ndims)]
        if not plan.has_axis:
            arrays = [xp.expand_dims(x, axis=1) if is_mapped else x for x, is_mapped in zip(arrays, flags)]
        if args:
            found = call(xp, arrays, plan.params)
        else:
            found = call(xp, (), {**params, **plan.params, **{k: x for k, x in zip(names, arrays) if x is not None}})
        return found if plan.shape is None else xp.reshape(found, (found.shape[0], *plan.shape))

    return rule


def _planned(
    name: str,
    axes: Axes,
    signature: Signature,
    flags: Sequence[bool],
    shapes: Sequence[tuple[int, ...]],
    params: Params,
    by_name: bool,
) -> _Plan:
    """Plan an operation on batches."""
    check_letters(name, signature, shapes)
    shape = None
    if is_flat(axes, signature, params):
        shape = shapes_of(name, axes, signature, shapes, params)[0]
        shapes = [(math.prod(each),) for each in shapes]
        params = {key: x for key, x in params.items() if key != "keepdims"} | {"axis": 0}
    layout = axes.layout(name, signature, tuple(map(len, shapes)), params)
    ndims = tuple([layout.ndim + len(signature.argument(i).letters) for i in range(len(shapes))])
    params = _shifted(axes, signature, layout, params, from_end=not by_name and len(shapes) > 1)
    has_axis = all(layout.positions.values()) or signature.results[0].named is not None
    if not has_axis:
        params |= {
            key: False if key == "keepdims" else (1,) for key in (*layout.positions, "keepdims") if key in params
        }
    if not by_name:  # omit parameters that are None, which not all functions take
        params = {key: x for key, x in params.items() if x is not None}
    lengthens = any(is_mapped and len(each) < ndim for is_mapped, each, ndim in zip(flags, shapes, ndims))
    return _Plan(params, layout, ndims if lengthens else (), shape, has_axis)


def _arrays(mapped: Mapping[str, Any], params: Mapping[str, Any]) -> list[str]:
    """Return the names of the parameters that are arrays."""
    return [key for key, x in params.items() if isinstance(mapped[key], bool) and hasattr(x, "dtype")]


def _shape(x: Any, is_mapped: bool) -> tuple[int, ...]:
    return tuple(x.shape)[is_mapped:] if hasattr(x, "dtype") else ()


def _of_same_shape(
    xp: Any,
    signature: Signature,
    layout: Layout,
    arrays: Sequence[Any],
    flags: Sequence[bool],
    shapes: Sequence[tuple[int, ...]],
) -> list[Any]:
    """Broadcast the leading axes of all arrays, except those that a parameter names."""
    size = next(x.shape[0] for x, is_mapped in zip(arrays, flags) if is_mapped)
    counts = [len(signature.argument(i).letters) for i in range(len(arrays))]
    leads = [(1,) * (layout.ndim - len(shape) + n) + shape[: len(shape) - n] for shape, n in zip(shapes, counts)]
    named = {position for key in signature.taken for position in layout.positions[key]}
    found = []
    for x, is_mapped, shape, lead, n in zip(arrays, flags, shapes, leads, counts):
        if not hasattr(x, "dtype"):
            found.append(x)
            continue
        whole = [
            lead[i] if i in named else next((other[i] for other in leads if other[i] != 1), 1) for i in range(len(lead))
        ]
        wanted = (size, *whole, *shape[len(shape) - n :])
        x = lengthened(xp, x, is_mapped, layout.ndim + n)
        found.append(x if tuple(x.shape) == wanted else xp.broadcast_to(x, wanted))
    return found


def _shifted(axes: Axes, signature: Signature, layout: Layout, params: Params, from_end: bool) -> dict[str, Any]:
    """Return the parameters with axes for the batch: counted from the front, after the batch axis, or from the end."""
    found = dict(params)
    for key, positions in layout.positions.items():
        value = params.get(key)
        if value is None and axes.positions is not None:
            value = axes.positions(layout.ndim, **params)
        elif value is None:
            named = [each.named for each in (*signature.arguments, *signature.results)]
            value = next(axis.default for axis in named if axis is not None and axis.name == key)
        shift = -layout.ndim if from_end and key in signature.taken else 1
        moved = tuple([position + shift for position in positions])
        found[key] = moved if value is None or isinstance(value, (tuple, list)) else moved[0]
    return found


def _caller(name: str, axes: Axes) -> Callable[[Any, Sequence[Any], Params], Any]:
    """Return the call of an operation: functions of the standard take arrays by position, facades all by name."""
    if axes.call is not None:
        of = axes.call
        return lambda xp, arrays, params: of(xp)(*arrays, **params)
    if name in INDEXING:
        return lambda xp, arrays, params: applied(xp, name, arrays, dict(params))
    if name not in FUNCTIONS:
        return lambda xp, arrays, params: native_by_name(name, params)
    signature = parsed(FUNCTIONS[name])
    of, count, is_list = attrgetter(name), len(signature.arrays), signature.is_sequence and not signature.is_variadic

    def call(xp: Any, arrays: Sequence[Any], params: Params) -> Any:
        function = of(xp)
        if is_list:
            return function(list(arrays), **params)
        if len(arrays) == count and not signature.positional:
            return function(*arrays, **params)
        given = {key: x for key, x in zip(signature.extra, arrays[count:]) if x is not None}
        given.update((key, x) for key, x in params.items() if key not in signature.positional)
        return function(*arrays[:count], *[params[key] for key in signature.positional], **given)

    return call


@cache
def _facade(name: str) -> tuple[Any, list[str]]:
    """Return a facade and the names of its positional parameters."""
    found = (OPERATIONS.get(f"xpand_extensions.{name}") or OPERATIONS[name]).facade
    parameters = inspect.signature(found).parameters.values()
    return found, [each.name for each in parameters if each.kind is each.POSITIONAL_ONLY]


def native_by_name(name: str, params: Params) -> Any:
    """Apply the operation of a facade to checked arguments."""
    return applied_by_name(*_facade(name), params)


def applied_by_name(facade: Any, positional: Sequence[str], params: Params) -> Any:
    """Apply the operation of a facade. `positional` names the positional parameters."""
    rest = dict(params)
    given = [rest.pop(key) for key in positional if key in rest]
    return facade.native(*[x for x in params.values() if hasattr(x, "dtype") and hasattr(x, "ndim")])(*given, **rest)
