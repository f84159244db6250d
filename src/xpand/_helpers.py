"""The helpers of array-api-compat, with its names and meanings.

Those that ask about arrays are its own. Those that ask about namespaces also know ours, and live in `_namespace`.
"""

from array_api_compat import (
    device,
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

__all__ = [
    "device",
    "is_array_api_obj",
    "is_array_api_strict_namespace",
    "is_cupy_array",
    "is_dask_array",
    "is_dpnp_array",
    "is_dpnp_namespace",
    "is_jax_array",
    "is_lazy_array",
    "is_mparray_array",
    "is_mparray_namespace",
    "is_ndonnx_array",
    "is_ndonnx_namespace",
    "is_numpy_array",
    "is_pydata_sparse_array",
    "is_pydata_sparse_namespace",
    "is_torch_array",
    "is_writeable_array",
    "size",
    "to_device",
]
