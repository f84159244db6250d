"""Map a function of trees over devices."""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

from xpand import library_name, trees
from xpand.extend import Array, Device, Namespace, checks, describe, device_of

from .._ambient import ambient
from .._dispatch import pluggable, untraceable
from .._signatures import keeps_signature
from ..devices import DeviceInfo, device_info, local_devices
from ..devices._list import library_under, of_kind
from ..jit._calls import MAX_ENTRIES, Flat, arrays_among, check_leaves, leaf_numbers
from ..jit._statics import Statics, signature_of
from . import _names as names
from ._mapping import Axes, axes_of_arguments, plain_axes, size_of_axes


@untraceable
@keeps_signature
@pluggable
def pmap(
    function: Callable[..., Any],
    /,
    axis_name: names.Name | None = None,
    *,
    in_axes: Axes = 0,
    out_axes: Axes = 0,
    static_broadcasted_argnums: int | Iterable[int] = (),
    devices: Sequence[Device | DeviceInfo | str] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Iterable[int] = (),
) -> Callable[..., Any]:
    """Map a function over an axis of its arguments, with each position on its own device.

    The function is compiled as by `jit` and mapped as by `vmap`. Each call along the axis is a *replica*. There can't
    be more replicas than devices.

    - On JAX, replicas run in parallel. This is `jit` of `jax.shard_map`, cached for each signature of a call.
    - Other libraries use one device and one replica, which runs as in `vmap`. For several GPUs, PyTorch has
      `torch.distributed`, which runs one process for each.

    Args:
        function: Takes trees of arrays and Python numbers, and static values; returns a tree of arrays and numbers.
        axis_name: The name of the mapped axis, as in `vmap`.
        in_axes: As in `vmap`.
        out_axes: As in `vmap`, except that None takes the result of one replica, without a check that all are equal.
        static_broadcasted_argnums: The positions of static arguments, as `static_argnums` of `jit`.
        devices: The devices to use, one for each replica, in a form that `to_device` accepts. By default: the first
            devices of the arrays' kind.
        backend: The kind of devices to use if `devices` is not given: "cpu", "gpu", or a platform's own name.
        axis_size: The number of replicas. It is only checked, since at least one argument must be mapped.
        donate_argnums: As in `jit`.

    Returns:
        A function of the same arguments, with one more axis on those that are mapped. It returns the results of
        `function` with one more axis, distributed over the devices.

    Raises:
        TypeError: `function` is not callable, or an argument has the wrong type. The returned function raises it if
            leaves are neither arrays nor numbers.
        ValueError: The position of an argument is wrong. The returned function raises it if there are more replicas
            than devices, `devices` has another length than the number of replicas, or no such kind of device exists;
            otherwise as `vmap`.

    Source: `jax.pmap`.

    >>> import numpy as np
    >>> from xpand_extensions.vmap import psum
    >>> pmap(lambda x, y: x + psum(x, "i") * y, "i", in_axes=(0, None))(np.asarray([[1.0, 2.0]]), 3.0)
    array([[4., 8.]])
    """
    checks.function("pmap", function)
    in_axes, out_axes = plain_axes(in_axes), plain_axes(out_axes)
    static_broadcasted_argnums = checks.plain_integer(static_broadcasted_argnums)
    donate_argnums = checks.plain_integer(donate_argnums)
    if axis_name is not None:
        names.checked("pmap", axis_name)
    if axis_size is not None:
        axis_size = checks.integer("pmap", "axis_size", axis_size, minimum=1)
    if backend is not None and not isinstance(backend, str):
        raise TypeError(f"pmap: backend must be a string such as 'gpu', got {describe(backend)}")
    chosen = None if devices is None else tuple(devices)
    if chosen == ():
        raise ValueError(
            "pmap: devices must hold a device for each replica, got none; omit it to use the first devices"
        )
    static = (
        (static_broadcasted_argnums,) if isinstance(static_broadcasted_argnums, int) else static_broadcasted_argnums
    )
    statics = Statics("pmap", function, tuple(static), None, "static_broadcasted_argnums")
    donated = statics.donated(donate_argnums if isinstance(donate_argnums, int) else tuple(donate_argnums))
    # The programs by signature: a further call of a signature needs only a look-up.
    programs: dict[Any, Callable[..., Any]] = {}
    of_arrays: dict[Any, Callable[..., Any]] = {}  # programs for arrays only, which need no flattening

    def program(
        args: tuple[Any, ...], traced: tuple[tuple[Any, ...], dict[str, Any]], values: tuple[Any, ...]
    ) -> Callable[..., Any]:
        check_leaves("pmap", traced, "static_broadcasted_argnums")
        statics.check(values)
        leaves, structure = trees.flatten(traced)
        arrays = arrays_among(leaves)
        axes = axes_of_arguments("pmap", _without(in_axes, len(args), values), traced[0], leaves)
        if all(axis is None for axis in axes):
            raise ValueError("pmap: no argument is mapped over: in_axes has an integer for none of the arrays")
        size = size_of_axes("pmap", axes, leaves, axis_size)
        numbers = leaf_numbers(args, traced[0], values, donated)
        made: Callable[..., Any] = pmap.native(*arrays)(
            Flat("pmap", function, structure, values),
            axis_name,
            in_axes=axes,
            out_axes=out_axes,
            devices=chosen,
            backend=backend,
            axis_size=size,
            donate_argnums=numbers,
        )
        return made

    @wraps(function)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        state = ambient()
        if not kwargs and state is None:
            try:
                found = of_arrays.get(tuple([(type(x), x.shape, x.dtype) for x in args]))
            except (AttributeError, TypeError):  # some are not arrays
                found = None
            if found is not None:
                return found(*args)
        traced, values = statics.divide(args, kwargs)
        leaves, structure = trees.flatten(traced)
        types = tuple([(type(x), getattr(x, "shape", None), getattr(x, "dtype", None)) for x in leaves])
        try:
            key = structure, types, signature_of(values), state
            found = programs.get(key)
        except TypeError:  # a static value is not hashable: the check raises
            statics.check(values)
            raise
        if found is None:
            found = program(args, traced, values)
            if len(programs) >= MAX_ENTRIES:
                programs.clear()
                of_arrays.clear()
            programs[key] = found
            if not kwargs and not values and state is None and all(map(checks.is_array, args)):
                of_arrays[types] = found
        return found(*leaves)

    return mapped


def devices_of_replicas(
    size: int,
    devices: Sequence[Device | DeviceInfo | str] | None,
    backend: str | None,
    xp: Namespace,
    like: Array | None = None,
    most: int | None = None,
) -> tuple[Device, ...]:
    """Return the library's own device for each replica: the given devices, or the first ones of a kind.

    The kind is `backend`; by default that of the device of `like`, or else of the default device. At most `most`
    devices are used.

    Raises:
        ValueError: There are not enough devices, or not one device for each replica.
    """
    xp = library_under(xp)
    if devices is None:
        every = local_devices(xp)
        here = None if like is None else next((each for each in every if each.device == device_of(like)), None)
        default = device_info(xp=xp) if here is None else here
        if size == 1 and backend in (None, default.kind, default.platform):
            return (default.device,)
        found = [each.device for each in of_kind("pmap", xp, backend or default.kind) if each.is_local]
    else:
        if len(devices) != size:
            raise ValueError(
                f"pmap: devices must hold one device for each of the {size} replicas along the mapped axis, got "
                f"{len(devices)}"
            )
        found = [device_info(each, xp=xp).device for each in devices]
    found = found[:most]
    if size > len(found):
        count = f"{len(found)} device" + "s" * (len(found) != 1)
        raise ValueError(
            f"pmap: {size} replicas need as many devices, and {library_name(xp)} has {count} here; map over "
            "at most as many, and use `vmap` inside for the rest"
        )
    return tuple(found[:size])


def _without(in_axes: Axes, count: int, values: tuple[Any, ...]) -> Axes:
    """Remove the entries of static arguments from the axes of all arguments."""
    static = {key for key, *_ in values if isinstance(key, int)}
    if not static or not isinstance(in_axes, (tuple, list)) or len(in_axes) != count:
        return in_axes
    return tuple(axis for position, axis in enumerate(in_axes) if position not in static)
