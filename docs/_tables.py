"""The tables of the site as Markdown, from the program and from measurements."""

import ast
import html
import importlib
import inspect
import json
import pkgutil
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any, Final

import array_api_compat
import array_api_compat.numpy
import array_api_strict
import numpy

import xpand
import xpand_extensions
from xpand_extensions.plugins.numpy.traced_arrays._functions import (
    LAYOUT,
    entry_of,
    functions_of_numpy as verdicts_of_numpy,
)
from xpand_extensions.plugins.numpy.traced_arrays._table import find
from xpand_extensions.plugins.numpy.traced_arrays.known import reasons
from xpand_extensions.plugins.numpy.traced_arrays.known.ufuncs import UFUNCS

LIBRARY_NAMES: Final = {
    "numpy": "NumPy",
    "torch": "PyTorch",
    "jax": "JAX",
    "cupy": "CuPy",
    "dask": "Dask",
    "array_api_strict": "array-api-strict",
    "other": "any other",
}

NOTHING: Final = "nothing"
"""The reference of benchmarks whose budget is a time."""


def table(header: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[int] = ()) -> str:
    """Write a Markdown table; the columns of `numbers` are aligned to the right."""
    rule = ["---:" if column in set(numbers) else "---" for column in range(len(header))]
    lines = [header, rule, *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def sentence(docstring: str | None) -> str:
    """Take the first sentence of a docstring, on one line."""
    text = " ".join(inspect.cleandoc(docstring or "").split("\n\n")[0].split())
    end = text.find(". ")
    return text[: end + 1] if end > 0 else text


def name_of(library: str) -> str:
    """Spell a library's name as its authors do."""
    return LIBRARY_NAMES.get(library, library)


# From the program


def capability_table() -> str:
    """Say for every operation and library: native, traced, generic or unsupported."""
    capabilities = xpand_extensions.capabilities()
    columns = list(next(iter(capabilities.values()), {}))
    rows = (
        [f"`{operation}`", *(f'<span class="{support[name]}">{support[name]}</span>' for name in columns)]
        for operation, support in capabilities.items()
    )
    return table(["operation", *map(name_of, columns)], rows)


def helpers(names: Sequence[str]) -> str:
    """List the helpers: xpand's own with descriptions, and the names of those from array-api-compat."""
    ours = [name for name in names if not _is_taken_over(name)]
    taken_over = ", ".join(f"`{name}`" for name in names if _is_taken_over(name))
    url = "https://data-apis.org/array-api-compat/helper-functions.html"
    return (
        table(["name", "description"], ([f"`{name}`", sentence(getattr(xpand, name).__doc__)] for name in ours))
        + f"\nFrom array-api-compat, [which documents them]({url}): {taken_over}.\n"
    )


def _is_taken_over(name: str) -> bool:
    return getattr(getattr(xpand, name), "__module__", "").startswith("array_api_compat")


def imports() -> str:
    """List the modules of array-api-compat and those that replace them."""
    modules = sorted(
        module.name
        for module in pkgutil.walk_packages(array_api_compat.__path__, "array_api_compat.", onerror=lambda name: None)
        if not any(part.startswith("_") for part in module.name.split("."))
    )
    ours = [module.replace("array_api_compat", "xpand", 1) for module in modules]
    rows = [("array_api_compat", "xpand"), *((old, new) for old, new in zip(modules, ours) if _exists(new))]
    rows.append(("jax.numpy, which array-api-compat returns unchanged", "xpand.jax"))
    return table(
        ["array-api-compat", "xpand"],
        ((f"`{old}`" if " " not in old else f"`jax.numpy`{old[9:]}", f"`{new}`") for old, new in rows),
    )


def _exists(module: str) -> bool:
    folder = Path(xpand.__file__).parent.joinpath(*module.split(".")[1:])
    return folder.with_suffix(".py").exists() or (folder / "__init__.py").exists()


_SPECIFICATION: Final = "https://data-apis.org/array-api/latest/"


def functions() -> str:
    """List the functions of the standard, and for each library whose function it is."""
    namespaces = {name: xpand.namespace(name) for name in ("numpy", "torch", "jax", "dask")}
    rows = []
    for part in ("", "linalg", "fft"):
        module = getattr(array_api_strict, part) if part else array_api_strict
        names = (name for name in module.__all__ if isinstance(getattr(module, name), FunctionType))
        for name in sorted(name for name in names if "array_api_strict" not in name and not name.startswith("_")):
            full = f"{part}.{name}" if part else name
            page = f"{'extensions' if part else 'API_specification'}/generated/array_api.{full}.html"
            owners = (_owner(getattr(getattr(xp, part) if part else xp, name)) for xp in namespaces.values())
            rows.append([f"[`{full}`]({_SPECIFICATION}{page})", *owners])
    return table(["function", *map(name_of, namespaces)], rows)


def _owner(function: Any) -> str:
    package = (getattr(function, "__module__", None) or "").partition(".")[0]
    return {"xpand": "corrected", "array_api_compat": "adapted"}.get(package, "own")


def corrections(package: Path) -> str:
    """List the functions that each namespace corrects, with one tab for each library."""
    tabs = []
    for library in xpand.wrapped_libraries():
        folder = package / library / "array" if library == "dask" else package / library
        blocks = []
        for path in sorted(path for path in folder.glob("*.py") if path.name != "__init__.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            documented, others = _functions(tree, "" if path.stem.startswith("_") else path.stem)
            title = sentence(ast.get_docstring(tree)).rstrip(".")
            if documented:
                blocks.append(f"**{title}**\n\n" + table(["function", "correction"], documented))
            if others:
                names = ", ".join(f"`{name}`" for name in others)
                blocks.append(f"Also: {names}.\n" if documented else f"**{title}**: {names}.\n")
        if blocks:
            text = "\n".join(blocks)
            tabs.append(f'=== "{name_of(library)}"\n\n{_indented(text)}\n')
    return "\n".join(tabs)


def _functions(tree: ast.Module, module: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Find the functions of the standard that a module defines: those with a docstring, and the names of others."""
    prefix = f"{module}." if module else ""
    known = set(importlib.import_module(f"array_api_compat.numpy.{module}".rstrip(".")).__all__)
    documented, others = [], []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in known:
            documented.append((f"`{prefix}{node.name}`", sentence(ast.get_docstring(node))))
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            others += [prefix + name for name in names if name in known and not name.startswith("_")]
    return documented, others


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in text.split("\n"))


def sources(example: Path) -> str:
    """Show the modules of an example, each folded under its docstring's first sentence."""
    parts = []
    for path in sorted(example.glob("*.py")) if example.is_dir() else [example]:
        text = path.read_text(encoding="utf-8")
        title = sentence(ast.get_docstring(ast.parse(text))).rstrip(".").replace('"', "'")
        parts.append(f'??? example "`{path.name}`: {title}"\n\n' + _indented(f"```python\n{text}```") + "\n")
    return "\n".join(parts)


def conforming(path: Path) -> str:
    """Say which programs work on libraries without a wrapper."""
    found = json.loads(path.read_text(encoding="utf-8"))
    names = list(found["versions"])
    rows = [
        [f"`{program}`", *("yes" if outcomes[name] == "works" else outcomes[name] for name in names)]
        for program, outcomes in found["programs"].items()
    ]
    return table(["capability", *(f"{name} {version}" for name, version in found["versions"].items())], rows)


# From what is stated


def coverage(path: Path) -> str:
    """List the names of another library with the functions that replace them."""
    rows = tomllib.loads(path.read_text(encoding="utf-8"))
    done = {name: row for name, row in rows.items() if "open" not in row}
    entries = table(
        ["there", "here", "what differs"],
        ([f"`{name}`", reference(row["xpand"]), row.get("differs", "")] for name, row in done.items()),
    )
    text = f'{len(done)} of {len(rows)} names.\n\n<div class="coverage" markdown>\n\n{entries}\n</div>\n'
    waiting: dict[str, list[str]] = {}
    for name, row in rows.items():
        if "open" in row:
            waiting.setdefault(row["open"], []).append(f"`{name}`")
    lines = [f"- {_capitalised(part)}: {', '.join(names)}.\n" for part, names in waiting.items()]
    return text + ("\n## Not here yet\n\n" + "".join(lines) if lines else "")


def functions_of_numpy() -> str:
    """List NumPy's functions, with a verdict for traced arrays."""
    verdicts = verdicts_of_numpy()
    ufuncs = {name: getattr(numpy, name) for name in dir(numpy) if isinstance(getattr(numpy, name), numpy.ufunc)}
    verdicts |= {name: ufunc in UFUNCS for name, ufunc in ufuncs.items()}
    rows = [
        [f"`numpy.{name}`", "yes" if is_known else f"no: {reasons.reason_of(name)}", _without_options(name)]
        for name, is_known in sorted(verdicts.items())
        if not name.startswith(("char.", "lib.recfunctions.", "strings."))
    ]
    known = sum(verdict == "yes" for _, verdict, _ in rows)
    entries = table(["function", "traced arrays", "options that must have their defaults"], rows)
    return f'{known} of {len(rows)} functions.\n\n<div class="coverage" markdown>\n\n{entries}\n</div>\n'


def _without_options(name: str) -> str:
    """Name the options of NumPy's function that change values and that traced arrays do not have."""
    entry = entry_of(find(name))
    if entry is None or entry.takes_all or entry.passes_options:
        return ""
    missing = [x for x in entry.defaults if x not in entry.options and x not in (*LAYOUT, "out")]
    return ", ".join(f"`{x}`" for x in missing)


def reference(name: str) -> str:
    """Write a name as code, with a link where this site describes it."""
    module, _, function = name.rpartition(".")
    if module.startswith("xp.") or module in ("xp", "x"):
        return f"`{name}`"
    if module in ("xpand", "xpand_extensions"):
        return f"[`{name}`](../reference/{module}.md)"
    # Headings have the full name as their anchor.
    page = module if module.startswith("xpand.") else f"xpand_extensions.{module}"
    file = module.removeprefix("xpand.").partition(".")[0]  # a page has the modules of a package, too
    return f"[`{name}`](../reference/{file}.md#{page}.{function})"


# From measurements


def conformance(path: Path) -> str:
    """Show the results of the official test suite for each library."""
    data = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"libraries": {}}
    libraries: dict[str, Any] = data["libraries"]
    missing = [name for name in xpand.wrapped_libraries() if name not in libraries]
    parts = []
    if libraries:
        parts.append(
            f"Version {data['standard']} of the standard, test suite at revision `{data['suite'][:10]}`.\n\n"
            + table(
                ["library", "version", "examples", "passed", "expected failures", "skipped", "unexpected"],
                (
                    [
                        name_of(name),
                        run["version"],
                        str(run["examples"]),
                        str(run["passed"]),
                        str(len(run["expected_failures"])),
                        str(run["skipped"]),
                        str(len(run["unexpected"])),
                    ]
                    for name, run in libraries.items()
                ),
                numbers=range(2, 7),
            )
        )
    if missing:
        names = ", ".join(map(name_of, missing))
        parts.append(f'!!! note "Not measured yet"\n\n    {names}: no results.\n')
    for name, run in libraries.items():
        parts.append(f"## {name_of(name)}\n\n{_entries(run)}")
    return "\n".join(parts)


def existing_code(path: Path) -> str:
    """Say which calls of other packages are transformed, and where the others stop."""
    known: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    summary, details = [], []
    for name, client in known["clients"].items():
        calls: dict[str, dict[str, Any]] = client["calls"]
        transformations = list(next(iter(calls.values())))
        counts = [sum(row[each] == "right" for row in calls.values()) for each in transformations]
        summary.append([name, client["version"], str(len(calls)), *map(str, counts)])
        details.append(f'??? note "{name} {client["version"]}"\n\n{_indented(_calls(calls, client["about"]))}\n')
    header = ["package", "version", "calls", "`grad`", "`jvp`", "`jit`", "`vmap`"]
    return "\n".join([table(header, summary, numbers=range(2, 7)), *details])


def _calls(calls: dict[str, dict[str, Any]], about: str) -> str:
    """List the calls that are right everywhere, and the reasons of the others."""
    right = [f"`{call}`" for call, row in calls.items() if all(verdict == "right" for verdict in row.values())]
    parts = [f"{about}\n"] if about else []
    if right:
        parts.append(f"Right in all four: {', '.join(right)}.\n")
    rows = []
    for call, row in calls.items():
        stops: dict[str, list[str]] = {}
        for transformation, verdict in row.items():
            if verdict != "right":
                stops.setdefault(_stop(verdict), []).append(f"`{transformation}`")
        rows += [[f"`{call}`", ", ".join(names), stop] for stop, names in stops.items()]
    if rows:
        parts.append(table(["call", "not in", "stops at"], rows))
    return "\n".join(parts)


def _stop(verdict: Any) -> str:
    if isinstance(verdict, str):
        return verdict
    code = verdict.get("code", "").replace("`", "'")
    where = f"`{verdict['file']}`: `{code}`<br>" if code else ""
    return f"{where}{verdict['error']}: {html.escape(verdict['message'])}"


def suites(path: Path) -> str:
    """Say how many tests of other packages pass, and why others fail."""
    known: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["suites"]
    parts = []
    for name, suite in known.items():
        default, collecting = suite["default"], suite["collecting"]
        parts.append(
            f"{name} {suite['version']}: {default['passed']} of {default['total']} tests pass, "
            f"{collecting['passed']} with `convert.collecting_traced`.\n"
        )
        reasons: dict[str, list[str]] = {}
        for test, reason in collecting["failures"].items():
            reasons.setdefault(reason, []).append(f"`{test.partition('::')[2]}`")
        for test in default["failures"].keys() - collecting["failures"].keys():
            reasons.setdefault("passes with `collecting_traced`", []).append(f"`{test.partition('::')[2]}`")
        rows = [[reason, ", ".join(sorted(tests))] for reason, tests in reasons.items()]
        rows = [[html.escape(reason), tests] for reason, tests in rows]
        parts.append(f'??? note "Tests that fail"\n\n{_indented(table(["reason", "tests"], rows))}\n')
    return "\n".join(parts)


def conversions(path: Path, part: str) -> str:
    """Show which conversions share memory and which copy."""
    rows: dict[str, dict[str, str]] = json.loads(path.read_text(encoding="utf-8"))[part]
    columns = list(next(iter(rows.values())))
    header = ["from" if part == "libraries" else "", *(_pair(column) for column in columns)]
    return table(header, ([name_of(row), *(cells[column] for column in columns)] for row, cells in rows.items()))


def singular_points(path: Path) -> str:
    """Show the derivatives at points where a function has none, where libraries differ."""
    found: dict[str, dict[str, str]] = json.loads(path.read_text(encoding="utf-8"))
    calls = next(iter(found.values()))
    rows = ((call, [values[call] for values in found.values()]) for call in calls)
    header = ["", *map(name_of, found)]
    return table(header, ([f"`{call}`", *values] for call, values in rows if len(set(values)) > 1))


def _pair(names: str) -> str:
    return " to ".join(map(name_of, names.split(" to ")))


def _entries(run: dict[str, Any]) -> str:
    parts = []
    for key, title in (("expected_failures", "Expected failures"), ("skips", "Skipped")):
        by_reason: dict[str, list[str]] = {}
        for entry in run[key]:
            by_reason.setdefault(entry["reason"], []).append(entry["test"].partition("::")[2] or entry["test"])
        if by_reason:
            rows = ([reason, "<br>".join(f"`{test}`" for test in tests)] for reason, tests in by_reason.items())
            parts.append(f"{title}, by reason:\n\n" + table(["reason", "tests"], rows))
    if run["unexpected"]:
        parts.append("Unexpected failures: " + ", ".join(f"`{test}`" for test in run["unexpected"]) + ".\n")
    return "\n".join(parts) or "Every test passes.\n"


def benchmarks(path: Path) -> str:
    """Show the rows of `make bench`."""
    if not path.exists():
        return '!!! note "Not measured yet"\n\n    `make bench ARGS=--write` measures and writes them.\n'
    data = json.loads(path.read_text(encoding="utf-8"))
    versions = ", ".join(f"{name} {version}" for name, version in data["versions"].items())
    machine = data["machine"]
    processor = f"{machine['processor']}, " if "processor" in machine else ""
    timed = [row for topic in data["topics"] for row in topic["rows"] if not row.get("same")]
    missed = sum(not row["ok"] for row in timed)
    parts = [
        f"{len(timed):,} rows, {missed:,} of them over budget. Measured on {processor}{machine['cores']} CPU cores, "
        f"with one thread per library, and {versions}.\n"
    ]
    for topic in data["topics"]:
        parts.append(_benchmark_topic(topic["topic"], topic["rows"], topic.get("processor", "")))
    return "\n".join(parts)


def named_peers(path: Path) -> str:
    """Show the time of each operation of named axes, with a column for each other library."""
    topics = json.loads(path.read_text(encoding="utf-8"))["topics"]
    (rows,) = [topic["rows"] for topic in topics if topic["topic"].startswith("named axes and other libraries")]
    times: dict[str, dict[str, str]] = {}
    for row in rows:
        peer, _, name = row["row"].partition(": ")
        times.setdefault(name, {}).update({peer: row["reference_us"], f"xpand (with {peer})": row["ours_us"]})
    columns = ("xarray", "PhiML", "xpand (with PhiML)", "Haliax", "xpand (with Haliax)")
    return "\n".join(
        [
            "| | xarray | PhiML | xpand | Haliax | xpand on JAX |",
            "| --- | --- | --- | --- | --- | --- |",
            *(f"| {name} | {' | '.join(str(own.get(each, '')) for each in columns)} |" for name, own in times.items()),
        ]
    )


def _benchmark_topic(topic: str, rows: list[dict[str, Any]], processor: str) -> str:
    """Fold the rows of a topic under its title, those over budget first."""
    timed = sorted((row for row in rows if not row.get("same")), key=lambda row: (row["ok"], -row["ratio"]))
    missed = sum(not row["ok"] for row in timed)
    title = f"{_title(topic)}: {len(timed)} rows" + (f", {missed} over budget" if missed else "")
    text = (f"Measured on {processor}.\n\n" if processor else "") + _benchmark_rows(timed)
    if len(timed) < len(rows):
        text += "\nThe reference itself: " + ", ".join(f"`{row['row']}`" for row in rows if row.get("same")) + ".\n"
    return f'??? note "{title}"\n\n{_indented(text)}\n'


def _title(topic: str) -> str:
    """Write a topic as a heading: names of functions as code, names of libraries as their authors do."""
    first, comma, rest = topic.partition(" " if "_" in topic else ",")
    return f"`{first}`{comma}{rest}" if "_" in topic else _capitalised(name_of(first)) + comma + rest


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def _benchmark_rows(rows: Iterable[dict[str, Any]]) -> str:
    return table(
        ["row", "ours", "reference", "which is", "ratio", "budget", ""],
        (
            [
                f"`{row['row']}`" if row["row"].isidentifier() or "." in row["row"] else row["row"],
                _amount(row, "ours"),
                _amount(row, "reference"),
                row["reference"],
                ratio_of(row),
                row["budget"].replace(" ", "&nbsp;"),
                '<span class="ok">ok</span>' if row["ok"] else f'<span class="missed">missed</span>: {row["note"]}',
            ]
            for row in rows
        ),
        numbers=(1, 2, 4, 5),
    )


def ratio_of(row: dict[str, Any]) -> str:
    """Show the ratio of two times; there is none where nothing is the reference of an absolute budget."""
    return "—" if row["reference"] == NOTHING else f"{row['ratio']:.2f}"


def _amount(row: dict[str, Any], name: str) -> str:
    megabytes = row.get(f"{name}_mb")
    return time_of(row.get(f"{name}_us")) if megabytes is None else f"{megabytes:g}&nbsp;MB"


def time_of(microseconds: float | None) -> str:
    if microseconds is None:
        return "—"
    for factor, unit in ((1e6, "s"), (1e3, "ms")):
        if microseconds >= factor:
            return f"{microseconds / factor:.3g}&nbsp;{unit}"
    return f"{microseconds:.3g}&nbsp;µs"
