"""PyTorch's own switches, which follow the precision that is set. They are those of the process."""

from typing import Any

import torch

from .._precision import MATMUL, PRECISION, Precision
from .._settings import ProcessSwitch


class _DefaultDtype:
    """PyTorch's default data type: follows the precision of the process, and no block, which is one thread's."""

    def __init__(self) -> None:
        self._before: Any = None

    def entered(self, value: Precision | None) -> None:
        pass

    def left(self, value: Precision | None) -> None:
        pass

    def process(self, value: Precision | None) -> None:
        if value is not None:
            if self._before is None:
                self._before = torch.get_default_dtype()
            torch.set_default_dtype(getattr(torch, value.real))
        elif self._before is not None:
            torch.set_default_dtype(self._before)
            self._before = None


_BACKENDS = (torch.backends.cuda.matmul, torch.backends.mkldnn.matmul)


def _read() -> tuple[str, list[str]]:
    """Read the switch, and those by backend. PyTorch refuses to read it where they say what it can't."""
    by_backend = [backend.fp32_precision for backend in _BACKENDS]
    try:
        return torch.get_float32_matmul_precision(), by_backend
    except RuntimeError:
        return "highest", by_backend


def _turn(value: str) -> None:
    torch.set_float32_matmul_precision(value)


def _restore(state: tuple[str, list[str]]) -> None:
    torch.set_float32_matmul_precision(state[0])
    for backend, value in zip(_BACKENDS, state[1]):
        backend.fp32_precision = value


PRECISION.follow(_DefaultDtype())
MATMUL.follow(ProcessSwitch(_read, _turn, _restore))
