"""Devices of every library: list them, move arrays between them, and set the default device for new arrays.

A device is given by the library's own object, by a `DeviceInfo`, or by a string that means the same on every library:
"cpu", "gpu", "cuda:1". If there is no such device, the error lists the available ones.
"""

from ._info import DeviceFacts, DeviceInfo, MemoryStats
from ._list import (
    default_device,
    device,
    device_count,
    device_info,
    devices,
    listed as listed,
    local_device_count,
    local_devices,
    process_count,
    process_index,
    process_indices,
    set_default_device,
    use_device,
)
from ._move import (
    DeviceMemoryError,
    free,
    is_available,
    memory_errors,
    memory_stats,
    move as move,
    synchronize,
    to_device,
    wait as wait,
)

__all__ = [
    "DeviceFacts",
    "DeviceInfo",
    "DeviceMemoryError",
    "MemoryStats",
    "default_device",
    "device",
    "device_count",
    "device_info",
    "devices",
    "free",
    "is_available",
    "local_device_count",
    "local_devices",
    "memory_errors",
    "memory_stats",
    "process_count",
    "process_index",
    "process_indices",
    "set_default_device",
    "synchronize",
    "to_device",
    "use_device",
]
__dir__ = __all__.copy
