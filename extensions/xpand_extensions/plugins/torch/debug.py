"""Callbacks for debugging on PyTorch."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from xpand.extend import LibraryArray as Array

from .jit._host import host_call


def callback(function: Callable[..., Any], /, *args: Array, ordered: bool = False, **kwargs: Any) -> None:
    host_call("callback", function, (), tuple([x.detach() for x in args]))


def leaks_checked(*, xp: Any = None) -> AbstractContextManager[None]:
    return nullcontext()
