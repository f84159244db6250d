"""Functions of NumPy that traced arrays do not support, with the reasons."""

from typing import Final

_WITHOUT_VALUES: Final = "values are known outside the transformation: return the array"

REASONS: Final[dict[str, str]] = dict.fromkeys(("save", "savetxt", "savez", "savez_compressed"), _WITHOUT_VALUES)
"""Why a function is not supported, and what to write instead."""


UFUNC_REASONS: Final[dict[str, str]] = {
    "isnat": "traced arrays hold numbers and booleans, and only dates can be NaT",
}
"""Why a universal function of NumPy is not supported."""


def reason_of(name: str) -> str:
    """Return the reason for an error message."""
    return REASONS.get(
        name, "use functions of the standard, or `pure_callback` with `custom_jvp` for a function with a derivative"
    )
