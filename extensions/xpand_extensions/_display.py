"""Short texts for objects, and HTML for notebooks."""

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, Final

from xpand import array_namespace, is_concrete, trees
from xpand.extend import checks

Row = Sequence[Any]

_FEW: Final = 6
"""The number of elements up to which arrays are shown with their values."""
_PYTHON: Final = {"bool": bool, "integral": int, "complex floating": complex}
"""Python's number types, by the kind of the data type."""


def array_text(x: Any) -> str:
    """Describe an array as "float64[3,4]", with the values of a small one; describe a tree by its leaves."""
    if not checks.is_array(x):
        leaves = trees.leaves(x)
        return repr(x) if len(leaves) == 1 and leaves[0] is x else ", ".join(map(array_text, leaves))
    name = f"{str(x.dtype).rpartition('.')[2]}[{','.join(map(str, x.shape))}]"
    if None in x.shape or not is_concrete(x) or not 0 < math.prod(x.shape) <= _FEW:
        return name
    xp = array_namespace(x)
    flat = xp.reshape(x, (-1,))
    values = [flat[i] for i in range(flat.shape[0])]
    # PyTorch warns of `float(v)` if v requires a gradient.
    values = [v.item() if hasattr(v, "item") else v for v in values]
    if xp.isdtype(x.dtype, "real floating"):
        texts = [f"{float(v):.6g}" for v in values]
    else:
        number = next((f for kind, f in _PYTHON.items() if xp.isdtype(x.dtype, kind)), str)
        texts = [str(number(v)) for v in values]
    return texts[0] if x.ndim == 0 else f"{name}: {', '.join(texts)}"


def as_text(title: str, rows: Iterable[tuple[str, Any]]) -> str:
    """Write a title and named values, one on each line."""
    rows = list(rows)
    width = max((len(name) for name, _ in rows), default=0)
    return "\n".join([title, *(f"    {name:<{width}}  {value}" for name, value in rows)])


def as_html(title: str, rows: Iterable[Row], header: Row = (), inner: str = "") -> str:
    """Write a title, `inner` (HTML) and a table."""
    lines = [f"<div><b>{escape(title)}</b>{inner}", "<table>"]
    if header:
        lines.append(f"<thead>{_row(header, 'th')}</thead>")
    return "\n".join([*lines, *(_row(row, "td") for row in rows), "</table></div>"])


def _row(cells: Row, tag: str) -> str:
    style = ' style="text-align: left"'
    return "<tr>" + "".join(f"<{tag}{style}>{escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"


def result_rows(result: Any, omitted: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Return the fields of a named tuple as rows, without those that are None or empty."""
    return [
        (name, array_text(value))
        for name, value in zip(result._fields, result)
        if not (value is None or (isinstance(value, tuple) and not value)) and name not in omitted
    ]
