"""Rules of loops and branches, which interpreters follow through their bodies."""

from collections.abc import Callable
from typing import Any, Final


def _late(kind: str, name: str) -> Callable[..., Any]:
    """Find a rule when it is needed: loops are made of what the rules are needed for."""

    def rule(*args: Any, **params: Any) -> Any:
        from .. import _loops

        return getattr(_loops, f"{kind}_{name}")(*args, **params)

    return rule


_OPERATIONS: Final = {"cond": "cond", "scan": "scan", "while_loop": "while"}

OVERRIDES: Final[dict[str, Any]] = {
    operation: {
        name: _late(kind, name)
        for name in ("batch", "forward", "linearize", *(("tape",) if operation == "scan" else ()))
    }
    for operation, kind in _OPERATIONS.items()
}
RESULTS: Final[dict[str, Any]] = dict.fromkeys(_OPERATIONS, tuple)
SHAPES: Final[dict[str, Any]] = {operation: _late(kind, "shapes") for operation, kind in _OPERATIONS.items()}
