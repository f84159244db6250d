"""Interpreters that respect PyTorch's modes: `torch.no_grad`, `torch.autocast`, the state of the generator."""

from collections.abc import Sequence
from typing import Any, Self

import torch

from xpand_extensions.tracing._core import Op, TracedArray, TracedError, bind, rebuilt
from xpand_extensions.tracing._reverse import Linearize
from xpand_extensions.tracing._staging import Staging


class Recorded(Linearize):
    """The interpreter that linearizes, unless PyTorch's gradients are switched off.

    As in `torch.func`: `torch.no_grad` around the transformation only keeps PyTorch from recording its own graph, and
    within the function it makes the results of operations constant for the innermost transformation.
    """

    __slots__ = ("is_around_off", "switch")

    def __enter__(self) -> Self:
        self.is_around_off = not torch.is_grad_enabled()
        self.switch = torch.inference_mode(False) if torch.is_inference_mode_enabled() else torch.enable_grad()
        self.switch.__enter__()
        return super().__enter__()

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        self.switch.__exit__(kind, error, traceback)
        super().__exit__(kind, error, traceback)

    def process(self, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Apply an operation to the values, and record its derivative."""
        if torch.is_grad_enabled():
            if not self.is_around_off or not _is_simple(op):
                return super().process(op, args, params)
            if any(isinstance(self.plain(x), TracedArray) for x in args):
                return super().process(op, args, params)
            with torch.no_grad():
                return super().process(op, args, params)
        with torch.enable_grad():  # outer transformations differentiate the operation
            return bind(op, self.taken_apart(args)[1], params)


def _is_simple(op: Op) -> bool:
    """Return whether an operation is applied to values only, and never to arrays of the interpreter."""
    return op.factors is not None or (op.derivative is not None and "linearize" not in op.overrides)


class Staged(Staging):
    """The interpreter that records a graph. Draws of random numbers that a program would repeat are errors."""

    __slots__ = ("is_differentiated", "state")

    def __enter__(self) -> Self:
        self.is_differentiated = torch.is_grad_enabled()
        self.state = torch.default_generator.get_state()
        return super().__enter__()

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        super().__exit__(kind, error, traceback)
        if error is None and not torch.equal(self.state, torch.default_generator.get_state()):
            raise TracedError(
                f"{self.what}: the function drew random numbers from PyTorch's generator while it was traced, and the "
                "program would repeat the same numbers at each call; draw them like a traced array, for example with "
                "`torch.rand_like(x)`, or outside of the function, or use `xpand_extensions.random` with a key"
            )

    def process(self, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Record an operation."""
        if torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda"):
            raise TracedError(
                f"{op.name}: `torch.autocast` within a function that `{self.what}` traces would have no effect on the "
                "program; convert arrays with `x.to(torch.bfloat16)` instead"
            )
        result = super().process(op, args, params)
        if torch.is_grad_enabled() or not self.is_differentiated or op.name == "stop_gradient":
            return result
        stop = self.namespace.operations["stop_gradient"]
        if isinstance(result, TracedArray):
            return self._stopped(stop, [result])[0]
        return rebuilt(op, result, self._stopped(stop, result))

    def _stopped(self, op: Op, arrays: Sequence[Any]) -> list[Any]:
        is_floating = self.namespace.is_floating
        return [super(Staged, self).process(op, (x,), {}) if is_floating(x.dtype) else x for x in arrays]
