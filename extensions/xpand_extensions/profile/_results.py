"""The results of a finished profile, and their output."""

import json
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from html import escape
from types import TracebackType
from typing import IO, Any, Final, TypeAlias

from xpand.extend import checks, describe

from .._display import as_html, as_text
from .._optional import import_optional
from ..jit._calls import INSTEAD, TRACING
from ..jit._statics import name_of
from . import _files as files, _patch as patch
from ._entries import Entry, Label, MemoryUse, Meter, Record
from ._record import CURRENT, Recorder
from ._tree import GROUPINGS, Grouping, table, tree

Recording: TypeAlias = "Callable[[Recorder, Profile], AbstractContextManager[None]]"
"""A context in which a recorder records for a profile."""

_MOST_FUNCTIONS: Final = 12
"""The number of functions that a summary lists."""


class Profile:
    """The recorded calls and their times: the result of `profile` and `profile_function`.

    The entries are available when the recording has ended.
    """

    def __init__(self, libraries: Collection[str] | None, options: dict[str, Any], recording: Recording) -> None:
        """Start without records. Users call `profile`."""
        self._libraries, self._options, self._recording = libraries, options, recording
        self._threads: list[tuple[Entry, ...]] | None = None
        self._duration = 0.0
        self._messages: list[str] = []
        self._memory: MemoryUse | None = None

    def _finish(self, recorder: Recorder) -> None:
        self._threads, self._duration = _recorded(recorder)

    def _measured(self, memory: MemoryUse) -> None:
        self._memory = memory

    @property
    def duration(self) -> float:
        """The time from start to end, in seconds, without the time of recording.

        Raises:
            RuntimeError: The profile has not ended.
        """
        self._ended("duration")
        return self._duration

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The recorded calls of all threads, each with those inside it, in the order of their starts.

        Raises:
            RuntimeError: The profile has not ended.
        """
        found = [entry for thread in self._selected("entries") for entry in thread]
        return tuple(sorted(found, key=lambda entry: entry.start))

    @property
    def memory(self) -> MemoryUse | None:
        """Return the memory that the block allocated, and its peak above the start; None if memory isn't measured.

        Raises:
            RuntimeError: The profile has not ended.
        """
        self._ended("memory")
        return self._memory

    @property
    def messages(self) -> tuple[str, ...]:
        """Return the messages added by `add_external_message`."""
        return tuple(self._messages)

    def walk(self) -> Iterator[Entry]:
        """Yield all calls; inner calls follow their outer call.

        Raises:
            RuntimeError: The profile has not ended.
        """
        for entry in self.entries:
            yield from entry.walk()

    def add_external_message(self, message: str, /) -> None:
        """Add a message, such as that of another profiler, to show with the profile.

        Raises:
            TypeError: The message is not a string.
        """
        if not isinstance(message, str):
            raise TypeError(f"Profile.add_external_message: message must be a string, got {describe(message)}")
        self._messages.append(message)

    def print(self, *, min_duration: float = 0.0, file: IO[str] | None = None) -> None:
        """Print a tree of the user functions and their calls, the longest first.

        Args:
            min_duration: The minimum duration in seconds; shorter calls are omitted.
            file: The file to write to. By default: the standard output.

        Raises:
            ModuleNotFoundError: The package rich, which draws the tree, isn't installed.
            RuntimeError: The profile has not ended.
            TypeError, ValueError: `min_duration` is not a number, or negative.
        """
        entries = self._own_entries("print")
        _check_seconds(min_duration)
        output = import_optional("xpand_extensions.profile._print", "Profile.print")
        output.print_tree(tree(entries), self._duration, self._messages, min_duration, file)

    def table(self, *, by: Grouping = "call") -> list[dict[str, Any]]:
        """Return a list of dictionaries, one for each call or group of calls, for a data frame or a CSV file.

        Args:
            by: "call": all calls in order, with time in seconds, arguments, shapes and data types, device, bytes, line
                and depth. "function": the totals of each function, the longest first. "caller": the totals of each line
                of the user's code, the longest first.

        Raises:
            RuntimeError: The profile has not ended.
            ValueError: An unknown `by`.
        """
        entries = self._own_entries("table")
        checks.choice("Profile.table", "by", by, GROUPINGS)
        return table(entries, by)

    def save(self, file: str | os.PathLike[str], /) -> None:
        """Save all calls in the trace event format, for Perfetto (ui.perfetto.dev) or Chrome (chrome://tracing).

        Raises:
            RuntimeError: The profile has not ended.
            OSError: The file can't be written.
        """
        threads = self._selected("save")
        text = json.dumps(files.trace_events(threads, self._duration, self._messages), ensure_ascii=False)
        files.write("Profile.save", file, text)

    def to_html(self, file: str | os.PathLike[str] | None = None, /) -> str:
        """Create a page with a flame graph for a browser: one file that works without a network.

        Args:
            file: The file to save the page to. By default, it is only returned.

        Returns:
            The page, as HTML.

        Raises:
            RuntimeError: The profile has not ended.
            OSError: The file can't be written.
        """
        entries = self._own_entries("to_html")
        text = files.page(tree(entries), self._duration, self._messages, table(entries, "function"))
        if file is not None:
            files.write("Profile.to_html", file, text)
        return text

    @contextmanager
    def retime(self) -> Iterator[None]:
        """Measure the times of the same calls again, more exactly: without recording arguments and callers.

        The block must repeat the calls of the profile. If it makes other calls, for example because a result is cached
        now, the times stay unchanged.

        Raises:
            RuntimeError: The profile has not ended, or the block makes other calls.
        """
        self._ended("retime")
        recorder = Recorder(**(self._options | {"trace": False}))
        with self._recording(recorder, self):
            yield
        self._retime([recorder])

    def _retime(self, recorders: Sequence[Recorder]) -> None:
        """Replace the times by the means of several recordings."""
        recorded = [_recorded(recorder) for recorder in recorders]
        mine = list(_all(self._threads or ()))
        others = [list(_all(threads)) for threads, _ in recorded]
        for other in others:
            _check_same(mine, other)
        for entry, *again in zip(mine, *others):
            entry.start = sum(each.start for each in again) / len(again)
            entry.stop = sum(each.stop for each in again) / len(again)
        self._duration = sum(duration for _, duration in recorded) / len(recorded)

    def _own_entries(self, method: str) -> list[Entry]:
        return [entry for thread in self._selected(method) for entry in thread]

    def _selected(self, method: str) -> list[tuple[Entry, ...]]:
        """Return the entries of each thread that belong to the requested libraries."""
        threads = self._ended(method)
        if self._libraries is None:
            return threads
        return [tuple(_of_libraries(thread, self._libraries)) for thread in threads]

    def _ended(self, method: str) -> list[tuple[Entry, ...]]:
        if self._threads is None:
            raise RuntimeError(f"Profile.{method}: the profile is still being recorded; read it after its `with` block")
        return self._threads

    def __str__(self) -> str:
        """List the functions that took the longest time."""
        if self._threads is None:
            return repr(self)
        rows = self._longest()
        return as_text(repr(self)[1:-1], [(row[0], f"{row[1]:>8} calls, {row[2]} s") for row in rows])

    def _repr_html_(self) -> str:
        if self._threads is None:
            return escape(repr(self))
        return as_html(repr(self)[1:-1], self._longest(), ("function", "calls", "seconds"))

    def _longest(self) -> list[tuple[str, int, str]]:
        """Return the name, number of calls and seconds of the functions that took the longest time."""
        rows = sorted(self.table(by="function"), key=lambda row: row["own_duration"], reverse=True)
        return [(row["name"], row["calls"], f"{row['own_duration']:.3g}") for row in rows[:_MOST_FUNCTIONS]]

    def __repr__(self) -> str:
        if self._threads is None:
            return "<Profile, being recorded>"
        return f"<Profile: {sum(1 for _ in self.walk())} calls in {self._duration:.3g} s>"


def _recorded(recorder: Recorder) -> tuple[list[tuple[Entry, ...]], float]:
    """Return the entries of each thread, and the duration of the recording in seconds."""
    origin, stop = recorder.start_ns, recorder.stop_ns
    lanes = list(recorder.lanes.values())
    threads = [tuple(Entry(Record(*record), origin) for record in lane.root) for lane in lanes]
    spent = lanes[0].overhead if recorder.subtract else 0
    return threads, (stop - origin - spent) * 1e-9


def _of_libraries(entries: Iterable[Entry], libraries: Collection[str]) -> Iterator[Entry]:
    """Yield the calls of some libraries. Excluded calls are replaced by the calls inside them."""
    for entry in entries:
        children = tuple(_of_libraries(entry.children, libraries))
        if entry.library in libraries or (entry.kind == "call" and not entry.library):
            yield entry.with_children(children)
        else:
            yield from children


def _all(threads: Iterable[tuple[Entry, ...]]) -> Iterator[Entry]:
    for thread in threads:
        for entry in thread:
            yield from entry.walk()


def _check_same(mine: Sequence[Entry], other: Sequence[Entry]) -> None:
    for number, (first, second) in enumerate(zip(mine, other)):
        if first.name != second.name:
            raise RuntimeError(
                f"Profile.retime: call {number + 1} was {first.name}, and is {second.name} now; repeat the same calls, "
                "after a first run that fills the caches (warmup)"
            )
    if len(mine) != len(other):
        raise RuntimeError(
            f"Profile.retime: there were {len(mine)} calls, and are {len(other)} now; repeat the same calls, after a "
            "first run that fills the caches (warmup)"
        )


def _check_seconds(value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"Profile.print: min_duration must be a number of seconds, got {describe(value)}")
    if not value >= 0:
        raise ValueError(f"Profile.print: min_duration must not be negative, got {value}")


class Profiling:
    """The context manager that `profile` returns. Each `with` makes a new profile."""

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
        """Start recording."""
        found = Profile(self._libraries, self.options, recording)
        recorder = Recorder(sys._getframe(1), **self.options)
        with ExitStack() as stack:
            stack.enter_context(recording(recorder, found, found._measured if self._memory else None))
            self._open.append((stack.pop_all(), found, recorder))
        return found

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Finish the profile, also after an exception; save it if requested."""
        stack, found, recorder = self._open.pop()
        stack.close()
        found._finish(recorder)
        if self._save is not None:
            found.save(self._save)


@contextmanager
def recording(
    recorder: Recorder, profile: Profile, measured: Callable[[MemoryUse], None] | None = None
) -> Iterator[None]:
    """Let a recorder record in this context; an outer recorder gets the same records.

    If `measured` is given, memory is measured, and `measured` is called with the total.
    """
    outer = CURRENT.get()
    recorder.profile = profile
    with ExitStack() as stack:
        if outer is not None:
            stack.callback(outer.adopt, recorder)
        patch.start()
        stack.callback(patch.stop)
        if measured is not None:  # after importing all that recording itself needs
            around = None if outer is None else outer.lane().meter
            meter = recorder.lane().meter = Meter() if around is None else around
            if around is None:
                stack.callback(meter.close)
            meter.start()
            stack.callback(lambda: measured(meter.end()))
        stack.callback(CURRENT.reset, CURRENT.set(recorder))
        stack.callback(TRACING.reset, TRACING.set(_trace))
        # Don't enable compiled functions that are disabled.
        stack.callback(INSTEAD.reset, INSTEAD.set(INSTEAD.get() or _run))
        recorder.start()
        try:
            yield
        finally:
            recorder.finish()


def _run(
    function: Callable[..., Any], compiled: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Record the call of a compiled function; the calls inside it are part of that call."""
    token = INSTEAD.set(None)
    try:
        recorder = CURRENT.get()
        assert recorder is not None, "both are set by a profile"
        return recorder.run(Label(f"jit({name_of(function)})", "compiled"), compiled, args, kwargs)
    finally:
        INSTEAD.reset(token)


def _trace(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Record the tracing of a function, and the calls inside it, which have abstract arrays."""
    recorder = CURRENT.get()
    assert recorder is not None, "both are set by a profile"
    return recorder.run_inside(Label(f"{name_of(function)}: tracing", "compilation"), function, args, kwargs)
