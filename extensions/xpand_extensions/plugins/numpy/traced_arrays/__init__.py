"""Traced arrays over NumPy take part in NumPy's dispatch protocols, so that NumPy's own functions accept them.

NumPy passes a call of a universal function with such an array to `__array_ufunc__` (`_ufuncs.py`), and a call of most
of its other functions to `__array_function__` (`_functions.py`). Tables (`known/`) have the operations they become.
Traced arrays over CuPy and Dask take part by the same tables.
"""

from typing import Any

from xpand_extensions.tracing._core import TracedArray

from ._comparisons import elementwise
from ._functions import array_function
from ._library import ProtocolNamespace as ProtocolNamespace
from ._namespace import Namespace as Namespace, array_namespace_of
from ._scalars import METHODS
from ._ufuncs import array_ufunc, fast_operations


def class_of(namespace: Any, base: type[TracedArray], methods: dict[str, Any]) -> type[TracedArray]:
    """Make the class of traced arrays over NumPy, with NumPy's protocols."""
    namespace.ufuncs, namespace.ufuncs_of_floats = fast_operations(namespace)
    own = {
        "__array_namespace__": array_namespace_of,
        "__eq__": elementwise(methods["__eq__"], unequal=False),
        "__ne__": elementwise(methods["__ne__"], unequal=True),
    }
    return with_protocols(base, methods | METHODS | own)


def with_protocols(base: type[TracedArray], methods: dict[str, Any]) -> type[TracedArray]:
    """Make a class of traced arrays that takes part in NumPy's protocols."""
    protocols = {"__array_function__": array_function, "__array_ufunc__": array_ufunc}
    return type("TracedArray", (base,), methods | protocols)
