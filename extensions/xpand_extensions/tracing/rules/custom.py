"""Rules of functions that bring their own, and of those that are computed again."""

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
        for name in ("custom_jvp", "custom_vjp")
    },
    "checkpoint": {
        "affine": late("_affine_flow", "checkpoint_affine"),
        **{
            kind: late("_custom", f"checkpoint_{kind}") for kind in ("batch", "depends", "forward", "linearize", "tape")
        },
    },
}
RESULTS: Final[dict[str, Any]] = dict.fromkeys(OVERRIDES, tuple)
SHAPES: Final[dict[str, Any]] = {
    **{name: late("_custom", "custom_shapes") for name in ("custom_jvp", "custom_vjp")},
    "checkpoint": late("_custom", "checkpoint_shapes"),
}
