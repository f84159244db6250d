"""Rules of loops and branches, which interpreters follow through their bodies."""

from typing import Any, Final

from ._late import late

_OPERATIONS: Final = {"cond": "cond", "scan": "scan", "while_loop": "while"}

OVERRIDES: Final[dict[str, Any]] = {
    operation: {
        name: late("_loops", f"{kind}_{name}")
        for name in ("batch", "forward", "linearize", *(("tape",) if operation == "scan" else ()))
    }
    for operation, kind in _OPERATIONS.items()
}
RESULTS: Final[dict[str, Any]] = dict.fromkeys(_OPERATIONS, tuple)
SHAPES: Final[dict[str, Any]] = {operation: late("_loops", f"{kind}_shapes") for operation, kind in _OPERATIONS.items()}
