"""Compilation on NumPy: by tracing, with elementwise operations done block by block."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from xpand_extensions.tracing._jit import jit as _jit

from ._blocks import fused


def jit(
    function: Callable[..., Any],
    /,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] = (),
) -> Callable[..., Any]:
    return _jit(function, fused, _signature)


def _signature(leaves: Sequence[Any]) -> tuple[Any, ...]:
    return tuple([(type(x), x.shape, x.dtype) for x in leaves])
