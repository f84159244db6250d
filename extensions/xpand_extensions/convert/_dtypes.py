"""Data types by name, for bytes and pointers, and the errors of conversions."""

from typing import Any, Final

from xpand.extend import describe

_WIDTHS: Final = {
    "bool": 1,
    **{f"{kind}{bits}": bits // 8 for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": bits // 8 for bits in (16, 32, 64)},
    "bfloat16": 2,
    "complex64": 8,
    "complex128": 16,
}


def name_of(dtype: Any) -> str:
    """Return the standard's name of a data type of any library, such as "float32"."""
    if isinstance(dtype, str):
        return dtype
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    return str(name).rpartition(".")[2]


def width_of(name: str) -> int | None:
    """Return the number of bytes of an element; None for unknown data types."""
    return 1 if name.startswith("float8_") else _WIDTHS.get(name)


def checked(function: str, dtype: Any) -> tuple[str, int]:
    """Check a data type. Return its name and the number of bytes of an element.

    Raises:
        TypeError: It is not a numeric data type.
    """
    name = name_of(dtype)
    width = width_of(name)
    if width is None:
        raise TypeError(f"{function}: dtype must be a numeric data type or its name, such as 'float32', got {dtype!r}")
    return name, width


def is_short(name: str) -> bool:
    """Return whether a data type is one for machine learning that NumPy lacks."""
    return name.startswith(("bfloat16", "float8_"))


def integer_of(name: str) -> str:
    """Return the name of the integers as wide as a short data type."""
    return f"uint{8 * (width_of(name) or 0)}"


def copy_needed(why: str) -> ValueError:
    """Return the error for memory that can't be shared, although `copy` is False."""
    return ValueError(f"convert: copy=False, but {why}; omit `copy` to allow a copy")


def no_values(x: Any) -> TypeError:
    """Return the error for an array that is traced by a transformation or has no values for another reason."""
    return TypeError(
        f"convert: {describe(x)} is traced by a transformation (jit, vmap, grad) or holds no values, and another "
        "library could not trace it; convert the arguments or results of the transformed function, or "
        "call the other library's function by `jit.pure_callback`"
    )


def has_gradient(x: Any) -> TypeError:
    """Return the error for a derivative that would be lost."""
    return TypeError(
        f"convert: {describe(x)} requires a gradient, which the conversion would drop; convert `x.detach()` (or "
        "`autodiff.stop_gradient(x)`) to drop it explicitly"
    )


def no_dtype(library: str, dtype: Any, remedy: str = "convert it with `xp.astype` first") -> TypeError:
    """Return the error for a data type that a library doesn't have."""
    return TypeError(f"convert: {library} has no data type {name_of(dtype)}; {remedy}")
