"""Reverse mode over tensors, which `torch.no_grad` within the function switches off."""

from collections.abc import Sequence
from typing import Any, Self

import torch

from xpand_extensions.tracing._core import Op, TracedArray, bind
from xpand_extensions.tracing._reverse import Linearize

from ._segments import mark


class Recorded(Linearize):
    """The interpreter that linearizes, unless PyTorch's gradients are switched off.

    As in `torch.func`: `torch.no_grad` around the transformation only keeps PyTorch from recording its own graph, and
    within the function it makes the results of operations constant for the innermost transformation.
    """

    __slots__ = ("is_around_off", "switch")

    def __enter__(self) -> Self:
        self.is_around_off = not torch.is_grad_enabled()
        self.switch = torch.enable_grad()
        self.switch.__enter__()
        return super().__enter__()

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        self.switch.__exit__(kind, error, traceback)
        super().__exit__(kind, error, traceback)

    def process(self, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Apply an operation to the values, and record its derivative."""
        if op.name != "torch":
            for x in args:
                if type(x) is self.array and x._graphed is not None:
                    mark(x._graphed[0])
        if torch.is_grad_enabled():
            if not self.is_around_off or any(isinstance(self.plain(x), TracedArray) for x in args):
                return super().process(op, args, params)
            with torch.no_grad():
                return super().process(op, args, params)
        with torch.enable_grad():  # outer transformations differentiate the operation
            return bind(op, self.taken_apart(args)[1], params)
