"""Closure conversion on PyTorch: captured arrays become arguments."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from torch.autograd import forward_ad
from torch.func import debug_unwrap

from xpand.extend import LibraryArray as Array
from xpand.torch import _private as private
from xpand_extensions._captures import captured, converted, global_arrays

from .._plain import has_tangent
from ._levels import CapturedError, is_traced_anywhere

R = TypeVar("R")


def with_arguments(name: str, function: Callable[..., R], outer: Sequence[Array]) -> Callable[..., R]:
    """Make a function that takes further arguments last, which replace captured arrays.

    Args:
        name: The operation that takes the function.
        function: May capture some of the arrays.
        outer: Arrays that functions of the operation capture.
    """
    if not outer:
        return function
    own, of_all = _own(function, outer), converted(function, outer)

    def replaced(*given: Any) -> R:
        if not own <= _own(function, outer):
            raise TypeError(
                f"{name}: an array that a function uses was another one when it was called (an attribute of an "
                "object, or a variable of the rule that pulls back); pass it as an argument, or bind it "
                "(`lambda z, a=self.a: ...`)"
            )
        return of_all(*given)

    return replaced


def _own(function: Callable[..., Any], outer: Sequence[Array]) -> set[int]:
    """Return which arrays a function captures now."""
    wanted = set(map(id, outer))
    return {id(x) for x in captured(lambda x: id(x) in wanted, function)}


def check_arguments(name: str, function: Callable[..., Any], xs: Sequence[Array], args: Sequence[Array]) -> None:
    """Check that no result of a function is differentiated or mapped if its arguments aren't.

    Raises:
        TypeError: One is, because of an array that the function captures, which would have no derivative.
    """
    values = tuple(map(_value, (*xs, *args)))
    if any(map(_is_differentiated, function(values[: len(xs)], *values[len(xs) :]))):
        raise outer_error(name)


def outer_error(name: str, given: str = "one of `args`") -> TypeError:
    """Make the error for a captured array that wasn't found."""
    return TypeError(
        f"{name}: a function uses an array from outside that is being differentiated or mapped over; pass it as {given}"
    )


_OF_NO_LEVEL: Final = ("functorch", "Setting a forward grad that itself has a forward gradient")


@contextmanager
def outer_errors(name: str) -> Iterator[None]:
    """Explain PyTorch's error about an array of a finished level."""
    try:
        yield
    except CapturedError as error:
        raise outer_error(name, "an argument, or in the closure of the function") from error
    except RuntimeError as error:
        if any(text in str(error) for text in _OF_NO_LEVEL):
            raise outer_error(name, "an argument, or in the closure of the function") from error
        raise


def _is_differentiated(x: Array) -> bool:
    """Return whether some level really differentiates or maps an array, and hasn't just wrapped it."""
    while True:
        if x.requires_grad or has_tangent(x):
            return True
        if private.level_of(x) <= 0:
            return False
        if private.is_mapped(x):
            return True
        x = debug_unwrap(x, recurse=False)


def _value(x: Array) -> Array:
    """Return the values of an array, those of one lane of a batch, detached from all levels."""
    while (level := private.level_of(x)) > 0:
        if private.is_mapped(x):
            x, axis = private.unwrap_mapped(x, level)
            if axis is not None:
                x = x.select(axis, 0) if x.shape[axis] else x.new_zeros(x.movedim(axis, 0).shape[1:])
        else:
            x = debug_unwrap(x, recurse=False)
    return forward_ad.unpack_dual(x).primal.detach() if private.in_forward_mode() else x.detach()


def captured_by(name: str, *functions: Any) -> list[Array]:
    """List the arrays that functions of an operation capture and that are differentiated or mapped at some level.

    Raises:
        TypeError: One is a global variable: it can't be replaced, and would be taken for a constant.
    """
    if any(map(is_traced_anywhere, global_arrays(*functions))):
        raise outer_error(name, "an argument, or in the closure of the function")
    return captured(is_traced_anywhere, *functions)
