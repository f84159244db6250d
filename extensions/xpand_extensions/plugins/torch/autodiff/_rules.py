"""Functions with custom rules for their derivatives on PyTorch."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from xpand.extend import LibraryArray as Array
from xpand_extensions._captures import with_own_cells

from ._checkpoint import pulled_back, pushed_forward
from ._closures import captured_by, outer_errors, with_arguments
from ._levels import Arrays, Rule, call, is_traced_anywhere


def custom_jvp(
    function: Callable[..., Any], /, nondiff_argnums: Sequence[int] = (), nondiff_argnames: Sequence[str] = ()
) -> "_Custom":
    return _Custom("custom_jvp", function)


def custom_vjp(
    function: Callable[..., Any], /, nondiff_argnums: Sequence[int] = (), nondiff_argnames: Sequence[str] = ()
) -> "_Custom":
    return _Custom("custom_vjp", function)


def closure_convert(function: Callable[..., Any], /, *example_args: Array) -> tuple[Callable[..., Any], list[Array]]:
    captured = captured_by("closure_convert", function)
    function(*example_args)  # this call determines the structure of the result
    return with_arguments("closure_convert", function, captured), captured


class _Custom:
    """A function with a custom rule for its derivative."""

    make: Callable[..., Rule]
    """Takes which arguments are differentiated, and the users' functions."""
    users: tuple[Callable[..., Any], ...]
    """The function, and those of its rule."""
    symbolic_zeros: bool

    def __init__(self, name: str, function: Callable[..., Arrays]) -> None:
        self.name, self.function = name, function

    def defjvp(self, rule: Callable[[Arrays, Any], tuple[Arrays, Arrays]], symbolic_zeros: bool) -> None:
        self.make, self.users, self.symbolic_zeros = _of_jvp, (self.function, rule), symbolic_zeros

    def defvjp(
        self, forward: Callable[..., tuple[Arrays, Arrays]], backward: Callable[..., Arrays], symbolic_zeros: bool
    ) -> None:
        self.make, self.users, self.symbolic_zeros = _of_vjp, (self.function, forward, backward), symbolic_zeros

    def __call__(self, *xs: Array) -> Arrays:
        """Call the function.

        Captured arrays of outer levels become arguments: PyTorch's arrays don't outlive their level, and are different
        objects when a level is left and entered again.
        """
        if torch.compiler.is_dynamo_compiling():
            return call(self._rule(self.users, (True,) * len(xs)), xs)
        outer, users = captured_by(self.name, self.users), self.users
        if outer or any(map(is_traced_anywhere, xs)):
            # Later calls of the functions use the current values of their variables, except those of a pullback.
            users = (*map(with_own_cells, users[:2]), *users[2:])
        rule = self._rule(users, (True,) * len(xs))
        with outer_errors(self.name):
            return call(_with_outer(self.name, rule, len(xs), outer), (*xs, *outer)) if outer else call(rule, xs)

    def _rule(self, users: Sequence[Any], perturbed: tuple[bool, ...]) -> Rule:
        """Return the operation, for derivatives in some of the arguments."""
        when = partial(self._rule, users) if self.symbolic_zeros else None
        return self.make(perturbed, *users)._replace(when=when)


def _of_jvp(perturbed: tuple[bool, ...], function: Callable[..., Arrays], rule: Callable[..., Any]) -> Rule:
    """Return an operation with a rule for forward mode, whose transpose serves reverse mode."""

    def ruled(xs: Arrays, tangents: Arrays) -> tuple[Arrays, Arrays]:
        found: tuple[Arrays, Arrays] = rule(xs, tuple(t if each else None for t, each in zip(tangents, perturbed)))
        return found

    def forward(*xs: Array) -> tuple[Arrays, Arrays]:
        # The output computed by the rule, which derivatives of a level below differentiate.
        return ruled(xs, tuple(map(torch.zeros_like, xs)))[0], xs

    def pull(residuals: Arrays, cotangents: Arrays) -> Arrays:
        return pulled_back(
            lambda *tangents: ruled(residuals, tangents)[1], tuple(map(torch.zeros_like, residuals)), cotangents
        )

    return Rule(function, forward, pull, lambda residuals, tangents: ruled(residuals, tangents)[1])


def _of_vjp(
    perturbed: tuple[bool, ...], function: Callable[..., Arrays], forward: Callable[..., Any], backward: Any
) -> Rule:
    """Return an operation with a rule for reverse mode."""
    return Rule(function, partial(forward, perturbed), partial(backward, perturbed), _no_forward_mode)


def _no_forward_mode(residuals: Arrays, tangents: Arrays) -> Arrays:
    raise TypeError(
        "custom_vjp: a function with a rule for reverse mode has no forward mode; give it a rule with `custom_jvp`, "
        "which works in both modes"
    )


def _with_outer(name: str, rule: Rule, own: int, outer: Sequence[Array]) -> Rule:
    """Return a rule with further arguments, which replace captured arrays."""
    count = len(outer)
    function, of_forward, of_pull, of_push = [with_arguments(name, each, outer) for each in rule[:4]]

    def forward(*arrays: Array) -> tuple[Arrays, Arrays]:
        outs, residuals = of_forward(*arrays)
        return outs, (*residuals, *arrays[own:])

    def pull(residuals: Arrays, cotangents: Arrays) -> Arrays:
        others = residuals[-count:]
        return (*of_pull(residuals[:-count], cotangents, *others), *map(torch.zeros_like, others))

    def push(residuals: Arrays, tangents: Arrays) -> Arrays:
        return of_push(residuals[:-count], tangents[:own], *residuals[-count:])

    def when(differentiated: tuple[bool, ...]) -> Rule:
        inner = made if rule.when is None else _with_outer(name, rule.when(differentiated[:own]), own, outer)
        in_outer = any(differentiated[own:])
        return _in_outer(own, own + count, inner, any(differentiated[:own])) if in_outer else inner

    made = Rule(function, forward, pull, push)
    return made._replace(when=when)


def _in_outer(own: int, count: int, rule: Rule, in_own: bool) -> Rule:
    """Return a rule whose derivative in captured arrays is that of the function.

    Args:
        own: The number of arguments that are not captured.
        count: The number of all arguments.
        rule: A rule for derivatives in the former alone.
        in_own: Whether any of these is differentiated.
    """

    def forward(*arrays: Array) -> tuple[Arrays, Arrays]:
        outs, residuals = rule.forward(*arrays)
        return outs, (*arrays, *residuals)

    def of_others(arrays: Arrays) -> Callable[..., Arrays]:
        return lambda *others: rule.function(*arrays[:own], *others)

    def pull(residuals: Arrays, cotangents: Arrays) -> Arrays:
        arrays = residuals[:count]
        back = rule.pull(residuals[count:], cotangents) if in_own else tuple(map(torch.zeros_like, arrays))
        return (*back[:own], *pulled_back(of_others(arrays), arrays[own:], cotangents))

    def push(residuals: Arrays, tangents: Arrays) -> Arrays:
        arrays = residuals[:count]
        moved = pushed_forward(of_others(arrays), arrays[own:], tangents[own:])[1]
        return tuple(map(torch.add, rule.push(residuals[count:], tangents), moved)) if in_own else moved

    return Rule(rule.function, forward, pull, push)
