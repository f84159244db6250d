"""Hooks of MkDocs: they make the tables from the program and from measurements, and the pages of the reference.

`<!-- table: NAME -->` in a page is replaced by the table of that name.
"""

import html
import importlib
import inspect
import json
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any, Final, get_origin

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

DOCS: Final = Path(__file__).parent
sys.path.insert(0, str(DOCS))

import _gallery  # noqa: E402 - found once the folder is on the path
import _names  # noqa: E402
import _summaries  # noqa: E402
import _tables  # noqa: E402

import xpand  # noqa: E402
from xpand_extensions import _capabilities, named  # noqa: E402

TRACING: Final = (
    "Graph",
    "Equation",
    "Variable",
    "GraphError",
    "traced_namespace",
    "TracedArray",
    "TracedError",
    "LeakedArrayError",
    "NonlinearError",
)

_FORMULA: Final = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
_MARKER: Final = re.compile(r"^<!-- table: (\w+) -->$", re.MULTILINE)

TABLES: Final[Mapping[str, Callable[[], str]]] = {
    "functions": _tables.functions,
    "benchmarks": lambda: _tables.benchmarks(DOCS / "benchmarks.json"),
    "benchmark_summary": _summaries.summary,
    "comparison": _summaries.comparison,
    "solver_steps": _summaries.solver_steps,
    "capabilities": _tables.capability_table,
    "conformance": lambda: _tables.conformance(DOCS / "conformance.json"),
    "conforming": lambda: _tables.conforming(DOCS / "conforming.json"),
    "conversions": lambda: _tables.conversions(DOCS / "convert.json", "libraries"),
    "conversions_special": lambda: _tables.conversions(DOCS / "convert.json", "special"),
    "coverage_extra": lambda: _tables.coverage(DOCS / "coverage" / "extra.toml"),
    "coverage_haliax": lambda: _tables.coverage(DOCS / "coverage" / "haliax.toml"),
    "coverage_jax": lambda: _tables.coverage(DOCS / "coverage" / "jax.toml"),
    "coverage_numpy": _tables.functions_of_numpy,
    "coverage_nx": lambda: _tables.coverage(DOCS / "coverage" / "nx.toml"),
    "coverage_phiml": lambda: _tables.coverage(DOCS / "coverage" / "phiml.toml"),
    "backends": lambda: _tables.sources(DOCS / "examples" / "backends"),
    "estimators": lambda: _tables.sources(DOCS / "examples" / "estimators"),
    "existing_code": lambda: _tables.existing_code(DOCS / "existing_code.json"),
    "existing_suites": lambda: _tables.suites(DOCS / "existing_code.json"),
    "helpers": lambda: _tables.helpers(helper_names()),
    "imports": _tables.imports,
    **{f"standard_{name}": partial(_names.standard, name) for name in _names.PAIRS},
    **{f"beyond_{name}": partial(_names.beyond, name) for name in _names.PAIRS},
    **{f"renamed_{name}": partial(_names.renamed, name) for name in ("numpy", "torch")},
    "named_attention": lambda: _tables.sources(DOCS / "examples" / "named_attention.py"),
    "named_climate": lambda: _tables.sources(DOCS / "examples" / "named_climate.py"),
    "named_peers": lambda: _tables.named_peers(DOCS / "benchmarks.json"),
    "singular_points": lambda: _tables.singular_points(DOCS / "singular_points.json"),
    "corrections": lambda: _tables.corrections(Path(xpand.__file__).parent),
}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the pages of the gallery, and a reference page for every capability, to the navigation."""
    next(entry["Gallery"] for entry in config.nav or [] if "Gallery" in entry).extend(_gallery.paths())
    reference = next(entry["Reference"] for entry in config.nav or [] if "Reference" in entry)
    reference += [
        f"reference/{name}.md" for name in ("namespaces", *topics(), *_capabilities.facade_names(), "extend", "tracing")
    ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Make the reference pages and the gallery."""
    for path, content in (reference_pages() | _gallery.files() | charts()).items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, **kwargs: Any) -> str:
    """Put the tables in."""
    return _MARKER.sub(lambda match: TABLES[match.group(1)](), markdown)


def on_page_content(content: str, **kwargs: Any) -> str:
    """Turn formulas in TeX into MathML, which browsers show without scripts."""
    return _FORMULA.sub(
        lambda match: convert(html.unescape(match.group(3)), display="block" if match.group(2) == "[" else "inline"),
        content,
    )


def reference_pages() -> dict[str, str]:
    """Write the Markdown of each page of the reference."""
    own = [name for name in xpand.__all__ if name not in helper_names()]
    pages = {
        "reference/xpand.md": "# xpand\n\n"
        + "The entry point to the namespaces, the default namespace, and conditions on values. The modules and "
        + "the most common functions of [xpand_extensions](xpand_extensions.md) are attributes, too. The functions of "
        + "array-api-compat are listed [at the end](#helpers).\n\n"
        + _objects("xpand", own)
        + "## Helpers\n\n<!-- table: helpers -->\n",
        "reference/xpand_extensions.md": "# xpand_extensions\n\n"
        + "Functions that libraries implement in their own ways, and the table of their support.\n\n"
        + _objects("xpand_extensions", ["pluggable", "Pluggable", "UnsupportedError", "capabilities", "check_plugin"]),
    }
    pages["reference/namespaces.md"] = (
        "# Functions of the namespaces\n\n"
        "Every namespace has these functions of the array API standard; the links lead to its documentation. *own* "
        "means the library's own function, *adapted* one of array-api-compat, and *corrected* one of xpand. "
        "[The guide](../namespaces.md#corrections) describes the corrections.\n\n<!-- table: functions -->\n"
    )
    pages["reference/tracing.md"] = (
        "# tracing\n\nThe public parts of tracing, on which [transformations](../transformations.md) are built for "
        "libraries that have none: graphs, the namespace of traced arrays, and errors.\n\n"
        + _objects("xpand_extensions.tracing", TRACING)
    )
    options = "    options:\n      show_root_heading: false\n      show_root_toc_entry: false\n"
    pages["reference/extend.md"] = (
        f"# extend\n\n## xpand_extensions.extend\n\n::: xpand_extensions.extend\n{options}\n"
        f"## xpand.extend\n\n::: xpand.extend\n{options}\n## Checks of arguments\n\n::: xpand._arguments\n{options}"
    )
    modules = {name: f"xpand.{name}" for name in topics()}
    modules |= {name: f"xpand_extensions.{name}" for name in _capabilities.facade_names()}
    for name, module in modules.items():
        pages[f"reference/{name}.md"] = (
            f"# {name}\n\n{_summary_table(name, module)}\n\n::: {module}\n{options}" + _in_order(module)
        )
    for name in filter(lambda name: inspect.ismodule(getattr(named, name)), named.__all__):
        pages["reference/named.md"] += (
            f"\n## named.{name} {{ #xpand_extensions.named.{name} }}\n\n::: xpand_extensions.named.{name}\n{options}"
        )
    return pages


def _summary_table(name: str, module: str) -> str:
    """Write the line that imports a module, and a table of its functions and classes with their first sentences."""
    found = importlib.import_module(module)
    rows = []
    for public in found.__all__:
        value = getattr(found, public)
        if callable(value) and value is not Any and not is_alias(value):
            sentence = " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())
            rows.append([f"[`{public}`](#{module}.{public})", re.sub(r"([|])", r"\\\1", sentence)])
    table = _tables.table(["name", "description"], rows) if rows else ""
    return f"```python\nfrom xpand import {name}\n```\n\n{table}"


def _in_order(module: str) -> str:
    """Continue the options of a module's block: functions, then classes and constants, and types of arguments last."""
    found = importlib.import_module(module)
    aliases = [name for name in found.__all__ if is_alias(getattr(found, name))]
    rest = [name for name in found.__all__ if name not in aliases]
    rest.sort(key=lambda name: not callable(getattr(found, name)) or isinstance(getattr(found, name), type))
    block = f"      members: {json.dumps(rest)}\n"
    return f"{block}\n## Types of arguments\n\n{_objects(module, aliases)}" if aliases else block


def is_alias(value: Any) -> bool:
    """Return whether a public name is a type alias, such as `Literal["left", "right"]` or a union."""
    return not isinstance(value, type) and get_origin(value) is not None


def charts() -> dict[str, str]:
    """Draw the charts of the benchmarks."""
    made = {"benchmarks": _summaries.chart, "compilers": _summaries.compilers_chart}
    return {f"{name}-{theme}.svg": draw(theme == "dark") for name, draw in made.items() for theme in ("light", "dark")}


_NO_TOPICS: Final = frozenset({"common", "extend"})


def topics() -> list[str]:
    """Name the core's modules of operations."""
    modules = pkgutil.iter_modules(xpand.__path__)
    return [m.name for m in modules if not m.ispkg and not m.name.startswith("_") and m.name not in _NO_TOPICS]


def helper_names() -> list[str]:
    """Name the functions of array-api-compat, and the questions about types, which need only a line each."""
    return [name for name in xpand.__all__ if not _is_written_out(name)]


def _is_written_out(name: str) -> bool:
    function = inspect.unwrap(getattr(xpand, name))
    # The tests of namespaces are made by one function, whose inner one has another name.
    return isinstance(function, FunctionType) and function.__code__.co_name == name and _is_ours(function)


def _is_ours(function: FunctionType) -> bool:
    return function.__module__.startswith("xpand.")


def _objects(package: str, names: Iterable[str]) -> str:
    return "".join(f"::: {package}.{name}\n\n" for name in names)
