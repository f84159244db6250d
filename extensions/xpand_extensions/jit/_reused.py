"""Programs that solvers compile from the user's compiled functions. Each is stored with these functions."""

from collections.abc import Callable, Hashable
from typing import Any, Final
from weakref import ref

from xpand.extend import Array

from .._ambient import ambient
from .._captures import Opaque
from .._dispatch import pluggable
from .._transformed import Transformed
from .._transforms import divided
from ._calls import INSTEAD, Compiled
from ._statics import exact

_NAME: Final = "_xpand_programs"
"""The attribute of a compiled function with the programs made from it."""


@pluggable
def reused(
    function: Callable[..., Any], like: Array, /, *args: Any, of: tuple[Any, ...], key: Hashable, small: bool = False
) -> Any:
    """Call a function. If the library would compile it, reuse the program of an earlier call.

    Args:
        function: A function of `args` that calls the user's functions `of`.
        like: An array of the library.
        *args: Trees of arrays and static values.
        of: The user's functions; the first one stores the program. None stands for a function that was not given. If
            there are none, the program is stored among the last 256 programs without user functions.
        key: Everything else that determines the work of `function`. Apart from that, `function` may capture nothing.
        small: Whether it consists of many small operations, which NumPy compiles, too.

    A program is reused only if the user has compiled all functions `of`: compiled functions take captured values as
    constants anyway.

    >>> import numpy as np
    >>> reused(lambda x: 2 * x, np.asarray(1.0), 3.0, of=(np.sin,), key=())
    6.0
    """
    return reused.native(like)(function, like, *args, of=of, key=key, small=small)


class _Programs(Opaque):
    """The programs made from one function. `functools.wraps` copies the attribute to other functions."""

    __slots__ = ("entries", "function")

    def __init__(self, function: Any) -> None:
        self.function, self.entries = ref(function), Compiled[Callable[..., Any]](function, None)


_SHARED: Final = Compiled[Callable[..., Any]](reused, None)


def reused_by(
    jit: Callable[..., Any], is_native: Callable[[Any], bool] = lambda _: False, *, compiles_large: bool = True
) -> Callable[..., Any]:
    """Make a library's implementation of `reused`.

    Args:
        jit: The library's implementation of `jit`.
        is_native: Whether the library itself, not xpand, has compiled a function.
        compiles_large: Whether a program of large operations is faster than its operations one by one.
    """

    def reused(
        function: Callable[..., Any],
        like: Array,
        /,
        *args: Any,
        of: tuple[Any, ...],
        key: Hashable,
        small: bool = False,
    ) -> Any:
        found = program_of(jit, function, args, of, key, is_native) if small or compiles_large else None
        return function(*args) if found is None else found[0](*found[1])

    return reused


def program_of(
    jit: Callable[..., Any],
    function: Callable[..., Any],
    args: tuple[Any, ...],
    of: tuple[Any, ...],
    key: Hashable,
    is_native: Callable[[Any], bool] = lambda _: False,
) -> tuple[Callable[..., Any], list[Array]] | None:
    """Find or make the program of a call of `reused`. Return the program and its arrays, or None if it is not to be
    compiled.
    """
    if INSTEAD.get() is not None or not all(f is None or is_native(f) or _is_compiled(f) for f in of):
        return None
    of_arrays, arrays, known = split(function, args)
    key = (key, of[1:], known, ambient())
    try:
        programs = _programs_of(of[0]) if of else _SHARED
        program = programs.get(key)
    except TypeError:  # a static value is not hashable
        return None
    if program is None:
        compiler = of[0]._made_of[2].get("compiler") if of and _is_compiled(of[0]) else None
        program = programs.add(key, jit(of_arrays, compiler=compiler))
    return program, arrays


def split(function: Callable[..., Any], args: Any) -> tuple[Callable[..., Any], list[Array], Hashable]:
    """Separate arrays from static values. Return a function of the arrays, the arrays, and the rest as a key."""
    arrays, rest = divided(args)

    def of_arrays(*arrays: Any) -> Any:
        return function(*rest.tree(arrays))

    return of_arrays, list(arrays), (rest.structure, exact(tuple(rest.constants)))


def programs_of(function: Any) -> tuple[Compiled[Any], Hashable] | None:
    """Return the cache for programs made from a compiled function, and the ambient state, a part of their keys.

    Return None for a function that the user has not compiled.
    """
    return (_programs_of(function), ambient()) if INSTEAD.get() is None and _is_compiled(function) else None


def _is_compiled(function: Any) -> bool:
    return isinstance(function, Transformed) and function._made_of[0].__name__ == "jit"


def _programs_of(function: Any) -> Compiled[Callable[..., Any]]:
    found = getattr(function, _NAME, None)
    if found is None or found.function() is not function:
        found = _Programs(function)
        setattr(function, _NAME, found)
    return found.entries
