"""Rules of solvers, whose derivatives are those of what they solve."""

from typing import Any, Final

from ._late import late

_RULES: Final = {kind: late("_solve", f"implicit_{kind}") for kind in ("batch", "forward", "linearize", "stage")}

OVERRIDES: Final[dict[str, Any]] = {
    "custom_linear_solve": {**_RULES, "tape": late("_solve", "implicit_tape")},
    "custom_root": _RULES,
}
RESULTS: Final[dict[str, Any]] = dict.fromkeys(OVERRIDES, tuple)
SHAPES: Final[dict[str, Any]] = dict.fromkeys(OVERRIDES, late("_solve", "implicit_shapes"))

REASONS: Final[dict[str, str]] = dict.fromkeys(SHAPES, "the axes are those of the functions inside")
