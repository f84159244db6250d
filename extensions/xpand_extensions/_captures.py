"""Arrays that user functions capture, and copies of these functions with other arrays in their place."""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from inspect import ismemberdescriptor as is_slot
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any, Final

from xpand import trees
from xpand.extend import Array, checks

INLINED: Final = "_xpand_inlined"
"""The attribute of a function with a version of it that caches nothing."""


class Opaque:
    """An object that is not searched for captured arrays, and that copies of functions share."""

    __slots__ = ()


class OfArrays:
    """A function of arrays that calls user functions. Its first argument is the tuple of these functions."""

    __slots__ = ("__weakref__", "function", "users")  # JAX stores traced functions by weak references

    def __init__(self, function: Callable[..., Any], *users: Any) -> None:
        self.function, self.users = function, users

    def __call__(self, *arrays: Any) -> Any:
        """Call the function."""
        return self.function(self.users, *arrays)


def solved_directly(
    is_traced: Callable[[Array], bool],
    functions: Sequence[Any],
    first: Sequence[Array],
    args: Sequence[Array],
    outer: Iterable[Array],
) -> tuple[Any, Any] | None:
    """Call a solver directly if no transformation traces its arguments or the arrays that it captures.

    Args:
        is_traced: Whether a transformation traces an array.
        functions: The function of the equation, which checks its own result; the solver; further functions.
        first: The right-hand side or the initial guess.
        args: The further arguments of the functions.
        outer: The arrays that the functions capture.

    Returns:
        The results of the solver: a tuple of arrays, and auxiliary data. None if an array is traced.
    """
    if any(map(is_traced, (*first, *args, *outer))):
        return None
    xs, aux = functions[1](first, *args)
    # A traced captured array that was not found makes the results traced.
    if any(map(is_traced, xs)):
        return None
    # Evaluate the function once more. Abstract evaluation takes 3 to 30 times as long for small arrays, and some
    # functions do not allow it.
    if not all(map(_is_own, functions[0].users)):
        functions[0](xs, *args)
    return xs, aux


def _is_own(function: Any) -> bool:
    """Return whether a function is xpand's, and not a user's."""
    function = function.func if isinstance(function, partial) else function
    return str(getattr(function, "__module__", "")).startswith("xpand_extensions.")


def captured(is_wanted: Callable[[Array], bool], *functions: Any) -> list[Array]:
    """List the wanted arrays in closure cells, default and bound arguments, objects and attributes of functions."""
    return _wanted(is_wanted, _reached(functions, {}))


def captured_and_global(is_wanted: Callable[[Array], bool], *functions: Any) -> tuple[list[Array], list[Array]]:
    """List the wanted arrays like `captured`, and those in global variables. Copies of functions share the latter."""
    reached = list(_reached(functions, {}))
    used = [x.__globals__.get(name) for x in reached if isinstance(x, FunctionType) for name in x.__code__.co_names]
    return _wanted(is_wanted, reached), _wanted(is_wanted, used)


def _wanted(is_wanted: Callable[[Array], bool], objects: Iterable[Any]) -> list[Array]:
    return list({id(x): x for x in objects if is_wanted(x) and checks.is_array(x)}.values())


def with_arrays(function: Any, arrays: Mapping[int, Array]) -> Any:
    """Copy a function, and replace arrays that it captures.

    Only functions, objects and closure cells that hold one of the arrays are copied. A compiled function is replaced by
    a copy of the function that it compiles.

    Args:
        function: The function. The functions and objects that it uses are copied too.
        arrays: The replacements, by the `id` of the array.
    """
    parents: dict[int, list[int]] = {}
    alive = list(_reached((function,), parents))
    copies = _Copies(arrays, _holders(arrays, parents))
    result = copies.of(function)
    copies.fill()
    del alive
    return result


def converted(function: Any, outer: Sequence[Array]) -> Callable[..., Any]:
    """Make a function that takes its captured arrays as further arguments.

    Variables and attributes that contain one of these arrays keep their values of now.
    """
    copied = with_arrays(function, {id(x): x for x in outer})

    def of_all(*given: Any) -> Any:
        count = len(given) - len(outer)
        return with_arrays(copied, {id(x): y for x, y in zip(outer, given[count:])})(*given[:count])

    return of_all


class _Copies:
    """Copies of functions and objects with other arrays. This is a class because closures would keep arrays alive."""

    def __init__(self, arrays: Mapping[int, Array], holders: Collection[int]) -> None:
        """Store the new arrays by the `id` of the old ones, and the ids of objects that hold an old one."""
        self.arrays, self.holders = arrays, holders
        self.made: dict[int, Any] = dict(arrays)
        self.unfilled: list[tuple[Any, Any]] = []

    def of(self, x: Any) -> Any:
        """Return the copy of an object, perhaps unfilled, or the object itself if it holds none of the arrays."""
        if id(x) not in self.made:
            self.made[id(x)] = self._unfilled_copy(x) if id(x) in self.holders else x
        return self.made[id(x)]

    def fill(self) -> None:
        """Fill the copies. A loop, not recursion: functions may use one another, and themselves."""
        while self.unfilled:
            old, new = self.unfilled.pop()
            if isinstance(old, FunctionType):
                for cell, other in zip(old.__closure__ or (), new.__closure__ or ()):
                    if other is not cell:
                        other.cell_contents = self.of(cell.cell_contents)
                new.__defaults__ = old.__defaults__ and tuple(map(self.of, old.__defaults__))
                new.__kwdefaults__ = old.__kwdefaults__ and {k: self.of(x) for k, x in old.__kwdefaults__.items()}
            else:
                for name, value in _attributes(old):
                    if self.of(value) is not value:
                        _set(new, name, self.of(value))

    def _unfilled_copy(self, x: Any) -> Any:
        inlined = _inlined(x)
        if inlined is not None:
            return self.of(inlined)
        new: Any
        if isinstance(x, FunctionType):
            new = _with_cells(x, list(map(self._cell_of, x.__closure__ or ())))
        elif isinstance(x, partial):
            new = partial(self.of(x.func), *map(self.of, x.args), **{k: self.of(v) for k, v in x.keywords.items()})
            new.__dict__.update(x.__dict__)
            return new
        elif isinstance(x, MethodType):
            return MethodType(self.of(x.__func__), self.of(x.__self__))
        elif isinstance(x, OfArrays):
            return OfArrays(x.function, *map(self.of, x.users))
        elif (leaves := _parts(x)) is not None:
            return trees.unflatten(trees.structure(x), list(map(self.of, leaves)))
        else:
            new = _copy_of_object(x)
            if new is x:
                return x
        self.unfilled.append((x, new))
        return new

    def _cell_of(self, cell: CellType) -> CellType:
        if any(id(value) in self.holders or id(value) in self.arrays for value in _contents(cell)):
            return self.made.setdefault(id(cell), CellType())
        return cell


def _copy_of_object(x: Any) -> Any:
    """Copy an object without its own methods for copies and attributes; return the object if this is impossible.

    The copy shares the values of all attributes. A method `__copy__` may share less, or refuse.
    """
    try:
        new = object.__new__(type(x))
    except TypeError:  # a subclass of a class in C
        try:
            return copy(x)
        except Exception:  # any error of a user's method: the array is found when the function is staged
            return x
    for name, value in _attributes(x):
        _set(new, name, value)
    return new


def with_own_cells(function: Any) -> Any:
    """Copy the closure cells of user functions, so that a later call uses the values that the variables have now.

    Only functions that xpand's own functions call are copied, not those that user functions call.
    """
    if isinstance(function, OfArrays):
        return OfArrays(function.function, *map(with_own_cells, function.users))
    if type(function) is partial:
        return partial(with_own_cells(function.func), *function.args, **function.keywords)
    if type(function) is tuple:
        return tuple(map(with_own_cells, function))
    if not isinstance(function, FunctionType) or not function.__closure__:
        return function
    copied = with_own_cells if _is_own(function) else lambda x: x
    return _with_cells(function, [CellType(*map(copied, _contents(cell))) for cell in function.__closure__])


def _with_cells(function: FunctionType, cells: Sequence[CellType]) -> FunctionType:
    new = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, tuple(cells))
    new.__dict__.update(function.__dict__)
    for name in ("__kwdefaults__", "__qualname__", "__module__", "__doc__", "__annotations__"):
        setattr(new, name, getattr(function, name))
    return new


def _reached(functions: Sequence[Any], parents: dict[int, list[int]]) -> Iterator[Any]:
    """Visit all objects that functions use, and record the users of each object by `id`."""
    seen: dict[int, Any] = {}  # keeps temporary objects alive, so that no id is reused
    are_arrays = dict(_ARE_ARRAYS)
    stack: list[Any] = list(functions)
    while stack:
        x = stack.pop()
        kind = type(x)
        if kind not in are_arrays:
            are_arrays[kind] = checks.is_array(x) or (False if _may_have_parts(kind) else None)
        is_array = are_arrays[kind]
        if is_array is None or id(x) in seen:
            continue
        seen[id(x)] = x
        yield x
        if not is_array:
            used = _used(x)
            for each in used:
                parents.setdefault(id(each), []).append(id(x))
            stack += used


def _may_have_parts(kind: type) -> bool:
    """Return whether objects of a class may hold arrays: those of classes in C, except containers, do not."""
    return bool(kind.__flags__ & _DEFINED_BY_CLASS) or issubclass(kind, _CONTAINERS)


def _inlined(x: Any) -> Any:
    """Return the plain function behind a compiled function, or behind a function with a faster call path."""
    return getattr(x, "__dict__", {}).get(INLINED)


def _used(x: Any) -> list[Any]:
    if type(x) in (list, tuple):
        return list(x)
    if type(x) is dict:
        return list(x.values())
    inlined = _inlined(x)
    if inlined is not None:
        return [inlined]
    if isinstance(x, FunctionType):
        values = [value for cell in x.__closure__ or () for value in _contents(cell)]
        return [*values, *(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values()]
    if isinstance(x, partial):
        return [x.func, *x.args, *x.keywords.values()]
    if isinstance(x, MethodType):
        return [x.__func__, x.__self__]
    if isinstance(x, OfArrays):
        return list(x.users)
    parts = _parts(x)
    if parts is not None:
        return parts
    return [] if isinstance(x, (type, Opaque)) else [value for _, value in _attributes(x)]


def _parts(x: Any) -> list[Any] | None:
    """List the leaves of a tree; None for a leaf."""
    leaves = trees.leaves(x)
    return None if len(leaves) == 1 and leaves[0] is x else leaves


def _attributes(x: Any) -> list[tuple[Any, Any]]:
    """List the attributes of an object: names in its dictionary, and the slots of its classes that have a value."""
    found: list[tuple[Any, Any]] = list(getattr(x, "__dict__", {}).items())
    for kind in type(x).__mro__:
        if "__slots__" in kind.__dict__:
            for slot in kind.__dict__.values():
                if is_slot(slot):
                    try:
                        found.append((slot, slot.__get__(x)))
                    except AttributeError:  # without a value
                        continue
    return found


def _set(x: Any, attribute: Any, value: Any) -> None:
    """Set an attribute, also of an object that is frozen."""
    if isinstance(attribute, str):
        x.__dict__[attribute] = value
    else:
        attribute.__set__(x, value)


def _contents(cell: CellType) -> tuple[Any, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:  # not filled yet
        return ()


def _holders(arrays: Collection[int], parents: Mapping[int, list[int]]) -> set[int]:
    """Find the objects that use arrays, directly or indirectly."""
    found: set[int] = set()
    stack = list(arrays)
    while stack:
        for each in parents.get(stack.pop(), ()):
            if each not in found:
                found.add(each)
                stack.append(each)
    return found


_DEFINED_BY_CLASS: Final = 1 << 9  # CPython's flag of classes that a statement `class` makes
_CONTAINERS: Final = (tuple, list, dict, deque, FunctionType, MethodType, partial)
_ARE_ARRAYS: Final[dict[type, bool | None]] = {
    **dict.fromkeys((*_CONTAINERS, OfArrays, Opaque), False),
    **dict.fromkeys((bool, int, float, complex, str, type(None), ModuleType), None),
}
"""Which classes are arrays; None for classes of objects that are none and have no parts."""
