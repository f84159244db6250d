"""The recorder of calls, for the profiled thread or task.

The cost of recording a call is in this module.
"""

import os
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from threading import Lock, get_ident
from time import perf_counter_ns as clock
from types import FrameType
from typing import Any, Final

from xpand import is_concrete, trees, wrapped_libraries
from xpand.extend import checks

from ..devices import wait
from ._entries import Frames, Label, Meter, Written, read

CURRENT: Final[ContextVar["Recorder | None"]] = ContextVar("profile", default=None)

_PACKAGES: Final = ("xpand", "xpand_extensions", "array_api_compat", "array_api_extra", "array_api_strict", "optree")
"""The packages besides the libraries whose lines don't count as the user's code."""

_NOTHING: Final[dict[str, Any]] = {}
_MAX_TYPES: Final = 4096


class Lane:
    """The calls of one thread."""

    __slots__ = ("closed", "entered", "meter", "overhead", "root", "top")

    def __init__(self) -> None:
        """Start without records."""
        self.root: list[Written] = []
        self.top = self.root  # where the next record goes
        self.overhead = 0  # nanoseconds spent on recording
        self.closed = False
        self.entered: Label | None = None
        """The call entered last, until its facade looks up the implementation."""
        self.meter: Meter | None = None
        """The meter of memory; None if memory is not measured."""


class Recorder:
    """Records the calls of a context."""

    __slots__ = ("frame", "lanes", "lock", "profile", "start_ns", "stop_ns", "subtract", "synchronize", "trace")

    def __init__(
        self, frame: FrameType | None = None, *, trace: bool = False, subtract: bool = True, synchronize: bool = True
    ) -> None:
        """Record calls; with `trace`, also their arguments and the user functions from `frame` inwards."""
        self.frame, self.trace, self.subtract = frame, trace, subtract
        self.synchronize = synchronize
        self.lock = Lock()
        self.lanes: dict[int, Lane] = {}
        self.lane()
        self.profile: Any = None
        """The profile that gets the records."""
        self.start_ns = self.stop_ns = 0

    def lane(self) -> Lane:
        """Return the lane of this thread."""
        with self.lock:
            return self.lanes.setdefault(get_ident(), Lane())

    def enters(self, label: Label) -> bool:
        """Return whether an implementation belongs to the innermost recorded call; True only once for a call."""
        lane = self.lanes.get(get_ident())
        if lane is None or lane.entered is None or lane.entered.name != label.name:
            return False
        lane.entered = None
        return True

    def run(
        self,
        label: Label,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        shown: dict[str, Any] | None = None,
    ) -> Any:
        """Call a function and record the call. `shown` are the keyword arguments to record; None: `kwargs`."""
        entered = clock()
        lane = self.lanes.get(get_ident()) or self.lane()
        if lane.closed or self.stop_ns:  # a task may outlive the profile in which it started
            return function(*args, **kwargs)
        outer = lane.top
        inner: list[Written] = []
        lane.top = inner
        lane.closed = label.closed
        around, lane.entered = lane.entered, label
        frames: Frames = ()
        given: Sequence[Any] = ()
        named, output = _NOTHING, None
        error, concrete, memory = None, True, None
        if self.trace:
            frames = self.frames(sys._getframe(2))  # the frame between is always xpand's
            given = list(map(read, args))
            if kwargs:
                named = {name: read(x) for name, x in (kwargs if shown is None else shown).items()}
        if lane.meter is not None:
            lane.meter.start()
        start = clock()
        overhead = lane.overhead = lane.overhead + start - entered
        try:
            result = function(*args, **kwargs)
            if self.synchronize:
                concrete = (_FINISH.get(type(result)) or finished)(result)
            stop = clock()
            if self.trace:
                output = read(result)
            return result
        except BaseException as raised:
            stop = clock()
            error = type(raised)
            raise
        finally:
            if lane.meter is not None:
                memory = lane.meter.end()
            lane.closed = False
            lane.entered = around
            lane.top = outer
            before = lane.overhead
            if not self.subtract:
                overhead = before = 0
            start, end = start - overhead, stop - before
            outer.append((label, frames, given, named, output, error, concrete, start, end, memory, inner))
            lane.overhead += clock() - stop

    def run_inside(self, label: Label, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> Any:
        """Call a function and record the call, even inside a call whose inner calls are not recorded."""
        lane = self.lanes.get(get_ident()) or self.lane()
        closed, lane.closed = lane.closed, False
        try:
            return self.run(label, function, args, kwargs)
        finally:
            lane.closed = closed

    def frames(self, frame: FrameType | None) -> Frames:
        """List the user functions from a frame outwards, to the enclosing call or to the start of the profile."""
        found = []
        last = self.frame
        while frame is not None:
            code = frame.f_code
            hidden = _HIDDEN.get(code.co_filename)
            if hidden is None:
                hidden = _is_hidden(code.co_filename)
            if not hidden:
                found.append((code, frame.f_lasti))
            elif code is _RUN:
                break
            if frame is last:
                break
            frame = frame.f_back
        return found

    def start(self) -> None:
        """Start the clock, once everything is set up."""
        self.start_ns = clock()

    def finish(self) -> None:
        """Stop the clock, and free the data that only recording needs."""
        self.stop_ns = clock()
        self.frame = None

    def adopt(self, other: "Recorder") -> None:
        """Add the records of a nested recorder, thread by thread."""
        for thread, lane in other.lanes.items():
            with self.lock:
                mine = self.lanes.setdefault(thread, Lane())
            shift = mine.overhead if self.subtract else 0
            mine.top += [_earlier(record, shift) for record in lane.root]
            mine.overhead += lane.overhead


def _earlier(record: Written, nanoseconds: int) -> Written:
    """Shift a record and those inside it to an earlier time."""
    *rest, start, stop, memory, children = record
    inner = [_earlier(child, nanoseconds) for child in children]
    return (*rest, start - nanoseconds, stop - nanoseconds, memory, inner)


_RUN: Final = Recorder.run.__code__

_HIDDEN: Final[dict[str, bool]] = {}


def _is_hidden(filename: str) -> bool:
    """Return whether a file belongs to xpand or a library, so that its lines aren't the user's code."""
    names = (*_PACKAGES, *wrapped_libraries(), "jaxlib")
    files = (getattr(sys.modules.get(name), "__file__", None) for name in names)
    roots = tuple(os.path.dirname(file) + os.sep for file in files if file)
    found = _HIDDEN[filename] = filename.startswith((*roots, "<frozen "))
    return found


def finished(result: Any) -> bool:
    """Wait until results are computed; return whether they are concrete, not traced or lazy."""
    cls = type(result)
    finish = _FINISH.get(cls)
    if finish is None:
        finish = _finish(result)
        if len(_FINISH) < _MAX_TYPES:
            _FINISH[cls] = finish
    return finish(result)


def _all_finished(results: Any) -> bool:
    # Don't stop early: wait for each result.
    return False not in list(map(finished, results))


def _tree_finished(result: Any) -> bool:
    return _all_finished(leaf for leaf in trees.leaves(result) if leaf is not result)


def _always_finished(result: Any) -> bool:
    return True


def _awaited(x: Any) -> bool:
    concrete = is_concrete(x)
    if concrete:
        wait.native(x)(x)
    return concrete


def _awaited_on_devices(x: Any) -> bool:
    concrete = is_concrete(x)
    if concrete and not x.is_cpu:
        wait.native(x)(x)
    return concrete


def _awaited_itself(x: Any) -> bool:
    x.block_until_ready()
    return True


_FINISH: Final[dict[type, Callable[[Any], bool]]] = {
    bool: _always_finished,
    int: _always_finished,
    float: _always_finished,
}


def _finish(result: Any) -> Callable[[Any], bool]:
    """Return the function that waits for results of a type."""
    if isinstance(result, (tuple, list)):
        return _all_finished
    if not checks.is_array(result):
        return _tree_finished
    # Each call pays for this, so use attributes that are faster than the library's general function.
    if hasattr(result, "block_until_ready"):
        return _awaited_itself
    if hasattr(result, "is_cpu"):
        return _awaited_on_devices
    is_eager = wait.native(result).__module__.rpartition(".")[0].endswith(".generic")
    return is_concrete if is_eager else _awaited
