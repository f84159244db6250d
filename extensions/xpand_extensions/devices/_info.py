"""Facts about devices and the host: `DeviceInfo`, and the memory in use."""

import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final, NamedTuple

from xpand.extend import Device

_CGROUPS: Final = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        "/sys/fs/cgroup/memory/memory.stat",
    ),
)
"""Linux's files with the limit, the use, and the part of it that is cache: control groups of version 2, then 1."""


@cache
def processor_name() -> str:
    """Name the processor, or its architecture if the system does not report a name."""
    for line in _read("/proc/cpuinfo").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name" and value.strip():
            return value.strip()
    return platform.processor() or platform.machine() or "processor"


def processor_count() -> int:
    """Count the processors that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def total_memory() -> int | None:
    """Return the bytes of memory that this process could have; None if the system does not report them."""
    limit, _ = _limit_and_use()
    physical = _pages("SC_PHYS_PAGES")
    return limit if physical is None or (limit is not None and limit < physical) else physical


def free_memory() -> int | None:
    """Return the bytes that are available without swapping; None if the system does not report them."""
    limit, used = _limit_and_use()
    available = _field("/proc/meminfo", "MemAvailable")
    free = _pages("SC_AVPHYS_PAGES") if available is None else 1024 * available
    if limit is None or used is None:
        return free
    within = max(limit - used, 0)
    return within if free is None else min(free, within)


def _limit_and_use() -> tuple[int | None, int | None]:
    for limit_file, use_file, stat_file in _CGROUPS:
        limit, used = _read(limit_file).strip(), _read(use_file).strip()
        if limit.isdigit() and used.isdigit():
            # Cached files count as used, but are dropped when memory is needed.
            return int(limit), max(int(used) - (_field(stat_file, "inactive_file") or 0), 0)
    return None, None


def _pages(name: str) -> int | None:
    try:
        count, size = os.sysconf(name), os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # no such function on Windows, no such name elsewhere
        return None
    return count * size if count > 0 and size > 0 else None


def _field(path: str, name: str) -> int | None:
    for line in _read(path).splitlines():
        words = line.replace(":", " ").split()
        if len(words) > 1 and words[0] == name and words[1].isdigit():
            return int(words[1])
    return None


def _read(path: str) -> str:
    try:
        from pathlib import Path  # slow to import

        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


class DeviceFacts(NamedTuple):
    """The functions by which a plug-in queries a device, when a value is needed."""

    name: str
    processor_count: int | None = None
    total_memory: int | None = None
    free_memory: int | None = None
    description: str = ""


def host_facts() -> DeviceFacts:
    """Ask the operating system about the processor and its memory."""
    return DeviceFacts(processor_name(), processor_count(), total_memory(), free_memory())


@dataclass(frozen=True)
class DeviceInfo:
    """A device of a library.

    Attributes that may change or take time to find out (the name, memory, processors) are queried when they are read.
    """

    library: str
    """The library: "numpy", "torch", …"""
    kind: str
    """"cpu", "gpu", "tpu", or "meta" for PyTorch's device without memory."""
    index: int
    """The number among the library's devices of this kind, as the library counts."""
    device: Device
    """The library's own object, which `device=` of its functions takes, and `x.device` is."""
    platform: str
    """The library's word for the kind: "cpu", "cuda", "rocm", "mps", "xpu", "tpu", …"""
    process_index: int = 0
    """The process that the device belongs to, where a computation runs in several."""
    is_local: bool = True
    """Whether it belongs to this process."""
    facts: Callable[[], DeviceFacts] = field(default=host_facts, repr=False, compare=False)
    """Asks for the rest."""

    @property
    def name(self) -> str:
        """The manufacturer's name of the device."""
        return self.facts().name

    @property
    def processor_count(self) -> int | None:
        """The number of processors: cores, or multiprocessors of a GPU. None if the library does not report it."""
        return self.facts().processor_count

    @property
    def total_memory(self) -> int | None:
        """The memory in bytes; None if the library does not report it."""
        return self.facts().total_memory

    @property
    def free_memory(self) -> int | None:
        """The bytes that are available now; None if the library does not report them."""
        return self.facts().free_memory

    @property
    def description(self) -> str:
        """A description in one line."""
        facts = self.facts()
        parts = [facts.name]
        if facts.processor_count is not None:
            parts.append(f"{facts.processor_count} processors")
        if facts.total_memory is not None:
            parts.append(f"{facts.total_memory / 2**30:.1f} GiB")
        return ", ".join([*parts, facts.description] if facts.description else parts)

    def __str__(self) -> str:
        """Name it as `to_device` takes it: "cuda:1"."""
        return f"{self.platform}:{self.index}"


@dataclass(frozen=True)
class MemoryStats:
    """The memory of a device as a library manages it, in bytes; None for numbers that the library doesn't count."""

    bytes_in_use: int | None
    """The bytes used by arrays."""
    peak_bytes_in_use: int | None
    """The most that arrays have used at any time."""
    bytes_reserved: int | None
    """The bytes that the library has reserved for arrays."""
    bytes_limit: int | None
    """The most that the library may reserve."""
    details: Mapping[str, int] = field(default_factory=dict, repr=False)
    """All of the library's counts, under its own names."""
