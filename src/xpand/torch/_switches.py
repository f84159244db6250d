"""PyTorch's own switches for precision, which follow xpand's settings. They apply to the whole process."""

from typing import Any

import torch

from .._precision import MATMUL, PRECISION, Precision
from .._settings import ProcessSwitch


class _DefaultDtype:
    """Sets PyTorch's default data type to the precision of the process. Blocks do not set it: they are for a thread."""

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
    """Read the main switch and the switches of the backends. PyTorch cannot read the main one if these differ."""
    by_backend = [backend.fp32_precision for backend in _BACKENDS]
    try:
        return torch.get_float32_matmul_precision(), by_backend
    except RuntimeError:
        return "highest", by_backend


def _restore(state: tuple[str, list[str]]) -> None:
    torch.set_float32_matmul_precision(state[0])
    for backend, value in zip(_BACKENDS, state[1]):
        backend.fp32_precision = value


PRECISION.follow(_DefaultDtype())
MATMUL.follow(ProcessSwitch(_read, torch.set_float32_matmul_precision, _restore))
