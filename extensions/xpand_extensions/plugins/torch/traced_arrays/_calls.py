"""Calls of PyTorch's functions, as functions of the traced tensors alone that return a tuple of tensors.

The derivatives of a call, and a call for all lanes of a map, are calls again. So there are derivatives of any order.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from xpand import trees
from xpand.torch import _private as private
from xpand_extensions._transforms import replaced

from .._gradients import conjugated, is_floating
from ._generators import Draws, generators


def own(gradient: torch.Tensor) -> torch.Tensor:
    """Return a gradient of PyTorch's in xpand's convention, and with memory, which PyTorch's zeros may lack."""
    x = conjugated(gradient)
    return x if private.are_levels_active() or x.data_ptr() or not x.numel() else x.clone()


_CONTAINERS = (list, tuple, dict)


def flattened(args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[list[Any], Any]:
    """Return the leaves and the structure of a function's arguments, which often contain no containers."""
    leaves = [*args, *kwargs.values()] if kwargs else list(args)
    for x in leaves:
        if isinstance(x, _CONTAINERS):
            return trees.flatten((tuple(args), kwargs))
    return leaves, tuple(kwargs)


class Call:
    """A function of tensors, with all its arguments but some tensors."""

    __slots__ = ("count", "function", "leaves", "name", "positions", "result", "state", "structure", "watched")

    def __init__(self, function: Callable[..., Any], leaves: list[Any], structure: Any, positions: list[int]) -> None:
        """Take the leaves of the arguments, their structure, and the positions of the missing tensors."""
        self.function, self.leaves, self.structure, self.positions = function, leaves, structure, positions
        self.name = getattr(function, "__name__", "function")
        self.result: Any = None
        """The structure of the result, its leaves other than tensors, and which leaves are tensors."""
        self.state: Sequence[Any] = ()
        """The states of the generators before the call, if it draws random numbers and is watched."""
        self.watched = False
        """Whether the call may be evaluated again."""
        self.count = 0
        """The number of results, where it was needed."""

    def __call__(self, *xs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Call the function with the missing tensors."""
        leaves = replaced(self.leaves, self.positions, xs)
        if type(self.structure) is tuple:
            names = self.structure
            count = len(leaves) - len(names)
            result = self.function(*leaves[:count], **dict(zip(names, leaves[count:])))
        else:
            args, kwargs = trees.unflatten(self.structure, leaves)
            result = self.function(*args, **kwargs)
        if isinstance(result, torch.Tensor):
            self.result = None, (None,), (True,)
            return (result,)
        parts, structure = trees.flatten(result)
        which = tuple([isinstance(x, torch.Tensor) for x in parts])
        self.result = structure, [None if each else x for x, each in zip(parts, which)], which
        return tuple(x for x, each in zip(parts, which) if each)

    def packed(self, arrays: Iterable[Any]) -> Any:
        """Make the function's result from its tensors."""
        structure, others, which = self.result
        rest = iter(arrays)
        if structure is None:
            return next(rest)
        return trees.unflatten(structure, [next(rest) if each else x for x, each in zip(others, which)])

    def constants(self) -> list[torch.Tensor]:
        """List the tensors that are arguments of the function, but not of the call."""
        return [x for x in self.leaves if isinstance(x, torch.Tensor)]

    def generators(self) -> list[torch.Generator]:
        """List the generators that the function may draw from."""
        return generators(self.leaves)

    def count_primals(self) -> int:
        """Count the arguments, without tangents and cotangents."""
        return len(self.positions)

    def with_constants(self, of: Callable[[torch.Tensor], torch.Tensor]) -> "Call":
        """Return the call with other tensors in place of its constants."""
        leaves = [of(x) if isinstance(x, torch.Tensor) else x for x in self.leaves]
        return Call(self.function, leaves, self.structure, self.positions)

    def again(self) -> "Call":
        """Return the call for a second evaluation, which must not change its constants, such as running means."""
        return self.with_constants(torch.clone)

    def __repr__(self) -> str:
        options = [x for x in self.leaves if x is not None and not isinstance(x, torch.Tensor)]
        return f"{self.name}({', '.join(map(repr, options))})" if options else self.name


class _Derived:
    """A call that is made from another one."""

    kind: str

    def __init__(self, call: Any, chosen: tuple[bool, ...]) -> None:
        """Take a call, and the arguments of it that are differentiated or mapped."""
        self.call: Call = call  # or another derived one
        self.chosen, self.state, self.watched = chosen, (), call.watched
        self.count = 0
        self.name = f"{self.kind} of {call.name}"

    def of(self, call: Any) -> Any:
        """Derive the same from another call of the same arguments."""
        return type(self)(call, self.chosen)

    @property
    def result(self) -> Any:
        return self.call.result

    @result.setter
    def result(self, value: Any) -> None:
        self.call.result = value

    def constants(self) -> list[torch.Tensor]:
        """As for `Call`."""
        return self.call.constants()

    def generators(self) -> list[torch.Generator]:
        """As for `Call`."""
        return self.call.generators()

    def count_primals(self) -> int:
        """As for `Call`."""
        return self.call.count_primals()

    def with_constants(self, of: Callable[[torch.Tensor], torch.Tensor]) -> Any:
        """As for `Call`."""
        return self.of(self.call.with_constants(of))

    def again(self) -> Any:
        """As for `Call`."""
        return self.of(self.call.again())

    def __repr__(self) -> str:
        return f"{self.kind} of {self.call}"


def differentiable_attention(call: Any) -> AbstractContextManager[Any]:
    """Make attention by operations that PyTorch differentiates in all modes, unlike its faster kernels."""
    return sdpa_kernel(SDPBackend.MATH) if "attention" in call.name else nullcontext()


class Pull(_Derived):
    """The pullback: takes the arguments of the call, and the cotangents of its floating-point results."""

    kind = "vjp"

    def __call__(self, *xs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return the cotangents of the wanted arguments."""
        primals, cotangents = xs[: len(self.chosen)], xs[len(self.chosen) :]
        positions = [i for i, is_chosen in enumerate(self.chosen) if is_chosen]
        if not private.are_levels_active():
            return _pulled(self.call, primals, positions, cotangents)

        def of_chosen(*chosen: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return tuple(x for x in self.call(*replaced(primals, positions, chosen)) if is_floating(x))

        with differentiable_attention(self):
            _, pull = torch.func.vjp(of_chosen, *[primals[i] for i in positions])
            return tuple(map(conjugated, pull(tuple(map(conjugated, cotangents)))))


def _pulled(
    call: Any, primals: Sequence[torch.Tensor], positions: Sequence[int], cotangents: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, ...]:
    """Pull cotangents through a second evaluation by PyTorch's own graph, which users' functions know as well."""
    is_part = torch.is_grad_enabled() and any(
        x.requires_grad for x in (*primals, *cotangents, *call.constants()) if isinstance(x, torch.Tensor)
    )
    if is_part:  # a function that can be differentiated only once looks at the cotangents to raise its error
        cotangents = [x if x.requires_grad else x.detach().requires_grad_() for x in cotangents]
    with torch.inference_mode(False), torch.enable_grad(), differentiable_attention(call):
        xs = list(primals)
        for i in positions:
            x = xs[i].clone() if xs[i].is_inference() else xs[i]
            xs[i] = x.view_as(x) if x.requires_grad else x.detach().requires_grad_()
        outs = [x for x in call(*xs) if is_floating(x)]
        pairs = [(x, conjugated(ct)) for x, ct in zip(outs, cotangents) if x.requires_grad]
        inputs = [xs[i] for i in positions]
        if not pairs:
            return tuple(map(torch.zeros_like, inputs))
        gradients = torch.autograd.grad(
            [x for x, _ in pairs],
            inputs,
            [ct for _, ct in pairs],
            create_graph=is_part,
            allow_unused=True,
            materialize_grads=True,
        )
    for x in gradients if is_part else ():
        if x.grad_fn is not None and x.grad_fn.name().endswith("Error"):
            raise RuntimeError(f"{call.name}: it is marked with @once_differentiable and has no second derivative")
    return tuple(map(own, gradients))


class Push(_Derived):
    """Forward mode: takes the arguments of the call, and the tangents of some of them."""

    kind = "jvp"

    def __call__(self, *xs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return the results of the call, and the tangents of the floating-point ones."""
        primals, tangents = xs[: len(self.chosen)], xs[len(self.chosen) :]
        rest = iter(tangents)
        # All floating-point arguments get tangents: some of PyTorch's formulas fail for missing ones. Zeros are made
        # from a tangent, so that they have lanes if it has.
        positions = [i for i, x in enumerate(primals) if is_floating(x)]
        along = tuple(
            next(rest) if self.chosen[i] else tangents[0].new_zeros(primals[i].shape, dtype=primals[i].dtype)
            for i in positions
        )

        def of_floating(*floating: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return self.call(*replaced(primals, positions, floating))

        at = tuple(primals[i].contiguous() for i in positions)  # tangents get the layout of the values
        with differentiable_attention(self):
            try:
                outs, moved = torch.func.jvp(of_floating, at, along)
            except NotImplementedError as error:
                if "forward AD" not in str(error):
                    raise
                outs, moved = _pushed_by_pullbacks(of_floating, at, along)
        return (*outs, *(t for x, t in zip(outs, moved) if is_floating(x)))


def _pushed_by_pullbacks(function: Any, primals: Any, tangents: Any) -> tuple[Any, Any]:
    """Push tangents by the transpose of the pullback, where PyTorch has no formula for forward mode."""
    outs, pull = torch.func.vjp(function, *primals)
    cotangents = tuple(map(torch.zeros_like, outs))
    _, push = torch.func.vjp(lambda *cts: pull(cts), *cotangents)
    return outs, push(tangents)


_WITHOUT_RULE = (
    "not generate a fallback",
    "doesn't match the broadcast shape",
    "inplace arithmetic",
    "setup_context",
    "generate_vmap_rule",
)
"""Parts of PyTorch's errors where it can't apply a function to all lanes."""


class Mapped(_Derived):
    """The call for all lanes of a map, which are the first axes of some arguments and of all results."""

    kind = "vmap"

    def __call__(self, *xs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Call the function for all lanes."""
        # Lanes that differ only in derivatives are of one evaluation of the function, and have the same numbers.
        randomness = "different" if any(self.chosen[: self.count_primals()]) else "same"
        axes = tuple(0 if is_mapped else None for is_mapped in self.chosen)
        results: tuple[torch.Tensor, ...]
        try:
            results = torch.func.vmap(self.call, axes, randomness=randomness)(*xs)
        except RuntimeError as error:
            if not any(each in str(error) for each in _WITHOUT_RULE):
                raise
            results = self.one_by_one(xs)
        return results

    def one_by_one(self, xs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """Call the function for one lane after another, where PyTorch has no rule: for recurrent networks."""
        size = next(x.shape[0] for x, is_mapped in zip(xs, self.chosen) if is_mapped)
        mapped = [x.unbind() if is_mapped else [x] * size for x, is_mapped in zip(xs, self.chosen)]
        lanes = [self.call(*arguments) for arguments in zip(*mapped)]
        return tuple(map(torch.stack, zip(*lanes)))


class Seeded(_Derived):
    """The call with the states of its generators as the first arguments.

    A second evaluation draws the same numbers, and leaves the generators as they are.
    """

    kind = "seeded"

    def __init__(self, call: Any, states: int, is_again: bool) -> None:
        """Take a call, the number of states, and whether the call has been evaluated before."""
        super().__init__(call, ())
        self.states, self.is_again = states, is_again

    def of(self, call: Any) -> Any:
        """Add states to another call."""
        return Seeded(call, self.states, self.is_again)

    def __call__(self, *xs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Call the function."""
        states, arguments = xs[: self.states], xs[self.states :]
        if xs[0].device.type == "meta":
            return self.call(*arguments)
        with Draws(self.call.generators(), states, self.is_again):
            return self.call(*arguments)

    def count_primals(self) -> int:
        """As for `Call`."""
        return self.states + self.call.count_primals()

    def again(self) -> Any:
        """As for `Call`."""
        return Seeded(self.call.again(), self.states, True)


def repeated(call: Any) -> tuple[Any, list[Any]]:
    """Return a call for a second evaluation, with the arguments that come before its own: states of generators."""
    state = list(call.state)
    return (Seeded(call.again(), len(state), True), state) if state else (call.again(), [])
