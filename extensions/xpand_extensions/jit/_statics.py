"""Static arguments of compiled functions: how they are found, and their keys."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final

from xpand.extend import checks, describe

from .. import _plans

POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def name_of(function: Callable[..., Any]) -> str:
    """Return the name of a function, for messages and graphs."""
    return str(getattr(function, "__name__", None) or describe(function))


class Statics:
    """The static arguments of a function. They split a call into static and traced arguments."""

    __slots__ = ("_check_numbers", "_name", "_names", "_numbers", "_positions", "any")

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        argnums: int | Sequence[int] | None,
        argnames: str | Iterable[str] | None,
        argument: str = "static_argnums",
    ) -> None:
        """Check the static arguments declared for `function`, which `name` transforms.

        An argument declared by its position is static by its name, too, and vice versa.
        """
        self._name = name
        given = () if argnums is None else argnums if isinstance(argnums, (tuple, list)) else (argnums,)
        numbers = [checks.integer(name, argument, number) for number in given]
        if not (argnames is None or isinstance(argnames, Iterable)):
            raise TypeError(f"{name}: static_argnames must be a name or names, got {describe(argnames)}")
        names = [argnames] if isinstance(argnames, str) else list(argnames or ())
        for each in names:
            if not isinstance(each, str):
                raise TypeError(f"{name}: static_argnames must be a name or names, got {describe(each)}")
        parameters = parameters_of(function)
        self._check_numbers = partial(_of_positions, name, name_of(function), parameters)
        numbers = self._check_numbers(argument, numbers)
        if parameters is not None:
            numbers, names = _completed(name, name_of(function), parameters, numbers, names)
        self._numbers, self._names = numbers, frozenset(names)
        self._positions: dict[int, list[int]] = {}
        self.any = bool(numbers or names)

    def donated(self, argnums: int | Sequence[int]) -> tuple[int, ...]:
        """Check the declared donated arguments.

        Raises:
            ValueError: The function has no such argument, or it is static.
        """
        given = argnums if isinstance(argnums, (tuple, list)) else (argnums,)
        numbers = [checks.integer(self._name, "donate_argnums", number) for number in given]
        numbers = self._check_numbers("donate_argnums", numbers)
        both = sorted({*numbers}.intersection(self._numbers))
        if both:
            raise ValueError(
                f"{self._name}: argument {both[0]} is declared static and has no memory to reuse; remove it from "
                "donate_argnums"
            )
        return tuple(numbers)

    def divide(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[tuple[Any, ...], dict[str, Any]], tuple[Any, ...]]:
        """Split a call into traced arguments and static ones, given as (position or name, key, value)."""
        if not self.any:
            return (args, kwargs), ()
        count = len(args)
        positions = self._positions.get(count)
        if positions is None:
            positions = sorted({number % count for number in self._numbers if -count <= number < count})
            self._positions[count] = positions
        statics: list[tuple[Any, ...]] = [(position, exact(args[position]), args[position]) for position in positions]
        if positions:
            args = tuple([x for position, x in enumerate(args) if position not in positions])
        if kwargs:
            statics += [(name, exact(kwargs[name]), kwargs[name]) for name in sorted(kwargs) if name in self._names]
            kwargs = {name: value for name, value in kwargs.items() if name not in self._names}
        return (args, kwargs), tuple(statics)

    def check(self, statics: tuple[Any, ...]) -> None:
        """Check that static values can be part of a signature.

        Raises:
            TypeError: A value is an array or not hashable.
        """
        for key, _, value in statics:
            what = f"argument {key}" if isinstance(key, int) else f"argument {key!r}"
            if checks.is_array(value):
                raise TypeError(
                    f"{self._name}: the static {what} must not be an array, got {describe(value)}; to trace it, "
                    "don't declare it static"
                )
            try:
                hash(value)
            except TypeError:
                raise TypeError(
                    f"{self._name}: the static {what} must be hashable, got {describe(value)}; pass an equal value "
                    "that is hashable, such as a tuple for a list; or, to trace it, don't declare it static"
                ) from None


def signature_of(statics: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the part of a signature for the static arguments."""
    return tuple([(key, exact) for key, exact, _ in statics])


def exact(value: Any) -> Any:
    """Return a key for a static value, see `_plans.exact`. Other objects are their own keys, with their types."""
    return _plans.exact(value, lambda value: (type(value), value))


def parameters_of(function: Callable[..., Any]) -> list[inspect.Parameter] | None:
    """List the parameters of a function; None if they are unknown."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):  # for functions written in C
        return None


def _of_positions(
    name: str, function: str, parameters: list[inspect.Parameter] | None, argument: str, numbers: list[int]
) -> list[int]:
    """Convert negative positions of arguments to positive ones, if the number of arguments is known."""
    if parameters is None or any(p.kind == p.VAR_POSITIONAL for p in parameters):
        return numbers
    count = sum(p.kind in POSITIONAL for p in parameters)
    for number in numbers:
        if not -count <= number < count:
            raise ValueError(
                f"{name}: {argument} names argument {number}, and {function} takes {count} positional arguments"
            )
    return [number % count for number in numbers]


def _completed(
    name: str, function: str, parameters: list[inspect.Parameter], numbers: list[int], names: list[str]
) -> tuple[list[int], list[str]]:
    positional = [p for p in parameters if p.kind in POSITIONAL]
    named = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    count = len(positional)
    if not any(p.kind == p.VAR_KEYWORD for p in parameters):
        for each in names:
            if each not in named:
                raise ValueError(
                    f"{name}: static_argnames names {each!r}, and {function} takes the arguments {', '.join(named)}"
                )
    by_number = [positional[i].name for i in numbers if 0 <= i < count and positional[i].name in named]
    by_name = [i for i, p in enumerate(positional) if p.name in names and p.name in named]
    return [*numbers, *by_name], [*names, *by_number]
