"""Running out of memory: one error for those of all libraries."""

import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NoReturn

from xpand.extend import Device, Namespace

from .._dispatch import pluggable
from ._info import DeviceInfo, MemoryStats
from ._list import device_info, resolve

_OUT_OF_MEMORY: Final = re.compile(r"RESOURCE_EXHAUSTED|out of memory|can't allocate memory|MemoryError", re.IGNORECASE)
_SIZE: Final = re.compile(r"allocat\w*\s+(?:request for )?([\d.,]+)\s*(?:bytes?\b|([KMGTPE]?)i?B\b)", re.IGNORECASE)
_UNITS: Final = "KMGTPE"


class DeviceMemoryError(MemoryError):
    """A device has too little memory for a new array."""

    def __init__(self, message: str, requested: int | None = None, free: int | None = None) -> None:
        """Keep the bytes that were asked for, and those that were free; None where that isn't known."""
        super().__init__(message)
        self.requested = requested
        self.free = free


@contextmanager
def memory_errors(device: Device | str | None = None, /, *, xp: Namespace | str | None = None) -> Iterator[None]:
    """Raise `DeviceMemoryError` where a library runs out of memory inside a `with` block, in whatever way it says so.

    Arrays made by functions that failed are freed, also while the error is being handled: their local variables are
    cleared. On JAX, work that is still under way fails when it is waited for; end the block with `synchronize`.

    Args:
        device: The device that the work is for, as `to_device` takes it; the message names it, and what is free there.
        xp: The library, by its namespace or name; the default one if omitted.

    Raises:
        DeviceMemoryError: The block ran out of memory.
        TypeError, ValueError: As `device_info`.

    >>> import numpy as np
    >>> try:
    ...     with memory_errors():
    ...         x = np.zeros(2**55)
    ... except DeviceMemoryError as error:
    ...     error.requested == 2**58
    True
    """
    info = None if device is None else device_info(device, xp=xp)
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        raise_memory_error("memory_errors", error, info)


def is_out_of_memory(error: Exception) -> bool:
    """Tell whether a library's error says that memory ran out."""
    if isinstance(error, DeviceMemoryError):
        return False
    return isinstance(error, MemoryError) or bool(_OUT_OF_MEMORY.search(f"{type(error).__name__}: {error}"))


def raise_memory_error(function: str, error: Exception, info: DeviceInfo | None) -> NoReturn:
    """Raise a `DeviceMemoryError` in place of a library's, whose functions' variables are dropped."""
    traceback.clear_frames(error.__traceback__)
    requested, free = _requested(str(error)), None if info is None else info.free_memory
    where = "" if info is None else f" of {info.library} on {info}"
    known = [
        f"{count} bytes {what}"
        for count, what in ((requested, "were asked for"), (free, "are free"))
        if count is not None
    ]
    raise DeviceMemoryError(
        f"{function}: out of memory{where}{': ' if known else ''}{', '.join(known)}; let go of arrays, work on smaller "
        f"parts, or use another device. The library says: {error}",
        requested,
        free,
    ) from None


def _requested(message: str) -> int | None:
    found = _SIZE.search(message)
    if found is None:
        return None
    number, unit = found.group(1).replace(",", "").rstrip("."), (found.group(2) or "").upper()
    factor: int = 1024 ** (_UNITS.index(unit) + 1 if unit else 0)
    return round(float(number) * factor)


@pluggable
def memory_stats(device: Device | str | None = None, /, *, xp: Namespace | str | None = None) -> MemoryStats | None:
    """Return the memory in use on a device, as the library counts it.

    Args:
        device: A device, as `to_device` takes it. None: the default device.
        xp: The library, by its namespace or name; the default one if omitted.

    Returns:
        The bytes in use and their peak, the bytes held, and the limit; None where the library doesn't count: NumPy and
        Dask, and PyTorch and JAX on the processor.

    Raises:
        TypeError, ValueError: As `device_info`.

    Source: JAX's `Device.memory_stats`, `torch.cuda.memory_stats`.

    >>> memory_stats("cpu", xp="numpy") is None
    True
    """
    info = resolve("memory_stats", device, xp)
    return memory_stats.native_for(info.library)(info.device, xp=info.library)
