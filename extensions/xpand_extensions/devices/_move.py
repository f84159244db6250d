"""Moving arrays, waiting for them, and the memory of devices."""

import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NoReturn, TypeVar

from xpand import array_namespace, is_concrete, namespace, trees
from xpand.extend import Array, Device, Namespace, checks, describe

from .._dispatch import pluggable
from ._info import DeviceInfo, MemoryStats
from ._list import device_info, resolve

_OUT_OF_MEMORY: Final = re.compile(r"RESOURCE_EXHAUSTED|out of memory|can't allocate memory|MemoryError", re.IGNORECASE)
_SIZE: Final = re.compile(r"allocat\w*\s+(?:request for )?([\d.,]+)\s*(?:bytes?\b|([KMGTPE]?)i?B\b)", re.IGNORECASE)
_UNITS: Final = "KMGTPE"


class DeviceMemoryError(MemoryError):
    """A device has too little memory for a new array."""

    __module__ = "xpand_extensions.devices"  # where users import it from: tracebacks show this name

    def __init__(self, message: str, requested: int | None = None, free: int | None = None) -> None:
        """Keep the bytes that were requested and those that were free; None if unknown."""
        super().__init__(message)
        self.requested = requested
        self.free = free


@contextmanager
def memory_errors(device: Device | str | None = None, /, *, xp: Namespace | str | None = None) -> Iterator[None]:
    """Raise `DeviceMemoryError` where a library runs out of memory inside a `with` block, for each library's own error.

    Arrays made by functions that failed are freed, also while the error is being handled: their local variables are
    cleared. JAX computes asynchronously, so errors appear when results are needed: end the block with `synchronize`.

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
    """Return whether a library's error says that memory ran out."""
    if isinstance(error, DeviceMemoryError):
        return False
    return isinstance(error, MemoryError) or bool(_OUT_OF_MEMORY.search(f"{type(error).__name__}: {error}"))


def raise_memory_error(function: str, error: Exception, info: DeviceInfo | None) -> NoReturn:
    """Raise a `DeviceMemoryError` instead of the library's error, and drop the variables of its functions."""
    traceback.clear_frames(error.__traceback__)
    requested, free = _requested(str(error)), None if info is None else info.free_memory
    where = "" if info is None else f" of {info.library} on {info}"
    known = [
        f"{count} bytes {what}"
        for count, what in ((requested, "were asked for"), (free, "are free"))
        if count is not None
    ]
    raise DeviceMemoryError(
        f"{function}: out of memory{where}{': ' if known else ''}{', '.join(known)}; delete arrays, work on smaller "
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


T = TypeVar("T")


def on_host(x: Array) -> Any:
    """Convert a concrete array of any library to NumPy."""
    xp, host = array_namespace(x), namespace("numpy")
    if xp is host:
        return x
    return host.asarray(xp.asarray(x, device=xp.__array_namespace_info__().default_device()))


def to_device(x: T, /, device: Device | DeviceInfo | str, *, copy: bool | None = None, donate: bool = False) -> T:
    """Move an array, or all arrays of a tree, to a device.

    Args:
        x: An array, or a tree of arrays, also of several libraries; containers of sparse arrays are trees too. Leaves
            that are not arrays stay as they are.
        device: The library's own object, a `DeviceInfo`, or a string: a kind ("gpu"), the library's name for it
            ("cuda"), either with a number ("cuda:1"), or a library's name for one device ("device1" of
            array-api-strict). On JAX also a sharding.
        copy: True to always copy. False to raise where a copy would be needed. By default, an array that is on the
            device already is returned unchanged.
        donate: A promise that `x` isn't used any more: its memory is freed at once where possible, see `free`.

    Returns:
        `x` with its arrays there. Derivatives go through, and the arrays may be traced, where the library moves traced
        arrays.

    Raises:
        TypeError: `device` is no device of the arrays' library; `copy` or `donate` is not a bool.
        ValueError: The library has no such device; the message lists the available ones. With `copy=False`, an array
            that lies elsewhere.
        DeviceMemoryError: Too little memory there. Arrays moved before are freed.

    Source: `jax.device_put`, `Tensor.to`, PhiML's `Backend.allocate_on_device`, Nx's `backend_copy` (`copy=True`) and
    `backend_transfer` (`donate=True`).

    >>> import numpy as np
    >>> x = np.ones(2)
    >>> to_device({"x": x}, "cpu")["x"] is x
    True
    """
    if copy is not None:
        checks.boolean("to_device", "copy", copy)
    checks.boolean("to_device", "donate", donate)

    def moved(leaf: Any) -> Any:
        return _moved(leaf, device, copy, donate) if checks.is_array(leaf) else leaf

    # torch.compile cannot trace a tree here.
    result: T = moved(x) if checks.is_array(x) else trees.map(moved, x)
    return result


def _moved(x: Array, device: Device | DeviceInfo | str, copy: bool | None, donate: bool) -> Array:
    xp = array_namespace(x)
    # Only JAX can compare shardings over several devices.
    info = None if hasattr(device, "device_set") else resolve("to_device", device, xp)
    try:
        result = move.native(x)(x, device if info is None else info.device, copy=copy)
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        raise_memory_error("to_device", error, info)
    # On one device the two may share memory.
    if donate and (copy or checks.device_of(result) != checks.device_of(x)):
        free(x)
    return result


@pluggable
def move(x: Array, device: Device, /, *, copy: bool | None = None) -> Array:
    """Move an array to a device, which is one of its library's own objects."""
    return move.native(x)(x, device, copy=copy)


def synchronize(x: T, /) -> T:
    """Wait until the arrays of a tree are computed, to measure time or to get errors here.

    Args:
        x: An array, or a tree of arrays, also of several libraries. Traced arrays and other objects are ignored. So are
            Dask's arrays, which are computed only by `compute` or `persist`.

    Returns:
        `x` itself.

    Raises:
        DeviceMemoryError: The work that was waited for ran out of memory.

    Source: `jax.block_until_ready`, `torch.cuda.synchronize`, PhiML's `Backend.block_until_ready`.

    >>> import numpy as np
    >>> synchronize([np.ones(2), None])
    [array([1., 1.]), None]
    """
    for leaf in trees.leaves(x):
        if checks.is_array(leaf) and is_concrete(leaf):
            try:
                wait.native(leaf)(leaf)
            except (MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error):
                    raise
                raise_memory_error("synchronize", error, _place(leaf))
    return x


def _place(x: Array) -> DeviceInfo | None:
    device = checks.device_of(x)
    # An array on several devices has no single one to name.
    return (
        None if device is None or hasattr(device, "device_set") else resolve("synchronize", device, array_namespace(x))
    )


@pluggable
def wait(x: Array, /) -> None:
    """Wait until an array that has values is computed."""
    wait.native(x)(x)


def is_available(x: object, /) -> bool:
    """Return whether the values of all arrays of a tree can be read now: none is traced, lazy, or without data.

    Nothing is computed. Other objects, such as numbers, are available.

    Source: PhiML's `Backend.is_available`; of one array it is `xpand.is_concrete`.

    >>> import numpy as np
    >>> is_available([np.ones(2), 1.0])
    True
    """
    return all(is_concrete(leaf) for leaf in trees.leaves(x))


@pluggable
def free(x: Array, /) -> bool:
    """Free the memory of an array that isn't used any more, and return whether it was freed.

    It is freed only where no other array can see it. On JAX the array is deleted, and raises when it is used. On
    PyTorch a tensor that shares its storage with no other one becomes one on the device "meta": of the same shape, and
    without values. All other libraries, and traced arrays, free memory by themselves when the last reference goes, and
    nothing is done.

    Args:
        x: An array of any library.

    Returns:
        Whether memory was freed: not where it had been freed before, is shared, belongs to another library, or is
        needed for a derivative.

    Raises:
        TypeError: `x` is not an array.

    Source: Nx's `backend_deallocate`, JAX's `Array.delete`.

    >>> import numpy as np
    >>> free(np.ones(2))
    False
    """
    if not checks.is_array(x):
        raise TypeError(f"free: x must be an array, got {describe(x)}; for a tree, free each leaf")
    return is_concrete(x) and free.native(x)(x)
