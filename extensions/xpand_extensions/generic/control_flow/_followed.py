"""What a transformation follows where the condition is not followed: of lazy arrays, whose values nobody knows."""

from collections.abc import Callable, Iterable
from typing import Any

from xpand._typing import Array

from ..._captures import captured
from ...tracing._core import TracedArray, bare


def is_followed(x: Array) -> bool:
    return isinstance(bare(x), TracedArray)


def followed_among(arrays: Iterable[Array], *functions: Callable[..., Any]) -> Array | None:
    """Return an array that a transformation follows: of those given, or that functions capture; None without."""
    found = next(filter(is_followed, arrays), None)
    return next(iter(captured(is_followed, *functions)), None) if found is None else found
