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
) -> "_Forward":
    return _Forward(function)


def custom_vjp(
    function: Callable[..., Any], /, nondiff_argnums: Sequence[int] = (), nondiff_argnames: Sequence[str] = ()
) -> "_Reverse":
    return _Reverse(function)


def closure_convert(function: Callable[..., Any], /, *example_args: Array) -> tuple[Callable[..., Any], list[Array]]:
    captured = captured_by("closure_convert", function)
    function(*example_args)  # this call determines the structure of the result
    return with_arguments("closure_convert", function, captured), captured


def _called(name: str, custom: "_Forward | _Reverse", xs: Arrays) -> Arrays:
    """Call a function with a rule.

    Captured arrays of outer levels become arguments: PyTorch's arrays don't outlive their level, and are different
    objects when a level is left and entered again.
    """
    perturbed = (True,) * len(xs)
    if torch.compiler.is_dynamo_compiling():
        return call(custom.as_rule(perturbed), xs)
    outer = captured_by(name, custom)
    if not outer and not any(map(is_traced_anywhere, xs)):
        return call(custom.as_rule(perturbed), xs)
    rule = custom.with_own_cells().as_rule(perturbed)
    with outer_errors(name):
        return call(_with_outer(name, rule, len(xs), outer), (*xs, *outer)) if outer else call(rule, xs)


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

    made = Rule(function, forward, pull, push, None, rule.symbolic_zeros)
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


class _Forward:
    """A function with a rule for forward mode, whose transpose serves reverse mode."""

    rule: Callable[[Arrays, Any], tuple[Arrays, Arrays]]
    symbolic_zeros: bool

    def __init__(self, function: Callable[..., Arrays]) -> None:
        self.function = function

    def defjvp(self, rule: Callable[[Arrays, Any], tuple[Arrays, Arrays]], symbolic_zeros: bool) -> None:
        self.rule, self.symbolic_zeros = rule, symbolic_zeros

    def __call__(self, *xs: Array) -> Arrays:
        return _called("custom_jvp", self, xs)

    def with_own_cells(self) -> "_Forward":
        """Return a rule whose functions use the current values of their variables."""
        other = _Forward(with_own_cells(self.function))
        other.defjvp(with_own_cells(self.rule), self.symbolic_zeros)
        return other

    def as_rule(self, perturbed: tuple[bool, ...]) -> Rule:
        """Return the operation, for derivatives in some of the arguments."""
        forward, pull, push = [partial(each, perturbed) for each in (self.forward, self.pull, self.push)]
        return Rule(self.function, forward, pull, push, when=self.as_rule if self.symbolic_zeros else None)

    def forward(self, perturbed: tuple[bool, ...], *xs: Array) -> tuple[Arrays, Arrays]:
        """Return the output computed by the rule, which derivatives of a level below differentiate."""
        return self.rule(xs, tuple(torch.zeros_like(x) if each else None for x, each in zip(xs, perturbed)))[0], xs

    def push(self, perturbed: tuple[bool, ...], residuals: Arrays, tangents: Arrays) -> Arrays:
        return self.rule(residuals, tuple(t if each else None for t, each in zip(tangents, perturbed)))[1]

    def pull(self, perturbed: tuple[bool, ...], residuals: Arrays, cotangents: Arrays) -> Arrays:
        push = lambda *tangents: self.push(perturbed, residuals, tangents)
        return pulled_back(push, tuple(map(torch.zeros_like, residuals)), cotangents)


class _Reverse:
    """A function with a rule for reverse mode."""

    def __init__(self, function: Callable[..., Arrays]) -> None:
        self.function = function

    def defvjp(
        self, forward: Callable[..., tuple[Arrays, Arrays]], backward: Callable[..., Arrays], symbolic_zeros: bool
    ) -> None:
        self.forward, self.backward, self.symbolic_zeros = forward, backward, symbolic_zeros

    def __call__(self, *xs: Array) -> Arrays:
        return _called("custom_vjp", self, xs)

    def with_own_cells(self) -> "_Reverse":
        """Return a rule whose forward function, but not its pullback, uses the current values of its variables."""
        other = _Reverse(with_own_cells(self.function))
        other.defvjp(with_own_cells(self.forward), self.backward, self.symbolic_zeros)
        return other

    def as_rule(self, perturbed: tuple[bool, ...]) -> Rule:
        """Return the operation, for derivatives in some of the arguments."""
        forward, backward = [partial(each, perturbed) for each in (self.forward, self.backward)]
        when = self.as_rule if self.symbolic_zeros else None
        return Rule(self.function, forward, backward, _no_forward_mode, when=when, symbolic_zeros=self.symbolic_zeros)


def _no_forward_mode(residuals: Arrays, tangents: Arrays) -> Arrays:
    raise TypeError(
        "custom_vjp: a function with a rule for reverse mode has no forward mode; give it a rule with `custom_jvp`, "
        "which serves both"
    )
