"""How results are written: tables for people, JSON for programs, progress for both."""

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from ._libraries import Library

_WIDTH_OF_A_LOG = 110


class _Console(Console):
    """A console that lets `main` deal with a reader who has gone."""

    def on_broken_pipe(self) -> None:
        """Raise the `BrokenPipeError` that is being handled."""
        raise


def console(*, stderr: bool = False) -> Console:
    """Make a console; a log that tells no width gets one that holds a table of all libraries."""
    stream = sys.stderr if stderr else sys.stdout
    known = stream.isatty() or "COLUMNS" in os.environ
    return _Console(stderr=stderr, width=None if known else _WIDTH_OF_A_LOG, highlight=False)


def write_json(value: Any) -> None:
    """Print a value as indented JSON."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


class Steps(Protocol):
    """The progress of a long-running function."""

    def __call__(self, what: str, *, done: bool = False) -> None:
        """Report the current step, or that a step is done."""
        ...


@contextmanager
def progress(total: int) -> Iterator[Steps]:
    """Show on the standard error how far a run of `total` steps is: a bar in a terminal, a line a step in a log."""
    err = console(stderr=True)
    if not err.is_terminal:

        def write(what: str, *, done: bool = False) -> None:
            if not done:
                err.print(f"{what} ...", style="dim", markup=False)

        yield write
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("", total=total)

        def update(what: str, *, done: bool = False) -> None:
            bar.update(task, description=what, advance=int(done))

        yield update


def absent_libraries(libraries: Iterable[Library]) -> Text:
    """Write which libraries are missing and how to add them, and which are broken and why."""
    text = Text()
    for library in libraries:
        if library.status == "missing":
            text.append(f"{library.name} is not installed; to add it: ")
            text.append(library.how_to_add, style="cyan").append("\n")
        elif library.status == "broken":
            text.append(f"{library.name} is installed and can't be used: ", style="red").append(f"{library.error}\n")
    return text
