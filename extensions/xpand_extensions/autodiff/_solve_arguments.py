"""What the solvers with implicit derivatives share: functions of trees and of anything are made ones of arrays."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import Any, Final, TypeAlias

from xpand import _arguments, array_namespace, trees
from xpand._namespace import describe
from xpand._structures import same_structure
from xpand._typing import Array, DType

from .._transforms import as_array
from .._variables import OfFunctions, Variables

Arrays: TypeAlias = tuple[Array, ...]


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


class Arguments:
    """The further arguments of a call: its arrays, and what is none, which functions get as it is."""

    __slots__ = ("_static", "_structure", "arrays")

    def __init__(self, name: str, args: Any) -> None:
        """Take `args` of the function `name` apart."""
        if not isinstance(args, tuple):
            raise TypeError(f"{name}: args must be a tuple of further arguments, got {describe(args)}")
        leaves, self._structure = trees.flatten(args)
        self.arrays: Arrays = tuple(x for x in leaves if _arguments.is_array(x))
        self._static = [_HOLE if _arguments.is_array(x) else x for x in leaves]

    def filled(self, arrays: Sequence[Array]) -> tuple[Any, ...]:
        """Return the arguments with other arrays."""
        given = iter(arrays)
        args: tuple[Any, ...] = trees.unflatten(
            self._structure, [next(given) if x is _HOLE else x for x in self._static]
        )
        return args


class Aux:
    """What a solver returns beside the solution: its arrays, and the rest."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: list[tuple[list[Any], trees.Structure]] = []

    def arrays(self, tree: trees.Tree) -> Arrays:
        """Take a tree apart, and keep what is no array."""
        leaves, structure = trees.flatten(tree)
        if not self._found:  # once: PyTorch's compiler lets nothing be changed when it is called again
            self._found.append(([_HOLE if _arguments.is_array(x) else x for x in leaves], structure))
        return tuple(x for x in leaves if _arguments.is_array(x))

    def tree(self, arrays: Sequence[Array]) -> trees.Tree:
        """Put arrays together with the rest."""
        leaves, structure = self._found[0]
        given = iter(arrays)
        return trees.unflatten(structure, [next(given) if x is _HOLE else x for x in leaves])


class Form:
    """What a tree of arrays must be: its structure, and the shapes and data types of its leaves."""

    __slots__ = ("kinds", "structure")

    def __init__(self, structure: trees.Structure, arrays: Sequence[Array]) -> None:
        self.structure = structure
        self.kinds: list[tuple[tuple[int, ...], DType]] = [(tuple(x.shape), x.dtype) for x in arrays]

    def tree(self, arrays: Sequence[Array]) -> trees.Tree:
        """Give arrays the structure."""
        return trees.unflatten(self.structure, arrays)

    def arrays(self, what: str, like: str, tree: trees.Tree, beside: Array) -> Arrays:
        """Take apart a tree that `what` says must be `like` another.

        Raises:
            TypeError: It is of another structure, or of other data types, or no tree of arrays.
            ValueError: It is of other shapes.
        """
        leaves, structure = trees.flatten(tree)
        if not same_structure(structure, self.structure):
            raise TypeError(f"{what} a tree like {like}, of the structure {self.structure}, got {structure}")
        found = []
        for leaf, (shape, dtype) in zip(leaves, self.kinds):
            x = as_array(f"{what} a tree of arrays like {like}; it holds", leaf, beside)
            if not _arguments.is_array(leaf) and x.dtype != dtype:
                x = array_namespace(x).astype(x, dtype)
            if tuple(x.shape) != shape:
                raise ValueError(f"{what} a tree like {like}, of the shape {shape}, got {tuple(x.shape)}")
            if x.dtype != dtype:
                raise TypeError(
                    f"{what} a tree like {like}, of the data type {dtype}, got {x.dtype}; convert one of them with "
                    "`xp.astype`"
                )
            found.append(x)
        return tuple(found)


def pair(what: str, found: Any) -> tuple[Any, Any]:
    """Take apart what a solver with auxiliary data returned."""
    if not isinstance(found, tuple) or len(found) != 2:
        raise TypeError(
            f"{what} must return a pair (solution, auxiliary data) with has_aux=True, got {describe(found)}"
        )
    return found


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
        elif isinstance(x, FunctionType):
            stack.extend(_cells(x))
        elif isinstance(x, partial):
            stack.extend((x.func, x.args, x.keywords))
        elif isinstance(x, MethodType):
            stack.extend((x.__func__, x.__self__))
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
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()


class _Hole:
    """The place of an array."""


_HOLE: Final = _Hole()
_PLAIN: Final = (bool, int, float, complex, str, bytes, type(None), ModuleType)
