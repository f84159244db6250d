"""Grouping of the calls of a profile: by caller, by function, by line."""

from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal, TypeAlias

from ._entries import Entry, Place

Grouping: TypeAlias = Literal["call", "function", "caller"]

GROUPINGS: Final[tuple[Grouping, ...]] = ("call", "function", "caller")


class Node:
    """All calls of one function from one line, or all calls from a user function."""

    __slots__ = ("calls", "children", "duration", "entry", "name", "place")

    def __init__(self, name: str, place: Place | None, entry: Entry | None = None) -> None:
        """Start without calls. `entry` is the first call; None for a user function."""
        self.name, self.place, self.entry = name, place, entry
        self.calls = 0
        self.duration = 0.0
        self.children: dict[tuple[Any, ...], Node] = {}

    @property
    def own_duration(self) -> float:
        """The time without the nodes inside, in seconds; 0 for a user function, whose own time isn't measured."""
        return max(0.0, self.duration - sum(child.duration for child in self.children.values()))

    def child(self, key: tuple[Any, ...], name: str, place: Place | None, entry: Entry | None = None) -> "Node":
        """Return the node of a key; make it if it does not exist."""
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
    """Group calls by the user functions that call them, and by the calls that enclose them."""
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
    """List all calls in order, or the totals by function or by line, the longest first."""
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
        # By line, count only calls made by the line itself: the others are inside these.
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
    """Yield all calls, each with the innermost line of the user's code from which it comes."""
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
    """Format a time with a suitable unit."""
    for factor, unit in ((1.0, "s"), (1e3, "ms")):
        if value * factor >= 1.0:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e6:.3g} µs"


def size(count: int) -> str:
    """Format a number of bytes with a suitable unit."""
    for factor, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if abs(count) >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count} B"
