"""The table of operations. Public functions and methods of arrays call its entries."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class Calls:
    """Operations by name. They are attributes because Python finds these faster than entries of a dictionary.

    The modules of the package fill the table. The class of arrays therefore imports none of these modules, and
    functions and methods take the same short path to an operation.
    """

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Any]: ...


call: Final = Calls()


def operation(function: F) -> F:
    """Add a function to the table, under its name without a leading underscore."""
    setattr(call, function.__name__.removeprefix("_"), function)
    return function


def entered(name: str, doc: str, function: F) -> F:
    """Add a generated function to the table, with the name, the module and the docstring of a public function."""
    function.__name__ = function.__qualname__ = name
    function.__module__, function.__doc__ = __package__, doc
    setattr(call, name, function)
    return function
