"""Compilation on CuPy: by tracing, with elementwise operations in kernels of several."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from cupy import ElementwiseKernel
from cupy.cuda import runtime

from ...tracing._jit import jit as _jit
from ._kernels import fused


def jit(
    function: Callable[..., Any],
    /,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] = (),
) -> Callable[..., Any]:
    by_device: dict[int, Callable[..., Any]] = {}

    def call(*leaves: Any) -> Any:
        # What the function makes out of nothing lies on the device that is current while it is traced.
        device = runtime.getDevice()
        found = by_device.get(device)
        if found is None:
            found = by_device[device] = _jit(function, partial(fused, make=ElementwiseKernel))
        return found(*leaves)

    return call
