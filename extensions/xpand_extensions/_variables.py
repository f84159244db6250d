"""Functions that are called again later with the variables that they have now.

A function uses a variable from outside at the value that this has when the function is called. Where a library calls
what a user gave it again, for a derivative, a loop of Python may have gone on and given the variable another value: the
derivative would be that of another function.
"""

from collections.abc import Callable, Iterator
from copy import copy
from functools import partial
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, cast

F = TypeVar("F")
R = TypeVar("R")

Place: TypeAlias = CellType | str
"""Of a variable: of a function around, or the name of one that is global."""


class OfFunctions:
    """An object made of functions, a copy of which may be made of others."""

    __slots__ = ()

    @property
    def functions(self) -> tuple[Any, ...]:
        """The functions."""
        raise NotImplementedError

    def with_functions(self, *functions: Any) -> None:
        """Be made of others from now on."""
        raise NotImplementedError


class Variables:
    """The values that the variables of functions have when this is made, and those of the functions that these use.

    They are looked for in closures, in default and bound arguments, in tuples of functions, and in the module of a
    script or notebook. What is in attributes and items of objects is what it is when it is used.
    """

    __slots__ = ("_again", "_used")

    def __init__(self, *functions: Any) -> None:
        self._used = _with_all_used({}, functions)
        self._again: _Again | None = None

    def bound(self, function: F) -> F:
        """Return one of the functions, or something made of them, with the variables as they were.

        As long as they are, that is itself. What it assigns to them when it is called is otherwise lost.
        """
        changed = [key for key, used in self._used.items() if used.has_changed()]
        if not changed:
            return function
        if self._again is None or self._again.changed != changed:
            self._again = _Again(changed, self._used)  # kept, since something may be compiled for what it makes
        return cast(F, self._again.function(function))

    def kept(self, function: Callable[..., R]) -> Callable[..., R]:
        """Make the function that is one of the functions with the variables as they were, whenever it is called."""

        def called(*args: Any, **kwargs: Any) -> R:
            return self.bound(function)(*args, **kwargs)

        return called


class _Used(NamedTuple):
    """Something that is called, what it uses, and which of this are variables of a function, with their values."""

    of: Any
    parts: tuple[Any, ...]
    variables: tuple[tuple[Place, Any], ...] = ()

    def has_changed(self) -> bool:
        """Tell whether a variable has another value now."""
        return not all(_is_still(self.of, place, value) for place, value in self.variables)


def _with_all_used(used: dict[int, _Used], functions: tuple[Any, ...]) -> dict[int, _Used]:
    """Add what functions use that isn't there yet, with the values that variables have now."""
    found = dict(used)
    stack = list(functions)
    seen: set[int] = set()
    while stack:
        x = stack.pop()
        if id(x) not in seen and (type(x) in _CALLED or isinstance(x, OfFunctions)):
            seen.add(id(x))
            if id(x) not in found:
                found[id(x)] = _used(x)
            stack += found[id(x)].parts
    return found


def _used(x: Any) -> _Used:
    if type(x) is FunctionType:
        variables = tuple(_variables(x))
        return _Used(x, (*[value for _, value in variables], *_defaults(x)), variables)
    if type(x) is partial:
        return _Used(x, (x.func, *x.args, *x.keywords.values()))
    if type(x) is MethodType:
        return _Used(x, (x.__func__, x.__self__))
    if type(x) is tuple:
        return _Used(x, tuple([each for each in x if type(each) in _CALLED or isinstance(each, OfFunctions)]))
    return _Used(x, cast(OfFunctions, x).functions)


def _variables(function: FunctionType) -> Iterator[tuple[Place, Any]]:
    for cell in function.__closure__ or ():
        try:
            yield cell, cell.cell_contents
        except ValueError:  # it has no value yet
            continue
    given = function.__globals__
    if given.get("__name__") == "__main__":  # what is global elsewhere is there for good
        yield from [(name, given[name]) for name in _names(function.__code__) if name in given]


def _names(code: CodeType) -> Iterator[str]:
    """List the names of all that is global that a function may use, and of attributes."""
    yield from code.co_names
    for each in code.co_consts:
        if type(each) is CodeType:
            yield from _names(each)


def _defaults(function: FunctionType) -> tuple[Any, ...]:
    return (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())


def _is_still(function: FunctionType, place: Place, value: Any) -> bool:
    if isinstance(place, str):
        return function.__globals__.get(place, _NONE) is value
    try:
        return place.cell_contents is value
    except ValueError:  # it has been deleted
        return False


class _Again:
    """Makes functions again of which a variable has changed, and whatever uses them, with variables as they were."""

    def __init__(self, changed: list[int], used: dict[int, _Used]) -> None:
        self.changed, self._used = changed, used
        self._others = set(changed)
        self._made: dict[int, Any] = {}
        # Of what is found later the values are those of now, of variables of the same functions too.
        self._cells = {
            id(place): (CellType(), value)
            for each in used.values()
            for place, value in each.variables
            if not isinstance(place, str)
        }
        self._names: list[tuple[dict[str, Any], dict[str, Any]]] = []

    def function(self, x: Any) -> Any:
        """Return a function with the variables as they were, whatever it has assigned to them since."""
        self._add(x)
        again = self._with(x)
        for cell, value in self._cells.values():
            cell.cell_contents = self._with(value)
        for variables, names in self._names:
            variables.update({name: self._with(value) for name, value in names.items()})
        return again

    def _add(self, x: Any) -> None:
        """Find out what uses a variable that has changed, of a function and all that it uses."""
        if id(x) in self._made:
            return
        self._used = _with_all_used(self._used, (x,))
        before = -1
        while before != len(self._others):
            before = len(self._others)
            self._others |= {
                key for key, used in self._used.items() if any(id(part) in self._others for part in used.parts)
            }

    def _with(self, x: Any) -> Any:
        if id(x) not in self._others:
            return x
        if id(x) not in self._made:
            self._made[id(x)] = self._again(x)
        return self._made[id(x)]

    def _again(self, x: Any) -> Any:
        made = self._with
        if type(x) is FunctionType:
            return self._function(x)
        if type(x) is partial:
            return partial(made(x.func), *map(made, x.args), **{name: made(each) for name, each in x.keywords.items()})
        if type(x) is MethodType:
            return MethodType(made(x.__func__), made(x.__self__))
        if type(x) is tuple:
            return tuple(map(made, x))
        self._made[id(x)] = again = copy(x)  # first, since what it is made of may use it
        again.with_functions(*map(made, x.functions))
        return again

    def _function(self, x: FunctionType) -> FunctionType:
        variables = x.__globals__
        names: dict[str, Any] = {}
        for place, value in self._used[id(x)].variables:
            if isinstance(place, str):
                names[place] = value
            else:
                self._cells.setdefault(id(place), (CellType(), value))
        if names:
            variables = {**variables}
            self._names.append((variables, names))
        closure = x.__closure__ and tuple([self._cells.get(id(cell), (cell,))[0] for cell in x.__closure__])
        again = FunctionType(x.__code__, variables, x.__name__, x.__defaults__, closure)
        self._made[id(x)] = again  # first, since what it uses may use it
        for value in self._used[id(x)].parts:
            self._with(value)
        again.__defaults__ = x.__defaults__ and tuple(map(self._with, x.__defaults__))
        again.__kwdefaults__ = x.__kwdefaults__ and {name: self._with(each) for name, each in x.__kwdefaults__.items()}
        again.__qualname__ = x.__qualname__
        again.__dict__.update(x.__dict__)
        return again


_CALLED: Final = frozenset({FunctionType, partial, MethodType, tuple})
_NONE: Final = object()
