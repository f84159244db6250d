"""Who looks at what user code does with arrays, and may say what stands for them, on PyTorch."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, Protocol, TypeAlias

import torch
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack

from xpand._typing import Array

from .._plain import OF_NO_VALUES

Arrays: TypeAlias = "tuple[Array, ...]"


class Observer(Protocol):
    """What looks at the operations of user code."""

    def note_made(self, xs: Arrays) -> None: ...

    def resolve(self, x: Array) -> Array: ...

    def use(self, x: Array) -> Array: ...


USER_CODE: ContextVar[Observer | None] = ContextVar("USER_CODE", default=None)
"""Who looks at operations; None while others than those of user code are done, which may be at other levels."""


def of_tensors(function: Callable[[Array], Array], value: Any) -> Any:
    """Apply a function to the tensors among arguments. Many times faster than PyTorch's trees."""
    if isinstance(value, torch.Tensor):
        return function(value)
    if type(value) in (tuple, list):
        return type(value)([of_tensors(function, each) for each in value])
    if type(value) is dict:
        return {name: of_tensors(function, each) for name, each in value.items()}
    return value


@contextmanager
def observed_by(observer: Observer | None) -> Iterator[None]:
    """Have another one look at the operations in this context."""
    token = USER_CODE.set(observer)
    try:
        yield
    finally:
        USER_CODE.reset(token)


def seen_by(observer: Observer | None, function: Callable[..., Any], *args: Any) -> Any:
    """Call user code, at other levels than those it was given at."""
    if observer is None:
        return function(*args)
    # What was taken out of levels is not what the observer has seen, though it may be the very array that the function
    # has from outside, for which another stands.
    with observed_by(None):
        args = of_tensors(lambda x: x if observer.resolve(x) is x else x.view_as(x), args)
    note_made(observer, args)
    with observing(observer):
        return function(*args)


@contextmanager
def observing(observer: Observer) -> Iterator[None]:
    """Have an observer look at the operations of user code in this context, and at each of PyTorch's functions."""
    # It doesn't already where PyTorch pulls a gradient back: that is a function too, shown with what is inside of it.
    modes = _get_current_function_mode_stack()
    looks = any(isinstance(mode, _Mode) and mode.observer is observer for mode in modes)
    with observed_by(observer), nullcontext() if looks else _Mode(observer):
        yield


class _Mode(TorchFunctionMode):  # type: ignore[misc]
    """Shows an observer the arrays given to each of PyTorch's functions in user code, and those it returns."""

    def __init__(self, observer: Observer) -> None:
        super().__init__()
        self.observer = observer

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if USER_CODE.get() is not self.observer or function in OF_NO_VALUES:
            return function(*args, **(kwargs or {}))
        use = self.observer.use
        result = function(*of_tensors(use, args), **(of_tensors(use, kwargs) if kwargs else {}))
        note_made(self.observer, result)
        return result


def note_made(observer: Observer, value: Any) -> None:
    """Tell an observer of the tensors among arguments or results, which are not from outside."""
    observer.note_made(tuple(_tensors(value)))


def _tensors(value: Any) -> Iterator[Array]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list, dict)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _tensors(each)


def any_of(asked: Callable[[Array], bool], xs: Iterable[Array]) -> bool:
    """Ask of arrays that user code has what is to be asked at all levels, unseen by who looks at operations."""
    seen = USER_CODE.get()
    if seen is None:
        return any(map(asked, xs))
    xs = [seen.use(x) for x in xs]
    with observed_by(None):
        return any(map(asked, xs))
