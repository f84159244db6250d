"""Measure xpand against the native libraries and array-api-compat, and compare the ratios with their budgets.

python -m benchmarks [--only TOPIC …] [--quick] [--write] [--output FILE] [--against FILE]
"""

import argparse
import importlib
import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

OUTPUT: Final = Path(__file__).parents[1] / "docs" / "benchmarks.json"
TOPICS: Final = tuple(sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py")))
"""The public modules of this package, which define rows."""

THREADS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
NOISE: Final = 1.15
"""The factor by which the ratio of a row may differ between two runs on the same machine."""

_WORST: Final = 5
_WHOLE: Final = 12  # topics with up to this many rows are shown whole


def main(arguments: list[str] | None = None) -> int:
    options = _parse(arguments)
    # One thread in every library, set before any is imported: with more threads, times depend on the machine's load.
    os.environ.update(dict.fromkeys(THREADS, "1"))
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
    import jax

    # Make JAX compute before it returns, so that the time of a call is its whole cost. JAX reads this once, at the
    # first computation.
    jax.config.update("jax_cpu_enable_async_dispatch", False)
    from ._measure import measure

    seconds, attempts = (0.02, 1) if options.quick else (0.15, 4)
    console = Console(width=None if sys.stdout.isatty() else 120)
    results = []
    with Progress(console=console, transient=True) as progress:
        for name in options.only or TOPICS:
            task = progress.add_task(name, total=None)
            # Import these after the environment is set.
            for row in importlib.import_module(f".{name}", __package__).rows():
                progress.update(task, description=f"{row.topic}: {row.name}")
                results.append(measure(row, seconds, attempts))
            progress.remove_task(task)
    for topic, group in by_topic(results).items():
        console.print(table(topic, group))
    missed = [result for result in results if not result.ok]
    console.print(f"{len(results) - len(missed)} of {len(results)} within budget")
    topics = [
        {"topic": topic, "rows": [result.as_dict() for result in group]} for topic, group in by_topic(results).items()
    ]
    document = {"machine": machine(), "settings": settings(), "versions": versions(), "topics": topics}
    for name in ("machine", "settings", "versions"):
        console.print(f"{name}: " + ", ".join(f"{key} {value}" for key, value in document[name].items()))
    if options.against:
        console.print(changes(json.loads(options.against.read_text(encoding="utf-8")), document))
    if options.output:
        options.output.write_text(as_json(document), encoding="utf-8")
    if options.write:
        if options.only:
            document = updated(json.loads(OUTPUT.read_text(encoding="utf-8")), document)
        OUTPUT.write_text(as_json(document), encoding="utf-8")
        console.print(f"written to {OUTPUT}")
    return 0


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    parser.add_argument("--only", choices=TOPICS, nargs="+", help="measure only these; the results of others stay")
    parser.add_argument("--quick", action="store_true", help="shorter and less exact")
    parser.add_argument("--write", action="store_true", help=f"write {OUTPUT.name}, the source of the page in the docs")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the results to another file")
    parser.add_argument("--against", type=Path, metavar="FILE", help="compare the ratios with those of such a file")
    return parser.parse_args(arguments)


def updated(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Replace topics of a document that were measured again. Topics of another processor name it."""
    processor, topics = new["machine"].get("processor"), new["topics"]
    if processor != old["machine"].get("processor"):
        topics = [{"topic": each["topic"], "processor": processor, "rows": each["rows"]} for each in topics]
    return old | {"topics": merged(old["topics"], topics)}


def merged(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Replace topics that were measured again, and append new topics."""
    found = {topic["topic"]: topic for topic in new}
    updated = [found.pop(topic["topic"], topic) for topic in old]
    return [*updated, *found.values()]


def shown(results: list[Any]) -> list[Any]:
    """Choose the rows to show: all of a short topic; of a long one, those over budget and the worst others."""
    if len(results) <= _WHOLE:
        return results
    worst = sorted((result for result in results if not result.same), key=lambda result: -result.excess)
    missed = sum(not result.ok for result in worst)
    return worst[: max(_WORST, missed)]


def table(topic: str, results: list[Any]) -> Table:
    within = sum(result.ok for result in results)
    same = sum(result.same for result in results)
    title = f"{topic}: {within} of {len(results)} within budget"
    title += f", {same} of them the same function" if same else ""
    made = Table(title=title, title_justify="left")
    for column in ("row", "ours", "reference", "ratio", "budget", ""):
        made.add_column(column, justify="left" if column in ("row", "") else "right")
    for result in shown(results):
        made.add_row(
            result.name,
            "" if result.same else amount_text(result.ours, result.unit),
            result.reference_name
            if result.same
            else f"{amount_text(result.reference, result.unit)} ({result.reference_name})",
            f"{result.ratio:.2f}",
            str(result.budget),
            "[green]ok[/]" if result.ok else f"[red]missed[/]: {result.note}",
        )
    return made


def amount_text(amount: float, unit: str) -> str:
    """Write seconds or bytes in a suitable unit."""
    if unit == "B":
        return f"{amount / 1e6:.3g} MB"
    unit, factor = ("µs", 1e6) if amount < 1e-3 else ("ms", 1e3)
    return f"{amount * factor:.3g} {unit}"


def by_topic(results: list[Any]) -> dict[str, list[Any]]:
    topics: dict[str, list[Any]] = {}
    for result in results:
        topics.setdefault(result.topic, []).append(result)
    return topics


def as_json(document: dict[str, Any]) -> str:
    """Write the document with a line for each row, so that two runs can be compared line by line."""
    text = json.dumps(document, ensure_ascii=False)
    return text.replace('{"row"', '\n{"row"').replace('{"topic"', '\n{"topic"') + "\n"


def machine() -> dict[str, Any]:
    """Describe the machine."""
    from xpand_extensions import devices

    cpu = devices.device_info("cpu", xp="numpy")
    memory = f"{cpu.total_memory / 2**30:.0f} GiB" if cpu.total_memory else "unknown"
    return {"processor": cpu.name, "cores": os.cpu_count(), "memory": memory, "system": platform.platform()}


def settings() -> dict[str, str]:
    """Return the thread settings of the run."""
    return {name: os.environ.get(name, "").strip() for name in (*THREADS, "XLA_FLAGS")}


def changes(old: dict[str, Any], new: dict[str, Any]) -> Table:
    """Show the rows with ratios that differ by more than noise between two runs, the largest changes first."""
    before = {(topic["topic"], row["row"]): row["ratio"] for topic in old["topics"] for row in topic["rows"]}
    found = [
        (row["ratio"] / before[topic["topic"], row["row"]], topic["topic"], row)
        for topic in new["topics"]
        for row in topic["rows"]
        if before.get((topic["topic"], row["row"]))
    ]
    different = sorted((f for f in found if not 1 / NOISE <= f[0] <= NOISE), key=lambda f: -max(f[0], 1 / f[0]))
    made = Table(title=f"{len(different)} of {len(found)} ratios differ by more than {NOISE}×", title_justify="left")
    for column in ("topic", "row", "before", "now", "change"):
        made.add_column(column, justify="left" if column in ("topic", "row") else "right")
    for change, topic, row in different:
        made.add_row(topic, row["row"], f"{row['ratio'] / change:.2f}", f"{row['ratio']:.2f}", f"{change:.2f}×")
    return made


def versions() -> dict[str, str]:
    return dict(_versions())


def _versions() -> Iterator[tuple[str, str]]:
    yield "python", sys.version.partition(" ")[0]
    for name in ("xpand", "numpy", "torch", "jax", "array-api-compat", "scipy"):
        yield name, importlib.metadata.version(name).partition("+")[0]


if __name__ == "__main__":
    sys.exit(main())
