"""Find devices, by library and by name."""

from contextlib import AbstractContextManager
from typing import Any, Final

from xpand import array_namespace, library_name
from xpand.common import device as device_of_array
from xpand.extend import Array, Device, Namespace, describe, is_array, namespace_or_default

from .._dispatch import pluggable
from ._info import DeviceInfo

KINDS: Final = ("cpu", "gpu", "tpu", "meta")
"""The kinds of devices. A platform's own name ("cuda") is accepted, too."""


@pluggable
def listed(*, xp: Namespace | str | None = None) -> tuple[DeviceInfo, ...]:
    """List every device of a library, of all processes. The processor comes first."""
    return listed.native_for(xp)(xp=xp)


def devices(xp: Namespace | str | None = None, kind: str | None = None) -> tuple[DeviceInfo, ...]:
    """List the devices of a library.

    Args:
        xp: The library: its namespace or name. By default: the default library.
        kind: "cpu", "gpu", "tpu", or the library's own name, such as "cuda". By default: all kinds that store values,
            so all except PyTorch's "meta".

    Returns:
        A list of `DeviceInfo`, in the library's order, for all processes.

    Raises:
        TypeError: `xp` is neither a namespace nor a name, or `kind` is not a string.
        ValueError: There is no such library, or it has no device of this kind; the message lists the available ones.

    Source: `jax.devices`, PhiML's `Backend.list_devices`.

    >>> [each.kind for each in devices("numpy")]
    ['cpu']
    """
    return of_kind("devices", namespace_or_default(xp, "devices"), kind)


def local_devices(xp: Namespace | str | None = None, kind: str | None = None) -> tuple[DeviceInfo, ...]:
    """List the devices of a library that belong to this process: all devices, unless JAX runs in several processes.

    Arguments and errors are as in `devices`.

    Source: `jax.local_devices`.

    >>> local_devices("numpy") == devices("numpy")
    True
    """
    found = of_kind("local_devices", namespace_or_default(xp, "local_devices"), kind)
    return tuple(each for each in found if each.is_local)


def device_count(xp: Namespace | str | None = None, kind: str | None = None) -> int:
    """Count the devices of a library; 0 if there is none of the kind.

    Arguments are as in `devices`.

    Raises:
        TypeError, ValueError: As `devices`. A known kind without devices raises no error: "gpu" never raises.

    Source: `jax.device_count`.

    >>> device_count("numpy"), device_count("numpy", "gpu")
    (1, 0)
    """
    return _count("device_count", xp, kind, local=False)


def local_device_count(xp: Namespace | str | None = None, kind: str | None = None) -> int:
    """Count the devices of a library that belong to this process; 0 if there is none of the kind.

    Arguments and errors are as in `device_count`.

    Source: `jax.local_device_count`.

    >>> local_device_count("numpy")
    1
    """
    return _count("local_device_count", xp, kind, local=True)


def _count(function: str, xp: Namespace | str | None, kind: str | None, local: bool) -> int:
    namespace = namespace_or_default(xp, function)
    if kind in KINDS and all(each.kind != kind for each in listed(xp=namespace)):
        return 0
    return sum(each.is_local or not local for each in of_kind(function, namespace, kind))


def of_kind(function: str, xp: Namespace, kind: str | None) -> tuple[DeviceInfo, ...]:
    """List the devices of a kind. None: all that store values. Errors name `function`."""
    if kind is not None and not isinstance(kind, str):
        raise TypeError(f"{function}: kind must be a string such as 'gpu', or None, got {describe(kind)}")
    every = listed(xp=xp)
    if kind is None:
        return tuple(each for each in every if each.kind != "meta")
    found = tuple(each for each in every if kind.lower() in (each.kind, each.platform))
    if not found:
        raise ValueError(
            f"{function}: {library_name(xp)} has no device of kind {kind!r} here; there are "
            f"{_listing(sorted({each.kind for each in every} | {each.platform for each in every}))}"
        )
    return found


def device(x: Array, /) -> Device | None:
    """Return the device of an array, as the library's own object; None if it is unknown.

    It is unknown for JAX's tracers inside `jax.jit`, and for abstract arrays inside xpand's `jit`. Nothing is computed,
    and traced arrays don't raise.

    Args:
        x: An array of any library, concrete, traced or lazy.

    Raises:
        TypeError: `x` is not an array.

    Source: the standard's `x.device`.

    >>> import numpy as np
    >>> device(np.ones(3))
    'cpu'
    """
    if not is_array(x):
        raise TypeError(f"device: x must be an array, got {describe(x)}; for a tree, call it on each leaf")
    return device_of_array(x)


def device_info(device: Device | str | Array | None = None, /, *, xp: Namespace | str | None = None) -> DeviceInfo:
    """Return facts about a device.

    Args:
        device: The library's own object, a `DeviceInfo`, or a string: a kind ("gpu") or the library's name for it
            ("cuda"), each also with a number ("cuda:1"), or a library's name for one device. An array stands for its
            device. None: the default device.
        xp: The library: its namespace or name. Not needed if `device` determines it. By default: the default library.

    Raises:
        TypeError: The argument is neither a device of the library nor an array.
        ValueError: The library has no such device (the message lists the available ones), the device of the array is
            unknown, or `device` belongs to another library than `xp`.

    Source: PhiML's `Backend.get_device` and `get_device_by_ref`.

    >>> device_info("cpu", xp="numpy").library
    'numpy'
    """
    if is_array(device):
        namespace, found = library_under(array_namespace(device)), device_of_array(device)
        if found is None:
            raise ValueError(f"device_info: the device of {describe(device)} isn't known while it is traced")
        _same_library("device_info", library_name(namespace), xp)
        return _matching("device_info", namespace, found)
    return resolve("device_info", device, xp)


@pluggable
def default_device(xp: Namespace | str | None = None) -> Device:
    """Return a library's default device, as the library's own object.

    Args:
        xp: The library: its namespace or name. By default: the default library.

    Raises:
        TypeError, ValueError: `xp` is neither a namespace nor the name of a library.

    Source: the standard's `__array_namespace_info__().default_device`, PhiML's `Backend.get_default_device`.

    >>> default_device("numpy")
    'cpu'
    """
    return default_device.native_for(xp)(namespace_or_default(xp, "default_device"))


def resolve(function: str, device: Device | None, xp: Namespace | str | None) -> DeviceInfo:
    """Find the device for an argument. None is the default device.

    Raises:
        TypeError, ValueError: As `device_info`.
    """
    if isinstance(device, DeviceInfo):
        _same_library(function, device.library, xp)
        return device
    namespace = library_under(namespace_or_default(xp, function))
    return _matching(function, namespace, default_device(namespace) if device is None else device)


def library_under(xp: Namespace) -> Namespace:
    """Return the namespace with the devices of `xp`. For traced arrays, it is that of the library below them."""
    return getattr(xp, "base", xp) if hasattr(xp, "wraps") else xp


def _same_library(function: str, library: str, xp: Namespace | str | None) -> None:
    requested = library if xp is None else library_name(library_under(namespace_or_default(xp, function)))
    if requested != library:
        raise ValueError(
            f"{function}: takes a device of {requested}, got one of {library}; find it with `devices({requested!r})`"
        )


def _matching(function: str, xp: Namespace, device: Device) -> DeviceInfo:
    every = listed(xp=xp)
    if isinstance(device, str):
        word = device.lower()
        for each in every:
            if word in _names(each) or device == each.device:
                return each
    else:
        own = tuple({type(each.device) for each in every})
        if not isinstance(device, own):
            raise TypeError(
                f"{function}: device must be a device of {library_name(xp)}, a `DeviceInfo`, or a string such as "
                f"'cpu' or 'gpu:0', got {device!r} ({describe(device)})"
            )
        for each in every:
            if _is_same(each, device):
                return each
    raise ValueError(f"{function}: {library_name(xp)} has no device {str(device)!r} here; there are {_listing(every)}")


def _is_same(info: DeviceInfo, device: Any) -> bool:
    if info.device == device:
        return True
    # PyTorch's "cuda" without a number is the current device, by default the first one.
    return getattr(device, "index", 0) is None and info.index == 0 and device.type == info.device.type


def _names(info: DeviceInfo) -> set[str]:
    kinds = {info.kind, info.platform}
    words = {f"{kind}:{info.index}" for kind in kinds} | {_word(info.device)}
    return words | kinds if info.index == 0 else words


def _word(device: Device) -> str:
    """Return a library's name for a device without its class, such as "device1"."""
    text = str(device)
    return (text.split("'")[1] if text.count("'") == 2 else text).lower()


def _listing(found: Any) -> str:
    return ", ".join(repr(str(each)) for each in found) or "none"


@pluggable
def process_index(xp: Namespace | str | None = None) -> int:
    """Return the number of this process in a distributed computation.

    Args:
        xp: The library: its namespace or name. By default: the default library.

    Returns:
        JAX's process index; PyTorch's rank if `torch.distributed` is initialized; otherwise 0.

    Raises:
        TypeError, ValueError: `xp` is neither a namespace nor the name of a library.

    Source: `jax.process_index`, formerly `jax.host_id`.

    >>> process_index("numpy")
    0
    """
    return process_index.native_for(xp)(xp)


@pluggable
def process_indices(xp: Namespace | str | None = None) -> tuple[int, ...]:
    """Return the numbers of all processes of a distributed computation, in ascending order.

    Arguments and errors are as in `process_index`.

    Source: `jax.process_indices`, formerly `jax.host_ids`, which return lists.

    >>> process_indices("numpy")
    (0,)
    """
    return process_indices.native_for(xp)(xp)


@pluggable
def process_count(xp: Namespace | str | None = None) -> int:
    """Return the number of processes of a distributed computation.

    Arguments and errors are as in `process_index`.

    Source: `jax.process_count`, formerly `jax.host_count`.

    >>> process_count("numpy")
    1
    """
    return process_count.native_for(xp)(xp)


@pluggable
def set_default_device(device: Device | DeviceInfo | str | None, /, *, xp: Namespace | str | None = None) -> None:
    """Set the default device of a library, on which it creates arrays.

    Args:
        device: A device, in a form that `to_device` accepts. None: the library's own choice.
        xp: The library: its namespace or name. Not needed with a `DeviceInfo`. By default: the default library.

    This is the library's own setting, so it affects code that doesn't know xpand, too. JAX has one setting for the
    process. PyTorch's and CuPy's hold for the thread that sets them. `use_device` has priority.

    Raises:
        TypeError, ValueError: As `device_info`.
        UnsupportedError: The library has several devices, but no default that can be set, such as array-api-strict.

    Source: `torch.set_default_device`, JAX's `jax_default_device`, PhiML's `Backend.set_default_device`.

    >>> set_default_device("cpu", xp="numpy")
    """
    namespace, found = _resolved("set_default_device", device, xp)
    set_default_device.native_for(namespace)(found, xp=namespace)


@pluggable
def use_device(
    device: Device | DeviceInfo | str, /, *, xp: Namespace | str | None = None
) -> AbstractContextManager[Device]:
    """Set the default device of a library inside a `with` block.

    Args:
        device: A device, in a form that `to_device` accepts.
        xp: The library: its namespace or name. Not needed with a `DeviceInfo`. By default: the default library.

    Returns:
        A context manager, which gives the library's own object for the device. It uses the library's own setting
        (`jax.default_device`, `torch.device`, `cupy.cuda.Device`), so it affects code that doesn't know xpand, too. It
        holds only in this thread. The previous setting is restored, also after an error. If a task of asyncio waits
        inside the block, the setting also holds for other tasks of the thread.

    Raises:
        TypeError, ValueError: As `device_info`.
        UnsupportedError: The library has several devices, but no default that can be set, such as array-api-strict.

    Source: `jax.default_device`, PyTorch's `with torch.device(...)`.

    >>> import xpand
    >>> with use_device("cpu", xp="numpy") as device:
    ...     device, xpand.namespace("numpy").ones(2, device=device)
    ('cpu', array([1., 1.]))
    """
    namespace, found = _resolved("use_device", resolve("use_device", device, xp), xp)
    return use_device.native_for(namespace)(found, xp=namespace)


def _resolved(
    function: str, device: Device | DeviceInfo | None, xp: Namespace | str | None
) -> tuple[Namespace, Device]:
    if device is None:
        return namespace_or_default(xp, function), None
    info = resolve(function, device, xp)
    return namespace_or_default(info.library if xp is None else xp, function), info.device
