"""Calls of functions with custom rules as functions of arrays, and checks of the rules' results."""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, update_wrapper
from math import prod
from typing import Any, Generic, ParamSpec, TypeVar, cast

from xpand import array_namespace, trees
from xpand.extend import Array, DType, checks, describe, same_structure

from .._transforms import ArraySpec, Flat, Partial, arrays_and_numbers, as_array, unflatten
from .._transforms_patterns import flatten_without_plans, pattern_positions, without_plans
from ._arguments import argnums_of, positions_of
from ._products import Function

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class SymbolicZero:
    """The derivative of an array that is not differentiated. Rules with `symbolic_zeros` take and may return it.

    It has a shape and a data type, but none of an array's operations. All libraries share the class.

    Source: `jax.custom_derivatives.SymbolicZero`.

    >>> import numpy as np
    >>> from xpand import custom_jvp, jvp
    >>> f = custom_jvp(lambda x, y: x * y)
    >>> def rule(primals, tangents):
    ...     (x, y), (dx, dy) = primals, tangents
    ...     return x * y, dx * y if isinstance(dy, SymbolicZero) else dx * y + x * dy
    >>> f.defjvp(rule, symbolic_zeros=True) is rule
    True
    >>> jvp(lambda x: f(x, np.asarray(3.0)), (np.asarray(2.0),), (np.asarray(1.0),))[1]
    np.float64(3.0)
    """

    shape: tuple[int, ...]
    dtype: DType

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)


@dataclass
class CustomVJPPrimal:
    """An array or number in the arguments of `custom_vjp`, as `forward` gets it with `symbolic_zeros`.

    Source: `jax.custom_derivatives.CustomVJPPrimal`.
    """

    value: Any
    perturbed: bool
    """Whether the function is differentiated with respect to it. If False, its cotangent is not used."""


def custom_vjp_primal_tree_values(tree: trees.Tree) -> trees.Tree:
    """Replace each `CustomVJPPrimal` in a tree by its value.

    Args:
        tree: An argument of the rule `forward` of a `custom_vjp` with `symbolic_zeros`.

    Raises:
        TypeError: The tree has a leaf of another class.

    Source: `jax.custom_derivatives.custom_vjp_primal_tree_values`.

    >>> custom_vjp_primal_tree_values({"x": CustomVJPPrimal(2.0, perturbed=True)})
    {'x': 2.0}
    """

    def value(leaf: Any) -> Any:
        if not isinstance(leaf, CustomVJPPrimal):
            raise TypeError(
                "custom_vjp_primal_tree_values: takes arguments of the rule `forward` with symbolic_zeros, a tree of "
                f"CustomVJPPrimal; it holds {describe(leaf)}"
            )
        return leaf.value

    return trees.map(value, tree)


class Custom(Generic[P, R]):
    """A function with a custom rule for its derivative."""

    def __init__(
        self, name: str, function: Function, nondiff_argnums: Sequence[int], nondiff_argnames: Sequence[str] = ()
    ) -> None:
        """Store the function, for the decorator `name`."""
        checks.function(name, function)
        self.name, self.function = name, function
        numbers = argnums_of(name, nondiff_argnums, "nondiff_argnums")
        self.nondiff_argnums = (*numbers, *_numbers_of(name, function, nondiff_argnames))
        self._count, self._defaults = _positional(function)
        update_wrapper(cast(Any, self), function, updated=())  # without the function's own attributes

    @property
    def label(self) -> str:
        """The name of the function in messages."""
        return f"{self.name}: the rule of {getattr(self.function, '__name__', 'the function')}"

    def bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> "Call":
        """Prepare the arguments of a call."""
        if kwargs:
            given = inspect.signature(self.function).bind(*args, **kwargs)
            given.apply_defaults()
            if given.kwargs:
                raise TypeError(
                    f"{self.name}: keyword-only arguments can't be differentiated, got "
                    f"{sorted(given.kwargs)}; make them positional, or bind them with functools.partial"
                )
            args = given.args
        elif 0 < self._count - len(args) <= len(self._defaults):
            args = (*args, *self._defaults[len(args) - self._count :])
        return Call(self, args)


def _numbers_of(name: str, function: Function, names: str | Sequence[str]) -> list[int]:
    """Return the positions of arguments given by name."""
    names = [names] if isinstance(names, str) else list(names)
    if not names:
        return []
    known = [each.name for each in inspect.signature(function).parameters.values() if each.kind != each.KEYWORD_ONLY]
    for each in names:
        if each not in known:
            raise ValueError(
                f"{name}: nondiff_argnames names {each!r}, and {getattr(function, '__name__', 'the function')} takes "
                f"the positional arguments {', '.join(known)}"
            )
    return [known.index(each) for each in names]


def _positional(function: Function) -> tuple[int, tuple[Any, ...]]:
    """Return the number of a function's positional arguments, and the defaults of the last ones."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # for functions written in C
        return 0, ()
    by_position = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    return len(by_position), tuple([each.default for each in by_position if each.default is not each.empty])


class Call:
    """A call of a function with a rule: its arguments as arrays, and the structure of its result."""

    def __init__(self, custom: Custom[..., Any], args: tuple[Any, ...]) -> None:
        self.custom = custom
        self.nondiff = sorted(positions_of(custom.name, custom.nondiff_argnums, len(args), "nondiff_argnums"))
        self.chosen = [i for i in range(len(args)) if i not in self.nondiff]
        chosen = without_plans(tuple(args[i] for i in self.chosen))
        self.leaves, self.structure = arrays_and_numbers(custom.name, "the arguments", chosen, args)
        self.specs = [ArraySpec.of(x) for x in self.leaves]
        self.patterns = self.given_positions(pattern_positions(chosen))
        self.patterns_out: list[int] = []
        self.nondiff_args = tuple(args[i] for i in self.nondiff)
        """The arguments that are not differentiated."""
        self.result: list[Any] = []
        """The structure of the function's result, once it is known. torch.compile loses attributes that are set after a
        branch or a loop in the function.
        """

    def taken(self) -> list[Array]:
        """Return the arguments and drop them. The rule outlives the call, and must not keep them alive."""
        leaves, self.leaves = self.leaves, []
        return leaves

    def merged(self, users: tuple[Any, ...], *chosen: trees.Tree) -> Any:
        """Call a function, the first of `users`, with its arguments in order: the nondifferentiable ones, which follow
        it in `users`, and the others.
        """
        function, *nondiff = users
        args = dict(zip((*self.nondiff, *self.chosen), (*nondiff, *chosen)))
        return function(*[args[i] for i in range(len(args))])

    def given_positions(self, positions: list[int]) -> list[int]:
        """Renumber leaves of the arguments so that Python numbers are not counted."""
        if not (positions and isinstance(self.structure, Partial)):
            return positions
        left = self.structure.given(range(len(self.structure.filled(self.leaves))))
        return [left.index(position) for position in positions]

    def tangents(self, arrays: Sequence[Array], symbolic_zeros: bool) -> trees.Tree:
        """Give the tangents the structure of the arguments. Tangents of Python numbers are zero."""
        structure = self.structure
        if isinstance(structure, Partial):
            asarray = self.specs[0].xp.asarray
            zero = lambda x: SymbolicZero((), asarray(x).dtype) if symbolic_zeros else 0 * x
            structure = structure.mapped(zero)
        return unflatten(structure, arrays)

    def primals(self, leaves: Sequence[CustomVJPPrimal]) -> trees.Tree:
        """Give the arguments of a rule with symbolic zeros their structure. Python numbers are not differentiated."""
        structure = self.structure
        if isinstance(structure, Partial):
            structure = structure.mapped(lambda x: CustomVJPPrimal(x, perturbed=False))
        return unflatten(structure, leaves)

    def direct(self) -> trees.Tree:
        """Call the function without differentiated arrays."""
        return self.output(self.run((self.custom.function, *self.nondiff_args)))

    def run(self, users: tuple[Any, ...], *leaves: Array) -> tuple[Array, ...]:
        """Call the function with arrays."""
        flat = Flat(self.custom.name, partial(self.merged, users), self.structure, False, flatten_without_plans)
        found = flat(*leaves)[0]
        if not self.result:  # only once: PyTorch's compiler forbids a change in a second call
            self.result.append(flat.result)
        return found

    def output(self, arrays: Sequence[Array]) -> trees.Tree:
        """Give arrays the structure of the function's result."""
        return unflatten(self.result[0], arrays)

    def outputs(self, output: trees.Tree) -> tuple[Array, ...]:
        """Flatten the output that a rule returned. It must have the structure of the function's output."""
        label = self.custom.label
        found, structure = flatten_without_plans(output)
        positions = pattern_positions(output)
        if positions != self.patterns_out:  # only once: PyTorch's compiler forbids a change in a second call
            self.patterns_out[:] = positions
        if not self.result:
            self.result.append(structure)
        elif not same_structure(structure, self.result[0]):
            raise TypeError(
                f"{label} must return an output of the structure {self.result[0]}, as the function does, got "
                f"{structure}"
            )
        like = self.specs[0].zeros() if not all(map(checks.is_array, found)) else None
        return tuple(as_array(f"{label} returned an output that holds", x, like) for x in found)


def pair(what: str, found: Any) -> tuple[Any, Any]:
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise TypeError(f"{what}, got {describe(found)}")
    return found[0], found[1]


def filled_in(label: str, tree: trees.Tree, like: trees.Tree) -> trees.Tree:
    """Replace each None in a tree by zeros like the same part of another tree."""

    def filled(x: Any, part: trees.Tree) -> trees.Tree:
        return (
            trees.map(lambda like: like.zeros() if isinstance(like, ArraySpec) else 0 * like, part) if x is None else x
        )

    try:
        return trees.map(filled, tree, like, is_leaf=lambda x: x is None)
    except (ValueError, TypeError):
        raise TypeError(
            f"{label} must return the structure {trees.structure(like)}, got {trees.structure(tree)}"
        ) from None


def conforming(what: str, tree: trees.Tree, structure: Any, specs: list[ArraySpec]) -> tuple[Array, ...]:
    """Flatten a tree of derivatives, which must have the given structure, shapes and data types."""
    leaves, of_tree = flatten_without_plans(tree)
    wanted = structure.structure if isinstance(structure, Partial) else structure
    if not same_structure(of_tree, wanted):
        raise TypeError(f"{what} must have the structure {wanted}, got {of_tree}")
    if isinstance(structure, Partial):
        leaves = structure.given(leaves)
    found = []
    for i, (leaf, like) in enumerate(zip(leaves, specs)):
        which = f"{what}, leaf {i},"
        found.append(like.conforming(which, _instantiated(which, leaf, like)))
    return tuple(found)


def with_zeros(
    arrays: Sequence[Array | None], specs: Sequence[ArraySpec], symbolic_zeros: bool, others: Sequence[Array]
) -> Sequence[Any]:
    """Replace None by zeros: by symbolic ones, or by arrays that can be combined with `others`."""
    if all(x is not None for x in arrays):
        return arrays
    if symbolic_zeros:
        return [SymbolicZero(like.shape, like.dtype) if x is None else x for x, like in zip(arrays, specs)]
    # The zeros must be traced if the others are: the arrays of some libraries don't defer operators to traced ones.
    zeros = array_namespace(*others, *(x for x in arrays if x is not None)).zeros
    return [
        zeros(like.shape, dtype=like.dtype, device=like.device) if x is None else x for x, like in zip(arrays, specs)
    ]


def _instantiated(what: str, leaf: Any, like: ArraySpec) -> Any:
    """Replace a symbolic zero by an array of zeros."""
    if not isinstance(leaf, SymbolicZero):
        return leaf
    if (leaf.shape, leaf.dtype) != (like.shape, like.dtype):
        raise TypeError(
            f"{what} is a SymbolicZero of the shape {leaf.shape} and the data type {leaf.dtype}, and must have "
            f"{like.shape} and {like.dtype}"
        )
    return like.zeros()
