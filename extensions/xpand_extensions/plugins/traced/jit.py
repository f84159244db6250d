"""Compiled functions of traced arrays, which become part of the outer program."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...generic.jit import jit as _jit


def jit(
    function: Callable[..., Any],
    /,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] = (),
    compiler: str | None = None,
) -> Callable[..., Any]:
    # The facade has bound the static arguments.
    return _jit(function, donate_argnums=donate_argnums)
