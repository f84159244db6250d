"""Functions whose derivatives are given with them, as rules: for forward mode, which serves both, or for reverse."""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import update_wrapper
from typing import Any, cast

from xpand import _arguments, array_namespace, trees
from xpand._namespace import describe
from xpand._structures import same_structure
from xpand._typing import Array, Device, DType, Namespace

from .._dispatch import pluggable
from .._transforms import Flat, arrays_of, as_array
from .._transforms_patterns import flatten_planless, pattern_places, without_plans
from ._arguments import argnums_of, check_callable, places_of
from ._products import Function
from ._solve_arguments import OfArrays


@pluggable
def custom_jvp(function: Function, /, nondiff_argnums: Sequence[int] = ()) -> "CustomJVP":
    """Give a function its own derivative along a direction, which serves reverse mode too: a decorator.

    The rule is given to the function returned, with `defjvp`, or with `defjvps` as one for each argument.

    Args:
        function: Takes trees of arrays and returns one.
        nondiff_argnums: Which of its positional arguments the rule gets as they are, before the others: anything that
            is no array, functions included.

    Returns:
        The function. Called before a rule is given, it raises `AttributeError`.

    Raises:
        TypeError: By the function returned: an argument to be differentiated that is no tree of arrays and numbers, or
            a rule that returns something of another structure, shape or data type than its output.

    Under two derivatives the rule is what the inner one asks for, and the outer one differentiates the operations of
    the rule, as on JAX. Of arrays from outside that the function and its rule use, a derivative taken elsewhere is that
    of the function; JAX raises, and outside of JAX and PyTorch so does what is differentiated in both at once.

    Source: `jax.custom_jvp`.

    >>> import torch
    >>> @custom_jvp
    ... def f(x, y):
    ...     return torch.sin(x) * y
    >>> @f.defjvp
    ... def rule(primals, tangents):
    ...     (x, y), (dx, dy) = primals, tangents
    ...     return f(x, y), torch.cos(x) * dx * y + torch.sin(x) * dy
    >>> torch.func.grad(f)(torch.tensor(0.0), torch.tensor(2.0))
    tensor(2.)
    """
    return CustomJVP("custom_jvp", function, nondiff_argnums)


@pluggable
def custom_vjp(function: Function, /, nondiff_argnums: Sequence[int] = ()) -> "CustomVJP":
    """Give a function its own derivative for reverse mode: a decorator.

    The rule is given to the function returned, with `defvjp(forward, backward)`: `forward` takes the arguments and
    returns a pair, the output and what `backward` needs; `backward` takes that and a tree like the output, and returns
    a tuple with a tree like each argument, or None for one whose derivative is zero.

    Args:
        function: Takes trees of arrays and returns one.
        nondiff_argnums: Which of its positional arguments are no arrays: anything, functions included. `backward` gets
            them before the others.

    Returns:
        The function. Called before a rule is given, it raises `AttributeError`; it has no forward mode.

    Raises:
        TypeError: By the function returned: an argument to be differentiated that is no tree of arrays and numbers, or
            a rule that returns something of another structure, shape or data type than it must.

    Under two derivatives the rule is what the inner one asks for, and the outer one differentiates the operations of
    the rule, as on JAX. For arrays from outside the same holds as in `custom_jvp`.

    Source: `jax.custom_vjp`.

    >>> import torch
    >>> @custom_vjp
    ... def clipped(x):
    ...     return x
    >>> clipped.defvjp(lambda x: (x, None), lambda _, g: (torch.clip(g, -1.0, 1.0),))
    >>> torch.func.grad(lambda x: 10.0 * clipped(x))(torch.tensor(0.5))
    tensor(1.)
    """
    return CustomVJP("custom_vjp", function, nondiff_argnums)


class _Custom:
    """A function with a rule for its derivative."""

    def __init__(self, name: str, function: Function, nondiff_argnums: Sequence[int]) -> None:
        """Take the function, for the decorator `name`."""
        check_callable(name, function)
        self.name, self.function = name, function
        self.nondiff_argnums = argnums_of(name, nondiff_argnums, "nondiff_argnums")
        self._count, self._defaults = _positional(function)
        update_wrapper(cast(Any, self), function)

    @property
    def label(self) -> str:
        """What the function is called in messages."""
        return f"{self.name}: the rule of {getattr(self.function, '__name__', 'the function')}"

    def bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> "_Call":
        """Take the arguments of a call apart."""
        if kwargs:
            given = inspect.signature(self.function).bind(*args, **kwargs)
            given.apply_defaults()
            if given.kwargs:
                raise TypeError(
                    f"{self.name}: arguments that are keyword-only can't be differentiated, got "
                    f"{sorted(given.kwargs)}; make them positional, or bind them with functools.partial"
                )
            args = given.args
        elif 0 < self._count - len(args) <= len(self._defaults):
            args = (*args, *self._defaults[len(args) - self._count :])
        return _Call(self, args)


def _positional(function: Function) -> tuple[int, tuple[Any, ...]]:
    """Tell how many arguments a function takes by their places, and what the last of them are if left out."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # written in C
        return 0, ()
    by_place = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    return len(by_place), tuple([each.default for each in by_place if each.default is not each.empty])


@dataclass(frozen=True)
class _Like:
    """What is known of an array without its values, which a rule must not keep."""

    xp: Namespace
    shape: tuple[int, ...]
    dtype: DType
    device: Device

    @classmethod
    def of(cls, x: Array) -> "_Like":
        """Take it from an array."""
        return cls(array_namespace(x), tuple(x.shape), x.dtype, _arguments.device_of(x))

    def zeros(self) -> Array:
        """Make such an array of zeros."""
        return self.xp.zeros(self.shape, dtype=self.dtype, device=self.device)

    def conforming(self, what: str, leaf: Any) -> Array:
        """Return a derivative that must be like this. What stands for that of an integer is not looked at, and zero."""
        if _arguments.kind(self.xp, self.dtype) not in _arguments.FLOATING:
            return self.zeros()
        leaf = self.array(what, leaf)
        if tuple(leaf.shape) != self.shape:
            raise TypeError(f"{what} must have the shape {self.shape}, got {tuple(leaf.shape)}")
        if leaf.dtype != self.dtype:
            raise TypeError(f"{what} must have the data type {self.dtype}, got {leaf.dtype}")
        return leaf

    def array(self, what: str, leaf: Any) -> Array:
        """Return an array as it is, and a number as one of this data type."""
        if isinstance(leaf, (bool, int, float)):
            return self.xp.asarray(leaf, dtype=self.dtype, device=self.device)
        return leaf if _arguments.is_array(leaf) else as_array(f"{what} is", leaf, None)


class _Call:
    """A call of a function with a rule: its arguments as arrays, and the structure of what it returns."""

    def __init__(self, custom: _Custom, args: tuple[Any, ...]) -> None:
        self.custom = custom
        self.held = places_of(custom.name, custom.nondiff_argnums, len(args), "nondiff_argnums")
        self.chosen = [i for i in range(len(args)) if i not in self.held]
        chosen = without_plans(tuple(args[i] for i in self.chosen))
        self.leaves, self.structure = arrays_of(custom.name, "the arguments", chosen, args)
        self.likes = [_Like.of(x) for x in self.leaves]
        self.patterns = pattern_places(chosen)
        self.patterns_out: list[int] = []
        self.args = [args[i] if i in self.held else None for i in range(len(args))]
        self.flat = Flat(custom.name, self.merged(custom.function), self.structure, False, flatten_planless)

    def taken(self) -> list[Array]:
        """Give the arguments away: the rule, which outlives the call, must not keep them."""
        leaves, self.leaves = self.leaves, []
        return leaves

    @property
    def held_args(self) -> tuple[Any, ...]:
        """The arguments that are not differentiated."""
        return tuple(self.args[i] for i in self.held)

    def merged(self, function: Function) -> Function:
        """Make a function of the differentiated arguments alone."""

        def of_chosen(*chosen: Any) -> Any:
            given = list(self.args)
            for i, value in zip(self.chosen, chosen):
                given[i] = value
            return function(*given)

        return of_chosen

    def run(self, *leaves: Array) -> tuple[Array, ...]:
        """Call the function."""
        return self.flat(*leaves)[0]

    def outputs(self, output: trees.Tree) -> tuple[Array, ...]:
        """Flatten an output that a rule returned, which must have the structure of the function's own."""
        label = self.custom.label
        found, structure = flatten_planless(output)
        places = pattern_places(output)
        if places != self.patterns_out:  # once: PyTorch's compiler lets nothing be changed when it is called again
            self.patterns_out = places
        if self.flat.result is None:
            self.flat.result = structure
        elif not same_structure(structure, self.flat.result):
            raise TypeError(
                f"{label} must return an output of the structure {self.flat.result}, as the function does, got "
                f"{structure}"
            )
        like = self.likes[0].zeros() if not all(map(_arguments.is_array, found)) else None
        return tuple(as_array(f"{label} returned an output that holds", x, like) for x in found)


class CustomJVP(_Custom):
    """A function with a rule for its derivative along a direction; `custom_jvp` makes it."""

    rule: Function | None = None

    def defjvp(self, rule: Function) -> Function:
        """Give the function its rule, and return that: a decorator.

        Args:
            rule: Takes the arguments named by `nondiff_argnums`, a tuple of the other arguments, and a tuple of a
                tangent like each; returns a pair, the output and a tangent like it. It is linear in the tangents. Those
                of integers are zeros of their data types.
        """
        check_callable("defjvp", rule)
        self.rule = rule
        return rule

    def defjvps(self, *rules: Function | None) -> None:
        """Give the function a rule for each argument.

        Args:
            *rules: Each takes the tangent of its argument, the output, and the arguments; returns what that contributes
                to the tangent of the output. None where that is nothing.

        Raises:
            TypeError: The function has `nondiff_argnums`: these rules have no place for them.
        """
        if self.nondiff_argnums:
            raise TypeError("defjvps: can't be used with nondiff_argnums; give the whole rule to `defjvp`")
        for rule in rules:
            if rule is not None:
                check_callable("defjvps", rule)

        def whole(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[trees.Tree, trees.Tree]:
            if len(primals) != len(rules):
                raise TypeError(f"defjvps: got {len(rules)} rules for a function called with {len(primals)} arguments")
            output = self(*primals)
            parts = [rule(t, output, *primals) for rule, t in zip(rules, tangents) if rule is not None]
            if not parts:
                return output, trees.map(lambda x: array_namespace(x).zeros_like(x), output)
            return output, trees.map(lambda first, *rest: sum(rest, first), *parts)

        self.rule = whole

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        if self.rule is None:
            raise AttributeError(
                f"custom_jvp: {getattr(self.function, '__name__', 'the function')} has no rule yet; give it one with "
                "`defjvp` or `defjvps`"
            )
        rule, call = self.rule, self.bound(args, kwargs)

        def flat_rule(
            primals: Sequence[Array], tangents: Sequence[Array]
        ) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
            # The direction of a container is one of the same pattern.
            directions = _replaced(tangents, call.patterns, [primals[i] for i in call.patterns])
            given = (trees.unflatten(call.structure, list(each)) for each in (primals, directions))
            output, tangent = _pair(f"{self.label} must return a pair (output, tangent)", rule(*call.held_args, *given))
            outs = call.outputs(output)
            likes = [_Like.of(x) for x in outs]
            return outs, _conforming(f"{self.label}: the tangent", tangent, call.flat.result, likes)

        leaves = call.taken()
        native = custom_jvp.native(*leaves)(OfArrays(call.run, self.function, *call.held_args))
        native.defjvp(OfArrays(flat_rule, rule))
        return call.flat.output(native(*leaves))


class CustomVJP(_Custom):
    """A function with a rule for its derivative in reverse mode; `custom_vjp` makes it."""

    rule: tuple[Function, Function] | None = None

    def defvjp(self, forward: Function, backward: Function) -> None:
        """Give the function its rule.

        Args:
            forward: Takes the function's arguments; returns a pair, the output and a tree of what `backward` needs, of
                arrays and anything else.
            backward: Takes the arguments named by `nondiff_argnums`, what `forward` kept, and a tree like the output;
                returns a tuple with a tree like each of the other arguments.
        """
        check_callable("defvjp", forward)
        check_callable("defvjp", backward)
        self.rule = forward, backward

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        if self.rule is None:
            raise AttributeError(
                f"custom_vjp: {getattr(self.function, '__name__', 'the function')} has no rule yet; give it one with "
                "`defvjp`"
            )
        call = self.bound(args, kwargs)
        rule = _Reverse(call, *self.rule)
        leaves = call.taken()
        native = custom_vjp.native(*leaves)(OfArrays(call.run, self.function, *call.held_args))
        native.defvjp(*[OfArrays(each, user) for each, user in zip((rule.forward, rule.backward), self.rule)])
        return call.flat.output(native(*leaves))


class _Reverse:
    """A rule for reverse mode, made one of arrays for one call."""

    def __init__(self, call: _Call, forward: Function, backward: Function) -> None:
        self.call, self.of_trees, self.backward_of_trees = call, call.merged(forward), backward
        self.kept: tuple[list[Any], trees.Structure] | None = None

    def forward(self, *leaves: Array) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
        """Return the output, and the arrays of what is kept; remember the rest of it."""
        found = self.of_trees(*trees.unflatten(self.call.structure, leaves))
        output, kept = _pair(f"{self.call.custom.label}: forward must return a pair (output, what is kept)", found)
        values, structure = trees.flatten(kept)
        if self.kept is None:
            self.kept = [None if _arguments.is_array(x) else x for x in values], structure
        outs = self.call.outputs(output)
        # Patterns of the output are kept too: what is like it, of which `backward` takes one, has them.
        patterns = tuple(outs[i] for i in self.call.patterns_out)
        return outs, (*(x for x in values if _arguments.is_array(x)), *patterns)

    def backward(self, arrays: Sequence[Array], cotangents: Sequence[Array]) -> tuple[Array, ...]:
        """Return the cotangents of the arguments."""
        call, label = self.call, f"{self.call.custom.label}: backward"
        assert self.kept is not None, "forward has been called"
        values, structure = self.kept
        given = iter(arrays)
        kept = trees.unflatten(structure, [next(given) if x is None else x for x in values])
        cotangents = _replaced(cotangents, call.patterns_out, list(given))
        found = self.backward_of_trees(*call.held_args, kept, call.flat.output(cotangents))
        arguments = trees.unflatten(call.structure, call.likes)
        if not isinstance(found, (tuple, list)) or len(found) != len(arguments):
            got = f"{type(found).__name__} of {len(found)}" if isinstance(found, (tuple, list)) else describe(found)
            raise TypeError(f"{label} must return a tuple of {len(arguments)}, one for each argument, got {got}")
        back = _filled(label, without_plans(tuple(found)), arguments)
        return _conforming(f"{label}: the derivative", back, call.structure, call.likes)


def _pair(what: str, found: Any) -> tuple[Any, Any]:
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise TypeError(f"{what}, got {describe(found)}")
    return found[0], found[1]


def _filled(label: str, tree: trees.Tree, like: trees.Tree) -> trees.Tree:
    """Put zeros where a tree has None in the place of a part of another."""

    def filled(x: Any, part: trees.Tree) -> trees.Tree:
        return trees.map(lambda like: like.zeros(), part) if x is None else x

    try:
        return trees.map(filled, tree, like, is_leaf=lambda x: x is None)
    except (ValueError, TypeError):
        raise TypeError(
            f"{label} must return the structure {trees.structure(like)}, got {trees.structure(tree)}"
        ) from None


def _conforming(what: str, tree: trees.Tree, structure: Any, likes: list[_Like]) -> tuple[Array, ...]:
    """Flatten a tree of derivatives: of a structure, and of given shapes and data types."""
    leaves, found = flatten_planless(tree)
    if not same_structure(found, structure):
        raise TypeError(f"{what} must have the structure {structure}, got {found}")
    return tuple(like.conforming(f"{what}, leaf {i},", leaf) for i, (leaf, like) in enumerate(zip(leaves, likes)))


def _replaced(arrays: Sequence[Array], places: list[int], by: Sequence[Array]) -> Sequence[Array]:
    """Put others in some places of arrays."""
    if not places:
        return arrays
    found = list(arrays)
    for place, x in zip(places, by):
        found[place] = x
    return found
