"""Has calls recorded while a profile is active, and nothing at all done otherwise.

The functions of a namespace are attributes of its module, and are replaced there. A function of ours is itself made to
record: its code is exchanged, so that whoever has it already, under whatever name, calls the recording one. Everything
is put back when the last profile ends.
"""

import importlib
import sys
from collections.abc import Callable, Iterator
from functools import update_wrapper
from threading import Lock
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from xpand import namespace, wrapped_libraries

from ._capabilities import facade_names, import_facades
from ._dispatch import OPERATIONS
from ._profile_entries import Label
from ._profile_record import CURRENT
from .tracing._namespace import TracedNamespace, traced_namespace

_PARTS: Final = ("linalg", "fft")

_MARKS: Final = frozenset({"__array_api_version__", "__array_namespace_info__", "asarray"})
"""What a namespace of the standard has."""

_DTYPES: Final = frozenset({"can_cast", "finfo", "iinfo", "isdtype", "promote_types", "result_type"})
"""Questions about data types: they compute nothing, and our own functions ask many."""

_OURS: Final = frozenset({"profile", "precision"})
"""The capabilities whose functions compute nothing, and are part of no profile."""

_CORE: Final = ("creation", "manipulation", "polynomial")
"""The modules of the core with operations."""

_OPERATORS: Final = frozenset(
    f"__{side}{name}__" for name in ("add", "sub", "mul", "truediv", "pow", "matmul") for side in ("", "r")
) | {"__call__", "__neg__", "__abs__"}


class _Patched(NamedTuple):
    """An attribute that was replaced."""

    owner: Any
    name: str
    original: Any
    replaced: Any


_lock: Final = Lock()
_users = 0
_patched: Final[list[_Patched]] = []
_exchanged: Final[list[tuple[FunctionType, "_Codes"]]] = []
_seen: Final[set[int]] = set()  # the namespaces that are patched now, by identity


def start() -> None:
    """Have calls recorded; also those of libraries imported since another profile began."""
    global _users
    with _lock:
        _users += 1
        try:
            _patch()
        except BaseException:
            _leave()
            raise


def stop() -> None:
    """Put everything back, if nobody else records."""
    with _lock:
        _leave()


def _patch() -> None:
    import_facades()
    found = list(_namespaces())
    # The namespaces of traced arrays are made now, of the libraries' own functions: they stay.
    for xp in (*found, *[traced_namespace(xp) for xp in found]):
        if id(xp) not in _seen:
            _seen.add(id(xp))
            _patch_namespace(xp)
    for function, label in _functions():
        _exchange(function, label)


def _leave() -> None:
    global _users
    _users -= 1
    if _users:
        return
    for each in _patched:
        # What somebody else has put there meanwhile is theirs.
        if vars(each.owner).get(each.name) is each.replaced:
            setattr(each.owner, each.name, each.original)
    for function, codes in _exchanged:
        if function.__code__ is codes.recording:
            function.__code__ = codes.original
            for name in _ATTRIBUTES:
                function.__dict__.pop(name, None)
    _patched.clear()
    _exchanged.clear()
    _seen.clear()


def _namespaces() -> Iterator[Any]:
    """Yield the namespaces of the libraries that are imported: ours, and those of strangers."""
    ours = [name for name in wrapped_libraries() if name in sys.modules]
    for name in ours:
        yield namespace(name)
    roots = {*wrapped_libraries(), "xpand", "array_api_compat"}
    for name, module in list(sys.modules.items()):
        # In the dictionary, since asking a module may import another. A private one is a library's own copy.
        private = any(part.startswith("_") for part in name.split("."))
        if name.partition(".")[0] not in roots and not private and vars(module).keys() >= _MARKS:
            yield module


def _patch_namespace(xp: Any) -> None:
    traced = isinstance(xp, TracedNamespace)
    name: str = xp.__name__
    name = name.removeprefix("traced.").removeprefix("xpand.").partition(".")[0]
    for part in ("", *_PARTS):
        owner = getattr(xp, part, None) if part else xp
        if owner is None:
            continue
        for attribute, function in list(vars(owner).items()):
            if _is_function(attribute, function) and (not traced or attribute not in _METHODS):
                label = Label(".".join(filter(None, (name, part, attribute))), "namespace", name)
                wrapper = _recording(owner, attribute, function, label)
                _patched.append(_Patched(owner, attribute, function, wrapper))
                setattr(owner, attribute, wrapper)


_METHODS: Final = frozenset({"array", "check", "takes", "wrap", "wraps"})
"""What a traced namespace has beside the standard's functions."""


def _is_function(name: str, value: Any) -> bool:
    return (
        callable(value)
        and not name.startswith("_")
        and name not in _DTYPES
        and not isinstance(value, (type, ModuleType))
    )


_WRAPPERS: Final[dict[tuple[int, str], Callable[..., Any]]] = {}


def _recording(owner: Any, name: str, function: Callable[..., Any], label: Label) -> Callable[..., Any]:
    """Make the function that stands in for one of a namespace; once, as namespaces stay."""
    known = _WRAPPERS.get((id(owner), name))
    if known is not None and known.__wrapped__ is function:  # type: ignore[attr-defined]
        return known

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
    for attribute in _ATTRIBUTES:
        setattr(recorded, attribute, function)
    _WRAPPERS[id(owner), name] = recorded
    return recorded


_ATTRIBUTES: Final = ("__wrapped__", "_torchdynamo_inline")
"""What leads to the function itself: `inspect`, and torch.compile, which takes that into what it compiles."""


def _functions() -> Iterator[tuple[FunctionType, Label]]:
    """Yield the functions of ours that are recorded, and the methods of public classes."""
    modules = [(name, f"xpand_extensions.{name}") for name in facade_names() if name not in _OURS]
    modules += [(name, f"xpand.{name}") for name in _CORE]
    for name, path in modules:
        module = importlib.import_module(path)
        for public in module.__all__:
            value = getattr(module, public)
            if isinstance(value, FunctionType):
                yield value, Label(f"{name}.{public}", "extension")
            elif isinstance(value, type) and not getattr(value, "_is_protocol", False):
                for method, function in vars(value).items():
                    if isinstance(function, FunctionType) and (not method.startswith("_") or method in _OPERATORS):
                        yield function, Label(f"{name}.{public}.{method}", "extension")
    for operation in list(OPERATIONS.values()):
        if operation.capability not in _OURS and isinstance(operation.facade, FunctionType):
            yield operation.facade, Label(operation.qualified_name, "extension")


class _Codes(NamedTuple):
    """A function's own code, the one that records, and the function of the former."""

    original: CodeType
    recording: CodeType
    function: FunctionType


_CODES: Final[WeakKeyDictionary[FunctionType, _Codes]] = WeakKeyDictionary()


def _exchange(function: FunctionType, label: Label) -> None:
    """Have a function recorded, if it is one whose code can be exchanged: of no variables of a function around it."""
    if function.__code__.co_freevars or function.__code__.co_filename == __file__:  # exchanged already
        return
    codes = _CODES.get(function)
    if codes is None or codes.original is not function.__code__:
        codes = _CODES[function] = _made(function, label)
    function.__code__ = codes.recording
    for name in _ATTRIBUTES:
        setattr(function, name, codes.function)
    _exchanged.append((function, codes))


_HOOK: Final = "the recording function"


def _template(*args: Any, **kwargs: Any) -> Any:
    record: Any = "the recording function"
    return record(args, kwargs)


def _made(function: FunctionType, label: Label) -> _Codes:
    original = function.__code__
    copy = FunctionType(original, function.__globals__, function.__name__, function.__defaults__)
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__module__ = function.__module__
    copy.__qualname__ = function.__qualname__
    copy.__dict__.update(function.__dict__)

    def record(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        recorder = CURRENT.get()
        if recorder is None:
            return copy(*args, **kwargs)
        return recorder.run(label, copy, args, kwargs)

    constants = tuple(record if constant == _HOOK else constant for constant in _template.__code__.co_consts)
    recording = _template.__code__.replace(co_consts=constants, co_name=original.co_name)
    return _Codes(original, recording, copy)
