"""Rules of loops and branches, which interpreters trace through their bodies."""

from typing import Any, Final

from ...extend._derivatives import contribution
from ._late import late

_OPERATIONS: Final = {"cond": ("_branches", "cond"), "scan": ("_scan", "scan"), "while_loop": ("_while", "while")}

OVERRIDES: Final[dict[str, Any]] = {
    operation: {name: late(module, f"{kind}_{name}") for name in ("batch", "depends", "forward", "linearize", "tape")}
    for operation, (module, kind) in _OPERATIONS.items()
}
for _operation in ("scan", "while_loop"):
    OVERRIDES[_operation]["affine"] = late("_affine_flow", f"{_OPERATIONS[_operation][1]}_affine")
OVERRIDES["scan"]["prune"] = late("_scan", "scan_prune")
OVERRIDES["gradient_if"] = {"batch": late("_while", "gradient_if_batch")}
DECOMPOSITIONS: Final[dict[str, Any]] = {
    "gradient_if": lambda xp, x, active: x,
    "safe_values": late("_while", "safe_values"),
}
DERIVATIVES: Final[dict[str, Any]] = {"gradient_if": (contribution(late("_while", "gradient_if_along")), None)}
RESULTS: Final[dict[str, Any]] = dict.fromkeys((*_OPERATIONS, "safe_values"), tuple)
SHAPES: Final[dict[str, Any]] = {
    "gradient_if": lambda namespace, x, active: x,
    "safe_values": lambda namespace, active, *arrays: arrays,
    **{operation: late(module, f"{kind}_shapes") for operation, (module, kind) in _OPERATIONS.items()},
}

REASONS: Final[dict[str, str]] = dict.fromkeys(SHAPES, "the axes are those of the body")
