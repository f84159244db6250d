"""Every code block of the README and of the site runs, every example in a docstring holds, every named target exists.

Each page runs in a process of its own, its blocks one after another in one namespace, as a reader would type them. The
docstrings of several modules share a process, since starting one takes longer than most of them:

    python tests/test_docs.py docs/start.md      # or names of modules, for their docstrings
"""

import contextlib
import doctest
import importlib
import importlib.util
import io
import json
import os
import re
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGES = ["README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("**/[!_]*.md"))]
SOURCES = (ROOT / "src", ROOT / "extensions")

FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w+)[^\n]*\n(?P<code>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL
)
PRINTED = re.compile(r"^\s*print\(.*\)  # (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    code: str
    line: int


def blocks_of(text: str) -> list[Block]:
    return [
        Block(match["language"], textwrap.dedent(match["code"]), text.count("\n", 0, match.start()) + 1)
        for match in FENCE.finditer(text)
    ]


def run_blocks(name: str, blocks: list[Block]) -> None:
    """Run the Python of a page; it prints what stands in the comments after `print`, or in the next block of output."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed: list[str] = []
    for block in blocks:
        if block.language == "output":
            assert printed == block.code.splitlines(), f"{name}:{block.line}: printed {printed}"
        if block.language == "python":
            # Leading empty lines make a traceback name the page's own line.
            code = compile("\n" * block.line + block.code, name, "exec")
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(code, namespace)
            promised = PRINTED.findall(block.code)
            printed = output.getvalue().splitlines()
            assert not promised or printed == promised, f"{name}:{block.line}: printed {printed}, not {promised}"
        elif block.language == "pycon":
            test = doctest.DocTestParser().get_doctest(block.code, namespace, name, name, block.line)
            test.globs = namespace  # the parser has made a copy
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
            runner.run(test, clear_globs=False)
            assert not runner.summarize(verbose=False).failed, f"{name}:{block.line}"


def run_docstrings(names: list[str]) -> None:
    failed = []
    for name in names:
        result = doctest.testmod(importlib.import_module(name))
        if result.failed or not result.attempted:
            failed.append(f"{name}: {result.failed} of {result.attempted} examples failed")
    assert not failed, failed


def modules_with_examples() -> Iterator[str]:
    for source in SOURCES:
        for path in sorted(source.rglob("*.py")):
            parts = path.relative_to(source).with_suffix("").parts
            needs_gpu = "cupy" in parts and importlib.util.find_spec("cupy") is None
            if not needs_gpu and re.search(r"^\s*>>> ", path.read_text(encoding="utf-8"), re.MULTILINE):
                yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def groups(modules: list[str], size: int = 15) -> dict[str, list[str]]:
    """Part modules into groups of about a size, by the name of their first."""
    return {modules[i]: modules[i : i + size] for i in range(0, len(modules), size)}


def run_alone(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run this file in a process of its own, in the environment that a reader has."""
    ours = ("JAX_ENABLE_X64", "SCIPY_ARRAY_API")
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    environment |= {"JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-P", "-W", "error", str(Path(__file__).resolve()), *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


if __name__ == "__main__":
    if sys.argv[1].endswith(".md"):
        run_blocks(sys.argv[1], blocks_of(Path(sys.argv[1]).read_text(encoding="utf-8")))
    else:
        run_docstrings(sys.argv[1:])
    sys.exit()

import griffe  # noqa: E402 - a page runs without these
import pytest  # noqa: E402

sys.path.insert(0, str(ROOT / "docs"))
import _doctests  # noqa: E402
import _hooks  # noqa: E402
import _summaries  # noqa: E402
import _tables  # noqa: E402

# The folder `docs/coverage` would be taken for the package.
sys.path[:] = [path for path in sys.path if not path.startswith(str(ROOT / "docs"))]


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs(page):
    done = run_alone(page)
    assert done.returncode == 0, done.stdout + done.stderr


GROUPS = groups(list(modules_with_examples()))


@pytest.mark.parametrize("modules", GROUPS.values(), ids=GROUPS)
def test_the_examples_of_modules_hold(modules):
    done = run_alone(*modules)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_wrong_example_and_a_module_without_one_are_named():
    with contextlib.redirect_stdout(io.StringIO()), pytest.raises(AssertionError, match="1 of 2 examples failed"):
        run_docstrings([__name__])
    with pytest.raises(AssertionError, match="xpand_extensions.generic: 0 of 0 examples failed"):
        run_docstrings(["xpand_extensions.generic"])


def wrong_example():
    """
    >>> 1
    1
    >>> 2
    1
    """


@pytest.mark.parametrize("page", PAGES)
def test_named_targets_and_extras_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    known = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    commands = [line for block in blocks_of(text) if block.language == "bash" for line in block.code.splitlines()]
    commands += re.findall(r"`(make [^`]*)`", text)
    for command in commands:
        if command.startswith("make "):
            words = command.partition("#")[0].split()[1:]
            targets = {word for word in words if "=" not in word}
            assert targets <= known, f"{page}: the Makefile has no {targets - known}"
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for named in re.findall(r"'(?:xpand|\.)\[([\w,]+)\]'", text):
        assert set(named.split(",")) <= set(extras), f"{page}: no extra {set(named.split(',')) - set(extras)}"


def test_every_page_is_in_the_navigation_and_has_one_title():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in PAGES[1:]:
        assert re.search(rf"(- |: ){Path(page).relative_to('docs')}$", navigation, re.MULTILINE), page
        text = (ROOT / page).read_text(encoding="utf-8")
        outside = FENCE.sub("", text)
        assert len(re.findall(r"^# ", outside, re.MULTILINE)) == 1, page


def test_blocks_share_a_namespace_and_a_wrong_comment_fails():
    text = (
        "```python\nx = 1\n```\n\n- point\n\n    ```pycon\n    >>> x\n    1\n    ```\n\n```python\nprint(x)  # 1\n```\n"
    )
    blocks = blocks_of(text)
    assert [block.language for block in blocks] == ["python", "pycon", "python"]
    run_blocks("page", blocks)
    with pytest.raises(AssertionError, match="page:1"):
        run_blocks("page", blocks_of("```python\nprint(2)  # 1\n```\n"))
    with contextlib.redirect_stdout(io.StringIO()), pytest.raises(AssertionError, match="page:1"):
        run_blocks("page", blocks_of("```pycon\n>>> 2\n1\n```\n"))
    with pytest.raises(AssertionError, match="page:4"):
        run_blocks("page", blocks_of("```python\nprint(2)\n```\n```output\n1\n```\n"))
    run_blocks("page", blocks_of("```python\nprint(2)\n```\n```output\n2\n```\n"))


def test_getting_started_runs_on_each_library():
    """The page itself runs with the arrays of its last tab; here, with those of each other one."""
    text = (ROOT / "docs" / "start.md").read_text(encoding="utf-8").partition("## Arrays of several libraries")[0]
    tabs = re.findall(r'^=== "(\w+)"', text, re.MULTILINE)
    assert tabs == ["NumPy", "JAX", "PyTorch"]
    blocks = [block for block in blocks_of(text) if block.language == "python"]
    for i in range(len(tabs) - 1):
        run_blocks(tabs[i], [blocks[i], *blocks[len(tabs) :]])


def test_examples_in_docstrings_are_fenced():
    text = _doctests.fenced("Does.\n\n>>> f(\n... )\n1\n>>> g()\n\nMore.")
    assert text == "Does.\n\n```pycon\n>>> f(\n... )\n1\n>>> g()\n```\n\nMore."
    assert _doctests.fenced("No example: x >>> 1.") == "No example: x >>> 1."


def test_functions_that_are_made_have_the_description_of_their_call():
    code = 'cos = unary("cos", "Compute the cosine.")\nx = other("x", "Text.")\ny = 1\n'
    extensions = griffe.Extensions(_doctests.Doctests())
    module = griffe.visit("made", Path("made.py"), code, extensions=extensions)
    assert module["cos"].docstring.value == "Compute the cosine."
    assert module["x"].docstring is module["y"].docstring is None


def test_functions_have_a_badge_for_each_library():
    text = _doctests.badges("xpand_extensions.sorting.top_k")
    assert '<span class="badge native">PyTorch: native</span>' in text
    assert '<span class="badge generic">any other: generic</span>' in text
    assert "NumPy: traced" in _doctests.badges("xpand_extensions.autodiff._gradients.grad")
    for path in ("xpand_extensions.generic.sorting.top_k", "xpand_extensions.sorting.TopK", "xpand", "xpand.check"):
        assert not _doctests.badges(path)


@pytest.mark.every_run
def test_the_capability_table_names_every_operation():
    from xpand_extensions import capabilities

    table = _tables.capability_table()
    for operation in capabilities():
        assert f"`{operation}`" in table


def test_the_conformance_table_says_what_is_missing(tmp_path):
    path = tmp_path / "conformance.json"
    assert "NumPy, PyTorch, JAX, CuPy, Dask: no results" in _tables.conformance(path)
    run = {
        "version": "2.4",
        "examples": 200,
        "passed": 1300,
        "expected_failures": [{"test": "array_api_tests/test_x.py::test_pow", "reason": "x | y"}],
        "skipped": 5,
        "skips": [],
        "unexpected": ["test_bad"],
        "stale": [],
        "seconds": 1.0,
    }
    path.write_text(json.dumps({"suite": "abc", "standard": "2025.12", "libraries": {"numpy": run}}), encoding="utf-8")
    page = _tables.conformance(path)
    assert "| NumPy | 2.4 | 200 | 1300 | 1 | 5 | 1 |" in page
    assert "| x \\| y | `test_pow` |" in page
    assert "Unexpected failures: `test_bad`" in page
    assert "PyTorch, JAX, CuPy, Dask: no results" in page


def test_the_benchmark_page_shows_what_is_missed(tmp_path):
    path = tmp_path / "benchmarks.json"
    assert "Not measured yet" in _tables.benchmarks(path)
    good = {"row": "good", "reference": "native", "budget": "1×", "same": True, "ratio": 1.0, "ok": True}
    slow = {
        "row": "slow",
        "reference": "native",
        "budget": "1×",
        "ours_us": 2000.0,
        "reference_us": 1.0,
        "ratio": 2000.0,
        "ok": False,
        "note": "because",
    }
    document = {
        "machine": {"cores": 2},
        "versions": {"numpy": "2.4"},
        "topics": [{"topic": "few", "rows": [good]}, {"topic": "many", "rows": [*[good] * 20, slow]}],
    }
    path.write_text(json.dumps(document), encoding="utf-8")
    page = _tables.benchmarks(path)
    assert "2 CPU cores" in page
    times = "2&nbsp;ms | 1&nbsp;µs | native | 2000.00 | 1×"
    assert f'| `slow` | {times} | <span class="missed">missed</span>: because |' in page
    assert "1 rows, 1 of them over budget" in page
    assert '??? note "Many: 1 rows, 1 over budget"' in page
    assert "The reference itself: `good`, " in page


def test_ratios_are_of_two_computations():
    """Rows whose reference is nothing have a budget in seconds, and no ratio."""
    rows = [line.split(" | ") for line in _summaries.comparison().splitlines()[2:]]
    assert len(rows) > 20
    for row in rows:
        assert _tables.NOTHING not in row
        assert 0.001 < float(row[-1].strip(" |")) < 1000.0, row
    assert "| nothing |" not in _summaries.summary()
    folded = [line for line in _tables.benchmarks(_summaries.BENCHMARKS).splitlines() if "| nothing |" in line]
    assert folded
    assert all("| nothing | — |" in line for line in folded)


def test_the_lists_of_corrections_and_imports_follow_the_sources():
    import xpand

    corrections = _tables.corrections(Path(xpand.__file__).parent)
    assert "`floor_divide`" in corrections
    assert '=== "PyTorch"' in corrections
    imports = _tables.imports()
    for line in ("`array_api_compat` | `xpand`", "`array_api_compat.torch.linalg` | `xpand.torch.linalg`"):
        assert line in imports


def test_the_functions_of_the_namespaces_are_listed_with_their_owners():
    page = _tables.functions()
    url = "https://data-apis.org/array-api/latest/API_specification/generated/array_api.sin.html"
    assert f"| [`sin`]({url}) | own | own | own |" in page
    assert "| [`linalg.inv`](https://data-apis.org/array-api/latest/extensions/generated/array_api.linalg.inv" in page
    assert "`floor_divide`" in page
    assert page.count("\n") > 165


def test_formulas_become_mathml():
    content = '<p><span class="arithmatex">\\(a &lt; b\\)</span></p><div class="arithmatex">\\[x^2\\]</div>'
    page = _hooks.on_page_content(content)
    assert "arithmatex" not in page
    assert page.count("<math") == 2
    assert page.count('display="block"') == 1
    assert "<msup><mi>x</mi><mn>2</mn></msup>" in page


def test_a_page_of_the_reference_has_functions_first():
    page = _hooks.reference_pages()["reference/linear_solve.md"]
    assert "\nfrom xpand import linear_solve\n" in page
    assert page.count("| [`solve`](#xpand_extensions.linear_solve.solve) | ") == 1
    assert '["solve", "factorize"' in page
    assert page.index('"multilevel"') < page.index('"ConvergenceError"')


@pytest.mark.parametrize("name", ["haliax", "jax", "nx", "phiml"])
def test_the_tables_of_coverage_name_every_row(name):
    path = ROOT / "docs" / "coverage" / f"{name}.toml"
    page = _tables.coverage(path)
    rows = tomllib.loads(path.read_text(encoding="utf-8"))
    assert all(f"`{row}`".replace("|", "\\|") in page for row in rows)
    waiting = sum("open" in row for row in rows.values())
    assert f"{len(rows) - waiting} of {len(rows)} names" in page
    assert ("Not here yet" in page) == bool(waiting)


def test_the_table_of_numpy_has_a_verdict_for_every_function():
    page = _tables.functions_of_numpy()
    assert "| `numpy.sum` | yes |  |" in page
    assert "| `numpy.sin` | yes |  |" in page
    assert "| `numpy.save` | no: values are known outside the transformation: return the array |  |" in page
    assert page.count("| yes |") > 150


def test_coverage_links_lead_to_the_reference(tmp_path):
    path = tmp_path / "table.toml"
    path.write_text('a = { xpand = "scatter.at" }\nb = { xpand = "xp.abs" }\nc = { xpand = "xpand.trees.copy" }\n')
    page = _tables.coverage(path)
    assert "[`scatter.at`](../reference/scatter.md#xpand_extensions.scatter.at)" in page
    assert "[`xpand.trees.copy`](../reference/trees.md#xpand.trees.copy)" in page
    assert "| `b` | `xp.abs` |  |" in page
    assert "Not here yet" not in page
