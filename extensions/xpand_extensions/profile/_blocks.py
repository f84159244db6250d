"""The profiled block of code: set-up at its start, and clean-up at its end."""

import os
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Any

from ..jit._calls import INSTEAD, TRACING, name_of
from . import _patch as patch
from ._entries import Label
from ._memory import MemoryUse, Meter
from ._record import CURRENT, Recorder
from ._results import Profile


class Profiling:
    """The context manager that `profile` returns. Each `with` makes a profile of its own."""

    def __init__(
        self,
        libraries: Collection[str] | None,
        options: dict[str, Any],
        memory: bool,
        save: str | os.PathLike[str] | None,
    ) -> None:
        """Check and store the arguments of `profile`."""
        self._libraries, self.options, self._memory, self._save = libraries, options, memory, save
        self._open: list[tuple[ExitStack, Profile, Recorder]] = []

    def __enter__(self) -> Profile:
        """Begin to record."""
        found = Profile(self._libraries, self.options, recording)
        recorder = Recorder(sys._getframe(1), **self.options)
        with ExitStack() as stack:
            stack.enter_context(recording(recorder, found, found._measured if self._memory else None))
            self._open.append((stack.pop_all(), found, recorder))
        return found

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Finish, also after an exception; save the profile if that was requested."""
        stack, found, recorder = self._open.pop()
        stack.close()
        found._finish(recorder)
        if self._save is not None:
            found.save(self._save)


@contextmanager
def recording(
    recorder: Recorder, profile: Profile, measured: Callable[[MemoryUse], None] | None = None
) -> Iterator[None]:
    """Have a recorder record in this context; what is around it records the same.

    With `measured`, memory is measured, and what was used in all is given to that.
    """
    outer = CURRENT.get()
    recorder.profile = profile
    with ExitStack() as stack:
        if outer is not None:
            stack.callback(outer.adopt, recorder)
        patch.start()
        stack.callback(patch.stop)
        if measured is not None:  # once all is there that recording needs itself
            around = None if outer is None else outer.lane().meter
            meter = recorder.lane().meter = Meter() if around is None else around
            if around is None:
                stack.callback(meter.close)
            meter.start()
            stack.callback(lambda: measured(meter.end()))
        stack.callback(CURRENT.reset, CURRENT.set(recorder))
        stack.callback(TRACING.reset, TRACING.set(_trace))
        # Compiled functions may be switched off, which they then stay.
        stack.callback(INSTEAD.reset, INSTEAD.set(INSTEAD.get() or _run))
        recorder.start()
        try:
            yield
        finally:
            recorder.finish()


def _run(
    function: Callable[..., Any], compiled: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Record the call of a compiled function; those inside it are part of it."""
    token = INSTEAD.set(None)
    try:
        recorder = CURRENT.get()
        assert recorder is not None, "both are set by a profile"
        return recorder.run(Label(f"jit({name_of(function)})", "compiled"), compiled, args, kwargs)
    finally:
        INSTEAD.reset(token)


def _trace(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Record that a function is traced, and the calls in it, which are made for arrays without values."""
    recorder = CURRENT.get()
    assert recorder is not None, "both are set by a profile"
    return recorder.run_inside(Label(f"{name_of(function)}: tracing", "compilation"), function, args, kwargs)
