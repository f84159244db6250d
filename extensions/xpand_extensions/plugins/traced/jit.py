"""Compiled functions of traced arrays, which are part of the outer program, whatever compiles them by themselves."""

from collections.abc import Callable
from typing import Any

from ...generic.jit import jit as _jit


def jit(function: Callable[..., Any], /, *, compiler: str | None = None, **options: Any) -> Callable[..., Any]:
    return _jit(function, **options)
