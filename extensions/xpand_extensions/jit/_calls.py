"""Calls of compiled functions: the choice of a compiler, traced arguments, and the cache of programs.

A library compiles a function of the leaves of the arguments, which are arrays and Python numbers. The function returns
a tree. There is one such function for each structure of the traced arguments and each set of static values.
"""

import warnings
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from functools import wraps
from threading import Lock
from typing import Any, Final, Generic, TypeAlias, TypeVar

from xpand import choose_namespace, trees
from xpand.extend import Array, checks, describe

from .._captures import Opaque
from .._dispatch import OPERATIONS, forwards_to
from .._transforms import as_array
from .._where import stacklevel
from ._statics import POSITIONAL, name_of, parameters_of

NUMBERS: Final = frozenset({bool, int, float, complex})
MAX_ENTRIES: Final = 256
MANY: Final = 64

V = TypeVar("V")
M = TypeVar("M")

Instead: TypeAlias = Callable[[Callable[..., Any], Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]

INSTEAD: Final[ContextVar[Instead | None]] = ContextVar("instead", default=None)
"""A function called in place of a compiled one, with the original function, the compiled one and the arguments."""

TRACING: Final[ContextVar[Callable[..., Any] | None]] = ContextVar("tracing", default=None)
"""A function that calls a function to be traced for compilation, with the arguments."""


def tracing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function to be traced, so that the callback in `TRACING` calls it."""

    @wraps(function)
    def traced(*args: Any, **kwargs: Any) -> Any:
        call = TRACING.get()
        return function(*args, **kwargs) if call is None else call(function, *args, **kwargs)

    return traced


class Compiled(Opaque, Generic[V]):
    """A cache of the programs of a function, by signature: at most 256; the least recently used program is dropped."""

    __slots__ = ("_count", "_entries", "_function", "_lock", "_what", "by_types")

    def __init__(self, function: Callable[..., Any], what: str | None) -> None:
        """Make the cache of programs for `function`. If `what` is None, many programs cause no warning."""
        self._entries: OrderedDict[Hashable, V] = OrderedDict()
        self._function, self._what = function, what
        self.by_types: dict[tuple[Any, ...], V] = {}
        """The entries for calls that are identified by the types of their arguments."""
        self._count, self._lock = 0, Lock()

    def get(self, key: Hashable) -> V | None:
        """Return the entry of a signature; None if there is none."""
        try:
            found = self._entries[key]
            self._entries.move_to_end(key)
        except KeyError:  # another thread may just have dropped it
            return None
        except TypeError:  # `Statics.check` reports values that can't be hashed
            raise
        except Exception as error:
            raise ValueError(
                f"jit: {name_of(self._function)} has a static argument that can't be compared with that of an earlier "
                f"call: its `__eq__` raised {describe(error)}; make it return a boolean, or pass the argument "
                "in another form"
            ) from error
        return found

    def add(self, key: Hashable, value: V) -> V:
        """Add an entry and return it; if another thread has added one first, return that."""
        with self._lock:
            found = self._entries.setdefault(key, value)
            if found is value:
                self._count += 1
                if len(self._entries) > MAX_ENTRIES:
                    self._entries.popitem(last=False)
            endless = found is value and self._count == MANY + 1 and self._what is not None
        if endless:
            warnings.warn(
                f"jit: {name_of(self._function)} has been compiled {self._count} times, each time for other "
                f"{self._what}; compiling at every call is slower than not compiling. Pass changing values as "
                "an array of one shape, and declare only arguments with few values static",
                stacklevel=stacklevel(),
            )
        return found

    def clear(self) -> None:
        """Drop all entries."""
        self.by_types.clear()
        with self._lock:
            self._entries.clear()
            self._count = 0


Make: TypeAlias = Callable[[Callable[..., Any], Any], Callable[..., Any]]
"""Takes a function of arrays and `donate_argnums`; returns the compiled function."""
Lower: TypeAlias = Callable[[Callable[..., Any], tuple[Any, ...]], Any]
"""Takes a function of arrays and its arguments; returns the program before compilation."""
_PROGRAM: Final = "program"
"""The attribute of a function made by `by_signature` that returns the program for a signature."""
_NAMES: Final = "compilers"
"""The attribute of an implementation of `jit` that returns the names of its compilers."""


def jit_with(make: Make, named: Callable[[str], Make], names: Callable[[], Mapping[str, str]]) -> Callable[..., Any]:
    """Make a library's implementation of `jit`. The facade has bound the static arguments.

    Args:
        make: Compiles with the default compiler.
        named: Returns the compile function of a compiler that the user names, or raises.
        names: Returns the names of the compilers. The value of each is what is missing for it, or "".
    """

    @forwards_to(OPERATIONS[f"{__package__}.jit"].facade)
    def jit(
        function: Callable[..., Any], /, *, donate_argnums: Any = (), compiler: str | None = None
    ) -> Callable[..., Any]:
        return (make if compiler is None else named(compiler))(function, donate_argnums)

    setattr(jit, _NAMES, names)
    return jit


def compilers_of(implementation: Callable[..., Any]) -> Mapping[str, str]:
    """Return the names of the compilers of an implementation of `jit`. The value of each is what is missing for it, or
    "".
    """
    names: Callable[[], Mapping[str, str]] = getattr(implementation, _NAMES, dict)
    return names()


def one_of(makes: Mapping[str, M]) -> Callable[[str], M]:
    """Make the argument `named` of `jit_with` or `lower_with` for a library with the given compilers."""

    def named(compiler: str) -> M:
        if compiler not in makes:
            raise unknown_compiler(compiler, makes)
        return makes[compiler]

    return named


def check_compiler(name: str, compiler: Any) -> None:
    """Check that an argument `compiler` is a name, or None.

    Raises:
        TypeError: It is neither of both.
    """
    if not isinstance(compiler, (str, type(None))):
        raise TypeError(f"{name}: compiler must be a name or None, got {describe(compiler)}")


def unknown_compiler(compiler: str, known: Iterable[str]) -> ValueError:
    """Return the error for a compiler that a library doesn't have."""
    names = "".join(f" or {name!r}" for name in known)
    return ValueError(
        f"jit: compiler must be None{names} for the arrays of this call, got {compiler!r}; None chooses the library's "
        "default"
    )


def traced_with(make: Callable[[Callable[..., Any], tuple[Any, ...]], Any]) -> Callable[..., Any]:
    """Make a library's implementation of `make_graph` from `trace`, which takes a function and its arguments."""

    @forwards_to(OPERATIONS[f"{__package__}.make_graph"].facade)
    def traced(function: Callable[..., Any], /) -> Callable[..., Any]:
        return lambda *leaves: make(function, leaves)

    return traced


def lower_with(make: Lower, named: Callable[[str], Lower]) -> Callable[..., Any]:
    """Make a library's implementation of `lower` from functions like those of `jit_with`."""

    @forwards_to(OPERATIONS[f"{__package__}.lower"].facade)
    def lower(function: Callable[..., Any], /, *, compiler: str | None = None) -> Callable[..., Any]:
        made = make if compiler is None else named(compiler)
        return lambda *leaves: made(function, leaves)

    return lower


def by_signature(
    function: Callable[..., Any],
    what: str,
    signature: Callable[[Sequence[Any]], Hashable],
    compile_for: Callable[[Sequence[Any]], tuple[Callable[..., Any], bool]],
    lock: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> Callable[..., Any]:
    """Return a function of arrays and numbers that compiles once for each signature of its arguments.

    Args:
        function: The name of the compiled function, for messages.
        what: The properties of the arguments that are in the signature, for messages.
        signature: Returns the key of a call.
        compile_for: Returns a program for given arguments, and whether to cache it.
        lock: Held while compiling.
    """
    programs: Compiled[Callable[..., Any]] = Compiled(function, what)
    last: tuple[Any, Any] = (None, None)  # most calls have the signature of the last one

    def found(key: Hashable, leaves: Sequence[Any]) -> tuple[Callable[..., Any], bool]:
        program, is_cached = programs.get(key), True
        if program is None:
            with lock():
                program = programs.get(key)  # another thread may have added it
                if program is None:
                    program, is_cached = compile_for(leaves)
                    if is_cached:
                        program = programs.add(key, program)
        return program, is_cached

    def call(*leaves: Any) -> Any:
        nonlocal last
        key = signature(leaves)
        known, program = last
        if key != known:
            program, is_cached = found(key, leaves)
            if is_cached:
                last = key, program
        return program(*leaves)

    setattr(call, _PROGRAM, lambda leaves: found(signature(leaves), leaves))
    return call


def program_for(compiled: Callable[..., Any], leaves: Sequence[Any]) -> Callable[..., Any]:
    """Return the program that a function of `by_signature` has for given arrays: a loop needs no further look-ups."""
    program, is_cached = getattr(compiled, _PROGRAM)(leaves)
    return program if is_cached else compiled


class Flattened:
    """A function that flattens the result of another function and stores its structure."""

    __slots__ = ("__name__", "_function", "structure")

    def __init__(self, function: Callable[..., Any]) -> None:
        """Store the function."""
        self._function = function
        self.__name__ = name_of(function)
        self.structure: Any = None

    def __call__(self, *leaves: Array) -> tuple[Array, ...]:
        """Call the function."""
        found, self.structure = trees.flatten(self._function(*leaves))
        return tuple(found)


class Flat:
    """A function of the leaves of the traced arguments. It rebuilds the call and checks the result."""

    __slots__ = ("__name__", "_function", "_name", "_statics", "_structure")

    def __init__(
        self, name: str, function: Callable[..., Any], structure: trees.Structure, statics: tuple[Any, ...]
    ) -> None:
        """Store the function, which `name` transforms, and the structure and static values of a call."""
        self._name, self._function, self._structure = name, function, structure
        self._statics = [(key, value) for key, _, value in statics]
        self.__name__ = name_of(function)

    def argument_of(self, number: int) -> str:
        """Return the name of the argument that a leaf belongs to, with the path to it: "x", "params['w']"."""
        is_named, key, *rest = self._structure.paths()[number]
        if not is_named:
            for position, _ in self._statics:
                key += isinstance(position, int) and position <= key
            parameters = [p.name for p in parameters_of(self._function) or () if p.kind in POSITIONAL]
            key = parameters[key] if key < len(parameters) else f"number {key}"
        return str(key) + "".join(f"[{part!r}]" for part in rest)

    def __call__(self, *leaves: Any) -> trees.Tree:
        """Call the function, and convert numbers that it returns to arrays."""
        traced, named = trees.unflatten(self._structure, leaves)
        args, kwargs = list(traced), dict(named)
        for key, value in self._statics:  # in the order of their positions
            if isinstance(key, int):
                args.insert(key, value)
            else:
                kwargs[key] = value
        result = self._function(*args, **kwargs)
        if checks.is_array(result):
            return result
        like = next((x for x in (*trees.leaves(result), *leaves) if checks.is_array(x)), None)
        returned = f"{self._name}: the function returned"
        return trees.map(lambda leaf: as_array(returned, leaf, like), result)


def arrays_among(leaves: Sequence[Any]) -> list[Array]:
    """Return the arrays among the leaves of a call, which select the library; if there are none, make one."""
    return [x for x in leaves if type(x) not in NUMBERS] or [choose_namespace(*leaves).asarray(0)]


def leaf_numbers(
    args: tuple[Any, ...], traced: tuple[Any, ...], statics: tuple[Any, ...], donated: tuple[int, ...]
) -> tuple[int, ...]:
    """Return the positions of the leaves of donated arguments."""
    if not donated:
        return ()
    positions = {number % len(args) for number in donated if -len(args) <= number < len(args)}
    static = {position for position, *_ in statics}
    found: list[int] = []
    count = 0
    for position, tree in zip([i for i in range(len(args)) if i not in static], traced):
        size = len(trees.leaves(tree))
        found += range(count, count + size) if position in positions else ()
        count += size
    return tuple(found)


def check_leaves(
    name: str, traced: tuple[tuple[Any, ...], dict[str, Any]], static: str = "static_argnums or static_argnames"
) -> None:
    """Check that the traced arguments of a call are trees of arrays and numbers.

    Raises:
        TypeError: A leaf is neither an array nor a number.
    """
    args, kwargs = traced
    for key, tree in (*enumerate(args), *kwargs.items()):
        for leaf in trees.leaves(tree):
            if type(leaf) in NUMBERS or checks.is_array(leaf):
                continue
            holds = "is" if leaf is tree else "contains"
            raise TypeError(
                f"{name}: traced argument {key!r} {holds} {describe(leaf)}; traced arguments are arrays, numbers and "
                f"trees of these{checks.conversion(leaf) or f'; declare others static with {static}'}"
            )
