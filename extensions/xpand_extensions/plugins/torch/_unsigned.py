"""The larger unsigned integers, for which PyTorch has few functions: computed as signed integers of the same bits."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from xpand.extend import LibraryArray as Array
from xpand.torch._dtypes import SIGNED, to_ordered

F = TypeVar("F", bound=Callable[..., Any])


def ordered(x: Array) -> Array:
    """Return values in the same order as `x`, in a data type that PyTorch compares."""
    return to_ordered(x) if x.dtype in SIGNED else x


def on_ordered(function: F, arrays: int = 1) -> F:
    """Give a function its first arrays in data types that PyTorch compares."""

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        return function(*map(ordered, args[:arrays]), *args[arrays:], **kwargs)

    return run  # type: ignore[return-value]


def on_signed(function: F) -> F:
    """Give a function the bits of its arrays, all of one data type, as signed integers, and return such bits."""

    @wraps(function)
    def run(*arrays: Array, **kwargs: Any) -> Array:
        signed = SIGNED.get(arrays[0].dtype)
        if signed is None:
            return function(*arrays, **kwargs)
        return function(*[x.view(signed) for x in arrays], **kwargs).view(arrays[0].dtype)

    return run  # type: ignore[return-value]
