"""Functions with custom rules for batches on PyTorch."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch

from xpand.extend import Array
from xpand.torch import _private as private

Arrays: TypeAlias = "tuple[Array, ...]"
Batches: TypeAlias = "Callable[..., tuple[Arrays, tuple[bool, ...]]]"


def custom_vmap(function: Callable[..., Any], /) -> "_CustomVmap":
    return _CustomVmap(function)


class _CustomVmap:
    """A function of arrays with a custom rule for batches."""

    def __init__(self, function: Callable[..., Arrays]) -> None:
        self.function = function

    def def_vmap(self, rule: Batches) -> None:
        """Take the rule."""
        self.rule = rule

    def __call__(self, *xs: Array) -> Arrays:
        """Call the function."""
        if torch.compiler.is_dynamo_compiling() and not private.are_levels_active():
            return self.function(*xs)  # nothing maps here, and torch.compile doesn't follow the class below
        found: Arrays = _Called.apply(self.function, self.rule, *xs)
        return found


class _Called(torch.autograd.Function):  # type: ignore[misc]
    """A call of the function, which torch.func passes down level by level to the level of vmap."""

    @staticmethod
    def forward(function: Callable[..., Arrays], rule: Batches, *xs: Array) -> Arrays:
        # PyTorch takes a returned argument for one changed in place.
        return tuple(x.view_as(x) if any(x is y for y in xs) else x for x in function(*xs))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Arrays) -> None:
        ctx.function, ctx.rule, *xs = inputs
        ctx.save_for_forward(*xs)
        ctx.mark_non_differentiable(*(x for x in output if not (x.is_floating_point() or x.is_complex())))

    @staticmethod
    def vmap(info: Any, in_dims: Sequence[Any], function: Any, rule: Batches, *xs: Array) -> tuple[Arrays, Any]:
        axes = in_dims[2:]
        given = [x if axis is None else x.movedim(axis, 0) for x, axis in zip(xs, axes)]
        outs, batched = rule(info.batch_size, tuple([axis is not None for axis in axes]), *given)
        return tuple(outs), tuple([0 if each else None for each in batched])

    @staticmethod
    def jvp(ctx: Any, _: Any, __: Any, *tangents: Any) -> Any:
        xs, function, rule = ctx.saved_tensors, ctx.function, ctx.rule
        count, chosen = len(xs), [i for i, t in enumerate(tangents) if t is not None]

        def pushed(function: Callable[..., Arrays], arrays: Sequence[Array]) -> Arrays:
            def of_chosen(*given: Array) -> Arrays:
                found = list(arrays[:count])
                for i, x in zip(chosen, given):
                    found[i] = x
                return function(*found)

            found: Arrays = torch.func.jvp(of_chosen, tuple([arrays[i] for i in chosen]), tuple(arrays[count:]))[1]
            return found

        def batches(size: int, batched: Sequence[bool], *arrays: Array) -> tuple[Arrays, tuple[bool, ...]]:
            # A tangent has the axis if and only if its primal has it.
            either = list(batched[:count])
            for i, each in zip(chosen, batched[count:]):
                either[i] = either[i] or each
            wanted = [*either, *(either[i] for i in chosen)]
            given = [
                x if has or not wants else x.expand(size, *x.shape) for x, has, wants in zip(arrays, batched, wanted)
            ]
            which: tuple[bool, ...] = ()

            def outputs(*xs: Array) -> Arrays:
                nonlocal which
                outs: Arrays
                outs, which = rule(size, tuple(either), *xs)
                return outs

            return pushed(outputs, given), which

        found = _Called.apply(lambda *arrays: pushed(function, arrays), batches, *xs, *(tangents[i] for i in chosen))
        return tuple(t if t.is_floating_point() or t.is_complex() else None for t in found)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise TypeError(
            "custom_vmap: a function with a rule for batches has no derivative by reverse mode (grad, vjp, jacrev, "
            "linearize); put `custom_vjp` around it"
        )
