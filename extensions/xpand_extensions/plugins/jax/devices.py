"""JAX's devices: all devices of every platform, of all processes."""

from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Final

import jax

from xpand import is_concrete
from xpand._settings import ThreadSwitch

from ...devices._info import DeviceFacts, DeviceInfo, MemoryStats, host_facts

_PLATFORMS = {"cuda": "gpu", "rocm": "gpu", "gpu": "gpu", "METAL": "gpu"}


def listed(*, xp: Any = None) -> tuple[DeviceInfo, ...]:
    found = [device for platform in _platforms() for device in jax.devices(platform)]
    counts: dict[str, int] = {}
    result = []
    for device in found:
        kind = _PLATFORMS.get(device.platform, device.platform)
        index = counts[kind] = counts.get(kind, -1) + 1
        result.append(
            DeviceInfo(
                "jax",
                kind,
                index,
                device,
                _word(device),
                device.process_index,
                device.process_index == jax.process_index(),
                facts=partial(_facts, device),
            )
        )
    return tuple(sorted(result, key=lambda info: info.kind != "cpu"))


def _platforms() -> list[str]:
    import jax.extend

    return list(jax.extend.backend.backends())


def _word(device: Any) -> str:
    """Return the platform's own name: JAX calls the devices of CUDA and of AMD "gpu"."""
    if device.platform != "gpu":
        return str(device.platform)
    return "rocm" if "rocm" in device.client.platform_version.lower() else "cuda"


def _facts(device: Any) -> DeviceFacts:
    if device.platform == "cpu":
        return host_facts()
    stats = memory_stats(device)
    total = None if stats is None else stats.bytes_limit
    free = None if stats is None or total is None or stats.bytes_in_use is None else total - stats.bytes_in_use
    cores = getattr(device, "core_count", None) or getattr(device, "num_cores", None)
    version = getattr(device, "compute_capability", None)
    return DeviceFacts(
        device.device_kind, cores, total, free, "" if version is None else f"compute capability {version}"
    )


def move(x: Any, device: Any, /, *, copy: bool | None = None) -> Any:
    if is_concrete(x):
        there = x.committed and x.sharding == _sharding(device)
        if there and not copy:
            return x
        if copy is False and x.sharding.device_set != _sharding(device).device_set:
            raise ValueError(
                f"to_device: copy=False, but the array lies on {x.device}, and has to be copied to {device}"
            )
    # An uncommitted array becomes committed to its device and keeps its memory.
    return jax.device_put(x, device, may_alias=False if copy else None)


def _sharding(device: Any) -> Any:
    return device if hasattr(device, "device_set") else jax.sharding.SingleDeviceSharding(device)


def default_device(xp: Any = None) -> Any:
    chosen = jax.config.jax_default_device
    return jax.local_devices()[0] if chosen is None else jax.devices(chosen)[0] if isinstance(chosen, str) else chosen


def set_default_device(device: Any, /, *, xp: Any = None) -> None:
    jax.config.update("jax_default_device", device)


_OPEN: Final[ThreadSwitch[Any]] = ThreadSwitch(lambda blocks: [jax.default_device(blocks[-1])])


def use_device(device: Any, /, *, xp: Any = None) -> AbstractContextManager[Any]:
    return _OPEN.block(device)


def wait(x: Any, /) -> None:
    jax.block_until_ready(x)


def free(x: Any, /) -> bool:
    if x.is_deleted():
        return False
    x.delete()
    return True


def memory_stats(device: Any = None, /, *, xp: Any = None) -> MemoryStats | None:
    counted = device.memory_stats()
    if not counted:
        return None
    return MemoryStats(
        counted.get("bytes_in_use"),
        counted.get("peak_bytes_in_use"),
        counted.get("pool_bytes", counted.get("bytes_reserved")),
        counted.get("bytes_limit"),
        counted,
    )


def process_index(xp: Any = None) -> int:
    return int(jax.process_index())


def process_indices(xp: Any = None) -> tuple[int, ...]:
    return tuple(jax.process_indices())


def process_count(xp: Any = None) -> int:
    return int(jax.process_count())
