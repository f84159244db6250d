"""The output of the command line, and `xpand info`."""

import json
import os
import platform
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

import xpand
from xpand._namespace import API_VERSION
from xpand_extensions import capabilities

from ._libraries import Library, find, known_names

_WIDTH_OF_A_LOG = 110


class _Console(Console):
    """A console that lets `main` handle a closed output."""

    def on_broken_pipe(self) -> None:
        """Raise the `BrokenPipeError` that is being handled."""
        raise


def console(*, stderr: bool = False) -> Console:
    """Make a console. In a log of unknown width, it is wide enough for a table of all libraries."""
    stream = sys.stderr if stderr else sys.stdout
    known = stream.isatty() or "COLUMNS" in os.environ
    return _Console(stderr=stderr, width=None if known else _WIDTH_OF_A_LOG, highlight=False)


def write_json(value: Any) -> None:
    """Print a value as indented JSON."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


@contextmanager
def progress(total: int) -> Iterator[Callable[[str], None]]:
    """Show the progress of `total` steps on the standard error: a bar in a terminal, one line per step in a log.

    The function that it yields is called at the start of each step.
    """
    err = console(stderr=True)
    if not err.is_terminal:
        yield lambda what: err.print(f"{what} ...", style="dim", markup=False)
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=err, transient=True) as bar:
        task, done = bar.add_task("", total=total), count()
        yield lambda what: bar.update(task, description=what, completed=next(done))


def absent_libraries(libraries: Iterable[Library]) -> Text:
    """Print which libraries are missing and how to install them, and which are broken and why."""
    text = Text()
    for library in libraries:
        if library.status == "missing":
            text.append(f"{library.name} is not installed; to add it: ")
            text.append(library.how_to_add, style="cyan").append("\n")
        elif library.status == "broken":
            text.append(f"{library.name} is installed and can't be used: ", style="red").append(f"{library.error}\n")
    return text


_MARKS: Final = {
    "native": ("● native", "green"),
    "traced": ("◐ traced", ""),
    "generic": ("○ generic", ""),
    "unsupported": ("– none", "red"),
}
_STATUS_STYLES: Final = {"ready": "green", "missing": "dim", "broken": "red"}


def info(*, as_json: bool) -> int:
    """Print the installed libraries and their capabilities. Return the exit code, 1 if a library is broken."""
    names = known_names()
    libraries = []
    with progress(len(names)) as step:
        for name in names:
            step(f"import {name}")
            libraries.append(find(name))
    table = capabilities()
    if as_json:
        write_json(_as_json(libraries, table))
    else:
        _print(libraries, table)
    return int(any(library.status == "broken" for library in libraries))


def _as_json(libraries: list[Library], table: dict[str, Any]) -> dict[str, Any]:
    return {
        "xpand": xpand.__version__,
        "array_api": API_VERSION,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "libraries": [
            {
                "name": library.name,
                "status": library.status,
                "version": library.version,
                "namespace": library.xp and library.xp.__name__,
                "devices": library.devices,
                "compilers": {name: not missing for name, missing in library.compilers.items()},
                "error": library.error,
                "how_to_add": library.how_to_add if library.status == "missing" else None,
            }
            for library in libraries
        ],
        "capabilities": table,
    }


def _print(libraries: list[Library], table: dict[str, Any]) -> None:
    out = console()
    out.print(
        f"[bold]xpand {xpand.__version__}[/bold] for the array API standard {API_VERSION}, on Python "
        f"{platform.python_version()}, {platform.platform()}\n"
    )
    out.print(_library_table(libraries))
    out.print(
        "The first compiler of a library is the default of jit; compiler= selects another. Native code also replaces "
        "the default for long loops.",
        style="dim",
    )
    out.print(absent_libraries(libraries))
    if table:
        out.print(_capability_table(table))
        out.print(
            "● native: the library's own way.  ◐ traced: through the standard's functions.  ○ generic: by the "
            "standard alone.  – none: not available, with an error that says what to use instead.",
            style="dim",
        )


def _library_table(libraries: list[Library]) -> Table:
    table = Table(title="Libraries", title_justify="left")
    for heading in ("library", "status", "version", "namespace", "devices", "compilers"):
        table.add_column(heading)
    for library in libraries:
        table.add_row(
            library.name,
            Text(library.status, style=_STATUS_STYLES[library.status]),
            library.version or "",
            library.xp.__name__ if library.xp else "",
            ", ".join(library.devices),
            Text(", ".join(f"{name} ({missing})" if missing else name for name, missing in library.compilers.items())),
        )
    return table


def _capability_table(capability_table: dict[str, Any]) -> Table:
    table = Table(title="Capabilities beyond the standard", title_justify="left")
    table.add_column("function", no_wrap=True)
    for name in next(iter(capability_table.values())):
        table.add_column(name)
    for function, row in capability_table.items():
        table.add_row(function, *(Text(*_MARKS[support]) for support in row.values()))
    return table
