"""JAX's own switches for precision, which follow xpand's settings."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import jax

from .._precision import MATMUL, PRECISION, Precision
from .._settings import ThreadSwitch

# JAX compiles a program again if the value of this context changes, as for its own switches.
_IN_KEY = jax.make_user_context(None)

_LEVELS: dict[str, str] = {"highest": "highest", "high": "high", "medium": "default"}


def _dtypes(blocks: Sequence[Precision | None]) -> Sequence[AbstractContextManager[Any]]:
    wide = any(value is not None and value.is_wide for value in blocks)
    return [_IN_KEY(blocks[-1]), *([jax.enable_x64(True)] if wide else ())]


class _Wide:
    """Changes the switch of the process for 64-bit types."""

    def __init__(self) -> None:
        self._before: bool | None = None

    def __call__(self, value: Precision | None) -> None:
        _IN_KEY.set_global(value)
        if value is not None and value.is_wide:
            if self._before is None:
                self._before = bool(jax.config.jax_enable_x64)
            jax.config.update("jax_enable_x64", True)
        elif self._before is not None:
            jax.config.update("jax_enable_x64", self._before)
            self._before = None


class _Products:
    """Changes the switch of the process for the precision of matrix products."""

    def __init__(self) -> None:
        self._before: list[str | None] = []

    def __call__(self, value: str | None) -> None:
        if value is not None:
            if not self._before:
                self._before.append(jax.config.jax_default_matmul_precision)
            jax.config.update("jax_default_matmul_precision", _LEVELS[value])
        elif self._before:
            jax.config.update("jax_default_matmul_precision", self._before.pop())


def _levels(blocks: Sequence[str | None]) -> Sequence[AbstractContextManager[Any]] | None:
    value = blocks[-1]
    return None if value is None else [jax.default_matmul_precision(_LEVELS[value])]


PRECISION.follow(ThreadSwitch(_dtypes, _Wide()))
MATMUL.follow(ThreadSwitch(_levels, _Products()))
