"""Operations with custom derivatives on PyTorch, under any nesting of torch.func's transformations.

`torch.autograd.Function` alone doesn't match JAX: for a second derivative it uses the rule at both levels, while JAX
uses it at the inner one and differentiates the operations of the rule at the outer one. So the levels are separated
here: at the innermost one that traces an argument, the rule's operations run below that level, and the derivative is
attached at that level alone.
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
    """An operation on arrays, and its derivative as linear maps that depend on residuals."""

    function: Callable[..., Arrays]
    """The operation without derivatives."""
    forward: Callable[..., tuple[Arrays, Arrays]]
    """Returns the results of the operation and its residuals."""
    pull: Callable[[Arrays, Arrays], Arrays]
    """Maps residuals and cotangents of the results to cotangents of the arguments, in JAX's convention."""
    push: Callable[[Arrays, Arrays], Arrays]
    """Maps residuals and tangents of the arguments to tangents of the results."""
    when: "Callable[[tuple[bool, ...]], Rule] | None" = None
    """Makes the rule for derivatives in some of the arguments, given booleans that tell which."""
    batches: "Callable[..., tuple[Arrays, Sequence[bool]]] | None" = None
    """Computes all lanes, below their level: takes `Lanes`, booleans that tell which arrays have an axis of lanes, and
    the arrays with this axis first; returns the results, and which of them have it."""

    def each(self, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> "Rule":
        """Return the rule with all its functions wrapped."""
        function, forward, pull, push = map(wrap, self[:4])
        of = self.when
        return Rule(function, forward, pull, push, of and (lambda differentiated: of(differentiated).each(wrap)))

    def where(self, differentiated: Sequence[bool]) -> "Rule":
        """Return the rule for a level that traces some of the arguments."""
        return self if self.when is None else self.when(tuple(differentiated))


def with_warnings(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make PyTorch warn at every `float(x)` in a function, which drops a gradient; by default it warns only once."""

    def called(*args: Any) -> Any:
        if torch.compiler.is_dynamo_compiling() or torch.is_warn_always_enabled():
            return function(*args)
        torch.set_warn_always(True)
        try:
            return function(*args)
        finally:
            torch.set_warn_always(False)

    return called


def call(rule: Rule, xs: Arrays) -> Arrays:
    """Apply an operation with a custom derivative."""
    if torch.compiler.is_dynamo_compiling():
        if private.are_levels_active():
            # PyTorch 2.13 would silently differentiate the operation instead.
            raise UnsupportedError(
                "torch.compile can't compile torch.func's transformations of functions with derivatives of their own; "
                "use `xpand_extensions.jit.jit`, which can"
            )
        differentiated = list(map(_is_differentiated, xs))
        if not any(differentiated):
            return rule.function(*xs)
        rule = rule.where(differentiated)
        # Functions can't record the structure of their results inside of the graphs of an autograd function.
        with torch.no_grad():
            outs, residuals = rule.forward(*xs)
            rule.pull(residuals, tuple([torch.zeros_like(x) for x in outs]))
        compiled: Arrays = _Compiled.apply(rule, *xs)
        return compiled
    return _call(rule, xs)


def _call(rule: Rule, xs: Arrays) -> Arrays:
    if not private.are_levels_active():
        differentiated = list(map(_is_differentiated, xs))
        return _Application(rule.where(differentiated), xs).attached(xs) if any(differentiated) else rule.function(*xs)
    interpreter = private.interpreter()
    level = interpreter.level()
    if private.is_vmap(interpreter):
        return _mapped(rule, xs, interpreter)
    below = tuple(private.unwrap_grad(x, level) for x in xs)
    # Arrays of levels below are constants here, also for forward mode, which stores the tangents of all levels
    # together.
    xs = tuple(x if private.level_of(x) == level else private.wrap_grad(x, level) for x in xs)
    differentiated = list(map(_is_differentiated, xs))
    if any(differentiated):
        return _Application(rule.where(differentiated), below, interpreter).attached(xs)
    with interpreter.lower():
        outs = _call(rule, below)
    return tuple(private.wrap_grad(x, level) for x in outs)


def is_floating(x: Array) -> bool:
    """Return whether an array has derivatives."""
    return bool(x.is_floating_point() or x.is_complex())


def merged(chosen: Sequence[bool], some: Iterable[Array], others: Iterable[Array]) -> Arrays:
    """Merge two sequences of arrays: take from `some` where `chosen` is true, from `others` elsewhere."""
    some, others = iter(some), iter(others)
    return tuple([next(some) if each else next(others) for each in chosen])


def conjugated(x: Array) -> Array:
    """Convert between PyTorch's and JAX's conventions for the gradients of complex functions."""
    return torch.conj(x).resolve_conj() if x.is_complex() else x


def _is_differentiated(x: Array) -> bool:
    """Return whether the innermost level differentiates with respect to an array."""
    return bool(x.requires_grad and torch.is_grad_enabled()) or has_tangent(x)


def is_traced_anywhere(x: Array) -> bool:
    """Return whether some level may differentiate or map an array; False for other libraries' arrays."""
    return isinstance(x, torch.Tensor) and bool(x.requires_grad or private.level_of(x) > 0)


def depends(x: Array, xs: Sequence[Array]) -> bool:
    """Return whether a result depends on the arrays that the innermost level traces."""
    return bool(x.requires_grad and private.level_of(x) == max(map(private.level_of, xs)))


class _Application:
    """An operation applied to arrays below the innermost level, with the residuals for its derivative there."""

    def __init__(self, rule: Rule, below: Arrays, interpreter: Any = None) -> None:
        """Take the arguments below the level of an interpreter of torch.func, or outside of torch.func."""
        self.rule, self.interpreter = rule, interpreter
        if interpreter is None:
            below = tuple([x.detach() for x in below])
            with private.set_forward_mode(False):
                outs, self.residuals = rule.forward(*below)
            _check_constants(outs, ())
            # PyTorch takes a returned argument for one changed in place, and never frees a reference cycle.
            self.outs = tuple(x.detach() if any(x is y for y in (*below, *self.residuals)) else x for x in outs)
        else:
            with interpreter.lower():
                outs, self.residuals = rule.forward(*below)
            _check_constants(outs, below)
            self.outs = tuple(private.wrap_grad(x, interpreter.level()) for x in outs)

    def attached(self, xs: Arrays) -> Arrays:
        """Return the results with their derivative in the arguments at this level."""
        with private.allow_single_level():
            found: Arrays = _Attached.apply(self, *xs)
        return found

    def taken(self) -> Arrays:
        """Return the results and drop them, to avoid a reference cycle."""
        outs, self.outs = self.outs, ()
        return outs


class CapturedError(Exception):
    """An operation depends on a differentiated array that is not an argument."""


def _check_constants(outs: Arrays, below: Arrays) -> None:
    """Check that results are not differentiated if no argument is: such derivatives would be lost."""
    if any(x.requires_grad for x in outs) and not any(x.requires_grad for x in below):
        raise CapturedError


class _Attached(private.SingleLevelFunction):  # type: ignore[misc]
    """The derivative of an operation, at one level."""

    @staticmethod
    def forward(application: _Application, *xs: Array) -> Arrays:
        return application.taken()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Arrays) -> None:
        ctx.application, *ctx.xs = inputs
        _note(ctx, output)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        rule, residuals = ctx.application.rule, ctx.application.residuals
        if ctx.application.interpreter is None and torch.is_grad_enabled():
            # PyTorch's own second derivative, at the same level: the residuals must depend on the arguments.
            residuals = rule.forward(*ctx.xs)[1]
        return (None, *_pulled(ctx, rule, residuals, gradients))

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: Any) -> Any:
        given = tuple(torch.zeros_like(x) if t is None else t.to(x.dtype) for x, t in zip(ctx.xs, tangents))
        # PyTorch disables derivatives here, but the levels below need them.
        with torch.enable_grad(), private.set_forward_mode(True):
            rule, residuals = ctx.application.rule, ctx.application.residuals
            if ctx.application.interpreter is None and any(x.requires_grad for x in ctx.xs):
                # Reverse mode at the same level: the residuals must depend on the arguments.
                residuals = rule.forward(*[forward_ad.unpack_dual(x).primal for x in ctx.xs])[1]
            found = rule.push(residuals, given)
        return tuple(t if is_floating(t) else None for t in found)


class _Compiled(torch.autograd.Function):  # type: ignore[misc]
    """The derivative of an operation for PyTorch's compiler, which can't trace levels."""

    @staticmethod
    def forward(ctx: Any, rule: Rule, *xs: Array) -> Arrays:
        outs, residuals = rule.forward(*xs)
        ctx.rule = rule
        ctx.save_for_backward(*residuals)
        _note(ctx, outs)
        return outs

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return (None, *_pulled(ctx, ctx.rule, ctx.saved_tensors, gradients))


def _note(ctx: Any, outs: Arrays) -> None:
    ctx.like = [(tuple(x.shape), x.dtype, x.device) for x in outs]
    ctx.mark_non_differentiable(*(x for x in outs if not is_floating(x)))


def _pulled(ctx: Any, rule: Rule, residuals: Arrays, gradients: Sequence[Any]) -> list[Any]:
    """Pull back PyTorch's gradients, which are the conjugates of JAX's, and None for integers."""

    def cotangent(x: Array | None, like: Any) -> Array:
        if x is not None and is_floating(x):
            return conjugated(x)
        shape, dtype, device = like
        return torch.zeros(shape, dtype=dtype, device=device)

    cotangents = tuple(map(cotangent, gradients, ctx.like))
    return [conjugated(x) if is_floating(x) else None for x in rule.pull(residuals, cotangents)]


def _mapped(rule: Rule, xs: Arrays, interpreter: Any) -> Arrays:
    """Apply an operation to all lanes below the level of vmap."""
    level, size = interpreter.level(), interpreter.batch_size()
    pairs = [private.unwrap_mapped(x, level) for x in xs]
    mapped = tuple([axis is not None for _, axis in pairs])
    if not any(mapped) and not (names.are_bound() and rule.batches is None):
        with interpreter.lower():
            return _call(rule, xs)
    below = tuple([x if axis is None else x.movedim(axis, 0) for x, axis in pairs])
    lanes = Lanes(size, partial(over_lanes, interpreter))
    with interpreter.lower():
        outs, have_axis = (rule.batches or partial(_each, rule))(lanes, mapped, *below)
    return tuple([private.wrap_mapped(x, 0, level) if has_axis else x for x, has_axis in zip(outs, have_axis)])


def _each(rule: Rule, lanes: "Lanes", mapped: Sequence[bool], *arrays: Array) -> tuple[Arrays, Sequence[bool]]:
    """Compute all lanes by the functions of a rule, vectorized."""
    outs = _call(rule.each(lanes.over(0)), lanes.with_axis(mapped, arrays))
    return outs, [True] * len(outs)


class Lanes(NamedTuple):
    """A level of vmap, for operations below it."""

    size: int
    over: Callable[[Any], Callable[[Callable[..., Arrays]], Callable[..., Arrays]]]
    """Takes which arguments have an axis of lanes, 0 or None for each; returns what vectorizes functions of these."""

    def with_axis(self, mapped: Sequence[bool], arrays: Sequence[Array]) -> Arrays:
        """Add the axis of lanes to the arrays that lack it."""
        return tuple([x if has_axis else x.expand(self.size, *x.shape) for x, has_axis in zip(arrays, mapped)])


def over_lanes(interpreter: Any, axes: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a function that vectorizes functions as a level of vmap does, below it or after it has finished.

    The names of its axis are bound inside, so that collectives find the positions of lanes at the right level.
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
            return over(at_position, (0, *positions))(_positions(size, args), *args)

        return call

    return mapped


def _positions(size: int, args: Any) -> Array:
    device = next((x.device for x in trees.leaves(args) if isinstance(x, torch.Tensor)), None)
    return torch.arange(size, dtype=torch.int32, device=device)
