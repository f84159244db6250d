"""The names by which functions of a namespace are pickled."""

import sys
from inspect import isfunction
from typing import Any


def name_functions(module: str, namespace: dict[str, Any]) -> None:
    """Let xpand's functions in a namespace be pickled as its attributes.

    Those that wrap a library's function have the names of that function, and would be pickled as it.
    """
    for name, x in namespace.items():
        if not isfunction(x) or name.startswith("_") or not x.__globals__["__name__"].startswith("xpand."):
            continue
        if getattr(sys.modules.get(x.__module__), x.__qualname__, None) is not x:
            x.__module__, x.__qualname__ = module, name
