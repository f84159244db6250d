"""xpand: the array API standard on every library, with functions that the standard lacks.

`array_namespace(x)` returns the conforming namespace of an array's library. This package also has all public names of
`array_api_compat`. Capabilities beyond the standard are in `xpand_extensions`.
"""

from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, NoReturn

from . import common
from ._check import check
from ._defaults import choose_namespace, default_namespace, set_default_namespace, use
from ._errors import UnsupportedError
from ._namespace import is_concrete, library_name, namespace, wrapped_libraries
from .common import *

__version__ = "0.1.0"

__all__ = [
    "UnsupportedError",
    "check",
    "choose_namespace",
    "common",
    "default_namespace",
    "is_concrete",
    "library_name",
    "namespace",
    "set_default_namespace",
    "use",
    "wrapped_libraries",
]
__all__ += common.__all__

if not TYPE_CHECKING:  # a type checker would accept any name

    def __getattr__(name: str) -> NoReturn:
        module = f"{__name__}.{name}"
        found = not name.startswith("_") and find_spec(module) is not None
        elsewhere = "`xpand.default_namespace()` has the standard's functions, `xpand_extensions` those beyond it"
        write = f"write `import {module}`" if found else elsewhere
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; {write}", name=name)

    def __dir__() -> list[str]:
        modules = {name for name, x in globals().items() if isinstance(x, ModuleType) and not name.startswith("_")}
        return sorted({*__all__, "__version__", *modules})
