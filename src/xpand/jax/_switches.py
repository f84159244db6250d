"""JAX's own switches, which follow the precision that is set."""

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Generic, TypeVar

import jax

from .._precision import MATMUL, PRECISION, Precision
from .._settings import remove_last

T = TypeVar("T")

# What JAX compiles depends on the value of such a context, as it does on those of JAX's own switches.
_IN_KEY = jax.make_user_context(None)

_LEVELS: dict[str, str] = {"highest": "highest", "high": "high", "medium": "default"}


class _Thread(threading.local):
    def __init__(self) -> None:
        self.open: list[Any] = []
        self.contexts: list[AbstractContextManager[Any]] = []


class _Switches(Generic[T]):
    """Switches that belong to a thread, as JAX's do.

    Tasks of one thread may leave their blocks in any order: so it is kept which are open, and all is turned anew.
    """

    def __init__(
        self,
        contexts: Callable[[Sequence[T | None]], Sequence[AbstractContextManager[Any]]],
        process: Callable[[T | None], None],
    ) -> None:
        """Keep what makes JAX's contexts for the blocks that are open, and what turns the switches of the process."""
        self._contexts, self.process = contexts, process
        self._thread = _Thread()

    def entered(self, value: T | None) -> None:
        self._thread.open.append(value)
        self._turn()

    def left(self, value: T | None) -> None:
        if remove_last(self._thread.open, value):
            self._turn()

    def _turn(self) -> None:
        thread = self._thread
        while thread.contexts:
            thread.contexts.pop().__exit__(None, None, None)
        for context in self._contexts(thread.open) if thread.open else ():
            context.__enter__()
            thread.contexts.append(context)


def _dtypes(blocks: Sequence[Precision | None]) -> Sequence[AbstractContextManager[Any]]:
    wide = any(value is not None and value.is_wide for value in blocks)
    return [_IN_KEY(blocks[-1]), *([jax.enable_x64(True)] if wide else ())]


class _Wide:
    """64-bit types, of the process."""

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
    """The precision of matrix products, of the process."""

    def __init__(self) -> None:
        self._before: list[str | None] = []

    def __call__(self, value: str | None) -> None:
        if value is not None:
            if not self._before:
                self._before.append(jax.config.jax_default_matmul_precision)
            jax.config.update("jax_default_matmul_precision", _LEVELS[value])
        elif self._before:
            jax.config.update("jax_default_matmul_precision", self._before.pop())


def _levels(blocks: Sequence[str | None]) -> Sequence[AbstractContextManager[Any]]:
    value = blocks[-1]
    return [] if value is None else [jax.default_matmul_precision(_LEVELS[value])]


PRECISION.follow(_Switches(_dtypes, _Wide()))
MATMUL.follow(_Switches(_levels, _Products()))
