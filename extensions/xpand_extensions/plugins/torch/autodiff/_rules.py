"""Functions with rules for their derivatives, on PyTorch."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import torch

from xpand._typing import Array
from xpand_extensions._variables import OfFunctions

from ._checkpoint import pulled_back, pushed_forward
from ._closures import Brought, is_followed, outer_error, with_arguments
from ._levels import Rule, call, is_floating
from ._products import vjp

Arrays: TypeAlias = "tuple[Array, ...]"


def custom_jvp(function: Callable[..., Any], /, nondiff_argnums: Sequence[int] = ()) -> "_Forward":
    return _Forward(function)


def custom_vjp(function: Callable[..., Any], /, nondiff_argnums: Sequence[int] = ()) -> "_Reverse":
    return _Reverse(function)


def _called(name: str, rule: Rule, users: Sequence[Any], xs: Arrays, late: Sequence[Any] = ()) -> Arrays:
    """Apply a rule of users' functions, the `late` ones with the variables that they have when they are called.

    What these bring along from levels around is given to them as arguments. PyTorch's arrays don't outlive the level
    that they are of, nor are the same where it is left and entered again.
    """
    if torch.compiler.is_dynamo_compiling():
        return call(rule, xs)
    outer = Brought(name, *users, *late)
    if outer or any(map(is_followed, xs)):
        outer.keep_variables(*users)
        rule = rule.each(outer.variables.kept)
    try:
        return call(_with_outer(rule, len(xs), outer), (*xs, *outer)) if outer else call(rule, xs)
    except RuntimeError as error:
        if "INTERNAL ASSERT FAILED" in str(error) and "functorch" in str(error):  # an array of no level that there is
            raise outer_error(name, "an argument, or in the closure of the function") from error
        raise


def _with_outer(rule: Rule, own: int, outer: Brought) -> Rule:
    """Return a rule for more arguments than its own: arrays that are used in the place of some from outside."""
    count = len(outer)

    def forward(*arrays: Array) -> tuple[Arrays, Arrays]:
        outs, kept = with_arguments(rule.forward, outer)(*arrays)
        return outs, (*kept, *arrays[own:])

    def pull(kept: Arrays, cotangents: Arrays) -> Arrays:
        others = kept[-count:]
        return (*with_arguments(rule.pull, outer)(kept[:-count], cotangents, *others), *map(torch.zeros_like, others))

    def push(kept: Arrays, tangents: Arrays) -> Arrays:
        found: Arrays = with_arguments(rule.push, outer)(kept[:-count], tangents[:own], *kept[-count:])
        return found

    function = with_arguments(rule.function, outer)
    return Rule(function, forward, pull, push, own, partial(_in_others, own, own + count))


def _in_others(own: int, count: int, rule: Rule, in_own: bool) -> Rule:
    """Return a rule whose derivative in what is brought along is that of the function.

    Args:
        own: How many of the arguments are not brought along.
        count: How many arguments there are.
        rule: A rule for derivatives in the former alone.
        in_own: Whether a derivative is asked for in any of these.
    """

    def forward(*arrays: Array) -> tuple[Arrays, Arrays]:
        outs, kept = rule.forward(*arrays)
        return outs, (*arrays, *kept)

    def of_others(arrays: Arrays) -> Callable[..., Arrays]:
        return lambda *others: rule.function(*arrays[:own], *others)

    def pull(kept: Arrays, cotangents: Arrays) -> Arrays:
        arrays = kept[:count]
        back = rule.pull(kept[count:], cotangents) if in_own else tuple(map(torch.zeros_like, arrays))
        return (*back[:own], *pulled_back(of_others(arrays), arrays[own:], cotangents))

    def push(kept: Arrays, tangents: Arrays) -> Arrays:
        arrays = kept[:count]
        moved = pushed_forward(of_others(arrays), arrays[own:], tangents[own:])[1]
        return tuple(map(torch.add, rule.push(kept[count:], tangents), moved)) if in_own else moved

    return Rule(rule.function, forward, pull, push)


class _Forward(OfFunctions):
    """A function with a rule for forward mode, whose transposed serves reverse mode."""

    def __init__(self, function: Callable[..., Arrays]) -> None:
        self.function = function

    @property
    def functions(self) -> tuple[Any, ...]:
        """The function and the rule."""
        return self.function, self.rule

    def with_functions(
        self, function: Callable[..., Arrays], rule: Callable[[Arrays, Arrays], tuple[Arrays, Arrays]]
    ) -> None:
        """Be another one from now on."""
        self.function, self.rule = function, rule

    def defjvp(self, rule: Callable[[Arrays, Arrays], tuple[Arrays, Arrays]]) -> None:
        self.rule = rule

    def __call__(self, *xs: Array) -> Arrays:
        rule = Rule(self.function, self.forward, self.pull, self.push)
        return _called("custom_jvp", rule, (self.function, self.rule), xs)

    def forward(self, *xs: Array) -> tuple[Arrays, Arrays]:
        """Return the output as the rule computes it: derivatives of a level below see that."""
        return self.rule(xs, tuple(map(torch.zeros_like, xs)))[0], xs

    def push(self, kept: Arrays, tangents: Arrays) -> Arrays:
        return self.rule(kept, tangents)[1]

    def pull(self, kept: Arrays, cotangents: Arrays) -> Arrays:
        def of_floating(*tangents: Array) -> tuple[Arrays, Arrays]:
            given = iter(tangents)
            found = self.rule(kept, tuple(next(given) if is_floating(x) else torch.zeros_like(x) for x in kept))[1]
            return tuple(x for x in found if is_floating(x)), ()

        zeros = [torch.zeros_like(x) for x in kept if is_floating(x)]
        transposed = vjp(of_floating, *zeros, has_aux=True)[1]
        back = iter(transposed(*[x for x in cotangents if is_floating(x)]))
        return tuple(next(back) if is_floating(x) else torch.zeros_like(x) for x in kept)


class _Reverse:
    """A function with a rule for reverse mode."""

    def __init__(self, function: Callable[..., Arrays]) -> None:
        self.function = function

    def defvjp(self, forward: Callable[..., tuple[Arrays, Arrays]], backward: Callable[..., Arrays]) -> None:
        self.forward, self.backward = forward, backward

    def __call__(self, *xs: Array) -> Arrays:
        rule = Rule(self.function, self.forward, self.backward, _no_forward_mode)
        return _called("custom_vjp", rule, (self.function, self.forward), xs, (self.backward,))


def _no_forward_mode(kept: Arrays, tangents: Arrays) -> Arrays:
    raise TypeError(
        "custom_vjp: a function with a rule for reverse mode has no forward mode; give it a rule with `custom_jvp`, "
        "which serves both"
    )
