"""Files made from a profile: in the trace event format, and a page with a flame graph."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from ._entries import Entry
from ._tree import Node, seconds


def trace_events(threads: Sequence[Sequence[Entry]], duration: float, messages: Sequence[str]) -> dict[str, Any]:
    """Make the object of the trace event format, with a complete event for each call and each user function.

    A user function lasts from the first to the last call recorded in it.
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
    """Yield an event for each series of calls from one user function, followed by the events inside it."""
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
    """Return the self-contained page."""
    data = {
        "total": total,
        "messages": list(messages),
        "root": {**_box(root), "name": "profile", "value": max(total, root.duration)},
        "functions": [
            [row["name"], row["kind"], row["calls"], row["duration"], row["own_duration"], row["bytes_out"]]
            for row in rows
        ],
    }
    # The text of a script element must not contain its end tag.
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
        OSError: The file can't be written. The error has the system's class, and names the function and the file.
    """
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise _unwriteable(function, path, error) from None


def check_writeable(function: str, path: str | os.PathLike[str]) -> None:
    """Check that a file can be written later. An existing file stays unchanged.

    Raises:
        OSError: The file can't be written.
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
