"""The helpers of array-api-compat, with its names and meanings, where it has them too: `array_api_compat.common`.

Those that ask about arrays are its own. Those that ask about namespaces also know ours, and come from `_namespace`.
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

from ._namespace import (
    array_namespace,
    get_namespace,
    is_cupy_namespace,
    is_dask_namespace,
    is_jax_namespace,
    is_numpy_namespace,
    is_torch_namespace,
)

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
