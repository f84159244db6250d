"""The processor and its memory, as the operating system reports them, within the limits of a container."""

import os
import platform
from functools import cache
from typing import Final

_CGROUP: Final = "/sys/fs/cgroup/memory"
"""The path of Linux's files of the control group (version 2), without their ends."""


@cache
def processor_name() -> str:
    """Return the processor's name, or its architecture if the system does not report a name."""
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
    """Return the number of bytes of memory that this process may use; None if the system does not report it."""
    limit, _ = _limit_and_use()
    physical = _pages("SC_PHYS_PAGES")
    return limit if physical is None or (limit is not None and limit < physical) else physical


def free_memory() -> int | None:
    """Return the number of bytes that are available without swapping; None if the system does not report it."""
    limit, used = _limit_and_use()
    available = _field("/proc/meminfo", "MemAvailable")
    free = _pages("SC_AVPHYS_PAGES") if available is None else 1024 * available
    if limit is None or used is None:
        return free
    within = max(limit - used, 0)
    return within if free is None else min(free, within)


def _limit_and_use() -> tuple[int | None, int | None]:
    limit, used = _read(f"{_CGROUP}.max").strip(), _read(f"{_CGROUP}.current").strip()
    if not (limit.isdigit() and used.isdigit()):
        return None, None
    # Cached files count as used, but are dropped if memory is needed.
    return int(limit), max(int(used) - (_field(f"{_CGROUP}.stat", "inactive_file") or 0), 0)


def _pages(name: str) -> int | None:
    try:
        count, size = os.sysconf(name), os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows has no such function; other systems may not have the name
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
        from pathlib import Path  # this import is slow

        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
