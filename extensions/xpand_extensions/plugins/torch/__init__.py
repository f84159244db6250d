"""Native implementations on PyTorch."""

from collections.abc import Callable
from typing import Any

from xpand.extend import import_module

from ..._dispatch import Operation

SPARSE = ("torch",)
"""The modules that define PyTorch's sparse arrays."""

_COMPILED = ("control_flow", "vmap")


def implementation(operation: Operation[..., Any]) -> Callable[..., Any] | None:
    """Return None: the generic transformations are PyTorch's. torch.compile traces others in their place."""
    if operation.is_own and operation.capability in _COMPILED:
        import_module(f"{__name__}._in_compile")
    return None
