"""Imports that may happen while torch.compile traces."""

import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def untraced(function: F) -> F:
    """Have torch.compile call a function while it compiles, and not trace it: imports can't be traced.

    Its arguments and its result must be strings and the like. It is `torch.compiler.assume_constant_result`, for which
    torch would have to be imported.
    """
    function._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return function


def trace_instead(function: Callable[..., Any], other: Callable[..., Any]) -> None:
    """Have torch.compile trace another function in place of one that it can't trace. Public: none."""
    function._torchdynamo_inline = other  # type: ignore[attr-defined]


@untraced
def _load(name: str) -> bool:
    importlib.import_module(name)
    return True


def import_module(name: str) -> ModuleType:
    """Import a module, inside torch.compile too: the first call with a tensor may be there."""
    _load(name)
    # Not from `sys.modules`: torch.compile sees its state before the import.
    root, *rest = name.split(".")
    module: Any = sys.modules[root]
    for part in rest:
        module = getattr(module, part)
    # A package may have a function with the name of its module.
    return module if isinstance(module, ModuleType) else sys.modules[name]
