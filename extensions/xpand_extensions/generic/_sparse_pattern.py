"""Work on patterns, for any library."""

from collections.abc import Callable
from typing import Any

from xpand._typing import Array


def at_once(function: Callable[..., Any], /, *arrays: Array) -> Any:
    return function(*arrays)
