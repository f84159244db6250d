"""Functions that the array API standard lacks, on every array library.

Each capability is a module: `from xpand import scatter`. Its functions take arrays of any library and check
their arguments. Then they call the library's own implementation, or a generic one that uses the standard alone.

All of them, and the most common transformations too, are attributes of this package and of `xpand`: `xpand.scatter`,
`xpand.grad`, `xpand.jit`. They are imported on first use. The modules `jit`, `vmap`, `convert` and `profile` can be
called like their functions of the same names.
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, Final

from ._dispatch import Pluggable, UnsupportedError, pluggable
from ._elsewhere import missing

__all__ = ["Pluggable", "UnsupportedError", "capabilities", "check_plugin", "pluggable"]

if TYPE_CHECKING:
    from . import (
        _callables,
        arithmetic as arithmetic,
        autodiff as autodiff,
        bits as bits,
        control_flow as control_flow,
        convolution as convolution,
        debug as debug,
        devices as devices,
        extend as extend,
        histograms as histograms,
        indexing as indexing,
        interpolation as interpolation,
        linalg as linalg,
        linear_solve as linear_solve,
        named as named,
        optimize as optimize,
        padding as padding,
        plot as plot,
        precision as precision,
        progress as progress,
        random as random,
        scatter as scatter,
        sorting as sorting,
        sparse as sparse,
        special as special,
        statistics as statistics,
        testing as testing,
        windows as windows,
    )
    from ._capabilities import capabilities, check_plugin
    from .autodiff import (
        checkpoint as checkpoint,
        custom_jvp as custom_jvp,
        custom_vjp as custom_vjp,
        grad as grad,
        hessian as hessian,
        jacfwd as jacfwd,
        jacrev as jacrev,
        jvp as jvp,
        linearize as linearize,
        stop_gradient as stop_gradient,
        value_and_grad as value_and_grad,
        vjp as vjp,
    )
    from .control_flow import (
        cond as cond,
        fori_loop as fori_loop,
        scan as scan,
        switch as switch,
        while_loop as while_loop,
    )
    from .jit import eval_shape as eval_shape
    from .vmap import vectorize as vectorize

    convert: _callables.Convert
    jit: _callables.Jit
    profile: _callables.Profile
    vmap: _callables.Vmap

_MODULE_OF: Final = {
    **dict.fromkeys(("capabilities", "check_plugin"), "_capabilities"),
    **dict.fromkeys(("checkpoint", "custom_jvp", "custom_vjp", "grad", "hessian", "jacfwd", "jacrev"), "autodiff"),
    **dict.fromkeys(("jvp", "linearize", "stop_gradient", "value_and_grad", "vjp"), "autodiff"),
    **dict.fromkeys(("cond", "fori_loop", "scan", "switch", "while_loop"), "control_flow"),
    "eval_shape": "jit",
    "vectorize": "vmap",
}

_INTERNAL: Final = {"cli", "generic", "plugins", "tracing"}
"""Modules that users do not import."""

if not TYPE_CHECKING:  # a type checker would accept any name

    def __getattr__(name: str) -> Any:
        if name in _MODULE_OF:
            return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
        if not name.startswith("_") and find_spec(f"{__name__}.{name}") is not None:
            return import_module(f"{__name__}.{name}")
        raise missing(f"module {__name__!r}", None, name, sys._getframe(1))

    def __dir__() -> list[str]:
        modules = {module.name for module in iter_modules(__path__) if not module.name.startswith("_")}
        return sorted({*__all__, *_MODULE_OF, *modules} - _INTERNAL)
