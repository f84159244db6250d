"""Loops and branches under a transformation whose condition is not traced: of lazy arrays, whose values are unknown."""

from collections.abc import Callable, Iterable
from typing import Any

from xpand.extend import Array

from ..._captures import captured
from ...tracing._core import TracedArray, bare


def is_traced(x: Array) -> bool:
    return isinstance(bare(x), TracedArray)


def traced_among(arrays: Iterable[Array], *functions: Callable[..., Any]) -> Array | None:
    """Return an array that a transformation traces: of those given, or that functions capture; None without."""
    found = next(filter(is_traced, arrays), None)
    return next(iter(captured(is_traced, *functions)), None) if found is None else found
