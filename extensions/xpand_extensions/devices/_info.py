"""Facts about a device: `DeviceInfo`, and the memory in use on it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from xpand.extend import Device

from . import _host as host


class DeviceFacts(NamedTuple):
    """The functions of a plug-in that query a device, called when a value is needed."""

    name: str
    processor_count: int | None = None
    total_memory: int | None = None
    free_memory: int | None = None
    description: str = ""


def host_facts() -> DeviceFacts:
    """Ask the operating system about the processor and its memory."""
    return DeviceFacts(host.processor_name(), host.processor_count(), host.total_memory(), host.free_memory())


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
    """The number among the library's devices of this kind."""
    device: Device
    """The library's own object, for the argument `device=` of its functions; also the value of `x.device`."""
    platform: str
    """The library's name of the kind: "cpu", "cuda", "rocm", "mps", "xpu", "tpu", …"""
    process_index: int = 0
    """The number of the process that the device belongs to, if a computation runs in several."""
    is_local: bool = True
    """Whether it belongs to this process."""
    facts: Callable[[], DeviceFacts] = field(default=host_facts, repr=False, compare=False)
    """Functions that query the other values."""

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
        """The number of bytes that are available now; None if the library does not report it."""
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
        """Return the device's name for `to_device`, such as "cuda:1"."""
        return f"{self.platform}:{self.index}"


@dataclass(frozen=True)
class MemoryStats:
    """The memory of a device as its library manages it, in bytes. Numbers that the library doesn't count are None."""

    bytes_in_use: int | None
    """The bytes that arrays use."""
    peak_bytes_in_use: int | None
    """The maximum that arrays have used."""
    bytes_reserved: int | None
    """The bytes that the library has reserved for arrays."""
    bytes_limit: int | None
    """The maximum that the library may reserve."""
    details: Mapping[str, int] = field(default_factory=dict, repr=False)
    """All counts of the library, under its own names."""
