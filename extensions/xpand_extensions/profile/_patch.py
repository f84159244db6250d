"""Recording of calls while a profile is active. Without one, calls cost nothing.

Functions of namespaces and of xpand's public modules, and methods of public classes, are replaced as attributes of
their owners. A facade that was imported by name is recorded when it looks up its implementation. Everything is restored
when the last profile ends.
"""

import importlib
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, update_wrapper
from threading import Lock
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Final, NamedTuple

from xpand import namespace, wrapped_libraries
from xpand.extend import trace_instead

from .._capabilities import facade_names, import_facades
from .._dispatch import Operation, observe
from ..tracing._namespace import TracedNamespace, traced_namespace
from ._entries import Label
from ._record import CURRENT

_PARTS: Final = ("linalg", "fft")

_MARKS: Final = frozenset({"__array_api_version__", "__array_namespace_info__", "asarray"})
"""The names that a namespace of the standard has."""

_QUESTIONS: Final = frozenset({"can_cast", "finfo", "iinfo", "isdtype", "promote_types", "result_type", "typename"})
"""Functions that compute nothing and that xpand calls often."""
_SETTINGS: Final = ("_", "get_", "is_", "reset_", "set_")
"""The prefixes of other functions that compute nothing."""
_METHODS: Final = frozenset({"array", "check", "operation", "takes", "wrap", "wraps"})
"""The functions of a namespace of traced arrays that the standard does not have."""

_UNRECORDED: Final = frozenset({"profile", "precision"})
"""The capabilities whose functions compute nothing."""
_CORE: Final = ("creation", "manipulation", "polynomial")
"""The modules of the core with operations."""
_PACKAGES: Final = ("xpand", "xpand_extensions")
_OPERATORS: Final = frozenset(
    f"__{side}{name}__" for name in ("add", "sub", "mul", "truediv", "pow", "matmul") for side in ("", "r")
) | {"__call__", "__neg__", "__abs__"}


def namespaces() -> list[Any]:
    """List the namespaces of imported libraries: xpand's, third-party ones, and those of their traced arrays."""
    found = [namespace(name) for name in wrapped_libraries() if name in sys.modules]
    found += _third_party(len(sys.modules))
    return [*found, *_traced(found)]


def _traced(found: list[Any]) -> Iterator[Any]:
    for xp in found:
        try:
            yield traced_namespace(xp)  # made before patching, since it is cached and must have the original functions
        except (AttributeError, KeyError):
            continue  # can't be traced: it lacks functions of the standard


@lru_cache(maxsize=1)
def _third_party(modules: int) -> list[Any]:
    """List the namespaces among modules that xpand does not wrap. A new number of modules starts a new search."""
    roots = {*wrapped_libraries(), "xpand", "array_api_compat"}
    return [
        module
        for name, module in list(sys.modules.items())
        # Private modules are copies inside of a library.
        if not (name.startswith("_") or "._" in name or name.partition(".")[0] in roots)
        # Use the dictionary: reading an attribute of a module may import another module.
        and _MARKS.issubset(getattr(module, "__dict__", {}))
    ]


def functions_of(xp: Any) -> Iterator[tuple[Any, str, Any, Label]]:
    """Yield the functions of a namespace to record: owner, name, value and label."""
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


def own_functions() -> list[tuple[Any, str, Any, Label]]:
    """List the functions of xpand to record: those of all modules, and methods of public classes."""
    return _own_functions(len(sys.modules))


@lru_cache(maxsize=1)
def _own_functions(modules: int) -> list[tuple[Any, str, Any, Label]]:
    """Search the functions of xpand. A new number of modules starts a new search."""
    import_facades()
    found: dict[tuple[int, str], tuple[Any, str, Any, Label]] = {}
    labels: dict[int, Label] = {}  # by identity of the function: the first label counts if several modules have it
    for each in _find_functions():
        owner, name, value, label = each
        found.setdefault((id(owner), name), each)
        if not isinstance(owner, type):
            labels.setdefault(id(value), label)
    functions = [each for each in found.values() if isinstance(each[0], type)]
    for module in [value for name, value in sys.modules.items() if name.partition(".")[0] in _PACKAGES]:
        for name, value in list(vars(module).items()):
            if isinstance(value, FunctionType) and id(value) in labels:
                functions.append((module, name, value, labels[id(value)]))
    return functions


def label_of(operation: Operation[..., Any]) -> Label | None:
    """Return the label of an operation; None if it isn't recorded."""
    if operation.capability in _UNRECORDED:
        return None
    return Label(operation.qualified_name, "extension")


def _find_functions() -> Iterator[tuple[Any, str, Any, Label]]:
    modules = [(name, f"xpand_extensions.{name}") for name in facade_names() if name not in _UNRECORDED]
    modules += [(name, f"xpand.{name}") for name in _CORE]
    for name, path in modules:
        module = importlib.import_module(path)
        for public in module.__all__:
            value = getattr(module, public)
            if isinstance(value, FunctionType) and _is_ours(
                value
            ):  # not a context manager, whose globals are those of `contextlib`
                yield module, public, value, Label(f"{name}.{public}", "extension")
            elif isinstance(value, type) and not getattr(value, "_is_protocol", False):
                yield from _methods(value, name)


def _methods(cls: type, module: str) -> Iterator[tuple[Any, str, Any, Label]]:
    for each in cls.__mro__:
        if each.__module__.startswith("xpand"):
            for name, value in vars(each).items():
                if isinstance(value, FunctionType) and (not name.startswith("_") or name in _OPERATORS):
                    yield each, name, value, Label(f"{module}.{each.__name__}.{name}", "extension")


def _is_ours(function: FunctionType) -> bool:
    return function.__globals__["__name__"].partition(".")[0] in _PACKAGES


_LOOK_UPS: Final = frozenset({"native", "native_for", "planned"})
_MISSING: Final = object()


class _Patch(NamedTuple):
    """An attribute that is replaced."""

    owner: Any
    name: str
    original: Any
    recording: Any


_lock: Final = Lock()
_users = 0
_patched: Final[dict[int, list[_Patch]]] = {}  # by the identity of the namespace; 0 for xpand's own functions

# Reused by later profiles. Namespaces exist as long as the program runs.
_patches: Final[dict[int, list[_Patch]]] = {}


def start() -> None:
    """Start recording calls, including those of libraries imported since another profile started."""
    global _users
    with _lock:
        _users += 1
        try:
            if _users == 1:
                observe(_observed)
            for xp in namespaces():
                if id(xp) not in _patched:
                    _patched[id(xp)] = _patch(id(xp), functions_of(xp))
            if 0 not in _patched:
                _patched[0] = _patch(0, own_functions())
        except BaseException:
            _leave()
            raise


def stop() -> None:
    """Restore everything, unless another profile is active."""
    with _lock:
        _leave()


def _leave() -> None:
    global _users
    _users -= 1
    if _users:
        return
    observe(None)
    for patches in _patched.values():
        for each in patches:
            # Don't undo a replacement that other code has made in the meantime.
            if vars(each.owner).get(each.name) is each.recording:
                setattr(each.owner, each.name, each.original)
    _patched.clear()


def _patch(key: int, functions: Iterable[tuple[Any, str, Any, Label]]) -> list[_Patch]:
    """Replace the attributes that are recorded functions."""
    patches = _patches.get(key)
    if patches is None or any(vars(each.owner).get(each.name) is not each.original for each in patches):
        patches = _patches[key] = [
            _Patch(owner, name, function, _recording(function, label)) for owner, name, function, label in functions
        ]
    for each in patches:
        setattr(each.owner, each.name, each.recording)
    return patches


def _recording(function: Callable[..., Any], label: Label) -> Callable[..., Any]:
    """Make the function that replaces another and records its calls."""

    def recorded(*args: Any, **kwargs: Any) -> Any:
        recorder = CURRENT.get()
        if recorder is None:
            return function(*args, **kwargs)
        return recorder.run(label, function, args, kwargs)

    update_wrapper(recorded, function)
    if not isinstance(function, (FunctionType, BuiltinFunctionType)):
        for attribute in dir(function):  # such as np.add.reduce
            if not attribute.startswith("_"):
                setattr(recorded, attribute, getattr(function, attribute))
    trace_instead(recorded, function, wraps=True)  # torch.compile compiles the original
    return recorded


def _observed(operation: Operation[..., Any], implementation: Callable[..., Any]) -> Callable[..., Any]:
    """Make an implementation that records the call of its facade, unless that call is recorded already.

    Calls that don't come from the facade are steps of other implementations, and aren't recorded.
    """
    facade: Any = operation.facade
    label = label_of(operation)
    if label is None or not _LOOK_UPS.intersection(facade.__code__.co_names):
        # Transformations look up implementations in the functions that they return, and use them as keys of programs.
        return implementation
    defaults: dict[str, Any] = facade.__kwdefaults__ or {}

    def recorded(*args: Any, **kwargs: Any) -> Any:
        recorder = CURRENT.get()
        if recorder is None or sys._getframe(1).f_code is not facade.__code__ or recorder.enters(label):
            return implementation(*args, **kwargs)
        shown = {name: x for name, x in kwargs.items() if defaults.get(name, _MISSING) is not x}
        return recorder.run(label, implementation, args, kwargs, shown)

    update_wrapper(recorded, implementation)
    trace_instead(recorded, implementation, wraps=True)
    return recorded
