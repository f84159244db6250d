"""The location of an error in the user's code, and a traceback of this code only."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from types import FrameType, TracebackType
from typing import Any, Final, TypeVar, cast

import xpand
from xpand._namespace import LIBRARIES
from xpand.extend import trace_instead

_OURS: Final = (__name__.rpartition(".")[0], xpand.__name__)
_ROOTS: Final = frozenset(
    (
        *(library.native.partition(".")[0] for library in LIBRARIES.values()),
        *("array_api_compat", "array_api_extra", "array_api_strict", "contextlib", "functools", "optree", "scipy"),
    )
)
"""Packages for arrays: the cause of an error is rarely in their code."""


E = TypeVar("E", bound=BaseException)
F = TypeVar("F", bound=Callable[..., Any])


def clean_tracebacks(facade: F, /) -> F:
    """Decorate a facade that calls user functions: tracebacks show only the user's frames.

    Put it above `pluggable`: it copies the attributes. A call costs about 0.15 µs more.

    >>> @clean_tracebacks
    ... def twice(function, x):
    ...     return function(function(x))
    >>> twice(abs, -1)
    1
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return facade(*args, **kwargs)
        except Exception as error:
            raise for_user(error)  # noqa: B904 (it is the error itself)

    # Tracebacks show this name. torch.compile stores its results in the code object, so facades must not share one.
    call.__code__ = call.__code__.replace(co_name=facade.__name__)
    return cast(F, wraps(facade)(call))


def for_user(error: E) -> E:
    """Remove xpand's frames from the traceback of an error before it is raised again, and note the user's line.

    Frames of libraries that call xpand are removed too. The frames of the user, and of libraries that the user calls,
    stay. If the error comes from such a library, a note names the user's line. The environment variable
    `XPAND_TRACEBACK=full` leaves the error unchanged.
    """
    if os.environ.get("XPAND_TRACEBACK") == "full":
        return error
    first = error.__traceback__
    error.__traceback__ = _without_own_frames(first and first.tb_next)  # `raise` adds the first frame again
    for cause in (error.__cause__, error.__context__):
        if cause is not None:
            cause.__traceback__ = _without_own_frames(cause.__traceback__)
    shown = list(_inwards(error.__traceback__))
    if shown and not _is_users(shown[-1].tb_frame) and (position := location_of(error)):
        note = f"at {position}"
        if note not in getattr(error, "__notes__", ()):  # an inner transformation adds the same note
            error.add_note(note)
    return error


def _unchanged(error: E) -> E:
    return error


# torch.compile inlines `_unchanged`: it can't trace tracebacks, and would report that in place of the error.
trace_instead(for_user, _unchanged)


def _without_own_frames(first: TracebackType | None) -> TracebackType | None:
    traceback: TracebackType | None = None
    calls_us = False
    for trace in reversed(list(_inwards(first))):
        module = trace.tb_frame.f_globals.get("__name__")  # None in functions made by `exec`
        calls_us = (calls_us and module is None) or (
            module is not None and (_is_ours(module) or (calls_us and _is_of_a_library(module)))
        )
        if not calls_us:
            traceback = TracebackType(traceback, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)
    return traceback


def position() -> str:
    """Name the user's innermost line, outside of this project and of array libraries; "" if there is none."""
    return _first((frame, frame.f_lineno) for frame in _outwards(sys._getframe(1)))


def location_of(error: BaseException) -> str:
    """Name the user's innermost line in the traceback of an error; "" if there is none."""
    passed = [(trace.tb_frame, trace.tb_lineno) for trace in _inwards(error.__traceback__)]
    return _first(reversed(passed))


def stacklevel() -> int:
    """Return the `stacklevel` with which a warning of the caller names the user's line."""
    levels = enumerate(_outwards(sys._getframe(1)), 1)
    return next((level for level, frame in levels if _is_users(frame)), 1)


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _inwards(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _first(frames: Iterable[tuple[FrameType, int]]) -> str:
    for frame, line in frames:
        if _is_users(frame):
            return f"{frame.f_code.co_filename}:{line}, in {frame.f_code.co_name}"
    return ""


def _is_users(frame: FrameType) -> bool:
    module = frame.f_globals.get("__name__")
    return module is not None and not _is_of_a_library(module)


def _is_of_a_library(module: str) -> bool:
    return _is_ours(module) or module.partition(".")[0] in _ROOTS


def _is_ours(module: str) -> bool:
    return any(module == ours or module.startswith(f"{ours}.") for ours in _OURS)
