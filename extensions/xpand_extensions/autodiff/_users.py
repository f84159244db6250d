"""Functions that users give to operations with derivatives of their own, and what these bring along."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import Any, Final

from xpand import _arguments, trees
from xpand._typing import Array

from .._variables import OfFunctions, Variables, held_by


class OfArrays(OfFunctions):
    """A function of arrays, and those of users that it calls."""

    __slots__ = ("function", "users")

    def __init__(self, function: Callable[..., Any], *users: Callable[..., Any]) -> None:
        self.function, self.users = function, users

    @property
    def functions(self) -> tuple[Any, ...]:
        """All of them."""
        return self.function, *self.users

    def with_functions(self, function: Any, *users: Any) -> None:
        """Be one of others from now on."""
        self.function, self.users = function, users

    def __call__(self, *arrays: Any) -> Any:
        """Call the function."""
        return self.function(*arrays)


def variables_of(*functions: Any) -> Variables:
    """Note the variables that functions of users have, which functions of arrays call."""
    users = [each.users if isinstance(each, OfArrays) else (each,) for each in functions]
    return Variables(*[user for each in users for user in each])


def unfollowed(is_followed: Callable[[Array], bool], arrays: Sequence[Array], solve: Callable[[], Any]) -> Any:
    """Call a solver as it is where no transformation follows the arrays that it is given or brings along.

    Returns:
        What it returned, a tuple of arrays and something else; None where an array is followed.
    """
    if any(map(is_followed, arrays)):
        return None
    found = solve()
    # What it brings along and where that wasn't found is seen by what comes of it.
    return None if any(map(is_followed, found[0])) else found


def brought(is_followed: Callable[[Array], bool], *functions: Any) -> list[Array]:
    """List the followed arrays that functions bring along: in closures, bound arguments, the objects of methods."""
    return list({id(x): x for x in closed_over(*functions) if is_followed(x)}.values())


def closed_over(*functions: Any) -> Iterator[Array]:
    """Go through the arrays that functions bring along, followed or not."""
    seen: set[int] = set()
    stack: list[Any] = list(functions)
    while stack:
        x = stack.pop()
        if isinstance(x, _PLAIN) or id(x) in seen:
            continue
        seen.add(id(x))
        if isinstance(x, OfArrays):
            stack.extend(x.users)
        elif isinstance(x, (FunctionType, partial, MethodType)):
            stack.extend(_cells(x) if isinstance(x, FunctionType) else ())
            stack.extend(held_by(x))
        elif _arguments.is_array(x):
            yield x
        else:
            leaves = trees.leaves(x)
            if len(leaves) != 1 or leaves[0] is not x:
                stack.extend(leaves)
            elif not isinstance(x, type):
                stack.extend(getattr(x, "__dict__", {}).values())
                stack.extend(_slots(x))


def _slots(x: Any) -> Iterator[Any]:
    for kind in type(x).__mro__:
        names = kind.__dict__.get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if hasattr(x, name):
                yield getattr(x, name)


def _cells(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # it isn't filled yet
            continue


_PLAIN: Final = (bool, int, float, complex, str, bytes, type(None), ModuleType)
