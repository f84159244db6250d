"""The notebook of the gallery runs, and each of its cells shows what a notebook would."""

import base64
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
sys.path.insert(0, str(DOCS))
import _notebook  # noqa: E402

sys.path.remove(str(DOCS))


def test_the_notebook_runs_and_shows_its_results() -> None:
    page = _notebook.page(DOCS / "examples" / "notebooks" / "results.py")
    pictures = re.findall('base64,([^"]*)"', page)
    titles = [ElementTree.fromstring(base64.b64decode(each)).tag for each in pictures]
    assert titles == ["{http://www.w3.org/2000/svg}svg"] * 6
    for text in (
        "<b>CSR of shape (60, 60), 178 entries of float64</b>",
        "<b>SolveResult, cg: converged</b>",
        "<b>OptimizeResult: converged</b>",
        "<title>graph over numpy</title>",
        "<b>NamedArray of float64</b>",
        "Generator: key uint32[2]: 0, 0, 0 keys taken",
        "<b>Profile: ",
        "autodiff.",
    ):
        assert text in page
    for block in re.findall('<div class="result">\n(.*?)\n</div>\n\n', page, re.DOTALL):
        assert "\n\n" not in block, "an empty line ends a block of HTML"
        ElementTree.fromstring(f"<div>{block}</div>")


def test_cells_are_run_one_after_another() -> None:
    source = "# %% [markdown]\n# # Title\n#\n# Text\n\n# %%\nx = 1\nprint(x)\nx + 1\n\n# %%\nx = 5\n"
    text, *code = _notebook.cells_of(source)
    assert text == _notebook.Cell("# Title\n\nText", False, 1)
    names: dict[str, object] = {}
    assert _notebook.run(code[0], "name", names) == ["```text\n1\n```", "```text\n2\n```"]
    assert _notebook.run(code[1], "name", names) == []
    assert names["x"] == 5
