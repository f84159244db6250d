"""xpand: the array API standard on every library, with what the standard leaves out.

`array_namespace(x)` gives the conforming namespace of an array's library. Every public name of `array_api_compat` is
here under the same name; the capabilities beyond the standard are in `xpand_extensions`.
"""

from . import common
from ._check import check
from ._defaults import choose_namespace, default_namespace, set_default_namespace, use
from ._helpers import (
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
    is_concrete,
    is_cupy_namespace,
    is_dask_namespace,
    is_jax_namespace,
    is_numpy_namespace,
    is_torch_namespace,
    library_name,
    namespace,
    wrapped_libraries,
)

__version__ = "0.1.0"

__all__ = [
    "array_namespace",
    "check",
    "choose_namespace",
    "common",
    "default_namespace",
    "device",
    "get_namespace",
    "is_array_api_obj",
    "is_array_api_strict_namespace",
    "is_concrete",
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
    "library_name",
    "namespace",
    "set_default_namespace",
    "size",
    "to_device",
    "use",
    "wrapped_libraries",
]
