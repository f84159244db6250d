"""Functions of NumPy that traced arrays do not support, with the reasons."""

from typing import Final

_NO_DATES: Final = "traced arrays have numbers and booleans, no dates"
_NO_FIELDS: Final = "traced arrays have numbers and booleans, no fields; pass an array for each field"
_NO_TEXTS: Final = "traced arrays have numbers and booleans, no texts"
_WITHOUT_VALUES: Final = "values are known outside the transformation: return the array"

REASONS: Final[dict[str, str]] = {
    **dict.fromkeys(("busday_count", "busday_offset", "datetime_as_string", "is_busday"), _NO_DATES),
    **dict.fromkeys(("save", "savetxt", "savez", "savez_compressed"), _WITHOUT_VALUES),
    **dict.fromkeys(("char", "strings"), _NO_TEXTS),
    "lib.recfunctions": _NO_FIELDS,
}
"""Why a function, or a module of functions, is not supported, and what to write instead."""

_OTHERS: Final = "use functions of the standard, or `pure_callback` with `custom_jvp` for a function with a derivative"


UFUNC_REASONS: Final[dict[str, str]] = {
    "isnat": "traced arrays hold numbers and booleans, and only dates can be NaT",
}
"""Why a universal function of NumPy is not supported."""


def reason_of(name: str) -> str:
    """Return the reason for an error message."""
    return known_reason(name) or _OTHERS


def known_reason(name: str) -> str:
    """Return the reason for a function or its module; an empty text without one."""
    return REASONS.get(name) or REASONS.get(name.rpartition(".")[0], "")
