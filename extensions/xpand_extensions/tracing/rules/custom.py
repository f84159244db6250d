"""Rules of functions with custom rules, and of checkpointed ones."""

from typing import Any, Final

from ._late import late

OVERRIDES: Final[dict[str, Any]] = {
    **{
        name: {
            "stage": late("_custom", "custom_stage"),
            "affine": late("_affine_flow", "custom_affine"),
            "tape": late("_custom", "custom_tape"),
            **{kind: late("_custom", f"{name}_{kind}") for kind in ("batch", "forward", "linearize")},
        }
        for name in ("custom_jvp", "custom_vjp", "custom_vmap")
    },
    "checkpoint_name": {"batch": late("_custom", "checkpoint_name_batch")},
    "checkpoint": {
        "affine": late("_affine_flow", "checkpoint_affine"),
        **{
            kind: late("_custom", f"checkpoint_{kind}") for kind in ("batch", "depends", "forward", "linearize", "tape")
        },
    },
}
DERIVATIVES: Final[dict[str, Any]] = {"checkpoint_name": (1,), "saved_value": (1, None)}
RESULTS: Final[dict[str, Any]] = dict.fromkeys(OVERRIDES.keys() - {"checkpoint_name"}, tuple)
SHAPES: Final[dict[str, Any]] = {
    **{name: late("_custom", "custom_shapes") for name in ("custom_jvp", "custom_vjp", "custom_vmap")},
    "checkpoint": late("_custom", "checkpoint_shapes"),
    "checkpoint_name": lambda namespace, x, name: x,
    "saved_value": lambda namespace, computed, saved: saved,
}

REASONS: Final[dict[str, str]] = {
    **dict.fromkeys(SHAPES, "the axes are those of the function inside"),
    "checkpoint_name": "the result is the argument",
    "saved_value": "the result is the second argument",
}
