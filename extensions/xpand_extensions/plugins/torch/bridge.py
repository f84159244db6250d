"""PyTorch's own derivatives (`backward`, `torch.autograd.grad`, `torch.func`) of operations with rules.

PyTorch would differentiate the steps of a solver, and the function in place of its rule. So an operation on tensors
that PyTorch differentiates becomes a `torch.autograd.Function`, whose derivatives come from xpand's linearization. A
second derivative linearizes the pullback, which is an operation on the same tensors and the cotangents.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import wraps
from inspect import signature
from typing import Any, TypeAlias, TypeVar, cast

import torch
import torch.utils.checkpoint
from torch.autograd import forward_ad
from torch.func import debug_unwrap

import xpand.torch as xp
from xpand import trees
from xpand.extend import LibraryArray as Array

from ..._captures import with_own_cells
from ..._dispatch import operation_at
from ..._transforms import replaced
from ...extend._applied import Ruled
from ...tracing import traced_namespace
from ...tracing._batching import batched_all
from ...tracing._core import Op, TracedArray, bare, bind, uses_outer
from ...tracing._forward import jvp
from ...tracing._reverse import linearize
from ._gradients import conjugated, is_floating
from ._in_compile import _rules
from ._plain import has_tangent

Arrays: TypeAlias = "tuple[Array, ...]"
F = TypeVar("F", bound=Callable[..., Any])


def constant(x: Any) -> Any:
    """Remove the outer levels of torch.func that do not differentiate an array: they wrap all new arrays."""
    while isinstance(x, torch.Tensor) and not isinstance(x, TracedArray):
        inner = debug_unwrap(x, recurse=False)
        if inner is x or inner.ndim != x.ndim or x.requires_grad or has_tangent(x):
            return x
        x = inner
    return x


def is_in_level(x: Any) -> bool:
    """Return whether torch.func or dual numbers of PyTorch differentiate or map an array."""
    if not isinstance(x, torch.Tensor) or isinstance(x, TracedArray):
        return False
    if debug_unwrap(x, recurse=False) is not x:
        x = constant(x)
        if debug_unwrap(x, recurse=False) is not x:
            return True
    return has_tangent(x)


def recording() -> AbstractContextManager[Any]:
    """Record operations in this context, so that arrays that depend on parameters can be told from constants."""
    return torch.enable_grad()


def is_lasting(x: Any) -> bool:
    """Return whether later calls can use an array that may be differentiated: a parameter, and no function of one."""
    return bool(x.is_leaf) and not is_in_level(x)


def may_be_differentiated(x: Any) -> bool:
    """Return whether PyTorch differentiates or maps an array wherever its derivatives are enabled."""
    return isinstance(x, torch.Tensor) and (x.requires_grad or is_in_level(x))


def is_recorded(x: Any) -> bool:
    """Return whether PyTorch records operations on an array for reverse mode."""
    return isinstance(x, torch.Tensor) and x.requires_grad and torch.is_grad_enabled()


def is_differentiated(x: Any) -> bool:
    """Return whether PyTorch differentiates or maps an array, by `backward`, dual numbers or torch.func."""
    return isinstance(x, torch.Tensor) and (is_recorded(x) or is_in_level(x))


def differentiable(op: Op) -> Callable[..., Any]:
    """Return the function of an operation with derivatives for PyTorch."""
    function = op.function

    @wraps(function)
    def call(*args: Any, **params: Any) -> Any:
        for x in args:
            # Most tensors need no call of a function to tell that they are not differentiated.
            if isinstance(x, torch.Tensor) and (
                # Wrapped tensors have no values. PyTorch removes all levels before it calls the function.
                (x.requires_grad and torch.is_grad_enabled())
                or debug_unwrap(x, recurse=False) is not x
                or forward_ad.unpack_dual(x).tangent is not None
            ):
                apply = lambda *xs: tuple(map(bare, bind(op, xs, params)))
                return bridged(op.namespace, op.name, apply, args, params if op.name == "custom_vjp" else None)
        return function(*args, **params)

    return call


def bridged(
    namespace: Any, name: str, function: Callable[..., Arrays], args: Sequence[Any], rule: dict[str, Any] | None = None
) -> Arrays:
    """Call a function of arrays; PyTorch differentiates it as xpand does.

    Args:
        namespace: The namespace of traced arrays over PyTorch.
        name: The name of the operation, for errors.
        function: Takes arrays, also traced ones, and returns a tuple of arrays. It captures no differentiated arrays.
        args: The arguments of the function.
        rule: The parameters of a `custom_vjp`, whose rule is faster without tracing.
    """
    tensors = [i for i, x in enumerate(args) if isinstance(x, torch.Tensor)]

    def of_tensors(*xs: Any) -> Arrays:
        return function(*replaced(args, tensors, xs))

    results: Arrays = _Bridge.apply(_Call(namespace, name, of_tensors, rule), *[args[i] for i in tensors])
    return results


def by_rules(path: str) -> Callable[[F], F]:
    """Differentiate a function of tensors by the rules of its facade, where PyTorch's own derivatives are worse.

    Args:
        path: The capability and the name of the facade.
    """

    def decorate(function: F) -> F:
        @wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            if torch.compiler.is_dynamo_compiling() or not any(map(is_differentiated, args)):
                return function(*args, **options)
            return ruled(operation_at(path), function)(*args, **options)

        return cast("F", call)

    return decorate


class _Call:
    """A call of a function of tensors, and its derivatives."""

    def __init__(self, namespace: Any, name: str, function: Callable[..., Arrays], rule: dict[str, Any] | None) -> None:
        self.namespace, self.name, self.function, self.rule = namespace, name, function, rule
        self.linear: Any = None
        """The derivative in the tensors at `positions`, until PyTorch's graph has it."""
        self.positions: list[int] = []

    def of_some(self, arrays: Sequence[Array], positions: Sequence[int]) -> Callable[..., Any]:
        """Return the function of the tensors at some positions, for transformations."""

        def function(*xs: Any) -> tuple[Any, tuple[()]]:
            return self.function(*replaced(map(self.namespace.wrap, arrays), positions, xs)), ()

        return function

    def linearized(self, arrays: Sequence[Array], positions: Sequence[int]) -> tuple[Arrays, Any]:
        """Return the results, and the derivative in the tensors at some positions."""
        if self.rule is not None and all(type(x) is torch.Tensor for x in arrays):
            perturbed = tuple([i in positions for i in range(len(arrays))])
            outs, residuals = self.rule["forward"](perturbed, *arrays)
            outs = tuple(map(bare, outs))
            return outs, _Pullback(self, perturbed, residuals, [is_floating(x) for x in outs])
        function = self.of_some(arrays, positions)
        outs, _, linear = linearize(self.namespace, self.name, function, [arrays[i] for i in positions])
        return outs, linear

    def pulled_back(self, arrays: Arrays, positions: Sequence[int], cotangents: Arrays) -> Arrays:
        """Pull cotangents of the results back, as an operation on the tensors and the cotangents."""
        count = len(arrays)
        pull = lambda *xs: self.linearized(xs[:count], positions)[1].pull(*xs[count:])
        return bridged(self.namespace, self.name, pull, (*arrays, *cotangents))

    def pushed_forward(self, arrays: Arrays, positions: Sequence[int], tangents: Arrays) -> Arrays:
        """Push tangents forward, as an operation on the tensors and the tangents."""
        count = len(arrays)

        def push(*xs: Array) -> Arrays:
            return jvp(self.namespace, self.of_some(xs, positions), [xs[i] for i in positions], xs[count:])[1]

        return bridged(self.namespace, self.name, push, (*arrays, *tangents))


class _Pullback:
    """The pullback of a rule for reverse mode."""

    def __init__(
        self,
        call: _Call,
        perturbed: tuple[bool, ...],
        residuals: Arrays,
        are_floating: Sequence[bool],
    ) -> None:
        assert call.rule is not None
        self.backward, self.wrap = call.rule["backward"], call.namespace.wrap
        self.perturbed, self.residuals, self.are_floating = perturbed, residuals, are_floating

    def pull(self, *cotangents: Array) -> list[Any]:
        """Return the cotangents of the arguments that are differentiated."""
        known = tuple([ct if each else None for ct, each in zip(cotangents, self.are_floating)])
        residuals = self.residuals
        if any(isinstance(ct, TracedArray) for ct in cotangents):
            residuals = tuple(map(self.wrap, residuals))
        gradients = self.backward(self.perturbed, residuals, known)
        return [bare(x) for x, each in zip(gradients, self.perturbed) if each]


class _Bridge(torch.autograd.Function):  # type: ignore[misc]
    """A function of tensors with derivatives by xpand."""

    @staticmethod
    def forward(call: _Call, *xs: Array) -> Arrays:
        call.positions = positions = [i for i, x in enumerate(xs) if x.requires_grad]
        values = [x.detach() for x in xs]
        with torch.enable_grad():  # the results show captured tensors that require gradients
            if positions and not any(map(is_in_level, xs)):
                outs, call.linear = call.linearized(values, positions)
            else:
                outs = call.function(*values)
        if any(map(may_be_differentiated, outs)):
            raise uses_outer(call.name)
        return _separate(outs, xs)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Arrays) -> None:
        call, *xs = inputs
        # PyTorch frees saved tensors after `backward`, and checkpoints compute them again: one has the linear function.
        token = torch.empty(0)
        token.linear, call.linear = call.linear, None
        ctx.call, ctx.like = call, [(x.shape, x.dtype, x.device) for x in output]
        ctx.save_for_backward(*xs, token)
        ctx.save_for_forward(*xs, token)
        ctx.mark_non_differentiable(*(x for x in output if not is_floating(x)))

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        *xs, token = ctx.saved_tensors
        cotangents = tuple(map(_cotangent, gradients, ctx.like))
        needed = [i for i, each in enumerate(ctx.needs_input_grad[1:]) if each]
        linear = getattr(token, "linear", None)
        if linear is None or torch.is_grad_enabled() or any(map(is_in_level, cotangents)):
            pulled = dict(zip(needed, ctx.call.pulled_back(tuple(xs), needed, cotangents)))
        else:
            pulled = dict(zip(ctx.call.positions, linear.pull(*cotangents)))
        return (None, *(conjugated(pulled[i]) if i in needed else None for i in range(len(xs))))

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: Any) -> Any:
        *xs, _token = ctx.saved_tensors
        positions = [i for i, t in enumerate(tangents) if t is not None and is_floating(xs[i])]
        with torch.enable_grad():
            moved = ctx.call.pushed_forward(tuple(xs), positions, tuple(tangents[i] for i in positions))
        return tuple(
            t if dtype.is_floating_point or dtype.is_complex else None for t, (_, dtype, _) in zip(moved, ctx.like)
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, call: _Call, *xs: Array) -> Any:
        namespace = call.namespace

        def each(*arrays: Any) -> Arrays:
            return batched_all(namespace, call.function, arrays, in_dims[1:], info.batch_size)

        outs = bridged(namespace, call.name, each, xs)
        return outs, (0,) * len(outs)


# PyTorch looks at the signature at each call.
_Bridge.forward.__dict__["__signature__"] = signature(_Bridge.forward)


def _separate(outs: Arrays, xs: Sequence[Array]) -> Arrays:
    """Return results without memory of the arguments, and without a cycle of references through the residuals."""
    if any(debug_unwrap(x, recurse=False) is not x for x in (*outs, *xs)):  # its memory is unknown
        return tuple([_compact(x) for x in outs])
    memory = set(map(_memory, xs)) - {None}
    return tuple([x.clone() if _memory(x) in memory else x.detach() for x in outs])


def _compact(x: Array) -> Array:
    """Return a copy without elements that share memory. PyTorch writes into tangents."""
    return x.clone(memory_format=torch.contiguous_format)


def _memory(x: Array) -> int | None:
    try:
        return int(x.untyped_storage().data_ptr())
    except RuntimeError:  # the zeros of a tangent, which have no memory
        return None


def _cotangent(x: Array | None, like: Any) -> Array:
    shape, dtype, device = like
    return torch.zeros(shape, dtype=dtype, device=device) if x is None else conjugated(x)


def checkpoint(function: Callable[..., Arrays], arrays: Arrays) -> Arrays:
    """Call a function. `backward` saves only its arguments."""
    results: Arrays = torch.utils.checkpoint.checkpoint(with_own_cells(function), *arrays, use_reentrant=False)
    return results


def ruled(operation: Any, implementation: Callable[..., Any]) -> Callable[..., Any]:
    """Return an implementation of an operation for tensors, which PyTorch differentiates by the rules of the operation.

    Its arrays may be anywhere among the arguments, and its result may be a tuple of arrays.
    """
    compiled = implementation if operation.rules is None else Ruled(operation.rules, implementation, _rules, _rules)

    @wraps(implementation)
    def call(*args: Any, **options: Any) -> Any:
        if torch.compiler.is_dynamo_compiling():
            return compiled(*args, **options)
        leaves, structure = trees.flatten((args, options))
        if not any(map(is_differentiated, leaves)):
            return implementation(*args, **options)
        make: Any = None

        def apply(*xs: Any) -> Arrays:
            nonlocal make
            is_traced = any(isinstance(x, TracedArray) for x in xs)
            function = operation.resolve_library("traced") if is_traced else implementation
            arguments, named = trees.unflatten(structure, xs)
            result = function(*arguments, **named)
            if not isinstance(result, (tuple, list)):
                return (bare(result),)
            make = getattr(type(result), "_make", type(result))
            return tuple(map(bare, result))

        outs = bridged(traced_namespace(xp), operation.name, apply, leaves)
        return outs[0] if make is None else make(outs)

    return call
