"""xpand: the array API standard on every library, with functions that the standard lacks.

`array_namespace(x)` returns the conforming namespace of an array's library. This package also has all public names of
`array_api_compat`.

`import xpand` is enough: the modules of this package and of `xpand_extensions`, such as `xpand.trees` and
`xpand.scatter`, and the most common functions of the extensions, such as `xpand.grad` and `xpand.jit`, are imported
when they are first used.
"""

from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from . import (
        comparison as comparison,
        creation as creation,
        elementwise as elementwise,
        extend as extend,
        inspection as inspection,
        manipulation as manipulation,
        networks as networks,
        polynomial as polynomial,
        sampled as sampled,
        sets as sets,
        shapes as shapes,
        trees as trees,
        typing as typing,
    )
    from ._extensions import *
else:  # a type checker would accept any name

    def __getattr__(name):
        import sys

        from ._attributes import import_attribute

        return import_attribute(sys.modules[__name__], name, sys._getframe(1))

    def __dir__():
        import sys

        from ._attributes import attribute_names

        return attribute_names(sys.modules[__name__])
