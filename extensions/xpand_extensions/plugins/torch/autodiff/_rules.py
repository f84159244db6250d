"""Functions with custom derivatives on PyTorch."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from xpand.extend import LibraryArray as Array
from xpand_extensions._captures import with_own_cells

from ._closures import captured_by, outer_errors, with_arguments
from ._levels import Arrays, Rule, call, is_traced_anywhere
from ._products import pulled_back, pushed_forward


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
    """A function with a custom derivative."""

    make: Callable[..., Rule]
    """Takes one boolean for each argument, whether it is differentiated, and the user functions; returns the rule."""
    users: tuple[Callable[..., Any], ...]
    """The function, and the functions of its derivative."""
    symbolic_zeros: bool
    """Whether the functions of the derivative get to know which arguments are differentiated."""

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

        Captured arrays of outer levels become arguments: PyTorch's arrays do not outlive their level, and are other
        objects below it.
        """
        if torch.compiler.is_dynamo_compiling():
            return call(self._rule(self.users, (True,) * len(xs)), xs)
        outer, users = captured_by(self.name, self.users), self.users
        if outer or any(map(is_traced_anywhere, xs)):
            # Derivatives call the functions later. They use the values that closure variables have now, except in the
            # pullback of `custom_vjp`.
            users = (*map(with_own_cells, users[:2]), *users[2:])
        rule = self._rule(users, (True,) * len(xs))
        with outer_errors(self.name):
            return call(_with_outer(self.name, rule, len(xs), outer), (*xs, *outer)) if outer else call(rule, xs)

    def _rule(self, users: Sequence[Any], perturbed: tuple[bool, ...]) -> Rule:
        """Return the operation with its derivatives in some of the arguments."""
        when = partial(self._rule, users) if self.symbolic_zeros else None
        return self.make(perturbed, *users)._replace(when=when)


def _of_jvp(perturbed: tuple[bool, ...], function: Callable[..., Arrays], rule: Callable[..., Any]) -> Rule:
    """Return an operation with a rule for forward mode. Reverse mode transposes it."""

    def ruled(xs: Arrays, tangents: Arrays) -> tuple[Arrays, Arrays]:
        found: tuple[Arrays, Arrays] = rule(xs, tuple(t if each else None for t, each in zip(tangents, perturbed)))
        return found

    def forward(*xs: Array) -> tuple[Arrays, Arrays]:
        # The results of the rule, not of the function: levels below differentiate them.
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


def _with_outer(name: str, rule: Rule, own: int, outer: Sequence[Array], differentiated: Sequence[bool] = ()) -> Rule:
    """Return a rule with further arguments, which replace captured arrays.

    Args:
        name: The name of the function in errors.
        rule: The rule without them.
        own: The number of its arguments.
        outer: The captured arrays, in which the derivative is that of the function.
        differentiated: The arguments for which the rule computes derivatives.
    """
    count = own + len(outer)
    function, of_forward, of_pull, of_push = [with_arguments(name, each, outer) for each in rule[:4]]
    in_own, in_outer = any(differentiated[:own]), any(differentiated[own:])

    def of_outer(arrays: Arrays) -> Callable[..., Arrays]:
        return lambda *others: function(*arrays[:own], *others)

    def forward(*arrays: Array) -> tuple[Arrays, Arrays]:
        outs, residuals = of_forward(*arrays)
        return outs, (*arrays, *residuals)

    def pull(residuals: Arrays, cotangents: Arrays) -> Arrays:
        arrays, others = residuals[:count], residuals[own:count]
        back, of_others = tuple(map(torch.zeros_like, arrays[:own])), tuple(map(torch.zeros_like, others))
        if in_own:
            back = of_pull(residuals[count:], cotangents, *others)
        if in_outer:
            of_others = pulled_back(of_outer(arrays), others, cotangents)
        return (*back, *of_others)

    def push(residuals: Arrays, tangents: Arrays) -> Arrays:
        arrays, others = residuals[:count], residuals[own:count]
        if not in_outer:
            return of_push(residuals[count:], tangents[:own], *others)
        moved = pushed_forward(of_outer(arrays), others, tangents[own:])[1]
        return tuple(map(torch.add, of_push(residuals[count:], tangents[:own], *others), moved)) if in_own else moved

    def when(differentiated: tuple[bool, ...]) -> Rule:
        inner = rule if rule.when is None else rule.when(differentiated[:own])
        return _with_outer(name, inner, own, outer, differentiated)

    return Rule(function, forward, pull, push, when)
