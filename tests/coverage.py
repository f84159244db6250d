"""Shared code of the tests of coverage tables: the tables, and cases of the standard's functions.

A row of `docs/coverage/<table>.toml` is open, or names a function of xpand. Then the test file of the table has a case
under the row's name: a `Case` for a function of arrays, a function that takes a library and asserts, or several of
these.
"""

import importlib
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import xpand
from tests.libraries import Library
from tests.operations import Case, check_values

Row: TypeAlias = "Case | Callable[[Library], None] | tuple[Row, ...]"

FOLDER = Path(__file__).parents[1] / "docs" / "coverage"

A = np.asarray([[0.5, -1.5, 2.0], [3.0, -0.25, 0.75]])
POSITIVE = np.abs(A) + 1.0
WITHIN = A / 4.0  # between -1 and 1
INTEGERS = np.asarray([[3, -7, 5], [-2, 9, 0]])
OTHERS = np.asarray([[2, 3, -4], [5, -1, 7]])
BOOLEANS = np.asarray([[True, False, True], [False, False, True]])
OTHER_BOOLEANS = np.asarray([[True, True, False], [False, True, True]])
COMPLEX = A + 1j * A[::-1]


def table(name: str) -> dict[str, dict[str, str]]:
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def unfinished(name: str) -> set[str]:
    return {row for row, entry in table(name).items() if "open" in entry}


def check_row(library: Library, row: Row) -> None:
    if isinstance(row, tuple):
        for each in row:
            check_row(library, each)
    elif isinstance(row, Case):
        check_values(library, row)
    else:
        row(library)


def check_name(entry: Mapping[str, str]) -> None:
    """Check that the function of a row exists, on every namespace or in its module."""
    from tests.libraries import LIBRARIES

    name = entry["xpand"]
    first, _, rest = name.partition(".")
    if first == "xp":
        for library in LIBRARIES:
            found: Any = library.xp
            for part in rest.split("."):
                found = getattr(found, part)
            assert callable(found), f"{name} on {library}"
    elif first == "x":
        assert all(hasattr(library.asarray(1.0), rest) for library in LIBRARIES), name
    else:
        module, _, function = name.rpartition(".")
        package = importlib.import_module(module if first.startswith("xpand") else f"xpand_extensions.{module}")
        assert function in package.__all__, name


def standard(name: str, *arrays: Any, reference: Callable[..., Any] | None = None, **options: Any) -> Case:
    """Make the case of a function of the standard. The default reference is NumPy's function of the same name."""

    def function(*given: Any) -> Any:
        return of(xpand.array_namespace(*given), name)(*given, **options)

    return Case(function, tuple(np.asarray(x) for x in arrays), reference or of_numpy(name, **options), rtol=1e-12)


def of(xp: Any, name: str) -> Callable[..., Any]:
    for part in name.split("."):
        xp = getattr(xp, part)
    return xp


def of_numpy(name: str, **options: Any) -> Callable[..., Any]:
    return lambda *arrays: of(np, name)(*arrays, **options)


def created(name: str, *arguments: Any, dtype: str = "float64", **options: Any) -> Row:
    """Make the row of a function of the standard without array arguments."""

    def check(library: Library) -> None:
        made = of(library.xp, name)(*arguments, dtype=getattr(library.xp, dtype), device=library.device, **options)
        library.assert_equal(made, of(np, name)(*arguments, dtype=dtype, **options))

    return check


class _Standard:
    """The standard's functions, from the namespace of the first argument, which may be traced."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def function(x: Any, /, *args: Any, **kwargs: Any) -> Any:
            first = x[0] if isinstance(x, list) else x
            return getattr(xpand.array_namespace(first), name)(x, *args, **kwargs)

        return function


STANDARD: Any = _Standard()
