"""Functions that are called again later with the variables that they have now.

A function uses a variable from outside at the value that this has when the function is called. Where a library calls
what a user gave it again, for a derivative, a loop of Python may have gone on and given the variable another value: the
derivative would be that of another function.
"""

import dis
from collections import defaultdict
from collections.abc import Callable, Sequence
from copy import copy
from functools import lru_cache, partial
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any, Final, TypeVar, cast

F = TypeVar("F")
R = TypeVar("R")


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

    They are looked for in closures, in default and bound arguments, and in tuples of functions. A variable that one of
    them assigns is state: it is what it is when it is used, as are global ones, and attributes and items of objects.
    """

    __slots__ = ("_again", "_noted")

    def __init__(self, *functions: Any) -> None:
        self._noted = _Noted()
        self._noted.add(functions)
        self._again: _Again | None = None

    def bound(self, function: F) -> F:
        """Return one of the functions, or something made of them, with the variables as they were.

        As long as they are, that is itself.
        """
        changed = self._noted.changed()
        if not changed:
            return function
        if self._again is None or self._again.changed != changed:
            self._again = _Again(self._noted, changed)  # kept, since something may be compiled for what it makes
        return cast(F, self._again.function(function))

    def kept(self, function: Callable[..., R]) -> Callable[..., R]:
        """Make the function that is one of the functions with the variables as they were, whenever it is called."""

        def called(*args: Any, **kwargs: Any) -> R:
            return self.bound(function)(*args, **kwargs)

        return called


class _Noted:
    """What functions use, of this what is called, and the values of their variables."""

    __slots__ = ("_state", "cells", "parts")

    def __init__(self) -> None:
        self.parts: dict[int, tuple[Any, Sequence[Any]]] = {}
        self.cells: dict[int, tuple[CellType, Any]] = {}
        self._state: set[int] = set()

    def copied(self) -> "_Noted":
        """Return one to which functions can be added."""
        other = _Noted()
        other.parts, other.cells, other._state = dict(self.parts), dict(self.cells), set(self._state)
        return other

    def add(self, functions: Sequence[Any]) -> None:
        """Add functions, and all that they use and that isn't there yet."""
        parts = self.parts
        stack = list(functions)
        while stack:
            x = stack.pop()
            if id(x) not in parts and _is_called(x):
                used = self._of_function(x) if type(x) is FunctionType else _parts(x)
                parts[id(x)] = x, used
                stack += used
        for key in self._state & self.cells.keys():
            del self.cells[key]

    def _of_function(self, function: FunctionType) -> list[Any]:
        found: list[Any] = []
        if function.__closure__:
            assigned = _assigned(function.__code__)
            for name, cell in zip(function.__code__.co_freevars, function.__closure__):
                if name in assigned:
                    self._state.add(id(cell))
                    continue
                try:
                    value = cell.cell_contents
                except ValueError:  # it has no value yet
                    continue
                self.cells.setdefault(id(cell), (cell, value))
                found.append(value)
        return list(filter(_is_called, (*found, *held_by(function))))

    def changed(self) -> list[int]:
        """List the variables that have other values now."""
        return [key for key, (cell, value) in self.cells.items() if not _is_still(cell, value)]


def _is_called(x: Any) -> bool:
    kind = type(x)
    return kind in _CALLED or (bool(x) and _is_called(x[0]) if kind is tuple else isinstance(x, OfFunctions))


def held_by(x: FunctionType | partial[Any] | MethodType) -> Sequence[Any]:
    """List what a function holds beside its variables: default arguments, those bound, the object of a method."""
    if isinstance(x, FunctionType):
        return *(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values()
    if isinstance(x, partial):
        return x.func, *x.args, *x.keywords.values()
    return x.__func__, x.__self__


def _parts(x: Any) -> Sequence[Any]:
    if isinstance(x, OfFunctions):
        return x.functions
    return x if type(x) is tuple else list(filter(_is_called, held_by(x)))


@lru_cache(maxsize=4096)
def _assigned(code: CodeType) -> frozenset[str]:
    """Tell which variables from outside a function assigns or deletes, itself or by functions that it defines."""
    names = {each.argval for each in dis.get_instructions(code) if each.opname in ("STORE_DEREF", "DELETE_DEREF")}
    for each in code.co_consts:
        if type(each) is CodeType:
            names |= _assigned(each)
    return frozenset(names.intersection(code.co_freevars))


def _is_still(cell: CellType, value: Any) -> bool:
    try:
        return cell.cell_contents is value
    except ValueError:  # it has been deleted
        return False


class _Again:
    """Makes functions again of which a variable has changed, and whatever uses them, with variables as they were.

    All else is shared with the functions as they are.
    """

    def __init__(self, noted: _Noted, changed: list[int]) -> None:
        self.changed, self._noted = changed, noted.copied()
        self._others = self._with_changed()
        self._made: dict[int, Any] = {}
        self._cells: dict[int, CellType] = {}
        self._unfinished: list[tuple[Any, Any]] = []

    def _with_changed(self) -> set[int]:
        """Find what uses a variable that has changed."""
        users: dict[int, list[int]] = defaultdict(list)
        found: list[int] = []
        for key, (x, parts) in self._noted.parts.items():
            for part in parts:
                users[id(part)].append(key)
            if type(x) is FunctionType and any(id(cell) in self.changed for cell in x.__closure__ or ()):
                found.append(key)
        others = set(found)
        while found:
            more = [key for key in users[found.pop()] if key not in others]
            others.update(more)
            found += more
        return others

    def function(self, x: Any) -> Any:
        """Return a function with the variables as they were."""
        if id(x) not in self._noted.parts:
            self._noted.add((x,))
            self._others = self._with_changed()
        again = self._with(x)
        while self._unfinished:
            self._finish(*self._unfinished.pop())
        return again

    def _with(self, x: Any) -> Any:
        if id(x) not in self._others:
            return x
        if id(x) not in self._made:
            self._made[id(x)] = self._begun(x)
        return self._made[id(x)]

    def _begun(self, x: Any) -> Any:
        """Make something again, but for what it uses, which may use it."""
        made = self._with
        again: Any
        if type(x) is partial:
            again = partial(made(x.func), *map(made, x.args), **{name: made(each) for name, each in x.keywords.items()})
            again.__dict__.update(x.__dict__)
            return again
        if type(x) is MethodType:
            return MethodType(made(x.__func__), made(x.__self__))
        if type(x) is tuple:
            return tuple(map(made, x))
        if type(x) is FunctionType:
            closure = x.__closure__ and tuple(map(self._cell, x.__closure__))
            again = FunctionType(x.__code__, x.__globals__, x.__name__, x.__defaults__, closure)
            again.__dict__.update(x.__dict__)
            for name in ("__kwdefaults__", "__qualname__", "__module__", "__doc__", "__annotations__"):
                setattr(again, name, getattr(x, name))
        else:
            again = copy(x)
        self._unfinished.append((x, again))
        return again

    def _finish(self, x: Any, again: Any) -> None:
        if type(x) is not FunctionType:
            again.with_functions(*map(self._with, x.functions))
            return
        for old, new in zip(x.__closure__ or (), again.__closure__ or ()):
            if new is not old:
                new.cell_contents = self._with(self._noted.cells[id(old)][1])
        if x.__defaults__:
            again.__defaults__ = tuple(map(self._with, x.__defaults__))
        if x.__kwdefaults__:
            again.__kwdefaults__ = {name: self._with(each) for name, each in x.__kwdefaults__.items()}

    def _cell(self, cell: CellType) -> CellType:
        """Return the place of a variable: another one, which functions share, if another value belongs there."""
        if id(cell) not in self._noted.cells:
            return cell
        if id(cell) not in self.changed and id(self._noted.cells[id(cell)][1]) not in self._others:
            return cell
        return self._cells.setdefault(id(cell), CellType())


_CALLED: Final = frozenset({FunctionType, partial, MethodType})
