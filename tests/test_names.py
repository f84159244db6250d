"""The tables of the guides for users of other libraries, and of the benchmarks: everything in them exists."""

import importlib
import sys
from pathlib import Path
from typing import Any, Final

import pytest

import xpand

DOCS: Final = Path(__file__).parents[1] / "docs"
sys.path.insert(0, str(DOCS))
sys.path.insert(0, str(DOCS / "examples"))
names: Any = importlib.import_module("_names")
summaries: Any = importlib.import_module("_summaries")
sys.path.remove(str(DOCS / "examples"))
sys.path.remove(str(DOCS))


def there(name: str) -> Any:
    """Find an object of another library by its full name."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            found = getattr(found, part)
        return found
    raise AssertionError(name)


def here(name: str) -> Any:
    """Find a function of the standard, of xpand or of its extensions."""
    module, _, function = name.rpartition(".")
    if module.partition(".")[0] == "xp":
        xp = xpand.namespace("numpy")
        return getattr(getattr(xp, module[3:]) if module != "xp" else xp, function)
    prefix = "" if module.startswith("xpand") else "xpand_extensions."
    return getattr(importlib.import_module(prefix + module), function)


def test_the_summaries_of_the_benchmarks_find_their_rows() -> None:
    """Topics and rows are looked up by name: renamed ones are renamed in `_summaries.py`, too."""
    assert summaries.summary().count("\n") == 2 + len(summaries.SUMMARY) == 12
    for topic in summaries.COMPARISON:
        assert f"| {topic} |" in summaries.comparison()


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_names_that_are_different_exist(library: str) -> None:
    for name, row in names.stated(library).items():
        assert there(name) is not None
        assert callable(here(row["xpand"])), name
        assert name.rpartition(".")[2] != row["xpand"].rpartition(".")[2] or "differs" in row, f"{name}: the same"


@pytest.mark.parametrize("library", ["numpy", "jax", "torch"])
def test_names_that_are_the_same_exist(library: str) -> None:
    pairs = dict(names.same_names(library))
    assert len(pairs) > 80
    for other, ours in pairs.items():
        assert callable(here(ours))
        assert other.rpartition(".")[2] == ours.rpartition(".")[2]
    standard = names.standard_names(library)
    assert {"sum", "where", "exp"} <= set(standard)
    assert not {"ndarray", "load"} & set(standard)
