"""Calls of transformed functions with arrays alone, which need neither trees nor checks."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from xpand.extend import Array, checks, library_of, trace_instead

from ._captures import INLINED

F = TypeVar("F", bound=Callable[..., Any])

_MAX_TYPES: Final = 256  # a program may make array classes without end


class IndirectError(Exception):
    """A function of arrays returned no array, or one that is not accepted: the call must go through trees."""


class Direct:
    """A transformed function for calls with arrays alone. It flattens no trees and checks nothing.

    The first call with given types of arrays goes through trees. If it succeeds, later calls with these types are
    direct.
    """

    __slots__ = ("_by_types", "_is_off", "_make", "_of_arrays")

    def __init__(
        self,
        function: Callable[..., Any],
        make: Callable[..., Callable[..., Any]],
        accepts: Callable[[Array], bool] | None = None,
    ) -> None:
        """Store the function.

        Args:
            function: The function to transform.
            make: Transforms the function; takes the arguments of a call and the function.
            accepts: Decides by data type and shape whether a result is accepted; None accepts all arrays.
        """
        # A separate object, so that the transformed functions stored here make no reference cycle. A cycle would keep
        # captured arrays alive until garbage collection.
        self._make, self._of_arrays = make, _OfArraysAlone(function, accepts)
        self._by_types: dict[tuple[type, ...], Callable[..., Any]] = {}
        self._is_off = False

    def find(self, args: tuple[Any, ...]) -> Callable[..., Any] | None:
        """Return the transformed function for a call; None if the call must go through trees."""
        return self._by_types.get(tuple(map(type, args)))

    def add(self, args: tuple[Any, ...]) -> None:
        """Make later calls with the types of a successful call direct, if the types determine the library."""
        types = tuple(map(type, args))
        if (
            not self._is_off
            and types not in self._by_types
            and len(self._by_types) < _MAX_TYPES
            and all(map(library_of, types))
        ):
            self._by_types[types] = self._make(args, self._of_arrays.call)

    def turn_off(self) -> None:
        """Send all later calls through trees. Otherwise each would first call the function in vain."""
        self._is_off = True
        self._by_types.clear()


class _OfArraysAlone:
    """A function of arrays that must return an array."""

    __slots__ = ("_accepted", "_arrays", "accepts", "function")

    def __init__(self, function: Callable[..., Any], accepts: Callable[[Array], bool] | None) -> None:
        self.function, self.accepts = function, accepts
        self._arrays: set[type] = set()
        self._accepted: set[tuple[Any, ...]] = set()

    def call(self, *arrays: Array) -> Array:
        """Call the function."""
        result = self.function(*arrays)
        if type(result) not in self._arrays:
            if not checks.is_array(result):
                raise IndirectError
            if len(self._arrays) < _MAX_TYPES:
                self._arrays.add(type(result))
        if self.accepts is not None:
            kind = type(result), result.dtype, result.shape
            if kind not in self._accepted:
                if not self.accepts(result):
                    raise IndirectError
                if len(self._accepted) < _MAX_TYPES:
                    self._accepted.add(kind)
        return result

    def traced_call(self, *arrays: Array) -> Array:
        """Call the function without storing types."""
        result = self.function(*arrays)
        if not checks.is_array(result) or not (self.accepts is None or self.accepts(result)):
            raise IndirectError
        return result


# Loops of torch.compile forbid side effects.
trace_instead(Direct.add, lambda self, args: None)
trace_instead(_OfArraysAlone.call, _OfArraysAlone.traced_call)


def compiled_as(function: Callable[..., Any], wrapper: F) -> F:
    """Have torch.compile trace `function` in place of `wrapper`, without the look-up of `wrapper`."""
    setattr(wrapper, INLINED, function)
    trace_instead(wrapper, function, wraps=True)
    return wrapper
