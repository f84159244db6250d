"""What a profile records: the functions of namespaces, and those of ours."""

import importlib
import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any, Final

from xpand import namespace, wrapped_libraries

from .._capabilities import facade_names, import_facades
from .._dispatch import OPERATIONS
from ..tracing._namespace import TracedNamespace, traced_namespace
from ._entries import Label

_PARTS: Final = ("linalg", "fft")

_MARKS: Final = frozenset({"__array_api_version__", "__array_namespace_info__", "asarray"})
"""What a namespace of the standard has."""

_QUESTIONS: Final = frozenset({"can_cast", "finfo", "iinfo", "isdtype", "promote_types", "result_type", "typename"})
"""Functions that compute nothing, and of which our own ask many."""
_SETTINGS: Final = ("_", "get_", "is_", "reset_", "set_")
"""How the names of others begin that compute nothing."""
_METHODS: Final = frozenset({"array", "check", "operation", "takes", "wrap", "wraps"})
"""The functions that a namespace of traced arrays has in addition to the standard's."""

_UNRECORDED: Final = frozenset({"profile", "precision"})
"""The capabilities whose functions compute nothing."""
_CORE: Final = ("creation", "manipulation", "polynomial")
"""The modules of the core with operations."""
_OPERATORS: Final = frozenset(
    f"__{side}{name}__" for name in ("add", "sub", "mul", "truediv", "pow", "matmul") for side in ("", "r")
) | {"__call__", "__neg__", "__abs__"}

_strangers: dict[str, Any] = {}
_modules = 0  # how many there were when strangers were last looked for
_functions: list[tuple[FunctionType, Label]] = []
_operations = 0


def namespaces() -> list[Any]:
    """List the namespaces of the libraries that are imported: ours, those of strangers, and of their traced arrays."""
    global _modules, _strangers
    if len(sys.modules) != _modules:
        _strangers = dict(_find_strangers())
        _modules = len(sys.modules)
    found = [namespace(name) for name in wrapped_libraries() if name in sys.modules]
    found += _strangers.values()
    return [*found, *_traced(found)]


def _traced(found: list[Any]) -> Iterator[Any]:
    for xp in found:
        try:
            yield traced_namespace(xp)  # made now, of the library's own functions, since it stays
        except (AttributeError, KeyError):
            continue  # a stranger's that lacks functions of the standard can't be traced at all


def _find_strangers() -> Iterator[tuple[str, Any]]:
    roots = {*wrapped_libraries(), "xpand", "array_api_compat"}
    for name, module in list(sys.modules.items()):
        # A private one is a library's own copy.
        private = name.startswith("_") or "._" in name
        if not private and name.partition(".")[0] not in roots and _is_namespace(module):
            yield name, module


def _is_namespace(module: ModuleType) -> bool:
    # In the dictionary, since asking a module may import another.
    return _MARKS.issubset(getattr(module, "__dict__", {}))


def functions_of(xp: Any) -> Iterator[tuple[Any, str, Any, Label]]:
    """Yield the functions of a namespace that are recorded: where they are, under which name, and what they are."""
    traced = isinstance(xp, TracedNamespace)
    name: str = xp.__name__
    library = name.removeprefix("traced.").removeprefix("xpand.").partition(".")[0]
    for part in ("", *_PARTS):
        owner = getattr(xp, part, None) if part else xp
        for attribute, value in [] if owner is None else list(vars(owner).items()):
            if (
                callable(value)
                and not isinstance(value, (type, ModuleType))
                and not attribute.startswith(_SETTINGS)
                and attribute not in _QUESTIONS
                and not (traced and attribute in _METHODS)
            ):
                full_name = ".".join(filter(None, (library, part, attribute)))
                yield owner, attribute, value, Label(full_name, "namespace", library)


def functions_of_ours() -> list[tuple[FunctionType, Label]]:
    """List the functions of ours that are recorded, the methods of public classes, and operations of other packages."""
    global _operations, _functions
    if not _functions:
        import_facades()
    if not _functions or len(OPERATIONS) != _operations:
        _operations = len(OPERATIONS)
        # A function that is in several places bears the first name.
        found = {id(function): (function, label) for function, label in reversed(list(_find_functions()))}
        _functions = list(reversed(found.values()))
    return _functions


def _find_functions() -> Iterator[tuple[FunctionType, Label]]:
    modules = [(name, f"xpand_extensions.{name}") for name in facade_names() if name not in _UNRECORDED]
    modules += [(name, f"xpand.{name}") for name in _CORE]
    for name, path in modules:
        module = importlib.import_module(path)
        for public in module.__all__:
            value = getattr(module, public)
            if isinstance(value, FunctionType):
                yield _undecorated(value), Label(f"{name}.{public}", "extension")
            elif isinstance(value, type) and not getattr(value, "_is_protocol", False):
                yield from _methods(value, name)
    for operation in list(OPERATIONS.values()):
        if operation.capability not in _UNRECORDED and isinstance(operation.facade, FunctionType):
            yield operation.facade, Label(operation.qualified_name, "extension")


def _methods(cls: type, module: str) -> Iterator[tuple[FunctionType, Label]]:
    for each in cls.__mro__:
        if each.__module__.startswith("xpand"):
            for name, value in vars(each).items():
                if isinstance(value, FunctionType) and (not name.startswith("_") or name in _OPERATORS):
                    yield _undecorated(value), Label(f"{module}.{each.__name__}.{name}", "extension")


def _undecorated(function: FunctionType) -> FunctionType:
    """Return the function that decorators of ours are put on, whose code can be exchanged."""
    while function.__code__.co_freevars and function.__globals__["__name__"].startswith("xpand"):
        function = vars(function)["__wrapped__"]
    return function
