"""The table of the support of each library for each pluggable function, and a check of plug-in packages."""

import ast
import importlib
import inspect
import os
import pkgutil
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import xpand_extensions
from xpand import wrapped_libraries

from ._dispatch import OPERATIONS, Operation, plugin_package, third_party_plugins
from ._display import as_html, as_text

Support: TypeAlias = Literal["native", "traced", "generic", "unsupported"]

OTHER: Final = "other"
"""The column for conforming libraries without a plug-in."""

TRANSFORMATIONS: Final = frozenset({"autodiff", "control_flow", "jit", "vmap"})
"""The capabilities that tracing provides for libraries that lack them."""

_NO_CAPABILITIES: Final = frozenset({"cli", "extend", "generic", "plugins", "tracing"})


class Capabilities(dict[str, dict[str, Support]]):
    """The dictionary that `capabilities` returns; it prints as a table."""

    def __str__(self) -> str:
        """Write a line for each function, with each library's support."""
        return as_text("capabilities", ((name, _summary(row)) for name, row in self.items()))

    def _repr_html_(self) -> str:
        libraries = list(next(iter(self.values()), {}))
        rows = [(name, *(row[library] for library in libraries)) for name, row in self.items()]
        return as_html("capabilities", rows, ("function", *libraries))


def _summary(row: dict[str, Support]) -> str:
    """Group the libraries by their support for a function."""
    found: dict[str, list[str]] = {}
    for library, support in row.items():
        found.setdefault(support, []).append(library)
    return "; ".join(f"{support}: {', '.join(names)}" for support, names in found.items())


def capabilities() -> Capabilities:
    """Return how each library implements every public function.

    Returns:
        A dictionary from function ("scatter.segment_sum") to library ("torch", or "other" for any conforming library
        without a plug-in) to "native", "generic", "traced" or "unsupported". "traced" marks transformations that
        `xpand_extensions.tracing` provides. Libraries need not be installed: plug-ins are read, not imported. The
        dictionary prints as a table, also in notebooks.

    >>> capabilities()["scatter.segment_sum"]["torch"]
    'native'
    >>> capabilities()["autodiff.vjp"]["numpy"]
    'traced'
    """
    import_facades()
    public = [operation for operation in OPERATIONS.values() if _is_public(operation)]
    ordered = sorted(public, key=lambda operation: operation.qualified_name)
    return Capabilities((operation.qualified_name, support_of(operation)) for operation in ordered)


def support_of(operation: Operation[..., Any]) -> dict[str, Support]:
    """Describe each library's support for a function."""
    libraries = {*third_party_plugins(), *(name for op in OPERATIONS.values() for name in op.registered)}
    columns = [*wrapped_libraries(), *sorted(libraries - set(wrapped_libraries())), OTHER]
    return {library: _support(operation, library) for library in columns}


def import_facades() -> None:
    """Import every facade of this package, so that all its operations are known."""
    for name in facade_names():
        importlib.import_module(f"{xpand_extensions.__name__}.{name}")


def facade_names() -> list[str]:
    """Name the capabilities of this package: its public modules and packages, except tools."""
    names = (module.name for module in pkgutil.iter_modules(xpand_extensions.__path__))
    return [name for name in names if not name.startswith("_") and name not in _NO_CAPABILITIES]


def _is_public(operation: Operation[..., Any]) -> bool:
    """Return whether a function is public. xpand's public functions are in the `__all__` of their capability."""
    if operation.package != xpand_extensions.__name__:
        return True
    return operation.name in importlib.import_module(f"{operation.package}.{operation.capability}").__all__


def _support(operation: Operation[..., Any], library: str) -> Support:
    if library in operation.registered:
        return "native"
    package = None if library == OTHER else plugin_package(library, operation.package)
    offered = _Offered() if package is None else _read(f"{package}.{operation.capability}")
    if operation.name in offered.unsupported:
        return "unsupported"
    if operation.name in offered.names:
        return "traced" if offered.traces else "native"
    if operation.generic_implementation() is None:
        return "unsupported"
    ours = operation.package == xpand_extensions.__name__ and operation.capability in TRANSFORMATIONS
    return "traced" if ours and not _differentiates(package) else "generic"


def _differentiates(package: str | None) -> bool:
    """Return whether a library has its own transformations. They can trace generic code."""
    if package is None:
        return False
    offered = _read(f"{package}.autodiff")
    return "vjp" in offered.names and not offered.traces


class _Offered(NamedTuple):
    """The functions that a plug-in module offers, those that it declares unsupported, and whether it uses tracing."""

    names: frozenset[str] = frozenset()
    unsupported: frozenset[str] = frozenset()
    traces: bool = False


def _read(module: str) -> _Offered:
    """Read a plug-in module without importing its library."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return _Offered()
    return _read_file(spec.origin, os.stat(spec.origin).st_mtime_ns)


@lru_cache(maxsize=1024)
def _read_file(path: str, modified: int) -> _Offered:
    """Read a file once for all functions of its capability, and again when it has changed."""
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    names: set[str] = set()
    unsupported: set[str] = set()
    traces = False
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            names.update(alias.asname or alias.name for alias in node.names)
            traces |= "tracing" in (node.module or "").split(".")
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            assigned = {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
            names |= assigned
            if "UNSUPPORTED" in assigned and isinstance(node.value, ast.Dict):
                # Only the names: several functions may share one reason, by a constant.
                unsupported.update(ast.literal_eval(key) for key in node.value.keys if key is not None)
    return _Offered(frozenset(name for name in names if not name.startswith("_")), frozenset(unsupported), traces)


_HOOKS: Final = frozenset({"bridge", "traced_arrays"})
"""Modules of plug-ins for tracing: the library's own derivatives, and the class of traced arrays."""


def check_plugin(package: str) -> None:
    """Check that every public function of a plug-in package overrides a facade, with the facade's signature.

    Use it in the tests of a plug-in: a misspelt function would silently leave the generic version in place.

    Args:
        package: The package's import name, such as "xpand_extensions.plugins.torch".

    Raises:
        AssertionError: Names each stray module, stray function and differing signature.
        ImportError: A module of the package can't be imported.

    >>> check_plugin("xpand_extensions.plugins.numpy")
    """
    import_facades()
    problems = list(_problems(package))
    if problems:
        raise AssertionError(f"{package}: " + "; ".join(problems))


def _problems(package: str) -> Iterator[str]:
    known = facade_names()
    for info in pkgutil.iter_modules(importlib.import_module(package).__path__):
        if info.name.startswith("_") or info.name in _HOOKS:
            continue
        if info.name not in known:
            yield f"module {info.name!r} is no capability (known: {', '.join(known)}); a helper's name starts with '_'"
            continue
        module = importlib.import_module(f"{package}.{info.name}")
        for name, function in _public_functions(module):
            operation = OPERATIONS.get(f"{xpand_extensions.__name__}.{info.name}.{name}")
            if operation is None:
                yield f"{info.name}.{name} overrides nothing; a helper's name starts with '_'"
            elif (ours := _parameters(function)) != (theirs := _parameters(operation.facade)):
                yield f"{info.name}.{name}{ours} differs from the facade's {name}{theirs}"
        for name in getattr(module, "UNSUPPORTED", {}):
            if f"{xpand_extensions.__name__}.{info.name}.{name}" not in OPERATIONS:
                yield f"{info.name}.UNSUPPORTED names {name!r}, which is no function of that capability"


def _public_functions(module: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the functions that a module defines, and implementations that it imports from its package."""
    package, _, capability = module.__name__.rpartition(".")
    for name, value in vars(module).items():
        if not inspect.isfunction(value) or name.startswith("_"):
            continue
        gathered = f"{xpand_extensions.__name__}.{capability}.{name}" in OPERATIONS
        if value.__module__ == module.__name__ or (gathered and value.__module__.startswith(package)):
            yield name, value


def _parameters(function: Callable[..., Any]) -> str:
    """Write the parameters of an implementation: names, kinds and defaults, without annotations.

    `progress` is omitted: facades report progress, and implementations don't know of it.
    """
    signature = inspect.signature(function)
    bare = [
        p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values() if p.name != "progress"
    ]
    return str(inspect.Signature(bare))
