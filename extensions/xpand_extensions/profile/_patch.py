"""Records calls while a profile is active; calls cost nothing otherwise.

Functions of namespaces and of xpand's public modules, and methods of public classes, are attributes, and are replaced
there. A facade that was imported by name is recorded where it looks up its implementation. Everything is put back when
the last profile ends.
"""

import sys
from collections.abc import Callable, Iterable
from functools import update_wrapper
from threading import Lock
from types import BuiltinFunctionType, FunctionType
from typing import Any, Final, NamedTuple

from .._dispatch import Operation, observe
from ._entries import Label
from ._record import CURRENT
from ._targets import functions_of, label_of, namespaces, own_functions

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
_patched: Final[dict[int, list[_Patch]]] = {}  # by the identity of the namespace; 0 is xpand's own functions

# Saved from one profile to the next. Namespaces stay as long as the program runs.
_patches: Final[dict[int, list[_Patch]]] = {}


def start() -> None:
    """Have calls recorded; also those of libraries imported since another profile began."""
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
    """Put everything back, if nobody else records."""
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
            # A replacement that somebody else has put there meanwhile stays.
            if vars(each.owner).get(each.name) is each.recording:
                setattr(each.owner, each.name, each.original)
    _patched.clear()


def _patch(key: int, functions: Iterable[tuple[Any, str, Any, Label]]) -> list[_Patch]:
    """Replace functions where they are attributes."""
    patches = _patches.get(key)
    if patches is None or any(vars(each.owner).get(each.name) is not each.original for each in patches):
        patches = _patches[key] = [
            _Patch(owner, name, function, _recording(function, label)) for owner, name, function, label in functions
        ]
    for each in patches:
        setattr(each.owner, each.name, each.recording)
    return patches


def _recording(function: Callable[..., Any], label: Label) -> Callable[..., Any]:
    """Make the function that stands in for another."""

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
    _link(recorded, function)
    return recorded


def _observed(operation: Operation[..., Any], implementation: Callable[..., Any]) -> Callable[..., Any]:
    """Make the implementation that records the call of its facade, unless that is recorded already.

    Calls from anywhere but the facade are steps of other implementations, and aren't recorded.
    """
    facade: Any = operation.facade
    label = label_of(operation)
    if label is None or not _LOOK_UPS.intersection(facade.__code__.co_names):
        # Transformations look it up in the functions that they return, and cache what they compile by it.
        return implementation
    defaults: dict[str, Any] = facade.__kwdefaults__ or {}

    def recorded(*args: Any, **kwargs: Any) -> Any:
        recorder = CURRENT.get()
        if recorder is None or sys._getframe(1).f_code is not facade.__code__ or recorder.enters(label):
            return implementation(*args, **kwargs)
        shown = {name: x for name, x in kwargs.items() if defaults.get(name, _MISSING) is not x}
        return recorder.run(label, implementation, args, kwargs, shown)

    update_wrapper(recorded, implementation)
    _link(recorded, implementation)
    return recorded


def _link(recorded: Callable[..., Any], function: Callable[..., Any]) -> None:
    """Link a function that records to its original: for `inspect`, and for torch.compile, which compiles that."""
    names = ("__wrapped__", "_torchdynamo_inline", "_torchdynamo_orig_callable", "_torchdynamo_wrapper_id")
    for name, value in zip(names, (function, function, function, id(recorded))):
        setattr(recorded, name, value)
