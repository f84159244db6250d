"""The helpers of `array_api_compat.common`, with the same names and meanings.

The functions for arrays are array-api-compat's. The functions for namespaces also know xpand's namespaces.
"""

from typing import Any

from array_api_compat import (
    device as _device,
    is_array_api_obj,
    is_array_api_strict_namespace,
    is_cupy_array,
    is_dask_array,
    is_dpnp_array,
    is_dpnp_namespace,
    is_jax_array,
    is_lazy_array,
    is_mparray_array,
    is_mparray_namespace,
    is_ndonnx_array,
    is_ndonnx_namespace,
    is_numpy_array,
    is_pydata_sparse_array,
    is_pydata_sparse_namespace,
    is_torch_array,
    is_writeable_array,
    size,
    to_device,
)

from ._namespace import (
    array_namespace,
    get_namespace,
    is_cupy_namespace,
    is_dask_namespace,
    is_jax_namespace,
    is_numpy_namespace,
    is_torch_namespace,
    library_of,
)
from .typing import Array, Device


def device(x: Array, /) -> Device:
    """Return the device on which an array lies.

    NumPy and PyTorch arrays have an attribute for it, which is faster and can be traced by `torch.compile`. For other
    arrays this is array-api-compat's `device`.
    """
    cls: Any = type(x)
    has_device = cls.__module__ == "numpy" or cls.__module__ == "torch" or library_of(cls) == "torch"
    found: Any = x.device if has_device else _device(x)
    return found


__all__ = [
    "array_namespace",
    "device",
    "get_namespace",
    "is_array_api_obj",
    "is_array_api_strict_namespace",
    "is_cupy_array",
    "is_cupy_namespace",
    "is_dask_array",
    "is_dask_namespace",
    "is_dpnp_array",
    "is_dpnp_namespace",
    "is_jax_array",
    "is_jax_namespace",
    "is_lazy_array",
    "is_mparray_array",
    "is_mparray_namespace",
    "is_ndonnx_array",
    "is_ndonnx_namespace",
    "is_numpy_array",
    "is_numpy_namespace",
    "is_pydata_sparse_array",
    "is_pydata_sparse_namespace",
    "is_torch_array",
    "is_torch_namespace",
    "is_writeable_array",
    "size",
    "to_device",
]
__dir__ = __all__.copy
