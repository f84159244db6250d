"""The replacement of generic implementations while torch.compile traces."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from xpand import UnsupportedError
from xpand.extend import trace_instead
from xpand.torch import _private as private

F = TypeVar("F", bound=Callable[..., Any])

INSTEAD: Final = "transform the compiled function, or compile by `xpand_extensions.jit.jit`, which has no such limit"


def in_place_of(generic: Callable[..., Any]) -> Callable[[F], F]:
    """Have torch.compile trace the decorated function in place of a generic implementation."""

    def mark(function: F) -> F:
        trace_instead(generic, function)
        return function

    return mark


def check_no_levels(name: str, what: str) -> None:
    """Check that no transformation of torch.func is running.

    torch.compile ignores custom derivatives inside torch.func, without an error.

    Raises:
        UnsupportedError: One is; `what` describes what it can't transform.
    """
    if private.are_levels_active():
        raise UnsupportedError(f"{name}: inside torch.compile, {what} can't be transformed; {INSTEAD}")
