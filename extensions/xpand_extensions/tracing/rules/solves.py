"""Rules of solvers, whose derivatives are those of what they solve."""

from typing import Any, Final

from ._late import late

OVERRIDES: Final[dict[str, Any]] = {
    "custom_linear_solve": {
        kind: late("_solve", f"solve_{kind}") for kind in ("batch", "forward", "linearize", "stage", "tape")
    },
    "custom_root": {kind: late("_root", f"root_{kind}") for kind in ("batch", "forward", "linearize", "stage")},
}
RESULTS: Final[dict[str, Any]] = dict.fromkeys(OVERRIDES, tuple)
SHAPES: Final[dict[str, Any]] = {
    "custom_linear_solve": late("_solve", "solve_shapes"),
    "custom_root": late("_root", "root_shapes"),
}
