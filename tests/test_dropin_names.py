"""Every public name of array-api-compat is at the same place in xpand, and takes the same arguments."""

import ast
import importlib
import inspect
from collections.abc import Iterator
from importlib.util import find_spec
from inspect import Parameter
from pathlib import Path
from types import ModuleType

import array_api_compat
import pytest

import xpand

HELPERS = ("", ".common")
NAMESPACES = tuple(
    f"{library}{extension}" for library in (".numpy", ".torch", ".dask.array") for extension in ("", ".linalg", ".fft")
)


def _modules(place: str) -> tuple[ModuleType, ModuleType]:
    return importlib.import_module(f"array_api_compat{place}"), importlib.import_module(f"xpand{place}")


def test_the_version_that_is_meant() -> None:
    assert array_api_compat.__version__.startswith("1.16")


@pytest.mark.parametrize("place", HELPERS + NAMESPACES)
def test_names(place: str) -> None:
    theirs, ours = _modules(place)
    names = {name for name in dir(theirs) if not name.startswith("_")}
    assert len(names) > 15
    names -= {"tests", "vendor_tests"}  # submodules of the distribution, there once something has imported them
    missing = {name for name in names if not hasattr(ours, name)}
    assert not missing


@pytest.mark.parametrize("place", NAMESPACES)
def test_names_of_a_star_import(place: str) -> None:
    theirs, ours = _modules(place)
    public = {name for name in theirs.__all__ if not name.startswith("__")}
    assert not public - set(ours.__all__)


@pytest.mark.parametrize("place", NAMESPACES)
def test_extensions_are_ours(place: str) -> None:
    if place.endswith(("linalg", "fft")):
        parent, _, extension = f"xpand{place}".rpartition(".")
        assert getattr(importlib.import_module(parent), extension).__name__ == f"xpand{place}"


def _own_functions(module: ModuleType) -> Iterator[str]:
    """Name what array-api-compat itself defines or wraps: the rest is the library's own."""
    for name in dir(module):
        value = getattr(module, name)
        if not name.startswith("_") and inspect.isfunction(value) and value.__module__.startswith("array_api_compat"):
            yield name


@pytest.mark.parametrize("place", HELPERS + NAMESPACES)
def test_arguments(place: str) -> None:
    theirs, ours = _modules(place)
    problems = []
    for name in _own_functions(theirs):
        want = inspect.signature(getattr(theirs, name)).parameters.values()
        try:
            have = inspect.signature(getattr(ours, name)).parameters.values()
        except ValueError:
            continue  # a function in C that doesn't say; test_namespaces_complete calls it
        named = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
        accepted = {p.name for p in have if p.kind in named}
        anything = any(p.kind is p.VAR_KEYWORD for p in have)
        lost = {p.name for p in want if p.kind in named} - accepted
        # The standard's arrays are positional-only; array-api-compat took them by name too where it forgot the slash.
        lost = {name for name in lost - {"x", "x1", "x2", "xp"} if not name.startswith("_")}
        if lost and not anything:
            problems.append(f"{name} lacks {sorted(lost)}")
    assert not problems


# CuPy can't be imported without CUDA, so its names are read from the sources, star imports followed.


def _top_level(tree: ast.Module) -> Iterator[ast.stmt]:
    """Walk the statements of a module, into its `if` and `try` blocks and into no function."""
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.stmt):
            yield node
        if isinstance(node, ast.If | ast.Try | ast.ExceptHandler):
            pending += ast.iter_child_nodes(node)


def _names_bound(module: str) -> set[str]:
    """Read the names that a module binds at its top level; "cupy.*" stands for all names of CuPy."""
    root, *rest = module.split(".")
    top = find_spec(root)
    assert top is not None
    assert top.origin is not None
    path = Path(top.origin).parent.joinpath(*rest)  # no import of the packages on the way
    is_package = path.is_dir()
    path = path / "__init__.py" if is_package else path.with_suffix(".py")
    names: set[str] = set()
    package = module if is_package else module.rpartition(".")[0]
    for node in _top_level(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
        elif isinstance(node, ast.ImportFrom):
            source = "." * node.level + (node.module or "")
            source = importlib.util.resolve_name(source, package)
            for alias in node.names:
                if alias.name != "*":
                    names.add(alias.asname or alias.name)
                elif source.partition(".")[0] == "cupy":
                    names.add(f"{source}.*")
                else:
                    names |= _names_bound(source)
    return {name for name in names if not name.startswith("_")}


CUPY = ("cupy", "cupy.linalg", "cupy.fft")
# Names that array-api-compat's modules use but don't offer.
CUPY_PRIVATE = {"Final", "Optional", "Union", "TypeAlias", "cp", "np", "get_xp", "linalg_all", "fft_all"}


@pytest.mark.parametrize("place", CUPY)
def test_cupy_names(place: str) -> None:
    theirs = _names_bound(f"array_api_compat.{place}") - CUPY_PRIVATE
    assert f"{place}.*" in theirs
    assert len(theirs) > 14
    assert not theirs - _names_bound(f"xpand.{place}")


def test_helpers_mean_the_same() -> None:
    import numpy as np

    values = [np.ones(2), np.float64(1.0), 1.0, None, [1], np, array_api_compat.numpy, "numpy"]
    for name in dir(array_api_compat):
        if name.startswith("is_") and "namespace" not in name and name != "is_writeable_array":
            for value in values:
                assert getattr(xpand, name)(value) == getattr(array_api_compat, name)(value), (name, value)
    for name in dir(array_api_compat):
        if name.endswith("_namespace") and name.startswith("is_"):
            for module in (np, array_api_compat.numpy):
                assert getattr(xpand, name)(module) == getattr(array_api_compat, name)(module), (name, module)
    assert xpand.is_numpy_namespace(xpand.array_namespace(np.ones(2)))
    assert xpand.get_namespace is xpand.array_namespace
