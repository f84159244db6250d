"""Calls like an earlier one: they skip the checks of arguments, which take longer than the steps of a small problem."""

from collections.abc import Callable, Hashable
from typing import Any

from xpand.extend import Array, checks, trace_instead

from .._plans import signature
from ..jit._calls import NUMBERS, Compiled
from ..jit._reused import programs_of
from ..progress import To, is_silent
from ._results import OptimizeResult

Plan = Callable[[Array, tuple[Any, ...], bool], OptimizeResult | None]
"""Solves a problem, given the starting point, the parameters and whether to raise; None: the call must be checked."""


class Repeatable:
    """A call of a function that is compiled itself. Its plan is stored with the function."""

    __slots__ = ("_arrays", "_key", "_plans", "count")

    def __init__(self, plans: Compiled[Plan], key: Hashable, arrays: tuple[Array, ...]) -> None:
        """Take the plans of the function, the signature of the call, its starting point and its parameters."""
        self._plans, self._key, self._arrays, self.count = plans, key, arrays, len(arrays) - 1

    def add(self, plan: Plan) -> None:
        """Store the plan for calls like this one."""
        if all(map(checks.is_array, self._arrays)):
            self._plans.add(self._key, plan)


def repeatable(
    name: str, f: Any, start: Any, args: Any, options: tuple[Any, ...], callback: Any, throw: Any, progress: To
) -> tuple[Repeatable | None, OptimizeResult | None]:
    """Return the call if a plan can repeat it, and the result if an earlier call has made that plan.

    It can if the arguments are arrays, and no callback or progress is wanted.

    Args:
        name: The name of the facade.
        f: The user's function.
        start: The starting point.
        args: The parameters.
        options: Everything else that the call depends on.
        callback: As for the facade.
        throw: As for the facade.
        progress: As for the facade.
    """
    found = programs_of(f)
    if found is None or callback is not None or not is_silent(progress):
        return None, None
    if type(args) is not tuple or type(throw) is not bool or not NUMBERS.isdisjoint(map(type, (start, *args))):
        return None, None
    plans, precision = found
    try:
        key = name, signature((start, *args), options), precision
        plan = plans.get(key)
    except (AttributeError, TypeError):  # an argument is no array, or an option can change
        return None, None
    return Repeatable(plans, key, (start, *args)), None if plan is None else plan(start, args, throw)


trace_instead(repeatable, lambda name, f, start, args, options, callback, throw, progress: (None, None))
