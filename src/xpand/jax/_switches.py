"""JAX's own switches, which follow the precision that is set."""

import threading
from contextlib import AbstractContextManager
from typing import Any

import jax

from .._precision import PRECISION, Precision

_IN_KEY = jax.make_user_context(None)  # what is compiled depends on its value, like on that of JAX's own switches


class _Thread(threading.local):
    def __init__(self) -> None:
        self.open: list[Precision | None] = []
        self.wide: AbstractContextManager[Any] | None = None
        self.keyed: AbstractContextManager[Any] | None = None


class _Switches:
    """64-bit types, which JAX has only where they are switched on, and the key of what JAX compiles.

    JAX's switches belong to a thread. Its tasks may leave their blocks in any order, so that what is open is counted.
    """

    def __init__(self) -> None:
        self._thread = _Thread()
        self._before: bool | None = None

    def entered(self, value: Precision | None) -> None:
        self._thread.open.append(value)
        self._turn()

    def left(self, value: Precision | None) -> None:
        if value in self._thread.open:
            last = len(self._thread.open) - 1 - self._thread.open[::-1].index(value)
            del self._thread.open[last]
            self._turn()

    def _turn(self) -> None:
        thread = self._thread
        if thread.keyed is not None:
            thread.keyed.__exit__(None, None, None)
            thread.keyed = None
        wide = any(value is not None and value.is_wide for value in thread.open)
        if wide and thread.wide is None:
            thread.wide = jax.enable_x64(True)
            thread.wide.__enter__()
        elif thread.wide is not None and not wide:
            thread.wide.__exit__(None, None, None)
            thread.wide = None
        if thread.open:
            thread.keyed = _IN_KEY(thread.open[-1])
            thread.keyed.__enter__()

    def process(self, value: Precision | None) -> None:
        _IN_KEY.set_global(value)
        if value is not None and value.is_wide and self._before is None:
            self._before = bool(jax.config.jax_enable_x64)
            jax.config.update("jax_enable_x64", True)
        elif self._before is not None and (value is None or not value.is_wide):
            jax.config.update("jax_enable_x64", self._before)
            self._before = None


PRECISION.follow(_Switches())
