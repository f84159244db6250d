"""The helpers under the name that array-api-compat also gives them, `array_api_compat.common`."""

from ._helpers import *
from ._helpers import __all__ as _asking_arrays
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
    *_asking_arrays,
    "array_namespace",
    "get_namespace",
    "is_cupy_namespace",
    "is_dask_namespace",
    "is_jax_namespace",
    "is_numpy_namespace",
    "is_torch_namespace",
]
