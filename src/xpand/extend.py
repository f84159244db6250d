"""The public interface for packages that extend xpand: types, checks of arguments, and functions about arrays.

`xpand_extensions` uses these names, and other packages can, too: they are stable. `xpand_extensions.extend` has the
functions to define operations, derivatives and plug-ins.

- Types for signatures: `Array`, `Axis`, `Device`, `DType`, `Namespace`, `Scalar`; in plug-ins, `LibraryArray` and
  `LibraryNamespace` for one known library. `Kind` is the kind of a data type.
- `checks`: a module of checks. Each takes the name of the calling function first. Its error names the argument, the
  given value and the accepted values.
- Functions about one object: `is_array`, `device_of`, `describe`, `library_of`, `is_lazy`.
- Namespaces: `namespace_or_default` for an option `xp=`, `default_dtype` for new arrays, `imported_libraries`, `eager`
  for eager operations while JAX traces, `knows_namespace` and `register_wrapper` for arrays that wrap others.
- Nodes of trees whose axes have names, as xarray's: `knows_labels`, `is_labelled`, `remove_axis`,
  `add_axis`, `MappedAxis`.
- `without_numpy_warnings`: a context in which NumPy does not warn, for results that report overflows themselves.
- Code inside torch.compile: `import_module`, `untraced`, `trace_instead`, `same_structure`.

>>> import numpy as np
>>> from xpand import array_namespace
>>> from xpand.extend import Array, checks
>>> def rolled_sum(x: Array, /, *, axis: int = -1, times: int = 1) -> Array:
...     xp = checks.namespace_of("rolled_sum", x=x)
...     checks.dtype("rolled_sum", "x", xp, x, checks.NUMERIC)
...     axis = checks.axis("rolled_sum", axis, x.ndim)
...     times = checks.integer("rolled_sum", "times", times, minimum=0)
...     return x + xp.roll(x, times, axis=axis)
>>> rolled_sum(np.asarray([1, 2, 3])).tolist()
[4, 3, 5]
>>> rolled_sum(np.asarray([1, 2, 3]), axis=2)
Traceback (most recent call last):
...
ValueError: rolled_sum: axis=2 is out of range for 1 axes; takes -1 to 0
"""

from . import _arguments as checks
from ._arguments import Kind, device_of, is_array
from ._defaults import namespace_or_default
from ._imports import import_module, trace_instead, untraced
from ._labelled import MappedAxis, add_axis, is_labelled, knows_labels, remove_axis
from ._namespace import (
    describe,
    eager,
    imported_libraries,
    is_lazy,
    knows_namespace,
    library_of,
    register_wrapper,
    without_numpy_warnings,
)
from ._precision import default_dtype
from ._structures import same_structure
from .typing import Array, ArrayLike, Axis, Device, DType, Key, LibraryArray, LibraryNamespace, Namespace, Scalar

__all__ = [
    "Array",
    "ArrayLike",
    "Axis",
    "DType",
    "Device",
    "Key",
    "Kind",
    "LibraryArray",
    "LibraryNamespace",
    "MappedAxis",
    "Namespace",
    "Scalar",
    "add_axis",
    "checks",
    "default_dtype",
    "describe",
    "device_of",
    "eager",
    "import_module",
    "imported_libraries",
    "is_array",
    "is_labelled",
    "is_lazy",
    "knows_labels",
    "knows_namespace",
    "library_of",
    "namespace_or_default",
    "register_wrapper",
    "remove_axis",
    "same_structure",
    "trace_instead",
    "untraced",
    "without_numpy_warnings",
]
