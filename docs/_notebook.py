"""A notebook in the percent format as a page: it is run, and each cell's value is shown as a notebook shows it."""

import ast
import base64
import contextlib
import io
import re
from html import escape
from pathlib import Path
from typing import Any, Final, NamedTuple

import matplotlib
from matplotlib import pyplot

_MARKER: Final = re.compile(r"^# %%(.*)$\n", re.MULTILINE)


class Cell(NamedTuple):
    """A cell: text in Markdown, or code."""

    text: str
    is_code: bool
    line: int


def cells_of(source: str) -> list[Cell]:
    """Part a notebook into cells."""
    found = []
    markers = list(_MARKER.finditer(source))
    for marker, end in zip(markers, [*(each.start() for each in markers[1:]), len(source)]):
        text = source[marker.end() : end].strip("\n")
        is_code = marker.group(1).strip() != "[markdown]"
        line = source.count("\n", 0, marker.end())
        found.append(Cell(text if is_code else re.sub(r"^# ?", "", text, flags=re.MULTILINE), is_code, line))
    return found


def page(path: Path) -> str:
    """Run a notebook; return its cells and their values as Markdown."""
    matplotlib.use("Agg")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    parts = []
    for cell in cells_of(path.read_text(encoding="utf-8")):
        if cell.is_code:
            parts += [f"```python\n{cell.text}\n```", *run(cell, str(path), namespace)]
        else:
            parts.append(cell.text)
    pyplot.close("all")
    return "\n\n".join(parts) + "\n"


def run(cell: Cell, name: str, namespace: dict[str, Any]) -> list[str]:
    """Run a cell; return what it prints, and the value of its last expression."""
    tree = ast.parse("\n" * cell.line + cell.text, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, name, "exec"), namespace)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), name, "eval"), namespace)
    output = [f"```text\n{printed.getvalue().rstrip()}\n```"] if printed.getvalue() else []
    return output if value is None else [*output, shown(value)]


def shown(value: Any) -> str:
    """Return the HTML of a value: its own, the picture of axes, or its text."""
    if hasattr(value, "_repr_html_"):
        html = re.sub(r"\n\s*\n", "\n", value._repr_html_())  # an empty line would end the block of HTML
        return f'<div class="result">\n{html}\n</div>'
    if hasattr(value, "get_figure"):
        file = io.BytesIO()
        with matplotlib.rc_context({"svg.hashsalt": "notebook"}):
            value.get_figure().savefig(file, format="svg", metadata={"Date": None})
        data = base64.b64encode(file.getvalue()).decode("ascii")
        title = escape(value.get_title() or f"{value.get_ylabel()} against {value.get_xlabel()}", quote=True)
        return f'<img class="result" alt="{title}" src="data:image/svg+xml;base64,{data}">'
    return f"```text\n{value!r}\n```"
