"""Repeated calls: they skip the checks of arguments, which take longer than solving a small problem."""

from collections.abc import Callable, Hashable
from typing import Any

from xpand.extend import Array, checks, trace_instead

from .._plans import signature
from ..jit._calls import NUMBERS, Compiled
from ..jit._reused import programs_of
from ..progress import To, is_silent
from ._results import OptimizeResult

Plan = Callable[[Array, tuple[Any, ...], bool], OptimizeResult | None]
"""Solves a problem, given the starting point, the parameters and `throw`; returns None if the call must be checked."""


class Repeatable:
    """A call with a user function that is compiled. The plan of the call is stored with that function."""

    __slots__ = ("_arrays", "_key", "_plans", "count")

    def __init__(self, plans: Compiled[Plan], key: Hashable, arrays: tuple[Array, ...]) -> None:
        """Store the plans of the function, the signature of the call, and its starting point and parameters."""
        self._plans, self._key, self._arrays, self.count = plans, key, arrays, len(arrays) - 1

    def add(self, plan: Plan) -> None:
        """Store the plan for calls like this one."""
        if all(map(checks.is_array, self._arrays)):
            self._plans.add(self._key, plan)


def repeatable(
    name: str, f: Any, start: Any, args: Any, options: tuple[Any, ...], callback: Any, throw: Any, progress: To
) -> tuple[Repeatable | None, OptimizeResult | None]:
    """Return the call if a plan can repeat it, and its result if an earlier call has stored that plan.

    A plan can repeat calls whose arguments are arrays, without callback and progress.

    Args:
        name: The name of the facade.
        f: The user function.
        start: The starting point.
        args: The parameters.
        options: All other arguments that affect the result.
        callback: As for the facade.
        throw: As for the facade.
        progress: As for the facade.
    """
    found = programs_of(f)
    if found is None or callback is not None or not is_silent(progress):
        return None, None
    if type(args) is not tuple or type(throw) is not bool or not NUMBERS.isdisjoint(map(type, (start, *args))):
        return None, None
    plans, state = found
    try:
        key = name, signature((start, *args), options), state
        plan = plans.get(key)
    except (AttributeError, TypeError):  # an argument is not an array, or an option is mutable
        return None, None
    return Repeatable(plans, key, (start, *args)), None if plan is None else plan(start, args, throw)


trace_instead(repeatable, lambda name, f, start, args, options, callback, throw, progress: (None, None))
