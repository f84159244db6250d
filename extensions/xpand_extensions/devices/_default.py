"""The device of new arrays for which none is named."""

from contextlib import AbstractContextManager

from xpand.extend import Device, Namespace, namespace_or_default

from .._dispatch import pluggable
from ._info import DeviceInfo
from ._list import default_device as default_device
from ._list import resolve


@pluggable
def set_default_device(device: Device | DeviceInfo | str | None, /, *, xp: Namespace | str | None = None) -> None:
    """Set the device on which a library makes arrays where none is named.

    Args:
        device: A device, as `to_device` takes it. None: the one that the library chooses by itself.
        xp: The library, by its namespace or name; the default one if omitted. Not needed with a `DeviceInfo`.

    It is the library's own setting, and so works on code that doesn't know xpand. JAX has one for the process;
    PyTorch's and CuPy's hold for the thread that sets them. What `use_device` sets comes before it.

    Raises:
        TypeError, ValueError: As `device_info`.
        UnsupportedError: The library has several devices, and no default that could be set, as array-api-strict.

    Source: `torch.set_default_device`, JAX's `jax_default_device`, PhiML's `Backend.set_default_device`.

    >>> set_default_device("cpu", xp="numpy")
    """
    namespace, found = _resolved("set_default_device", device, xp)
    set_default_device.native_for(namespace)(found, xp=namespace)


@pluggable
def use_device(
    device: Device | DeviceInfo | str, /, *, xp: Namespace | str | None = None
) -> AbstractContextManager[Device]:
    """Have a library make its arrays on a device inside a `with` block, where none is named.

    Args:
        device: A device, as `to_device` takes it.
        xp: The library, by its namespace or name; the default one if omitted. Not needed with a `DeviceInfo`.

    Returns:
        A context manager, which gives the library's own object for the device. It is the library's own setting
        (`jax.default_device`, `torch.device`, `cupy.cuda.Device`), so it works on code that doesn't know xpand, and
        holds in this thread alone. What it was before comes back, also after an error. A task of asyncio that waits
        inside of the block leaves it set for others of the thread.

    Raises:
        TypeError, ValueError: As `device_info`.
        UnsupportedError: The library has several devices, and no default that could be set, as array-api-strict.

    Source: `jax.default_device`, PyTorch's `with torch.device(...)`.

    >>> import xpand
    >>> with use_device("cpu", xp="numpy") as device:
    ...     device, xpand.namespace("numpy").ones(2, device=device)
    ('cpu', array([1., 1.]))
    """
    namespace, found = _resolved("use_device", resolve("use_device", device, xp), xp)
    return use_device.native_for(namespace)(found, xp=namespace)


def _resolved(
    function: str, device: Device | DeviceInfo | None, xp: Namespace | str | None
) -> tuple[Namespace, Device]:
    if device is None:
        return namespace_or_default(xp, function), None
    info = resolve(function, device, xp)
    return namespace_or_default(info.library if xp is None else xp, function), info.device
