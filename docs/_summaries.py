"""Summaries of measurements: the chart and the short tables of the pages on benchmarks, comparison and solvers."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from _tables import NOTHING, ratio_of, table, time_of
from gallery import drawn
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from xpand_extensions import linear_solve, sparse

BENCHMARKS: Final = Path(__file__).parent / "benchmarks.json"

SUMMARY: Final = (
    ("array_namespace", "numpy: array_namespace(x)"),
    ("segment_sum of 1,000,000 values into 10,000 segments", "torch"),
    ("cg to 1e-8 on 256x256", "numpy"),
    ("cg with multilevel to 1e-8 on 512x512, built", "numpy"),
    ("sparse product, 2,447,200 entries", "torch, 16 columns"),
    ("derivatives of NumPy programs", "grad of a perceptron on 1,797 digits"),
    ("machine code for NumPy programs", "gradient of a scan of 1,000 steps"),
    ("machine code for NumPy programs", "Hessian of 100 variables"),
    ("transformations", "torch, vmap(grad), 256 by 256"),
    ("random numbers, 10,000,000 of float32", "normal on numpy"),
)
"""Ten rows from all parts, a slow one included."""

COMPARISON: Final[Mapping[str, Callable[[str], bool]]] = {
    "array_namespace": lambda row: row.endswith("(x)"),
    "derivatives of NumPy programs": lambda row: row.startswith("grad of"),
    "compiled NumPy programs": lambda row: "numexpr" in row,
    "machine code for NumPy programs": lambda row: True,
    "cg to 1e-8 on 256x256": lambda row: True,
    "random numbers, 10,000,000 of float32": lambda row: "numpy" in row,
    "named axes and other libraries, arrays of shape (4, 3)": lambda row: row.endswith((": add", ": sum", ": dot")),
}
"""The topics that compare xpand with another library's computation, and which of their rows."""


def _topics() -> dict[str, list[dict[str, Any]]]:
    return {topic["topic"]: topic["rows"] for topic in json.loads(BENCHMARKS.read_text(encoding="utf-8"))["topics"]}


def _rows(found: Iterable[tuple[str, dict[str, Any]]]) -> str:
    header = ["computation", "", "xpand", "compared with", "its time", "ratio"]
    rows = (
        [
            topic,
            row["row"].partition(", against")[0],
            time_of(row["ours_us"]),
            row["reference"],
            time_of(row["reference_us"]),
            ratio_of(row),
        ]
        for topic, row in found
    )
    return table(header, rows, numbers=(2, 4, 5))


def summary() -> str:
    """Show ten rows of the benchmarks."""
    topics = _topics()
    return _rows((topic, next(row for row in topics[topic] if row["row"] == name)) for topic, name in SUMMARY)


def comparison() -> str:
    """Show the rows in which xpand is compared with another library: neither with nothing, nor with itself."""
    topics = _topics()
    return _rows(
        (topic, row)
        for topic, wanted in COMPARISON.items()
        for row in topics[topic]
        if wanted(row["row"]) and row["reference"] != NOTHING and not row.get("same")
    )


def chart(dark: bool) -> str:
    """Draw how many calls take how much of the reference's time, as SVG."""
    ratios = [
        row["ratio"]
        for rows in _topics().values()
        for row in rows
        if not row.get("same") and row["reference"] != NOTHING and row.get("reference_us", 0.0) > 1.0
    ]
    values = np.clip(ratios, 0.11, 9.0)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        axes.hist(values, bins=np.geomspace(0.1, 10.0, 61))
        axes.axvline(1.0, color="C1")
        axes.set_xscale("log")
        axes.set_xticks([0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0])
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}×"))
        axes.minorticks_off()
        median = float(np.median(ratios))
        axes.set_title(f"Time relative to the reference: {len(ratios):,} rows, median {median:.2f}×")
        axes.set(xlabel="less than 1×: xpand is faster", ylabel="rows")

    return drawn(draw, "benchmarks", dark=dark)


FIRST: Final = "first call of a formula of 5,000,000 numbers"
LATER: Final = "later calls of a formula of 5,000,000 numbers"


def _times(topic: str) -> dict[str, float]:
    """Return the microseconds that each compiler takes, from a topic that compares xpand's with others."""
    rows = [(*row["row"].split(", against "), row["ours_us"], row["reference_us"]) for row in _topics()[topic]]
    native = min(ours for name, _, ours, _ in rows if name == "native")
    # Times of one row are measured in turn, so their ratio depends least on the load of the machine.
    peers = {peer: native * theirs / ours for name, peer, ours, theirs in rows if name == "native"}
    others = {f"xpand, {name}": native * ours / theirs for name, peer, ours, theirs in rows if peer == "native"}
    return {"xpand, native": native, **peers, **others}


def compilers_chart(dark: bool) -> str:
    """Draw the first and later calls of one formula by several compilers, as SVG."""
    first, later = _times(FIRST), _times(LATER)
    names = sorted(first, key=lambda name: (name.startswith("xpand"), -first[name]))

    def draw(figure: Figure) -> None:
        for axes, times, title in zip(
            figure.subplots(1, 2, sharey=True), (first, later), ("First call", "Later calls")
        ):
            values = [1e-3 * times[name] for name in names]
            bars = axes.barh(names, values, color=["C0" if name.startswith("xpand") else "C1" for name in names])
            axes.bar_label(bars, labels=[f"{value:,.0f} ms" for value in values], padding=3)
            axes.margins(x=0.3)
            axes.tick_params(left=False)
            axes.set_xticks([])
            axes.spines[["bottom", "left"]].set_visible(False)
            axes.set_title(title)

    return drawn(draw, "compilers", dark=dark)


def poisson(n: int) -> Any:
    """Return the matrix of the Poisson equation on a square grid."""
    line = sparse.diags([np.full(n - 1, -1.0), np.full(n, 2.0), np.full(n - 1, -1.0)], offsets=(-1, 0, 1))
    eye = sparse.eye(n, xp=np)
    return sparse.kron(line, eye) + sparse.kron(eye, line)


def solver_steps(sizes: Sequence[int] = (32, 64, 128)) -> str:
    """Count the steps of methods and preconditioners on grids of several sizes."""
    matrices = [poisson(n) for n in sizes]
    cases: dict[str, Callable[[Any], Any]] = {
        'solve(A, b, method="cg")': lambda A: {"method": "cg"},
        'solve(A, b, method="minres")': lambda A: {"method": "minres"},
        'solve(A, b, method="bicgstab(2)")': lambda A: {"method": "bicgstab(2)"},
        "cg with jacobi(A)": lambda A: {"method": "cg", "preconditioner": linear_solve.jacobi(A)},
        "cg with chebyshev(A)": lambda A: {"method": "cg", "preconditioner": linear_solve.chebyshev(A)},
        "cg with ssor(A)": lambda A: {"method": "cg", "preconditioner": linear_solve.ssor(A)},
        "cg with ic(A)": lambda A: {"method": "cg", "preconditioner": linear_solve.ic(A)},
        "cg with multilevel(A)": lambda A: {"method": "cg", "preconditioner": linear_solve.multilevel(A)},
    }
    rows = []
    for name, options in cases.items():
        found = [linear_solve.solve(A, np.ones(A.shape[0]), rtol=1e-8, **options(A)) for A in matrices]
        rows.append([f"`{name}`", *(str(int(result.iterations)) for result in found)])
    return table(["", *(f"{n}×{n}" for n in sizes)], rows, numbers=range(1, len(sizes) + 1))
