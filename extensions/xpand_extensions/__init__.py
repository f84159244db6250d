"""Functions that the array API standard lacks, on every array library.

Each capability is a module: `from xpand_extensions import scatter`. Its functions take arrays of any library, check
their arguments, and hand them to that library's own implementation or to one in terms of the standard alone.

`import xpand_extensions as xe` gives all of them as attributes, and the most frequent transformations too:
`xe.scatter`, `xe.grad`, `xe.jit`. They are imported when they are first asked for. The modules `jit`, `vmap`, `convert`
and `profile` are called like their functions of the same names.
"""

from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, Final

from ._dispatch import Pluggable, UnsupportedError, pluggable
from ._elsewhere import missing

__all__ = ["Pluggable", "UnsupportedError", "capabilities", "check_plugin", "pluggable"]

if TYPE_CHECKING:
    from . import (
        arithmetic as arithmetic,
    )
    from . import (
        autodiff as autodiff,
    )
    from . import (
        bits as bits,
    )
    from . import (
        control_flow as control_flow,
    )
    from . import (
        convolution as convolution,
    )
    from . import (
        devices as devices,
    )
    from . import (
        histograms as histograms,
    )
    from . import (
        indexing as indexing,
    )
    from . import (
        interpolation as interpolation,
    )
    from . import (
        linalg as linalg,
    )
    from . import (
        linear_solve as linear_solve,
    )
    from . import (
        named as named,
    )
    from . import (
        optimize as optimize,
    )
    from . import (
        padding as padding,
    )
    from . import (
        precision as precision,
    )
    from . import (
        random as random,
    )
    from . import (
        scatter as scatter,
    )
    from . import (
        sorting as sorting,
    )
    from . import (
        sparse as sparse,
    )
    from . import (
        special as special,
    )
    from . import (
        statistics as statistics,
    )
    from . import (
        windows as windows,
    )
    from ._capabilities import capabilities, check_plugin
    from .autodiff import (
        checkpoint as checkpoint,
    )
    from .autodiff import (
        custom_jvp as custom_jvp,
    )
    from .autodiff import (
        custom_vjp as custom_vjp,
    )
    from .autodiff import (
        grad as grad,
    )
    from .autodiff import (
        hessian as hessian,
    )
    from .autodiff import (
        jacfwd as jacfwd,
    )
    from .autodiff import (
        jacrev as jacrev,
    )
    from .autodiff import (
        jvp as jvp,
    )
    from .autodiff import (
        linearize as linearize,
    )
    from .autodiff import (
        stop_gradient as stop_gradient,
    )
    from .autodiff import (
        value_and_grad as value_and_grad,
    )
    from .autodiff import (
        vjp as vjp,
    )
    from .control_flow import (
        cond as cond,
    )
    from .control_flow import (
        fori_loop as fori_loop,
    )
    from .control_flow import (
        scan as scan,
    )
    from .control_flow import (
        switch as switch,
    )
    from .control_flow import (
        while_loop as while_loop,
    )
    from .convert import convert as convert
    from .jit import eval_shape as eval_shape
    from .jit import jit as jit
    from .profile import profile as profile
    from .vmap import vectorize as vectorize
    from .vmap import vmap as vmap

_MODULE_OF: Final = {
    **dict.fromkeys(("capabilities", "check_plugin"), "_capabilities"),
    **dict.fromkeys(("checkpoint", "custom_jvp", "custom_vjp", "grad", "hessian", "jacfwd", "jacrev"), "autodiff"),
    **dict.fromkeys(("jvp", "linearize", "stop_gradient", "value_and_grad", "vjp"), "autodiff"),
    **dict.fromkeys(("cond", "fori_loop", "scan", "switch", "while_loop"), "control_flow"),
    "eval_shape": "jit",
    "vectorize": "vmap",
}

if not TYPE_CHECKING:  # which would take every name for known

    def __getattr__(name: str) -> Any:
        if name in _MODULE_OF:
            return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
        if not name.startswith("_") and find_spec(f"{__name__}.{name}") is not None:
            return import_module(f"{__name__}.{name}")
        raise missing(f"module {__name__!r}", None, name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *_MODULE_OF, *(module.name for module in iter_modules(__path__))})
