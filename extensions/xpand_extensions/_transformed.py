"""The base of all transformations of functions. They are decorators too, and their results can be pickled.

`@transformation` decorates a facade that takes a function and returns one, such as `jit` and `grad`. Called without a
function, the facade returns a decorator. Its result is a `Transformed`: an object that is called like the function. A
pickle holds the transformation, the function and the options, but no compiled programs.
"""

import sys
from collections.abc import Callable
from functools import partial, update_wrapper, wraps
from types import FunctionType, MethodType
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast, overload

from xpand.extend import Array

from ._elsewhere import foreign_argument, foreign_arguments
from ._where import for_user

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)
Function = Callable[..., Any]


class Transformation(Protocol[P, R_co]):
    """A facade that takes a function and returns one. Without the function, it returns a decorator."""

    __name__: str
    __module__: str

    @overload
    def __call__(self, function: Function, /, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Callable[[Function], R_co]: ...

    def native(self, *arrays: Array) -> Callable[..., Any]:
        """Return the implementation for the library of the arrays."""
        ...

    def native_for(self, xp: Any, /) -> Callable[..., Any]:
        """Return the implementation for a library, by its namespace or name."""
        ...

    def register(self, library: str, /) -> Callable[[Function], Function]:
        """Register the implementation for one library, by its name or root module."""
        ...


def transformation(facade: Callable[Concatenate[Function, P], R_co], /) -> Transformation[P, R_co]:
    """Make a facade also a decorator. Its first argument is `function`, the function to transform.

    >>> @transformation
    ... def negative(function, scale=1.0):
    ...     return lambda x: -scale * function(x)
    >>> @negative(scale=2.0)
    ... def double(x):
    ...     return 2.0 * x
    >>> double(1.0), negative(abs)(3)
    (-4.0, -3.0)
    """
    foreign = foreign_arguments(facade)

    @wraps(facade)
    def transform(*args: Any, **kwargs: Any) -> Any:
        for given in kwargs:
            if given in foreign:
                raise foreign_argument(facade, given, foreign)
        if not args and "function" not in kwargs:
            return partial(transform, **kwargs)
        found = facade(*args, **kwargs)
        return Transformed(transform, args, kwargs, found) if isinstance(found, FunctionType) else found

    return cast("Transformation[P, R_co]", transform)


class Transformed:
    """A function made by a transformation from another function.

    It has the name, the documentation and the signature of the other function. As an attribute of a class, it becomes a
    method. Tracebacks of its errors show only the user's frames.
    """

    # Not in the dictionary: `functools.wraps` would copy these attributes to functions that wrap this one.
    __slots__ = ("__dict__", "__weakref__", "_call", "_made_of")

    def __init__(
        self, transform: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], call: FunctionType
    ) -> None:
        """Store the transformed function, and for pickle the transformation and its arguments."""
        self._made_of = transform, args, kwargs
        self._call = call
        update_wrapper(cast(Any, self), call)
        self.__wrapped__ = getattr(call, "__wrapped__", call)
        for name in [name for name in vars(self) if name.startswith("_torchdynamo")]:
            delattr(self, name)  # only for the function itself, which torch.compile finds by `__call__`

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        try:
            return self._call(*args, **kwargs)
        except Exception as error:
            raise for_user(error)  # noqa: B904 (it is the error itself)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind the function to an instance, like a method."""
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self) -> Any:
        """Pickle the function by its name if a module has it, otherwise as a call of the transformation."""
        found: Any = sys.modules.get(self.__module__)
        name: str = vars(self)["__qualname__"]
        for part in name.split("."):
            found = getattr(found, part, None)
        by_value = self.__module__ == "__main__" and "cloudpickle" in sys._getframe(1).f_globals.get("__name__", "")
        if found is self and not by_value:
            return name
        return _transformed, self._made_of

    def __repr__(self) -> str:
        return f"<{self._made_of[0].__name__} of {self.__wrapped__!r}>"


def _transformed(transform: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return transform(*args, **kwargs)
