"""Operations with custom derivatives on PyTorch, in any nesting of torch.func's transformations.

`torch.autograd.Function` applies its derivative at all levels of a nesting. JAX applies it at the inner level only: the
outer level differentiates the operations of the rule. So levels are handled one by one here. The operations of the rule
run below the innermost level that traces an argument, and the derivative is attached at this level only.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import torch
from torch.autograd import forward_ad

from xpand import UnsupportedError, trees
from xpand.extend import LibraryArray as Array
from xpand.torch import _private as private
from xpand_extensions.vmap import _names as names

from .._plain import has_tangent

Arrays: TypeAlias = "tuple[Array, ...]"
Function: TypeAlias = Callable[..., Any]


class Rule(NamedTuple):
    """An operation on arrays, and its derivative as linear functions of tangents or cotangents."""

    function: Callable[..., Arrays]
    """Computes the operation, without derivatives."""
    forward: Callable[..., tuple[Arrays, Arrays]]
    """Computes the operation; returns its results and the residuals."""
    pull: Callable[[Arrays, Arrays], Arrays]
    """Takes residuals and cotangents of the results; returns cotangents of the arguments, in JAX's convention."""
    push: Callable[[Arrays, Arrays], Arrays]
    """Takes residuals and tangents of the arguments; returns tangents of the results."""
    when: "Callable[[tuple[bool, ...]], Rule] | None" = None
    """Takes one boolean for each argument; returns the rule for derivatives in the arguments with True."""
    batches: "Callable[..., tuple[Arrays, Sequence[bool]]] | None" = None
    """Computes all lanes. Takes `Lanes`, one boolean for each argument, and the arguments: those with True have the
    axis of lanes, first. Returns the results, and one boolean for each."""

    def each(self, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> "Rule":
        """Wrap all functions of the rule, except `batches`."""
        function, forward, pull, push = map(wrap, self[:4])
        of = self.when
        return Rule(function, forward, pull, push, of and (lambda differentiated: of(differentiated).each(wrap)))

    def where(self, differentiated: Sequence[bool]) -> "Rule":
        """Return the rule for derivatives in some of the arguments."""
        return self if self.when is None else self.when(tuple(differentiated))


def call(rule: Rule, xs: Arrays) -> Arrays:
    """Apply an operation with a custom derivative."""
    if torch.compiler.is_dynamo_compiling():
        if private.are_levels_active():
            # PyTorch 2.13 would ignore the rule, without an error.
            raise UnsupportedError(
                "torch.compile can't compile torch.func's transformations of functions with derivatives of their own; "
                "use `xpand_extensions.jit.jit`, which can"
            )
        differentiated = list(map(_is_differentiated, xs))
        if not any(differentiated):
            return rule.function(*xs)
        rule = rule.where(differentiated)
        # Call the functions once outside the graph of the autograd function: they record the structures of their
        # results, which torch.compile forbids inside.
        with torch.no_grad():
            outs, residuals = rule.forward(*xs)
            rule.pull(residuals, tuple([torch.zeros_like(x) for x in outs]))
        compiled: Arrays = _Compiled.apply(rule, *xs)
        return compiled
    return _call(rule, xs)


def _call(rule: Rule, xs: Arrays) -> Arrays:
    if not private.are_levels_active():
        differentiated = list(map(_is_differentiated, xs))
        if not any(differentiated):
            return rule.function(*xs)
        return _attached(rule.where(differentiated), xs, tuple([x.detach() for x in xs]))
    interpreter = private.interpreter()
    level = interpreter.level()
    if private.is_vmap(interpreter):
        return _mapped(rule, xs, interpreter)
    below = tuple(private.unwrap_grad(x, level) for x in xs)
    # Arrays of lower levels are constants at this level. Wrap them: forward mode stores the tangents of all levels
    # together.
    xs = tuple(x if private.level_of(x) == level else private.wrap_grad(x, level) for x in xs)
    differentiated = list(map(_is_differentiated, xs))
    if any(differentiated):
        return _attached(rule.where(differentiated), xs, below, interpreter)
    with interpreter.lower():
        outs = _call(rule, below)
    return tuple(private.wrap_grad(x, level) for x in outs)


def is_floating(x: Array) -> bool:
    """Return whether an array can have derivatives: whether its data type is real or complex floating-point."""
    return bool(x.is_floating_point() or x.is_complex())


def merged(chosen: Sequence[bool], some: Iterable[Array], others: Iterable[Array]) -> Arrays:
    """Merge two sequences of arrays: take the next of `some` where `chosen` is True, otherwise the next of `others`."""
    some, others = iter(some), iter(others)
    return tuple([next(some) if each else next(others) for each in chosen])


def conjugated(x: Array) -> Array:
    """Convert between PyTorch's and JAX's conventions for the gradients of complex functions."""
    return torch.conj(x).resolve_conj() if x.is_complex() else x


def _is_differentiated(x: Array) -> bool:
    """Return whether the innermost level differentiates an array."""
    return bool(x.requires_grad and torch.is_grad_enabled()) or has_tangent(x)


def is_traced_anywhere(x: Array) -> bool:
    """Return whether any level may differentiate or map an array; False for other libraries' arrays."""
    return isinstance(x, torch.Tensor) and bool(x.requires_grad or private.level_of(x) > 0)


def _attached(rule: Rule, xs: Arrays, below: Arrays, interpreter: Any = None) -> Arrays:
    """Compute an operation below the innermost level, and attach its derivative at this level.

    Args:
        rule: The operation.
        xs: The arguments at this level.
        below: The arguments below this level.
        interpreter: The level of torch.func; None outside torch.func.
    """
    with private.set_forward_mode(False) if interpreter is None else interpreter.lower():
        outs, residuals = rule.forward(*below)
    if any(x.requires_grad for x in outs) and not any(x.requires_grad for x in below):
        raise CapturedError
    if interpreter is None:
        # PyTorch takes a returned argument for one changed in place, and never frees a reference cycle.
        outs = tuple(x.detach() if any(x is y for y in (*below, *residuals)) else x for x in outs)
    else:
        outs = tuple(private.wrap_grad(x, interpreter.level()) for x in outs)
    with private.allow_single_level():
        found: Arrays = _Attached.apply(rule, interpreter is None, residuals, outs, *xs)
    return found


class CapturedError(Exception):
    """An operation depends on a differentiated array that is not an argument: its derivative would be lost."""


class _Attached(private.SingleLevelFunction):  # type: ignore[misc]
    """The derivative of an operation at one level."""

    @staticmethod
    def forward(rule: Rule, is_outermost: bool, residuals: Arrays, outs: Arrays, *xs: Array) -> Arrays:
        return outs

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Arrays) -> None:
        # Do not store `outs`: that would be a reference cycle.
        ctx.rule, ctx.is_outermost, ctx.residuals, _, *ctx.xs = inputs
        _describe_results(ctx, output)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        residuals = ctx.residuals
        if ctx.is_outermost and torch.is_grad_enabled():
            # PyTorch's own second derivative, at the same level: the residuals must depend on the arguments.
            residuals = ctx.rule.forward(*ctx.xs)[1]
        return (None, None, None, None, *_pulled(ctx, ctx.rule, residuals, gradients))

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        given = tuple(torch.zeros_like(x) if t is None else t.to(x.dtype) for x, t in zip(ctx.xs, tangents[4:]))
        # PyTorch disables derivatives here, but the levels below need them.
        with torch.enable_grad(), private.set_forward_mode(True):
            residuals = ctx.residuals
            if ctx.is_outermost and any(x.requires_grad for x in ctx.xs):
                # Reverse mode at the same level: the residuals must depend on the arguments.
                residuals = ctx.rule.forward(*[forward_ad.unpack_dual(x).primal for x in ctx.xs])[1]
            found = ctx.rule.push(residuals, given)
        return tuple(t if is_floating(t) else None for t in found)


class _Compiled(torch.autograd.Function):  # type: ignore[misc]
    """The derivative of an operation in torch.compile, which can't trace levels."""

    @staticmethod
    def forward(ctx: Any, rule: Rule, *xs: Array) -> Arrays:
        outs, residuals = rule.forward(*xs)
        ctx.rule = rule
        ctx.save_for_backward(*residuals)
        _describe_results(ctx, outs)
        return outs

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return (None, *_pulled(ctx, ctx.rule, ctx.saved_tensors, gradients))


def _describe_results(ctx: Any, outs: Arrays) -> None:
    """Store the shapes and data types of results, and tell PyTorch which of them have no derivative."""
    ctx.like = [(tuple(x.shape), x.dtype, x.device) for x in outs]
    ctx.mark_non_differentiable(*(x for x in outs if not is_floating(x)))


def _pulled(ctx: Any, rule: Rule, residuals: Arrays, gradients: Sequence[Any]) -> list[Any]:
    """Pull back gradients in PyTorch's convention, the conjugates of JAX's, with None for integers."""

    def cotangent(x: Array | None, like: Any) -> Array:
        if x is not None and is_floating(x):
            return conjugated(x)
        shape, dtype, device = like
        return torch.zeros(shape, dtype=dtype, device=device)

    cotangents = tuple(map(cotangent, gradients, ctx.like))
    return [conjugated(x) if is_floating(x) else None for x in rule.pull(residuals, cotangents)]


def _mapped(rule: Rule, xs: Arrays, interpreter: Any) -> Arrays:
    """Apply an operation to all lanes, below the level of vmap."""
    level, size = interpreter.level(), interpreter.batch_size()
    pairs = [private.unwrap_mapped(x, level) for x in xs]
    mapped = tuple([axis is not None for _, axis in pairs])
    if not any(mapped) and not (names.are_bound() and rule.batches is None):
        with interpreter.lower():
            return _call(rule, xs)
    below = tuple([x if axis is None else x.movedim(axis, 0) for x, axis in pairs])
    lanes = Lanes(size, partial(over_lanes, interpreter))
    with interpreter.lower():
        outs, have_axis = (rule.batches or partial(_vectorized, rule))(lanes, mapped, *below)
    return tuple([private.wrap_mapped(x, 0, level) if has_axis else x for x, has_axis in zip(outs, have_axis)])


def _vectorized(rule: Rule, lanes: "Lanes", mapped: Sequence[bool], *arrays: Array) -> tuple[Arrays, Sequence[bool]]:
    """Compute all lanes with the vectorized functions of a rule."""
    outs = _call(rule.each(lanes.over(0)), lanes.with_axis(mapped, arrays))
    return outs, [True] * len(outs)


class Lanes(NamedTuple):
    """A level of vmap, for operations below it."""

    size: int
    """The number of lanes."""
    over: Callable[[Any], Callable[[Callable[..., Arrays]], Callable[..., Arrays]]]
    """Takes the axis of lanes of each argument, 0 or None; returns a decorator that vectorizes functions of these."""

    def with_axis(self, mapped: Sequence[bool], arrays: Sequence[Array]) -> Arrays:
        """Add the axis of lanes to the arrays that lack it."""
        return tuple([x if has_axis else x.expand(self.size, *x.shape) for x, has_axis in zip(arrays, mapped)])


def over_lanes(interpreter: Any, axes: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that vectorizes functions as a level of vmap does, below it or after it has finished.

    Inside, the names of its axis are bound, so that collectives find the positions of lanes at the right level.
    """
    level, size = interpreter.level(), interpreter.batch_size()
    over = partial(torch.func.vmap, randomness=interpreter.randomness())
    own = [name for name, axis in names.all_bound().items() if private.level_of(axis.position()) == level]
    if not own:
        return lambda function: over(function, axes)

    def mapped(function: Callable[..., Any]) -> Callable[..., Any]:
        def at_position(position: Array, *args: Any) -> Any:
            with ExitStack() as stack:
                for name in own:
                    stack.enter_context(names.bound(name, names.Axis(size, lambda: position)))
                return function(*args)

        def call(*args: Any) -> Any:
            positions = (0,) * len(args) if axes == 0 else axes
            device = next((x.device for x in trees.leaves(args) if isinstance(x, torch.Tensor)), None)
            numbers = torch.arange(size, dtype=torch.int32, device=device)
            return over(at_position, (0, *positions))(numbers, *args)

        return call

    return mapped
