"""Work on patterns, for any library."""

from collections.abc import Callable
from typing import Any

from xpand import is_concrete
from xpand.extend import Array


def are_concrete(*arrays: Array) -> bool:
    return all(is_concrete(x) for x in arrays)


def eagerly(function: Callable[..., Any], /, *arrays: Array) -> Any:
    return function(*arrays)
