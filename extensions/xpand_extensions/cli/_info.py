"""`xpand info`: libraries, versions, devices and capabilities."""

import platform
from typing import Any, Final

from rich.table import Table
from rich.text import Text

import xpand
from xpand._namespace import API_VERSION
from xpand_extensions import capabilities

from ._libraries import Library, find, known_names
from ._output import absent_libraries, console, progress, write_json

_MARKS: Final = {
    "native": ("● native", "green"),
    "traced": ("◐ traced", ""),
    "generic": ("○ generic", ""),
    "unsupported": ("– none", "red"),
}
_STATUS_STYLES: Final = {"ready": "green", "missing": "dim", "broken": "red"}


def info(*, as_json: bool) -> int:
    """Print the installed libraries and their capabilities; return the exit code: 1 where an installed library is
    broken.
    """
    names = known_names()
    libraries = []
    with progress(len(names)) as step:
        for name in names:
            step(f"import {name}")
            libraries.append(find(name))
            step(f"import {name}", done=True)
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
