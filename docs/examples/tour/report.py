"""The tour's results, as a table or as JSON."""

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

import xpand
from xpand_extensions.cli._info import absent_libraries, console, write_json
from xpand_extensions.cli._libraries import Library

from .results import TASKS, TOLERANCES, Column, Result


def write_report(
    columns: Sequence[Column],
    absent: Sequence[Library],
    *,
    repeats: int,
    as_json: bool,
    picture: Path | None,
    threads: int,
) -> None:
    """Print the results of the libraries that ran, and what became of those that didn't."""
    if as_json:
        write_json(_as_json(columns, absent, repeats, picture, threads))
    else:
        _print(columns, absent, repeats, picture, threads)


def _as_json(
    columns: Sequence[Column], absent: Sequence[Library], repeats: int, picture: Path | None, threads: int
) -> dict[str, Any]:
    ready = [
        {
            "name": column.library.name,
            "status": "ready",
            "version": column.library.version,
            "dtype": column.dtype,
            "tolerance": column.tolerance,
        }
        for column in columns
    ]
    others = [
        {
            "name": library.name,
            "status": library.status,
            "error": library.error,
            "how_to_add": library.how_to_add if library.status == "missing" else None,
        }
        for library in absent
    ]
    return {
        "xpand": xpand.__version__,
        "repeats": repeats,
        "threads": threads,
        "agrees": all(column.agrees(result) for column in columns for result in column.results),
        "libraries": ready + others,
        "tasks": [
            {
                "name": task.name,
                "data": task.data,
                "results": {column.library.name: _result_as_json(column, column.results[i]) for column in columns},
            }
            for i, task in enumerate(TASKS)
        ],
        "picture": None if picture is None else str(picture),
    }


def _result_as_json(column: Column, result: Result) -> dict[str, Any]:
    known = result.difference is not None and math.isfinite(result.difference)  # JSON has no infinity
    return {
        "seconds": result.seconds,
        "difference": result.difference if known else None,
        "agrees": column.agrees(result),
        "error": result.error,
    }


def _print(
    columns: Sequence[Column], absent: Sequence[Library], repeats: int, picture: Path | None, threads: int
) -> None:
    out = console()
    out.print(_table(columns))
    out.print(_legend(columns, repeats, threads), style="dim")
    failures = Text()
    for column in columns:
        for task, result in zip(TASKS, column.results, strict=True):
            if result.error:
                failures.append(f"{column.library.name}, {task.name}: ", style="red").append(f"{result.error}\n")
    out.print(failures + absent_libraries(absent), end="")
    if picture is not None:
        out.print(Text("The results are drawn in ").append(str(picture), style="cyan").append("."), soft_wrap=True)


def _table(columns: Sequence[Column]) -> Table:
    table = Table(title="One source file on every library", title_justify="left", show_lines=True)
    table.add_column("task")
    for column in columns:
        lines = [column.library.name, column.library.version or ""]
        if column.dtype != "float64":
            lines.append(column.dtype)
        table.add_column("\n".join(lines), justify="right", overflow="fold")
    for i, task in enumerate(TASKS):
        name = Text(task.name).append(f"\n{task.data}", style="dim")
        table.add_row(name, *(_cell(column, column.results[i]) for column in columns))
    return table


def _cell(column: Column, result: Result) -> Text:
    if result.seconds is None or result.difference is None:
        return Text("failed", style="bold red")
    difference = "exact" if result.difference == 0 else f"{result.difference:.0e}"
    if column.agrees(result):
        return Text(f"{_duration(result.seconds)}\n{difference}")
    return Text(f"{_duration(result.seconds)}\n").append(f"✗ {difference}", style="bold red")


def _duration(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e3)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def _legend(columns: Sequence[Column], repeats: int, threads: int) -> Text:
    limit = "one thread" if threads == 1 else f"{threads} threads"
    times = "once" if repeats == 1 else f"up to {repeats} times"
    text = Text(
        f"Above: the shortest time of a task on {limit}, run {times} after a first run, results brought to NumPy "
        "arrays (which waits for devices and computes what is lazy). Below: the largest difference from NumPy in "
        "float64, relative to the largest value. "
    )
    dtypes = sorted({column.dtype for column in columns})
    text.append("; ".join(f"✗ marks more than {TOLERANCES[dtype]:.0e} in {dtype}" for dtype in dtypes) + ". ")
    return text.append(f"Run with JAX_ENABLE_X64={os.environ['JAX_ENABLE_X64']}.\n")
