"""Pass values to functions of the host, on any library."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from xpand.extend import Array

from ..tracing._core import leaks_checked as traces_checked
from ..tracing._host import io_callback


def callback(function: Callable[..., Any], /, *args: Array, ordered: bool = False, **kwargs: Any) -> None:
    lazily = kwargs.get("lazily")
    io_callback(function, (), args, None if lazily is None else lambda *arrays: lazily())


def leaks_checked(*, xp: Any = None) -> AbstractContextManager[None]:
    return traces_checked()
