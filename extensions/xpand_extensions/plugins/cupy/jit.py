"""Compilation on CuPy: by tracing, with elementwise operations in kernels of several."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from cupy import ElementwiseKernel

from ...tracing._jit import jit as _jit
from ._jit_kernels import fused


def jit(
    function: Callable[..., Any],
    /,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] = (),
) -> Callable[..., Any]:
    return _jit(function, partial(fused, make=ElementwiseKernel))
