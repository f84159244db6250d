"""Rules of operations that contain functions or graphs: loops, branches, solvers, functions with custom rules.

The rules are functions of modules of `tracing` that import the tables, so they are imported when called.
"""

import importlib
from collections.abc import Callable
from typing import Any, Final

from ...extend._derivatives import contribution


def late(module: str, name: str) -> Callable[..., Any]:
    """Return a function that imports and calls a function of a module of `tracing`."""

    def rule(*args: Any, **params: Any) -> Any:
        return getattr(importlib.import_module(f"..{module}", __package__), name)(*args, **params)

    return rule


def _late(module: str, prefix: str, *kinds: str) -> dict[str, Any]:
    """Return the rules of an operation. Their names start with `prefix`."""
    return {kind: late(module, f"{prefix}_{kind}") for kind in kinds}


_INTERPRETED: Final = ("batch", "forward", "linearize")
_BODIES: Final = (*_INTERPRETED, "depends", "tape")
_CUSTOM: Final = ("custom_jvp", "custom_vjp", "custom_vmap")
_SOLVERS: Final = ("custom_linear_solve", "custom_root")
_OF_BODIES: Final = {
    "checkpoint": ("_custom", "checkpoint"),
    "cond": ("_branches", "cond"),
    "scan": ("_scan", "scan"),
    "while_loop": ("_while", "while"),
}

OVERRIDES: Final[dict[str, Any]] = {
    **{name: _late(*of, *_BODIES) for name, of in _OF_BODIES.items()},
    **{
        name: {
            "affine": late("_affine", "custom_affine"),
            "stage": late("_custom", "custom_stage"),
            "tape": late("_custom", "custom_tape"),
            **_late("_custom", name, *_INTERPRETED),
        }
        for name in _CUSTOM
    },
    **{name: _late("_solve", "implicit", *_INTERPRETED, "stage") for name in _SOLVERS},
    "checkpoint_name": {"batch": late("_custom", "checkpoint_name_batch")},
    "gradient_if": {"batch": late("_while", "gradient_if_batch")},
}
OVERRIDES["custom_linear_solve"]["tape"] = late("_solve", "implicit_tape")
OVERRIDES["scan"]["prune"] = late("_scan", "scan_prune")
for _name in ("checkpoint", "scan", "while_loop"):
    OVERRIDES[_name]["affine"] = late("_affine", f"{_OF_BODIES[_name][1]}_affine")

DECOMPOSITIONS: Final[dict[str, Any]] = {
    "gradient_if": lambda xp, x, active: x,
    "safe_values": late("_while", "safe_values"),
}
DERIVATIVES: Final[dict[str, Any]] = {
    "checkpoint_name": (1,),
    "gradient_if": (contribution(late("_while", "gradient_if_along")), None),
    "saved_value": (1, None),
}
RESULTS: Final[dict[str, Any]] = dict.fromkeys((*_OF_BODIES, *_CUSTOM, *_SOLVERS, "safe_values"), tuple)
SHAPES: Final[dict[str, Any]] = {
    **{name: late(module, f"{prefix}_shapes") for name, (module, prefix) in _OF_BODIES.items()},
    **dict.fromkeys(_CUSTOM, late("_custom", "custom_shapes")),
    **dict.fromkeys(_SOLVERS, late("_solve", "implicit_shapes")),
    "checkpoint_name": lambda namespace, x, name: x,
    "gradient_if": lambda namespace, x, active: x,
    "safe_values": lambda namespace, active, *arrays: arrays,
    "saved_value": lambda namespace, computed, saved: saved,
}
REASONS: Final[dict[str, str]] = {
    **dict.fromkeys(SHAPES, "the axes are those of the functions inside"),
    **dict.fromkeys(("checkpoint_name", "gradient_if"), "the result is the argument"),
    "safe_values": "the results are the arguments",
    "saved_value": "the result is the second argument",
}
