"""Operations of xpand that are registered with PyTorch: each is one node of a graph.

Elementwise operations can have derivatives. Programs are loops, branches and host functions, which compiled code
calls as they are.
"""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Final, NamedTuple, TypeAlias

import torch

from xpand.extend import LibraryArray as Array
from xpand.torch._differentiated import is_differentiated

from .autodiff._levels import Arrays, Rule, call

Partials: TypeAlias = Callable[..., Sequence[Array | None]]
"""Takes the arguments and the result of an operation; returns its elementwise derivative in each tensor, or None."""

_LIBRARY: Final = torch.library.Library("xpand", "FRAGMENT")


def define_operation(
    signature: str, run: Callable[..., Array], partials: Partials | None = None
) -> Callable[..., Array]:
    """Define an operation whose result has the shape, data type and device of its last argument.

    Args:
        signature: The name and the arguments in PyTorch's notation: options, then tensors. All tensors have the same
            axes of lanes, in front of their other axes.
        run: Computes the operation on concrete tensors.
        partials: The derivatives; None if they are zero.

    Returns:
        The operation, also for traced tensors.
    """
    name = signature.partition("(")[0]
    _LIBRARY.define(f"{signature} -> Tensor")
    operation: Any = getattr(torch.ops.xpand, name).default

    def mapped(info: Any, in_dims: Sequence[int | None], *args: Any) -> tuple[Array, int]:
        size = info.batch_size
        moved = [_moved(x, axis, size) if isinstance(x, torch.Tensor) else x for x, axis in zip(args, in_dims)]
        return operation(*moved), 0

    _LIBRARY.impl(name, run, "CompositeExplicitAutograd")
    torch.library.register_fake(f"xpand::{name}", lambda *args: args[-1].new_empty(args[-1].shape), lib=_LIBRARY)
    torch.library.register_vmap(f"xpand::{name}", mapped, lib=_LIBRARY)

    def constant(*args: Any) -> Array:
        found: Array = operation(*[x.detach() if isinstance(x, torch.Tensor) else x for x in args])
        return found

    return constant if partials is None else _with_partials(constant, partials)


def _with_partials(constant: Callable[..., Array], partials: Partials) -> Callable[..., Array]:
    def apply(*args: Any) -> Array:
        options = [x for x in args if not isinstance(x, torch.Tensor)]
        tensors = args[len(options) :]
        if not any(map(is_differentiated, tensors)):
            return constant(*args)

        def forward(*xs: Array) -> tuple[Arrays, Arrays]:
            out = apply(*options, *xs)
            return (out,), (*xs, out)

        def pull(residuals: Arrays, cotangents: Arrays) -> Arrays:
            slopes = partials(*options, *residuals)
            return tuple([torch.zeros_like(x) if s is None else cotangents[0] * s for x, s in zip(residuals, slopes)])

        def push(residuals: Arrays, tangents: Arrays) -> Arrays:
            pairs = zip(tangents, partials(*options, *residuals))
            terms = [tangent * slope for tangent, slope in pairs if slope is not None]
            return (sum(terms[1:], start=terms[0]),)

        return call(Rule(lambda *xs: (constant(*options, *xs),), forward, pull, push), tensors)[0]

    return apply


def _moved(x: Array, axis: int | None, size: int) -> Array:
    return x.expand(size, *x.shape) if axis is None else x.movedim(axis, 0)


class Program(NamedTuple):
    """A function of arrays that runs as one operation of a graph."""

    run: Callable[[Sequence[Array]], Sequence[Array]]
    """Takes and returns a sequence of arrays."""
    like: Sequence[tuple[tuple[int, ...], Any]]
    """The shapes and data types of its results."""


# Operations take only tensors and numbers, so programs have numbers. They are never freed: graphs may use them until
# the process ends.
_PROGRAMS: Final[dict[int, Program]] = {}
_NUMBERS: Final = count()


def program_operation(name: str, **options: Any) -> Any:
    """Define an operation that runs the program with a given number."""

    def run(arrays: list[torch.Tensor], number: int) -> list[torch.Tensor]:
        given = [x.contiguous() for x in arrays]
        there = {x.untyped_storage().data_ptr() for x in (*arrays, *given)}
        found: list[Array] = []
        for x in _PROGRAMS[number].run(given):
            y = x.clone() if x.untyped_storage().data_ptr() in there else x  # an operation must return new arrays
            there.add(y.untyped_storage().data_ptr())
            found.append(y)
        return found

    def without_values(arrays: list[torch.Tensor], number: int) -> list[torch.Tensor]:
        return [arrays[0].new_empty(shape, dtype=dtype) for shape, dtype in _PROGRAMS[number].like]

    operation: Any = torch.library.custom_op(f"xpand::{name}", run, mutates_args=(), **options)
    operation.register_fake(without_values)
    return operation


def numbered(program: Program) -> int:
    """Store a program, and return its number."""
    number = next(_NUMBERS)
    _PROGRAMS[number] = program
    return number


run_program: Final = program_operation("program")
"""Runs a program, below all levels of torch.func: takes a list of arrays and the number of the program."""
