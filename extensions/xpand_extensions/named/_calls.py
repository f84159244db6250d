"""The table of operations, which public functions and methods of arrays call."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class Calls:
    """Operations by name, each an attribute: Python looks these up faster than the entries of a dictionary.

    The modules of the package fill it. So the class of arrays imports none of them, and functions and methods take the
    same short path to an operation.
    """

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Any]: ...


call: Final = Calls()


def operation(function: F) -> F:
    """Enter a function into the table, under its name without a leading underscore."""
    setattr(call, function.__name__.removeprefix("_"), function)
    return function


def entered(name: str, doc: str, function: F) -> F:
    """Enter a function that was made into the table, and describe it as the public one of that name."""
    function.__name__ = function.__qualname__ = name
    function.__module__, function.__doc__ = __package__, doc
    setattr(call, name, function)
    return function
