"""The replacement of generic implementations while torch.compile traces."""

from collections.abc import Callable
from typing import Any, Final, NoReturn, TypeVar

from xpand import UnsupportedError
from xpand.extend import trace_instead, untraced
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

    Args:
        name: The function that is called, for errors.
        what: A description of the functions that can't be transformed, for errors.
    """
    if private.are_levels_active():
        refuse(f"{name}: inside torch.compile, {what} can't be transformed; {INSTEAD}")


@untraced
def refuse(message: str) -> NoReturn:
    """Raise an error also without fullgraph=True, where torch.compile would compile xpand's own tracing piece by piece.

    torch.compile calls this function. It handles errors of functions that it traces.
    """
    raise UnsupportedError(message)
