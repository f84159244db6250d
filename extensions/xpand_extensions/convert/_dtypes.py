"""Data types by their names, which are the same for all libraries."""

from typing import Any, Final

_WIDTHS: Final = {
    "bool": 1,
    **{f"{kind}{bits}": bits // 8 for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": bits // 8 for bits in (16, 32, 64)},
    "bfloat16": 2,
    "complex64": 8,
    "complex128": 16,
}


def name_of(dtype: Any) -> str:
    """Name a data type of any library as the standard does: "float32"."""
    if isinstance(dtype, str):
        return dtype
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    return str(name).rpartition(".")[2]


def width_of(name: str) -> int | None:
    """Return how many bytes an element of a data type has; None for other data types."""
    return 1 if name.startswith("float8_") else _WIDTHS.get(name)


def checked(function: str, dtype: Any) -> tuple[str, int]:
    """Check a data type; return its name and how many bytes an element has.

    Raises:
        TypeError: It isn't one of numbers.
    """
    name = name_of(dtype)
    width = width_of(name)
    if width is None:
        raise TypeError(f"{function}: dtype must be a numeric data type or its name, such as 'float32', got {dtype!r}")
    return name, width


def is_short(name: str) -> bool:
    """Tell of a data type whether it is one of those of machine learning, which NumPy hasn't."""
    return name.startswith(("bfloat16", "float8_"))


def integer_of(name: str) -> str:
    """Name the integers as wide as a short data type."""
    return f"uint{8 * (width_of(name) or 0)}"
