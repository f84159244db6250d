"""Closure conversion on PyTorch: captured arrays become arguments."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from torch.autograd import forward_ad
from torch.func import debug_unwrap

from xpand.extend import LibraryArray as Array
from xpand.torch import _private as private
from xpand.torch._concrete import holds_at_some_level
from xpand_extensions._captures import captured, converted, global_arrays

from .._plain import has_tangent
from ._levels import CapturedError, is_traced_anywhere

R = TypeVar("R")


def with_arguments(name: str, function: Callable[..., R], outer: Sequence[Array]) -> Callable[..., R]:
    """Return a function that takes arrays after its own arguments, which replace captured arrays.

    Args:
        name: The operation that the function belongs to, for errors.
        function: The function, which may capture some of the arrays.
        outer: The arrays that the functions of the operation capture.
    """
    if not outer:
        return function
    own, of_all = _own(function, outer), converted(function, outer)

    def replaced(*given: Any) -> R:
        if not own <= _own(function, outer):
            raise TypeError(
                f"{name}: an array that a function uses has been replaced since {name} was called: an attribute of an "
                "object, or a variable of the pullback; pass it as an argument, or bind it (`lambda z, a=self.a: ...`)"
            )
        return of_all(*given)

    return replaced


def _own(function: Callable[..., Any], outer: Sequence[Array]) -> set[int]:
    """Return the `id` of each array that a function captures now."""
    wanted = set(map(id, outer))
    return {id(x) for x in captured(lambda x: id(x) in wanted, function)}


def check_arguments(name: str, function: Callable[..., Any], xs: Sequence[Array], args: Sequence[Array]) -> None:
    """Check that the results of a function are neither differentiated nor mapped if its arguments are not.

    Raises:
        TypeError: A result is: the function captures an array that was not found, whose derivative would be lost.
    """
    values = tuple(map(_value, (*xs, *args)))
    if any(holds_at_some_level(_is_used, x) for x in function(values[: len(xs)], *values[len(xs) :])):
        raise outer_error(name)


def outer_error(name: str, given: str = "one of `args`") -> TypeError:
    """Make the error for a captured array that was not found."""
    return TypeError(
        f"{name}: a function uses an array that is differentiated or mapped over, but is not its argument; pass it as "
        f"{given}"
    )


_OF_NO_LEVEL: Final = ("functorch", "Setting a forward grad that itself has a forward gradient")


@contextmanager
def outer_errors(name: str) -> Iterator[None]:
    """Replace PyTorch's errors about arrays of finished levels by one that says what to write."""
    try:
        yield
    except CapturedError as error:
        raise outer_error(name, "an argument, or in the closure of the function") from error
    except RuntimeError as error:
        if any(text in str(error) for text in _OF_NO_LEVEL):
            raise outer_error(name, "an argument, or in the closure of the function") from error
        raise


def _is_used(x: Array) -> bool:
    """Return whether the innermost level that wraps an array differentiates or maps it, and has not just wrapped it."""
    return bool(x.requires_grad) or has_tangent(x) or private.is_mapped(x)


def _value(x: Array) -> Array:
    """Return the values of an array, detached from all levels: of the first lane, if it is mapped over."""
    while (level := private.level_of(x)) > 0:
        if private.is_mapped(x):
            x, axis = private.unwrap_mapped(x, level)
            if axis is not None:
                x = x.select(axis, 0) if x.shape[axis] else x.new_zeros(x.movedim(axis, 0).shape[1:])
        else:
            x = debug_unwrap(x, recurse=False)
    return forward_ad.unpack_dual(x).primal.detach() if private.in_forward_mode() else x.detach()


def captured_by(name: str, *functions: Any) -> list[Array]:
    """List the captured arrays of an operation's functions that are differentiated or mapped at any level.

    Raises:
        TypeError: One is a global variable: it can't be replaced, and would be a constant.
    """
    if any(map(is_traced_anywhere, global_arrays(*functions))):
        raise outer_error(name, "an argument, or in the closure of the function")
    return captured(is_traced_anywhere, *functions)
