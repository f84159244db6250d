"""Conversion from and to JAX."""

from dataclasses import replace
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from xpand.extend import LibraryArray as Array, Namespace
from xpand_extensions.convert import Pointer, exported as export, from_pointer as pointed, pointer as address_of
from xpand_extensions.convert._dtypes import copy_needed, name_of, no_dtype, no_values

_wide: Final[dict[tuple[type, Any], bool]] = {}


def exported(x: Array, /, *, to_host: bool = False, copy: bool | None = None) -> Array:
    if isinstance(x, jax.core.Tracer):
        raise no_values(x)
    if isinstance(x, np.ndarray):
        raise no_dtype("the standard", x.dtype, "a gradient of integers has no values")
    if jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
        x = jax.random.key_data(x)
    if not to_host:
        return x
    if copy is False and [device.platform for device in x.devices()] != ["cpu"]:
        raise copy_needed(f"the values lie on {x.device}, not on the host alone")
    return np.array(x) if copy else np.asarray(x)


def imported(x: Any, /, *, copy: bool | None = None, xp: Namespace | str | None = None) -> Array:
    if not jax.config.jax_enable_x64 and _is_wide(x.dtype):
        raise no_dtype(
            "JAX without 64-bit types",
            x.dtype,
            'switch them on with `jax.config.update("jax_enable_x64", True)`, or convert it with `xp.astype` first',
        )
    return _from_numpy(x, copy) if isinstance(x, np.ndarray) else _from_dlpack(x, copy)


def _is_wide(dtype: Any) -> bool:
    """Return whether JAX needs 64-bit types enabled for a data type. The answer is cached: finding the name is slow."""
    key = (type(dtype), dtype)
    if key not in _wide:
        _wide[key] = name_of(dtype) in ("int64", "uint64", "float64", "complex128")
    return _wide[key]


def _from_numpy(x: Any, copy: bool | None) -> Any:
    if x.flags.writeable and not copy:
        try:
            return jax.dlpack.from_dlpack(x, copy=copy)
        except (BufferError, RuntimeError, ValueError):
            pass  # the code below converts strides with gaps, and data types that NumPy does not export
    if not hasattr(jnp, x.dtype.name):
        raise no_dtype("JAX", x.dtype)
    # The array stays on the host even if a GPU is the default.
    device = None if jax.default_backend() == "cpu" else jax.local_devices(backend="cpu")[0]
    if copy:
        return jax.block_until_ready(jnp.array(x, copy=True, device=device))  # a later write must not change it
    # JAX shares memory that starts at a multiple of 64 bytes and has no gaps, even if it is read-only.
    made = jax.device_put(x, device)
    if copy is False and x.size and made.unsafe_buffer_pointer() != x.ctypes.data:
        raise copy_needed("JAX shares only memory without gaps that starts at a multiple of 64 bytes")
    return made


def _from_dlpack(x: Any, copy: bool | None) -> Any:
    try:
        made = jax.dlpack.from_dlpack(x, copy=False if copy is False else None)
    except (BufferError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        # JAX raises any of these for strides with gaps, and for devices or data types that it lacks.
        if copy is False:
            raise copy_needed(f"JAX does not take the memory by DLPack ({error})") from error
        return _from_numpy(export(x, to_host=True), copy)
    return jax.block_until_ready(jnp.array(made, copy=True)) if copy else made


def pointer(x: Array, /) -> Pointer:
    values = exported(x)
    if len(values.devices()) > 1:
        raise ValueError("pointer: the values are spread over several devices; take `x.addressable_shards` one by one")
    (device,) = values.devices()
    if device.platform == "cpu":
        return replace(address_of(exported(values, to_host=True)), owner=values)
    memory = values.__cuda_array_interface__
    strides = memory["strides"]
    return Pointer(
        memory["data"][0], values.shape, values.dtype, strides, f"cuda:{device.local_hardware_id}", values, True
    )


def from_pointer(memory: Pointer, /, *, xp: Namespace | str | None = None) -> Array:
    if memory.device != "cpu":
        raise ValueError(
            f"from_pointer: JAX takes only memory on the host, and this memory is on {memory.device}; make an array of "
            "CuPy or PyTorch over it, and convert that"
        )
    return imported(pointed(memory, xp="numpy"), copy=False)
