"""Has calls recorded while a profile is active, and nothing at all done otherwise.

The functions of a namespace are attributes of its module, and are replaced there. A function of ours is itself made to
record: its code is exchanged, so that whoever has it already, under whatever name, calls the recording one. Everything
is put back when the last profile ends.
"""

from collections.abc import Callable
from functools import update_wrapper
from threading import Lock
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from ._entries import Label
from ._record import CURRENT
from ._targets import functions_of, functions_of_ours, namespaces

_ATTRIBUTES: Final = ("__wrapped__", "_torchdynamo_inline", "_torchdynamo_orig_callable", "_torchdynamo_wrapper_id")


class _Patch(NamedTuple):
    """An attribute that is replaced."""

    owner: Any
    name: str
    original: Any
    recording: Any


class _Codes(NamedTuple):
    """A function's own code, the one that records, and the function of the former."""

    original: CodeType
    recording: CodeType
    function: FunctionType


_lock: Final = Lock()
_users = 0
_patched: Final[dict[int, list[_Patch]]] = {}  # by the identity of the namespace
_exchanged: Final[dict[FunctionType, _Codes]] = {}

# Kept from one profile to the next. Namespaces stay as long as the program runs.
_patches: Final[dict[int, list[_Patch]]] = {}
_codes: Final[WeakKeyDictionary[FunctionType, _Codes]] = WeakKeyDictionary()


def start() -> None:
    """Have calls recorded; also those of libraries imported since another profile began."""
    global _users
    with _lock:
        _users += 1
        try:
            for xp in namespaces():
                if id(xp) not in _patched:
                    _patched[id(xp)] = _patch(xp)
            for function, label in functions_of_ours():
                if function not in _exchanged:
                    _exchange(function, label)
        except BaseException:
            _leave()
            raise


def stop() -> None:
    """Put everything back, if nobody else records."""
    with _lock:
        _leave()


def _leave() -> None:
    global _users
    _users -= 1
    if _users:
        return
    for patches in _patched.values():
        for each in patches:
            # What somebody else has put there meanwhile is theirs.
            if vars(each.owner).get(each.name) is each.recording:
                setattr(each.owner, each.name, each.original)
    for function, codes in _exchanged.items():
        if function.__code__ is codes.recording:
            function.__code__ = codes.original
            for name in _ATTRIBUTES:
                function.__dict__.pop(name, None)
    _patched.clear()
    _exchanged.clear()


def _patch(xp: Any) -> list[_Patch]:
    """Replace the functions of a namespace."""
    patches = _patches.get(id(xp))
    if patches is None or any(vars(each.owner).get(each.name) is not each.original for each in patches):
        patches = _patches[id(xp)] = [
            _Patch(owner, name, function, _recording(function, label))
            for owner, name, function, label in functions_of(xp)
        ]
    for each in patches:
        setattr(each.owner, each.name, each.recording)
    return patches


def _recording(function: Callable[..., Any], label: Label) -> Callable[..., Any]:
    """Make the function that stands in for one of a namespace."""

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
    _lead(recorded, function)
    return recorded


def _lead(recorded: Callable[..., Any], function: Callable[..., Any]) -> None:
    """Lead from what records to the function: `inspect`, and torch.compile, which takes that into what it compiles."""
    for name, value in zip(_ATTRIBUTES, (function, function, function, id(recorded))):
        setattr(recorded, name, value)


def _exchange(function: FunctionType, label: Label) -> None:
    """Have a function recorded, unless it has variables of a function around it: its code can't be exchanged."""
    if function.__code__.co_freevars:
        return
    codes = _codes.get(function)
    if codes is None or codes.original is not function.__code__:
        codes = _codes[function] = _made(function, label)
    function.__code__ = codes.recording
    _lead(function, codes.function)
    _exchanged[function] = codes


_HOOK: Final = "the recording function"


def _template(*args: Any, **kwargs: Any) -> Any:
    record: Any = "the recording function"
    return record(args, kwargs)


def _made(function: FunctionType, label: Label) -> _Codes:
    original = function.__code__
    copy = FunctionType(original, function.__globals__, function.__name__, function.__defaults__)
    for name in ("__annotations__", "__doc__", "__kwdefaults__", "__module__", "__qualname__"):
        setattr(copy, name, getattr(function, name))
    copy.__dict__.update(function.__dict__)

    def record(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        recorder = CURRENT.get()
        if recorder is None:
            return copy(*args, **kwargs)
        return recorder.run(label, copy, args, kwargs)

    constants = tuple(record if constant == _HOOK else constant for constant in _template.__code__.co_consts)
    recording = _template.__code__.replace(co_consts=constants, co_name=original.co_name)
    return _Codes(original, recording, copy)
