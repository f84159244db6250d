"""Devices by the standard: a namespace lists them, arrays move between them, and new arrays lie on the first."""

from collections.abc import Iterator
from contextlib import contextmanager

from xpand import UnsupportedError, array_namespace, library_name, to_device as standard_to_device
from xpand.extend import Array, Device, Namespace, device_of, namespace_or_default

from ..devices._info import DeviceFacts, DeviceInfo, MemoryStats, host_facts


def listed(*, xp: Namespace | str | None = None) -> tuple[DeviceInfo, ...]:
    """List the namespace's devices.

    The standard does not define kinds of devices: a device is a CPU, unless its name is that of a GPU. Facts about the
    processor are given for CPUs only.
    """
    namespace = namespace_or_default(xp, "devices")
    found: list[DeviceInfo] = []
    for device in namespace.__array_namespace_info__().devices():
        if device is None:
            continue
        words = str(device).lower()
        kind = "gpu" if any(word in words for word in ("gpu", "cuda", "rocm", "hip")) else "cpu"
        index = sum(each.kind == kind for each in found)

        def facts(name: str = str(device), kind: str = kind) -> DeviceFacts:
            return host_facts() if kind == "cpu" else DeviceFacts(name)

        found.append(DeviceInfo(library_name(namespace), kind, index, device, kind, facts=facts))
    return tuple(found)


def move(x: Array, device: Device, /, *, copy: bool | None = None) -> Array:
    here = device_of(x)
    if here is None or here == device:  # lazy arrays are only known to be on the CPU
        return array_namespace(x).asarray(x, copy=True) if copy else x
    if copy is False:
        raise ValueError(f"to_device: copy=False, but the array lies on {here}, and must be copied to {device}")
    return standard_to_device(x, device)


def default_device(xp: Namespace | str | None = None) -> Device:
    return namespace_or_default(xp, "default_device").__array_namespace_info__().default_device()


def set_default_device(device: Device, /, *, xp: Namespace | str | None = None) -> None:
    _check("set_default_device", device, xp)


@contextmanager
def use_device(device: Device, /, *, xp: Namespace | str | None = None) -> Iterator[Device]:
    _check("use_device", device, xp)
    yield device


def _check(function: str, device: Device, xp: Namespace | str | None) -> None:
    default = default_device(xp)
    if device is not None and device != default:
        library = library_name(namespace_or_default(xp, function))
        raise UnsupportedError(
            f"{function}: {library} makes arrays on {default} by default, and this cannot be changed; pass "
            f"`device={device}` to creation functions, or move arrays with `to_device`"
        )


def wait(x: Array, /) -> None:
    """Do nothing, since the library computes immediately."""


def free(x: Array, /) -> bool:
    return False


def memory_stats(device: Device = None, /, *, xp: Namespace | str | None = None) -> MemoryStats | None:
    return None


def process_index(xp: Namespace | str | None = None) -> int:
    return 0


def process_indices(xp: Namespace | str | None = None) -> tuple[int, ...]:
    return (0,)


def process_count(xp: Namespace | str | None = None) -> int:
    return 1
