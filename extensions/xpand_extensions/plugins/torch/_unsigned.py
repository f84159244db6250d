"""Unsigned integers of 16 bits or more, for which PyTorch has few functions: computed as signed integers."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from xpand.extend import LibraryArray as Array
from xpand.torch._dtypes import SIGNED, to_ordered

F = TypeVar("F", bound=Callable[..., Any])


def ordered(x: Array) -> Array:
    """Convert to a data type that PyTorch can compare, with the same order of values."""
    return to_ordered(x) if x.dtype in SIGNED else x


def on_ordered(function: F, arrays: int = 1) -> F:
    """Pass the first arrays to a function in data types that PyTorch can compare."""

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        return function(*map(ordered, args[:arrays]), *args[arrays:], **kwargs)

    return run  # type: ignore[return-value]


def on_signed(function: F) -> F:
    """Pass arrays of one data type to a function as signed integers of the same bits, and convert the result back."""

    @wraps(function)
    def run(*arrays: Array, **kwargs: Any) -> Array:
        signed = SIGNED.get(arrays[0].dtype)
        if signed is None:
            return function(*arrays, **kwargs)
        return function(*[x.view(signed) for x in arrays], **kwargs).view(arrays[0].dtype)

    return run  # type: ignore[return-value]
