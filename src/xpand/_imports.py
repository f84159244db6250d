"""Imports that may happen while torch.compile traces."""

import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def untraced(function: F) -> F:
    """Make torch.compile call a function at compile time instead of tracing it. Imports cannot be traced.

    The arguments and the result must be plain values such as strings. This is `torch.compiler.assume_constant_result`
    without importing torch.
    """
    function._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return function


def trace_instead(function: Callable[..., Any], other: Callable[..., Any], *, wraps: bool = False) -> None:
    """Make torch.compile trace another function in place of one that it cannot trace. There is no public API for it.

    With `wraps`, `function` is a wrapper of `other`. If torch.compile gets the wrapper, it also compiles `other`.
    """
    function._torchdynamo_inline = other  # type: ignore[attr-defined]
    if wraps:
        function._torchdynamo_orig_callable = other  # type: ignore[attr-defined]
        function._torchdynamo_wrapper_id = id(function)  # type: ignore[attr-defined]


@untraced
def _load(name: str) -> bool:
    importlib.import_module(name)
    return True


def import_module(name: str) -> ModuleType:
    """Import a module, also inside torch.compile: the first call with a tensor may be compiled."""
    _load(name)
    # `sys.modules[name]` would fail: torch.compile sees `sys.modules` as it was before the import.
    root, *rest = name.split(".")
    module: Any = sys.modules[root]
    for part in rest:
        module = getattr(module, part)
    # A package may have a function with the name of its module.
    return module if isinstance(module, ModuleType) else sys.modules[name]
