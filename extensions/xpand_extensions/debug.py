"""Debugging of transformed functions: print values or pass them to callbacks as they are computed, and find leaks."""

import builtins
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from string import Formatter
from typing import Any

from xpand import trees
from xpand.extend import Namespace, checks, imported_libraries

from ._dispatch import pluggable, untraceable
from ._where import clean_tracebacks
from .jit._host import prepared

__all__ = ["callback", "checking_leaks", "print"]
__dir__ = __all__.copy


@pluggable
def leaks_checked(*, xp: Namespace | str | None = None) -> AbstractContextManager[None]:
    """Return a context that checks for leaks of a library's transformations."""
    return leaks_checked.native_for(xp)(xp=xp)


@contextmanager
def checking_leaks() -> Iterator[None]:
    """Raise an error in this context if a traced array outlives its transformation.

    A traced array that a function stores in a list or an attribute raises an error when it is used later. In this
    context, it raises an error even if it is never used. On JAX this is `jax.checking_leaks`, which checks after each
    call. Arrays that xpand traces must have no references at the end of the block.

    Raises:
        LeakedArrayError: At the end of the block, with the names of the transformations.
        Exception: JAX's own error, if JAX's transformations leak.

    Source: `jax.checking_leaks`.

    >>> import numpy as np
    >>> from xpand import jit
    >>> kept = []
    >>> with checking_leaks():  # doctest: +ELLIPSIS
    ...     jit(lambda x: (kept.append(x), 2 * x)[1])(np.asarray(1.0))
    Traceback (most recent call last):
    ...
    xpand_extensions.tracing.LeakedArrayError: checking_leaks: arrays traced by `jit` outlive ...
    """
    with ExitStack() as stack:
        for check in {leaks_checked.native_for(name) for name in imported_libraries()}:
            stack.enter_context(check())
        yield


@untraceable
@clean_tracebacks
@pluggable
def callback(function: Callable[..., Any], /, *args: Any, ordered: bool = False, **kwargs: Any) -> None:
    """Call a function with the values of arrays, also inside transformed programs.

    Inside `jit`, the function is called whenever the compiled program reaches the call; inside `vmap`, once for each
    lane; inside derivatives, with the primal values. It does not affect derivatives.

    Args:
        function: Takes the trees of `args` and `kwargs`, with NumPy arrays. Its result is ignored.
        *args: Trees of arrays and Python numbers. Other values are passed unchanged.
        ordered: Whether calls happen in the program's order. Libraries other than JAX always keep it; JAX does not map
            ordered calls by `vmap`.
        **kwargs: Keyword arguments of the function, likewise.

    Raises:
        TypeError: `function` is not callable, `ordered` is no boolean, or arrays of two libraries.
        UnsupportedError: Lazy arrays of Dask, which would have to be computed.

    Without array arguments, the default library is used.

    Source: `jax.debug.callback`.

    >>> import numpy as np
    >>> from xpand import grad
    >>> seen = []
    >>> float(grad(lambda x: (callback(seen.append, x), x * x)[1])(np.asarray(3.0))), float(seen[0])
    (6.0, 3.0)
    """
    checks.function("callback", function)
    _call("callback", function, args, kwargs, ordered, None)


@untraceable
@clean_tracebacks
def print(fmt: str, *args: Any, ordered: bool = False, **kwargs: Any) -> None:
    """Print the values of arrays, also inside transformed programs.

    Args:
        fmt: A format string, as of `str.format`: "x = {}", "{x}".
        *args: The values to format. Arrays, Python numbers and trees of them are formatted as NumPy arrays, other
            values unchanged.
        ordered: As in `callback`.
        **kwargs: Values to format, by name.

    Lazy arrays of Dask are not computed: their description is printed.

    Raises:
        TypeError: `fmt` is not a string, or arrays of two libraries.
        ValueError: A field of `fmt` without an argument.

    Source: `jax.debug.print`.

    >>> import numpy as np
    >>> from xpand import jit
    >>> double = jit(lambda x: (print("x = {x}", x=x), 2 * x)[1])
    >>> double(np.asarray([1, 2]))
    x = [1 2]
    array([2, 4])
    """
    if not isinstance(fmt, str):
        raise TypeError(f"print: fmt must be a format string such as 'x = {{}}', got {checks.describe(fmt)}")
    _check_fields(fmt, args, kwargs)

    def show(*args: Any, **kwargs: Any) -> None:
        builtins.print(fmt.format(*args, **kwargs))  # noqa: T201 (what it is for)

    _call("print", show, args, kwargs, ordered, lambda: show(*args, **kwargs))


def _call(
    name: str,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    ordered: bool,
    lazily: Callable[[], None] | None,
) -> None:
    checks.boolean(name, "ordered", ordered)
    leaves, structure = trees.flatten((args, kwargs))
    is_value = [checks.is_array(x) or isinstance(x, (bool, int, float, complex)) for x in leaves]
    others = [x for x, each in zip(leaves, is_value) if not each]

    def called(*values: Any) -> None:
        known, rest = iter(values), iter(others)
        given, named = trees.unflatten(structure, [next(known if each else rest) for each in is_value])
        function(*given, **named)

    values = tuple([x for x, each in zip(leaves, is_value) if each])
    host, _, arrays, _ = prepared(name, called, None, values, {})
    callback.native(*arrays)(host, *arrays, ordered=ordered, **({} if lazily is None else {"lazily": lazily}))


def _check_fields(fmt: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    position = 0
    for _, field, _, _ in Formatter().parse(fmt):
        if field is None:
            continue
        first = field.partition(".")[0].partition("[")[0]
        if not first:
            first, position = str(position), position + 1
        if int(first) >= len(args) if first.isdigit() else first not in kwargs:
            raise ValueError(f"print: fmt={fmt!r} has the field {first!r}, for which there is no argument")
