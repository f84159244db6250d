"""Trees of calls, and the files that show them: of the trace event format, and a page with a flame graph."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from ._entries import Entry, Place

Grouping: TypeAlias = Literal["call", "function", "caller"]

GROUPINGS: Final[tuple[Grouping, ...]] = ("call", "function", "caller")


class Node:
    """All calls of one function from one line, or all calls from a user function."""

    __slots__ = ("calls", "children", "duration", "entry", "name", "place")

    def __init__(self, name: str, place: Place | None, entry: Entry | None = None) -> None:
        """Begin with no calls. `entry` is the first one; None for a user function."""
        self.name, self.place, self.entry = name, place, entry
        self.calls = 0
        self.duration = 0.0
        self.children: dict[tuple[Any, ...], Node] = {}

    @property
    def own_duration(self) -> float:
        """Seconds without those of the nodes inside; nothing in a user function, whose time isn't taken."""
        return max(0.0, self.duration - sum(child.duration for child in self.children.values()))

    def child(self, key: tuple[Any, ...], name: str, place: Place | None, entry: Entry | None = None) -> "Node":
        """Return the node of a key, made where there is none."""
        found = self.children.get(key)
        if found is None:
            found = self.children[key] = Node(name, place, entry)
        return found

    def walk(self) -> Iterator["Node"]:
        """Yield the node and those inside it."""
        yield self
        for child in self.children.values():
            yield from child.walk()


def tree(entries: Iterable[Entry]) -> Node:
    """Group calls by the user functions that they are called from, and by the calls that they are inside."""
    root = Node("", None)
    _add(root, entries)
    return root


def _add(node: Node, entries: Iterable[Entry]) -> None:
    for entry in entries:
        node.duration += 0.0 if node.entry is not None else entry.duration
        inner = node
        stack = entry.stack
        for place in reversed(stack):
            inner = inner.child((place.file, place.function), place.function, place)
            inner.duration += entry.duration
        line = stack[0].line if stack else 0
        own = inner.child((entry.name, entry.kind, line), entry.name, stack[0] if stack else None, entry)
        own.calls += 1
        own.duration += entry.duration
        _add(own, entry.children)


def table(entries: Iterable[Entry], by: Grouping) -> list[dict[str, Any]]:
    """List all calls, or their totals by function or by line, the longest first."""
    rows = [(entry, depth) for entry, depth in _walk(entries, 0)]
    if by == "call":
        return [_row(entry, depth) for entry, depth in rows]
    groups: dict[tuple[Any, ...], dict[str, Any]] = {}
    for entry, place in _with_user_lines(entries, None):
        key: dict[str, Any] = {"name": entry.name, "kind": entry.kind, "library": entry.library}
        if by == "caller":
            key = {"file": place and place.file, "line": place and place.line, "function": place and place.function}
        empty = {"calls": 0, "duration": 0.0, "own_duration": 0.0, "bytes_in": 0, "bytes_out": 0}
        group = groups.setdefault(tuple(key.values()), key | empty)
        group["calls"] += 1
        # By line, count only calls of the line itself: the others are inside.
        group["duration"] += entry.duration if by == "function" or entry.place is not None else 0.0
        group["own_duration"] += entry.own_duration
        group["bytes_in"] += _bytes(entry.inputs)
        group["bytes_out"] += _bytes(entry.outputs)
    return sorted(groups.values(), key=lambda group: -group["own_duration"])


def _walk(entries: Iterable[Entry], depth: int) -> Iterator[tuple[Entry, int]]:
    for entry in entries:
        yield entry, depth
        yield from _walk(entry.children, depth + 1)


def _with_user_lines(entries: Iterable[Entry], outer: Place | None) -> Iterator[tuple[Entry, Place | None]]:
    """Yield calls with the innermost user line that they come from."""
    for entry in entries:
        place = entry.place or outer
        yield entry, place
        yield from _with_user_lines(entry.children, place)


def _row(entry: Entry, depth: int) -> dict[str, Any]:
    place = entry.place
    return {
        "name": entry.name,
        "kind": entry.kind,
        "library": entry.library,
        "depth": depth,
        "start": entry.start,
        "duration": entry.duration,
        "own_duration": entry.own_duration,
        "arguments": entry.arguments,
        "inputs": [str(each) for each in entry.inputs],
        "outputs": [str(each) for each in entry.outputs],
        "device": next((each.device for each in (*entry.outputs, *entry.inputs) if each.device), None),
        "bytes_in": _bytes(entry.inputs),
        "bytes_out": _bytes(entry.outputs),
        "file": place and place.file,
        "line": place and place.line,
        "function": place and place.function,
        "is_concrete": entry.is_concrete,
        "error": entry.error,
        "allocated": entry.memory and entry.memory.allocated,
        "peak": entry.memory and entry.memory.peak,
    }


def _bytes(arrays: Iterable[Any]) -> int:
    return sum(each.bytes or 0 for each in arrays)


def seconds(value: float) -> str:
    """Write a time in a unit that suits it."""
    for factor, unit in ((1.0, "s"), (1e3, "ms")):
        if value * factor >= 1.0:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e6:.3g} µs"


def size(count: int) -> str:
    """Write a number of bytes in a unit that suits it."""
    for factor, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if abs(count) >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count} B"


def trace_events(threads: Sequence[Sequence[Entry]], duration: float, messages: Sequence[str]) -> dict[str, Any]:
    """Make the object of the trace event format: a complete event for each call, and for each user function.

    User functions last from the first to the last call recorded in them, one after the other.
    """
    process = os.getpid()
    events: list[dict[str, Any]] = [_metadata("process_name", process, 0, "xpand")]
    for number, entries in enumerate(threads):
        events.append(_metadata("thread_name", process, number, f"thread {number}" if number else "main"))
        for event in (*_functions(entries), *_calls(entries)):
            events.append({**event, "ph": "X", "pid": process, "tid": number})
    return {
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {"duration": f"{duration} s", "messages": list(messages)},
    }


def _metadata(name: str, process: int, thread: int, value: str) -> dict[str, Any]:
    return {"name": name, "ph": "M", "pid": process, "tid": thread, "args": {"name": value}}


def _calls(entries: Iterable[Entry]) -> Iterator[dict[str, Any]]:
    for entry in entries:
        place = entry.place
        metadata = {
            "arguments": entry.arguments,
            "outputs": [str(each) for each in entry.outputs],
            "devices": sorted({each.device for each in (*entry.inputs, *entry.outputs) if each.device}),
            "bytes in": sum(each.bytes or 0 for each in entry.inputs),
            "bytes out": sum(each.bytes or 0 for each in entry.outputs),
            "place": f"{place.file}:{place.line} ({place.function})" if place else None,
            "code": place.code if place else None,
            "error": entry.error,
            "memory": entry.memory and entry.memory._asdict(),
        }
        known = {name: value for name, value in metadata.items() if value not in (None, "", [])}
        yield {**_timed(entry.name, entry.kind, entry.start, entry.stop), "args": known}
        yield from _functions(entry.children)
        yield from _calls(entry.children)


def _functions(entries: Sequence[Entry], level: int = 0) -> Iterator[dict[str, Any]]:
    """Yield an event for each run of calls from one user function, then for those inside it."""
    run: list[Entry] = []
    last = None
    for entry in (*entries, None):
        stack = () if entry is None else entry.stack
        key = (stack[-1 - level].file, stack[-1 - level].function) if len(stack) > level else None
        if run and key != last:
            place = run[0].stack[-1 - level]
            event = _timed(place.function, "python", run[0].start, run[-1].stop)
            yield {**event, "args": {"place": f"{place.file}:{place.line}"}}
            yield from _functions(run, level + 1)
            run = []
        if entry is not None and key is not None:
            run.append(entry)
        last = key


def _timed(name: str, category: str, start: float, stop: float) -> dict[str, Any]:
    return {"name": name, "cat": category, "ts": start * 1e6, "dur": max(0.0, stop - start) * 1e6}


def page(root: Node, total: float, messages: Sequence[str], rows: Iterable[dict[str, Any]]) -> str:
    """Write the page, which is self-contained."""
    data = {
        "total": total,
        "messages": list(messages),
        "root": {**_box(root), "name": "profile", "value": max(total, root.duration)},
        "functions": [
            [row["name"], row["kind"], row["calls"], row["duration"], row["own_duration"], row["bytes_out"]]
            for row in rows
        ],
    }
    # Nothing in a script element may look like its end.
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    template = files(__package__).joinpath("_page.html").read_text(encoding="utf-8")
    title = f"Profile, {seconds(total)}"
    return template.replace("{{title}}", title).replace("{{data}}", text)


def _box(node: Node) -> dict[str, Any]:
    entry = node.entry
    box: dict[str, Any] = {
        "name": node.name,
        "value": node.duration,
        "calls": node.calls,
        "kind": "python" if entry is None else entry.kind,
        "children": [_box(child) for child in node.children.values()],
    }
    if node.place is not None:
        box["place"] = f"{node.place.file}:{node.place.line}"
        box["code"] = node.place.code if entry is not None else ""
    if entry is not None:
        box["text"] = f"({entry.arguments}) → {', '.join(map(str, entry.outputs)) or 'no array'}"
        box["error"] = entry.error or ""
        box["values"] = entry.is_concrete
    return box


def write(function: str, path: str | os.PathLike[str], text: str) -> None:
    """Write a text file.

    Raises:
        OSError: It can't be written. The error has the system's class and names the function and the file.
    """
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise _unwriteable(function, path, error) from None


def check_writeable(function: str, path: str | os.PathLike[str]) -> None:
    """Check that a file can be written later. An existing file stays unchanged.

    Raises:
        OSError: It can't.
    """
    known = Path(path).exists()
    try:
        with open(path, "a", encoding="utf-8"):
            pass
    except OSError as error:
        raise _unwriteable(function, path, error) from None
    if not known:
        Path(path).unlink()


def _unwriteable(function: str, path: str | os.PathLike[str], error: OSError) -> OSError:
    message = f"{function}: can't write this file ({error.strerror}); name one in a folder that you may write to"
    return type(error)(error.errno, message, os.fspath(path))
