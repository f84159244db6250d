"""Memory during a profile, as Python's allocator and the libraries' own count it."""

import sys
import tracemalloc
from collections.abc import Callable
from typing import Final, NamedTuple

from xpand import wrapped_libraries

from ..devices import listed, memory_stats

_COUNTED_HERE: Final = ("cpu", "meta")
"""The kinds of devices whose memory is the host's, or none."""


class MemoryUse(NamedTuple):
    """The memory of a call, in bytes: the host's as far as Python sees it, and the devices' whose libraries count."""

    allocated: int
    """The bytes that were allocated and not freed; negative where more was freed."""
    peak: int
    """The most that it held at a time, above what was held before. On devices: at the ends of the calls recorded."""


class Meter:
    """Counts the memory of calls inside one another."""

    def __init__(self) -> None:
        """Begin to count."""
        self._started = not tracemalloc.is_tracing()
        if self._started:
            tracemalloc.start()
        self._devices = [
            _counter(library, info.device)
            for library in wrapped_libraries()
            if library in sys.modules
            # The implementation, since a profile around this one would record the function.
            for info in listed.native_for(library)(xp=library)
            if info.kind not in _COUNTED_HERE and memory_stats.native_for(library)(info.device, xp=library) is not None
        ]
        self._open: list[tuple[int, int]] = []  # of each call: what was held before, and the most since

    def start(self) -> None:
        """Begin a call."""
        current = self._measure()
        self._open.append((current, current))
        tracemalloc.reset_peak()

    def end(self) -> MemoryUse:
        """End the call that was started last."""
        current = self._measure()
        before, most = self._open.pop()
        if self._open:
            outer, outer_most = self._open[-1]
            self._open[-1] = (outer, max(outer_most, most))
        tracemalloc.reset_peak()
        return MemoryUse(current - before, most - before)

    def close(self) -> None:
        """Count no more."""
        if self._started:
            tracemalloc.stop()

    def _measure(self) -> int:
        """Return the bytes held; keep the most so far for the innermost open call."""
        on_devices = sum(count() for count in self._devices)
        current, peak = tracemalloc.get_traced_memory()
        if self._open:
            before, most = self._open[-1]
            self._open[-1] = (before, max(most, peak + on_devices))
        return current + on_devices


def _counter(library: str, device: object) -> Callable[[], int]:
    read = memory_stats.native_for(library)

    def count() -> int:
        stats = read(device, xp=library)
        return 0 if stats is None else stats.bytes_in_use or 0

    return count
