"""Moves of arrays, waiting for their values, and the memory of devices."""

import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NoReturn, TypeVar

from xpand import (
    array_namespace,
    is_concrete,
    is_cupy_array,
    is_torch_array,
    namespace,
    to_device as own_to_device,
    trees,
)
from xpand.extend import Array, Device, Namespace, checks, describe

from .._dispatch import pluggable
from ._info import DeviceInfo, MemoryStats
from ._list import device_info, resolve

_OUT_OF_MEMORY: Final = re.compile(r"RESOURCE_EXHAUSTED|out of memory|can't allocate memory|MemoryError", re.IGNORECASE)
_SIZE: Final = re.compile(r"allocat\w*\s+(?:request for )?([\d.,]+)\s*(?:bytes?\b|([KMGTPE]?)i?B\b)", re.IGNORECASE)
_UNITS: Final = "KMGTPE"


class DeviceMemoryError(MemoryError):
    """A device has too little memory for a new array."""

    __module__ = "xpand_extensions.devices"  # tracebacks show the module from which users import it

    def __init__(self, message: str, requested: int | None = None, free: int | None = None) -> None:
        """Store the number of requested bytes and of free bytes; None if unknown."""
        super().__init__(message)
        self.requested = requested
        self.free = free


@contextmanager
def memory_errors(device: Device | str | None = None, /, *, xp: Namespace | str | None = None) -> Iterator[None]:
    """Raise `DeviceMemoryError` if a library runs out of memory inside a `with` block, instead of the library's own
    error.

    The local variables of functions that failed are cleared. So their arrays are freed while the error is being
    handled. JAX computes asynchronously, so errors appear when results are needed: end the block with `synchronize`.

    Args:
        device: The device that the block uses, in a form that `to_device` accepts. The message has its name and its
            free memory.
        xp: The library: its namespace or name. By default: the default library.

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
    """Raise a `DeviceMemoryError` in place of the library's error, and clear the variables of its functions."""
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
        device: A device, in a form that `to_device` accepts. None: the default device.
        xp: The library: its namespace or name. By default: the default library.

    Returns:
        The bytes in use and their peak, the reserved bytes, and the limit. They are None if the library doesn't count
        them: on NumPy and Dask, and on the processor with PyTorch and JAX.

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
    if is_cupy_array(x) or is_torch_array(x):  # their default devices need not be the host
        return host.asarray(own_to_device(x, "cpu"))
    return host.asarray(xp.asarray(x, device=xp.__array_namespace_info__().default_device()))


def to_device(x: T, /, device: Device | DeviceInfo | str, *, copy: bool | None = None, donate: bool = False) -> T:
    """Move an array, or all arrays of a tree, to a device.

    Args:
        x: An array, or a tree of arrays, also of several libraries. Containers of sparse arrays are trees, too. Leaves
            that are not arrays stay unchanged.
        device: The library's own object, a `DeviceInfo`, or a string: a kind ("gpu") or the library's name for it
            ("cuda"), each also with a number ("cuda:1"), or a library's name for one device ("device1" of
            array-api-strict). On JAX also a sharding.
        copy: True: always copy. False: raise if a copy would be needed. By default, an array that is already on the
            device is returned unchanged.
        donate: Whether `x` isn't used any more. Its memory is then freed immediately if possible, see `free`.

    Returns:
        `x` with its arrays on the device. Derivatives pass through. Traced arrays are accepted if the library moves
        them.

    Raises:
        TypeError: `device` is no device of the arrays' library; `copy` or `donate` is not a bool.
        ValueError: The library has no such device; the message lists the available ones. Or `copy` is False, and an
            array is elsewhere.
        DeviceMemoryError: The device has too little memory. Arrays that have been moved are freed.

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
    # On one device, the result may share memory with `x`.
    if donate and (copy or checks.device_of(result) != checks.device_of(x)):
        free(x)
    return result


@pluggable
def move(x: Array, device: Device, /, *, copy: bool | None = None) -> Array:
    """Move an array to a device, given as the library's own object."""
    return move.native(x)(x, device, copy=copy)


def synchronize(x: T, /) -> T:
    """Wait until the arrays of a tree are computed, to measure time or to get errors at this point.

    Args:
        x: An array, or a tree of arrays, also of several libraries. Other objects and traced arrays are ignored. So are
            Dask's arrays: only `compute` and `persist` compute them.

    Returns:
        `x` itself.

    Raises:
        DeviceMemoryError: The computation ran out of memory.

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
    # An array on several devices has no single device to name.
    return (
        None if device is None or hasattr(device, "device_set") else resolve("synchronize", device, array_namespace(x))
    )


@pluggable
def wait(x: Array, /) -> None:
    """Wait until a concrete array is computed."""
    wait.native(x)(x)


def is_available(x: object, /) -> bool:
    """Return whether the values of all arrays of a tree can be read now: none is traced, lazy, or without data.

    Nothing is computed. Other objects, such as numbers, count as available.

    Source: PhiML's `Backend.is_available`; for one array, `xpand.is_concrete`.

    >>> import numpy as np
    >>> is_available([np.ones(2), 1.0])
    True
    """
    return all(is_concrete(leaf) for leaf in trees.leaves(x))


@pluggable
def free(x: Array, /) -> bool:
    """Free the memory of an array that isn't used any more, and return whether it was freed.

    The memory is freed only if no other array uses it. On JAX, the array is deleted, and raises when it is used. On
    PyTorch, a tensor that does not share its storage becomes a tensor on the device "meta", with the same shape and no
    values. For other libraries and traced arrays, nothing is done: they free memory with the last reference.

    Args:
        x: An array of any library.

    Returns:
        Whether memory was freed. It is not if it was freed before, is shared, belongs to another library, or is needed
        for a derivative.

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
