"""PyTorch's devices: the CPU, the accelerators that it was built for, and "meta"."""

from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Final

import torch

from xpand._settings import ThreadSwitch
from xpand.torch import _private as private

from ...devices._info import DeviceFacts, DeviceInfo, MemoryStats, host_facts


def listed(*, xp: Any = None) -> tuple[DeviceInfo, ...]:
    found = [DeviceInfo("torch", "cpu", 0, torch.device("cpu"), "cpu")]
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    if accelerator is not None:
        found += [_accelerator(torch.device(accelerator.type, i)) for i in range(torch.accelerator.device_count())]
    meta = DeviceInfo("torch", "meta", 0, torch.device("meta"), "meta", facts=lambda: DeviceFacts("no memory"))
    return (*found, meta)


def _accelerator(device: Any) -> DeviceInfo:
    platform = "rocm" if device.type == "cuda" and torch.version.hip else device.type
    return DeviceInfo("torch", "gpu", device.index, device, platform, facts=partial(_facts, device))


def _facts(device: Any) -> DeviceFacts:
    if device.type == "mps":
        # The GPU shares the host's memory; the driver recommends how much of it to use.
        total = torch.mps.recommended_max_memory()
        return DeviceFacts(
            host_facts().name, None, total, total - torch.mps.driver_allocated_memory(), "shares the host's memory"
        )
    module = torch.get_device_module(device)
    properties = module.get_device_properties(device)
    count = getattr(properties, "multi_processor_count", None) or getattr(properties, "gpu_subslice_count", None)
    free, total = module.mem_get_info(device)
    version = f"compute capability {properties.major}.{properties.minor}" if hasattr(properties, "major") else ""
    return DeviceFacts(properties.name, count, total, free, version)


def move(x: Any, device: Any, /, *, copy: bool | None = None) -> Any:
    if copy is False and x.device != device:
        raise ValueError(f"to_device: copy=False, but the array lies on {x.device}, and has to be copied to {device}")
    return x.to(device, copy=True) if copy else x.to(device)


def set_default_device(device: Any, /, *, xp: Any = None) -> None:
    torch.set_default_device(device)


_OPEN: Final[ThreadSwitch[Any]] = ThreadSwitch(lambda blocks: [blocks[-1]])


def use_device(device: Any, /, *, xp: Any = None) -> AbstractContextManager[Any]:
    return _OPEN.block(device)


def wait(x: Any, /) -> None:
    if x.device.type not in ("cpu", "meta"):
        torch.get_device_module(x.device).synchronize(*(() if x.device.type == "mps" else (x.device,)))


def free(x: Any, /) -> bool:
    # Only strided tensors have a storage. The graph of a derivative may use the memory of a differentiated tensor.
    if x.layout is not torch.strided or x.requires_grad or type(x) is not torch.Tensor:
        return False
    storage = x.untyped_storage()
    # Memory of another library can't be freed. Two uses are expected: the tensor's, and that of `storage`.
    if not storage.nbytes() or not storage.resizable() or private.count_uses(storage) > 2:
        return False
    del storage
    try:
        torch.utils.swap_tensors(x, torch.empty_like(x, device="meta"))
    except RuntimeError:  # a weak reference or C++ code refers to the tensor
        return False
    return True


def memory_stats(device: Any = None, /, *, xp: Any = None) -> MemoryStats | None:
    if device.type in ("cpu", "meta"):
        return None
    if device.type == "mps":
        return MemoryStats(
            torch.mps.current_allocated_memory(),
            None,
            torch.mps.driver_allocated_memory(),
            torch.mps.recommended_max_memory(),
        )
    module = torch.get_device_module(device)
    if not hasattr(module, "memory_stats"):
        return None
    counted = module.memory_stats(device)
    total = module.mem_get_info(device)[1]
    return MemoryStats(
        counted.get("allocated_bytes.all.current", 0),
        counted.get("allocated_bytes.all.peak", 0),
        counted.get("reserved_bytes.all.current", 0),
        total,
        counted,
    )


def process_index(xp: Any = None) -> int:
    return torch.distributed.get_rank() if _is_distributed() else 0


def process_indices(xp: Any = None) -> tuple[int, ...]:
    return tuple(range(process_count()))


def process_count(xp: Any = None) -> int:
    return torch.distributed.get_world_size() if _is_distributed() else 1


def _is_distributed() -> bool:
    return bool(torch.distributed.is_available() and torch.distributed.is_initialized())
