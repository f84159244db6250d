"""Creation functions, with the default data types of the current precision, directly on their device."""

import sys
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import SingleDeviceSharding

from .._common.creation import refuse_sparse, with_default
from .._common.exchange import exportable
from .._common.integers import LARGEST, SMALLEST, check_ends
from .._precision import PRECISION, current
from ..typing import LibraryArray as Array
from ._numbers import INTEGERS

__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "ones",
    "ones_like",
]
__all__ += ["zeros", "zeros_like"]

_XP: Any = sys.modules[__package__]
_DTYPE_AND_DEVICE: Final = frozenset({"dtype", "device"})


def creating(name: str, function: Callable[..., Array]) -> Callable[..., Array]:
    """Add the default data type of the precision to a creation function."""

    @wraps(function)
    def create(*args: Any, **kwargs: Any) -> Array:
        if not PRECISION.active:
            return function(*args, **kwargs)
        kwargs = with_default(_XP, name, args, kwargs)
        setting = current()
        if setting is None or not setting.is_wide or jax.config.jax_enable_x64:
            return function(*args, **kwargs)
        # Another thread entered the block, or another task of this thread has reset the switch.
        with jax.enable_x64(True):
            return function(*args, **kwargs)

    return create


def on_its_device(function: Callable[..., Array], *, is_like: bool = False) -> Callable[..., Array]:
    """Make a function create its arrays on their device. JAX creates constants on the default device and moves them."""

    @wraps(function)
    def create(*args: Any, **kwargs: Any) -> Array:
        device = kwargs.get("device")
        if device is None and is_like and args and isinstance(args[0], jax.Array):
            device = _bound_to(args[0])
        if not isinstance(device, jax.Device) or device == _default():
            return function(*args, **kwargs)
        with jax.default_device(device):
            made = function(*args, **(kwargs | {"device": None}))
        # Traced arrays have no device yet, as in JAX.
        return made if isinstance(made, jax.core.Tracer) else jax.device_put(made, device)

    return create


def _bound_to(x: Array) -> Any:
    """Return the device that an array, and arrays made like it, are committed to, or None if there is none.

    For an array on several devices, return its sharding.
    """
    if isinstance(x, jax.core.Tracer) or not x.committed or x.weak_type:
        return None
    return x.device


def _default() -> Any:
    chosen = jax.config.jax_default_device
    return jax.local_devices()[0] if chosen is None else chosen


def _filling(function: Callable[..., Array], *, is_like: bool) -> Callable[..., Array]:
    """Make a function raise for a Python integer that its data type does not hold, which JAX wraps around."""
    name = function.__name__

    @wraps(function)
    def create(first: Any, /, fill_value: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Array:
        if type(fill_value) is int and not SMALLEST <= fill_value <= LARGEST:
            wanted = getattr(first, "dtype", None) if dtype is None and is_like else dtype
            if wanted is not None:
                INTEGERS.check_fits(name, fill_value, jnp.dtype(wanted))
        return function(first, fill_value, dtype, *args, **kwargs)

    return create


def _arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None, **kwargs: Any) -> Array:
    if dtype is not None:
        check_ends(start, stop, step, lambda number: INTEGERS.check_fits("arange", number, jnp.dtype(dtype)))
    return jnp.arange(start, stop, step, dtype, **kwargs)


arange = creating("arange", wraps(jnp.arange)(_arange))


# For each type of Python numbers: the data types to which NumPy converts them.
_FLOATS: Final = frozenset(map(np.dtype, ("float32", "float64")))
_CONVERTED: Final = {float: _FLOATS, int: _FLOATS | frozenset(map(np.dtype, ("int32", "int64", "uint8", "uint32")))}


@cache
def _to_device(device: jax.Device | None) -> Callable[[np.ndarray], Array]:
    return jax.jit(lambda x: x, out_shardings=None if device is None else SingleDeviceSharding(device))


def finished(x: Array) -> Array:
    """Wait for a copy, which JAX makes later: a write to the memory that it reads would change it."""
    return jax.block_until_ready(x)


@wraps(jnp.asarray)
def _asarray(*args: Any, **kwargs: Any) -> Array:
    # For a number, a compiled function takes a tenth of the time.
    if len(args) == 1 and kwargs.keys() == _DTYPE_AND_DEVICE and kwargs["dtype"] in _CONVERTED.get(type(args[0]), ()):
        device, dtype = kwargs["device"], kwargs["dtype"]
        if (device is None or isinstance(device, jax.Device)) and (dtype.itemsize < 8 or jax.config.jax_enable_x64):
            return _to_device(device)(np.asarray(args[0], dtype))
    try:
        found = jnp.asarray(*args, **kwargs)
        return finished(found) if kwargs.get("copy") else found
    except (TypeError, ValueError):
        for obj in args[:1]:
            refuse_sparse(obj)
        raise


@wraps(jnp.from_dlpack)
def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    x = exportable(x, copy)
    try:
        # With copy=True, JAX may share the memory all the same.
        found = jnp.from_dlpack(x, device=device, copy=False if copy is False else None)
        return finished(jnp.array(found, copy=True)) if copy else found
    except (BufferError, jax.errors.JaxRuntimeError) as error:  # read-only memory, or memory with gaps
        if copy is False:
            raise BufferError(
                "from_dlpack: JAX shares no memory that is read-only or has gaps or negative strides, so it needs a "
                "copy, which copy=False forbids"
            ) from error
        if x.__dlpack_device__()[0] != 1:  # not on the CPU: NumPy might copy it to the host
            raise
        return finished(jnp.array(np.from_dlpack(x), copy=True, device=device))


asarray = creating("asarray", _asarray)
empty = on_its_device(creating("empty", jnp.empty))
empty_like = on_its_device(jnp.empty_like, is_like=True)
eye = creating("eye", jnp.eye)
full = on_its_device(creating("full", _filling(jnp.full, is_like=False)))
full_like = on_its_device(_filling(jnp.full_like, is_like=True), is_like=True)
linspace = creating("linspace", jnp.linspace)
ones = on_its_device(creating("ones", jnp.ones))
ones_like = on_its_device(jnp.ones_like, is_like=True)
zeros = on_its_device(creating("zeros", jnp.zeros))
zeros_like = on_its_device(jnp.zeros_like, is_like=True)
