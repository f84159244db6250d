"""Traced arrays together with NumPy's own in `array_namespace` of array-api-compat and of copies of it.

`array_namespace(x, y)` of array-api-compat raises for arrays of two namespaces. It compares them by name (since 1.14)
or in a set (before). So the traced namespace has the name of NumPy's namespace there, and equals it. Elsewhere it has
its own name, by which SciPy and scikit-learn know that they must not use compiled code for NumPy.

Only this module looks at a frame of another package. An attribute of arrays would make it unnecessary:
`docs/array-api-compat.md` has the request.
"""

import sys
import threading
from importlib import import_module
from types import FrameType, ModuleType
from typing import Any, Final

_HELPERS: Final = "array_api_compat.common._helpers"
"""The module with `array_namespace`, below the package that contains the copy."""

_FUNCTIONS: Final = frozenset({"array_namespace", "<setcomp>"})
"""The function of array-api-compat, and its set of names, which has a frame of its own before Python 3.12."""


class _Call(threading.local):
    """The call of `array_namespace` in each thread that asked a traced array for its namespace last."""

    numpy_name: str | None = None
    """The name of NumPy's namespace for this call."""


_CALL: Final = _Call()


def is_array_namespace(frame: FrameType) -> bool:
    """Return whether a frame runs `array_namespace` of a copy of array-api-compat."""
    return frame.f_code.co_name in _FUNCTIONS and frame.f_globals.get("__name__", "").endswith(_HELPERS)


def numpy_name(frame: FrameType) -> str | None:
    """Return the name of NumPy's namespace if a frame compares namespaces in `array_namespace`; else None."""
    return _CALL.numpy_name if is_array_namespace(frame) else None


def numpy_namespace(frame: FrameType) -> Any:
    """Return NumPy's namespace if a frame compares namespaces in `array_namespace`; else None."""
    name = numpy_name(frame)
    # A traced array may come before the first NumPy array, for which array-api-compat imports the namespace.
    return None if name is None else sys.modules.get(name) or import_module(name)


def replace_numpy(frame: FrameType) -> None:
    """Remove NumPy's namespace from those that `array_namespace` has collected before a traced array.

    It returns the first of several namespaces with an equal name, and the traced one must be first.
    """
    if not is_array_namespace(frame):
        return
    variables = frame.f_locals
    is_native = variables.get("use_compat") is False
    name = "numpy" if is_native else f"{frame.f_globals['__name__'].removesuffix('.common._helpers')}.numpy"
    _CALL.numpy_name = name
    collected = variables.get("namespaces")
    if collected:
        for namespace in [xp for xp in collected if isinstance(xp, ModuleType) and xp.__name__ == name]:
            collected.remove(namespace)
