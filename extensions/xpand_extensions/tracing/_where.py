"""The place in the user's code that an error comes from."""

import sys
from collections.abc import Iterable, Iterator
from types import FrameType, TracebackType
from typing import Final

import xpand
from xpand._namespace import LIBRARIES

_OURS: Final = (__name__.rpartition(".tracing.")[0], xpand.__name__)
_ROOTS: Final = frozenset(
    (
        *(library.native.partition(".")[0] for library in LIBRARIES.values()),
        *("array_api_compat", "array_api_extra", "array_api_strict", "contextlib", "functools", "optree", "scipy"),
    )
)
"""What works on arrays for others: their own code is not where one looks for the cause."""


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
    return any(module == ours or module.startswith(f"{ours}.") for ours in _OURS) or module.partition(".")[0] in _ROOTS
