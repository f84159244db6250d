"""CuPy's devices: GPUs with CUDA or ROCm."""

from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Final

import cupy

from xpand._settings import ThreadSwitch

from ...devices._info import DeviceFacts, DeviceInfo, MemoryStats

_NO_DEVICE: Final = (35, 100)
"""CUDA's error codes for a missing driver, an old driver, and a missing GPU."""


def listed(*, xp: Any = None) -> tuple[DeviceInfo, ...]:
    platform = "rocm" if cupy.cuda.runtime.is_hip else "cuda"
    devices = [cupy.cuda.Device(i) for i in range(_count())]
    return tuple(
        DeviceInfo("cupy", "gpu", device.id, device, platform, facts=partial(_facts, device)) for device in devices
    )


def _count() -> int:
    runtime = cupy.cuda.runtime
    try:
        count: int = runtime.getDeviceCount()
    except runtime.CUDARuntimeError as error:
        if error.status not in _NO_DEVICE:
            raise
        return 0
    return count


def _facts(device: Any) -> DeviceFacts:
    properties = cupy.cuda.runtime.getDeviceProperties(device.id)
    name = properties["name"]
    free, total = device.mem_info
    return DeviceFacts(
        name.decode() if isinstance(name, bytes) else name,
        properties["multiProcessorCount"],
        total,
        free,
        f"compute capability {properties['major']}.{properties['minor']}",
    )


def move(x: Any, device: Any, /, *, copy: bool | None = None) -> Any:
    if x.device == device and not copy:
        return x
    if copy is False:
        raise ValueError(f"to_device: copy=False, but the array lies on {x.device}, and has to be copied to {device}")
    with device:
        return cupy.array(x, copy=True)


def default_device(xp: Any = None) -> Any:
    return cupy.cuda.Device()


def set_default_device(device: Any, /, *, xp: Any = None) -> None:
    (cupy.cuda.Device(0) if device is None else device).use()


_OPEN: Final[ThreadSwitch[Any]] = ThreadSwitch(lambda blocks: [cupy.cuda.Device(blocks[-1])])


def use_device(device: Any, /, *, xp: Any = None) -> AbstractContextManager[Any]:
    return _OPEN.block(device)


def wait(x: Any, /) -> None:
    x.device.synchronize()


def memory_stats(device: Any = None, /, *, xp: Any = None) -> MemoryStats | None:
    with cupy.cuda.Device(device.id):
        pool = cupy.get_default_memory_pool()
        return MemoryStats(pool.used_bytes(), None, pool.total_bytes(), device.mem_info[1])
