"""The user's code that an error comes from: its place, and a traceback that shows it alone."""

import os
import sys
from collections.abc import Iterable, Iterator
from types import FrameType, TracebackType
from typing import Final, TypeVar

import xpand
from xpand._namespace import LIBRARIES

_OURS: Final = (__name__.rpartition(".")[0], xpand.__name__)
_ROOTS: Final = frozenset(
    (
        *(library.native.partition(".")[0] for library in LIBRARIES.values()),
        *("array_api_compat", "array_api_extra", "array_api_strict", "contextlib", "functools", "optree", "scipy"),
    )
)
"""What works on arrays for others: their own code is not where one looks for the cause."""


E = TypeVar("E", bound=BaseException)


def without_own_frames(error: E) -> E:
    """Take the frames of xpand, and those of libraries that call it, out of the traceback of an error to be re-raised.

    The user's frames stay, and what a library did that they called. The environment variable `XPAND_TRACEBACK=full`
    keeps all.
    """
    if os.environ.get("XPAND_TRACEBACK") == "full":
        return error
    first = error.__traceback__
    passed = list(_inwards(first and first.tb_next))  # re-raising adds the first again
    kept: TracebackType | None = None
    calls_us = False
    for trace in reversed(passed):
        module = trace.tb_frame.f_globals.get("__name__")  # which functions made from text don't have
        calls_us = (calls_us and module is None) or (
            module is not None and (_is_ours(module) or (calls_us and _is_of_a_library(module)))
        )
        if not calls_us:
            kept = TracebackType(kept, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)
    return error.with_traceback(kept)


def place() -> str:
    """Name the innermost line that is in neither this project nor a library of arrays; nothing where there is none."""
    return _first((frame, frame.f_lineno) for frame in _outwards(sys._getframe(1)))


def place_of(error: BaseException) -> str:
    """Name the innermost such line that an error came by."""
    passed = [(trace.tb_frame, trace.tb_lineno) for trace in _inwards(error.__traceback__)]
    return _first(reversed(passed))


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
        module = frame.f_globals.get("__name__")  # which functions made from text don't have
        if module is not None and not _is_of_a_library(module):
            return f"{frame.f_code.co_filename}:{line}, in {frame.f_code.co_name}"
    return ""


def _is_of_a_library(module: str) -> bool:
    return _is_ours(module) or module.partition(".")[0] in _ROOTS


def _is_ours(module: str) -> bool:
    return any(module == ours or module.startswith(f"{ours}.") for ours in _OURS)
