"""PyTorch's own functions: on the CPU, elementwise operations on large arrays run block by block.

A formula of twelve operations on 5e6 float64 numbers takes a sixth of the time of whole arrays, whose memory the system
would have to provide and clear for each operation. Several threads compute different blocks. Other operations are calls
of PyTorch's functions (`_direct`).
"""

import os
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, ClassVar, Final

import torch

from ....tracing._blocks import Blocks, Call, Functions
from ....tracing._graph import Equation, Graph, Variable
from . import _direct, _tensors

_PIECE: Final = 8
"""The most blocks that a thread computes before it looks for others."""
_WRAPPED: Final = frozenset({"astype", "remainder", "sign"})
"""Operations of several calls, whose values do not depend on other elements."""


def _run(part: Callable[[int, int], None], length: int, rows: int) -> None:
    """Compute all rows, by as many threads as PyTorch uses."""
    blocks, threads = -(-length // rows), torch.get_num_threads()
    count = min(threads, blocks // 2)
    if count < 2:
        part(0, length)
        return
    step = rows * max(1, min(_PIECE, blocks // (4 * count)))
    starts = iter(range(0, length, step))
    is_inference = torch.is_inference_mode_enabled()

    def work() -> None:
        with torch.inference_mode(is_inference):
            for start in starts:
                part(start, min(start + step, length))

    others = [_helpers(threads).submit(work) for _ in range(count - 1)]
    try:
        work()
    finally:
        for other in others:
            other.result()


@cache
def _helpers(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads - 1, "xpand-blocks")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.cache_clear)  # the threads exist only in the parent


class TorchBlocks(Blocks):
    """Compiles elementwise operations on large arrays of the same shape on the CPU together."""

    name: ClassVar[str] = "torch"
    warns: ClassVar[bool] = False
    functions: ClassVar[Functions] = Functions(
        empty=lambda shape, dtype: torch.empty(shape, dtype=dtype, device="cpu"),
        flat=lambda x: x.reshape(-1),
        scalar=lambda x: x.reshape(()),
        join=lambda arrays, axis, out: torch.concat(arrays, axis, out=out),
        run=_run,
    )

    def accepts(self, equation: Equation) -> bool:
        arrays = [x for x in (*equation.inputs, *equation.outputs) if isinstance(x, Variable)]
        on_host = all(getattr(x.aval.device, "type", "") == "cpu" for x in arrays)
        return on_host and super().accepts(equation)

    def call(self, equation: Equation) -> Call | None:
        call = _direct.direct(equation)
        if call is None:
            name, params = equation.op.name, equation.params
            return Call(equation.op.function, equation.inputs, params, False) if name in _WRAPPED else None
        return Call(*_direct.with_tensors(call), writes=_direct.has_out(call, equation.outputs[0].aval))

    def direct(self, equation: Equation) -> Any:
        call = _direct.direct(equation)
        return None if call is None else _direct.with_tensors(call)

    def takes(self, arrays: Sequence[Any], graph: Graph | None = None) -> bool:
        captured = () if graph is None else graph.constants.values()
        return _tensors.are_plain(arrays) and not _tensors.require_gradients((*arrays, *captured))

    @staticmethod
    def signature(leaves: Sequence[Any]) -> Hashable:
        return _tensors.signature(leaves)


BACKEND: Final = TorchBlocks()
