"""Errors of conversions, shared by the facade and the plug-ins."""

from typing import Any

from xpand.extend import describe

from ._dtypes import name_of


def copy_needed(why: str, function: str = "convert") -> ValueError:
    """Say why memory can't be shared, where `copy=False` asks for it."""
    return ValueError(f"{function}: copy=False, but {why}; leave `copy` out to have them copied")


def no_values(x: Any) -> TypeError:
    """Say that an array is traced by a transformation, or has no values for another reason."""
    return TypeError(
        f"convert: {describe(x)} is traced by a transformation (jit, vmap, grad) or holds no values, and another "
        "library could not trace it; convert what goes into the transformed function, or what comes out of it, or "
        "call the other library's function by `jit.pure_callback`"
    )


def has_gradient(x: Any) -> TypeError:
    """Say that a derivative would be lost."""
    return TypeError(
        f"convert: {describe(x)} requires a gradient, which would end here without a word; convert `x.detach()` (or "
        "`autodiff.stop_gradient(x)`) if that is meant"
    )


def no_dtype(library: str, dtype: Any, remedy: str = "convert it with `xp.astype` first") -> TypeError:
    """Say that a library has no such data type."""
    return TypeError(f"convert: {library} has no data type {name_of(dtype)}; {remedy}")
