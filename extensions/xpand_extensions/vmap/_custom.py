"""Functions with custom rules for `vmap`."""

import inspect
from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any, cast

from xpand import trees
from xpand.extend import Array, checks, describe, same_structure

from .._dispatch import pluggable
from .._transforms import Flat, arrays_of, as_array
from .._where import clean_tracebacks
from ..control_flow import map as mapped_in_a_loop


@pluggable
def custom_vmap(function: Callable[..., Any], /) -> "CustomVmap":
    """Give a function a custom rule for `vmap`, used instead of the rules of its operations: a decorator.

    Set the rule with `def_vmap` of the returned function.

    Args:
        function: Takes trees of arrays and returns one.

    Returns:
        The function. If it is called before the rule is set, it raises `AttributeError`. It has no reverse mode;
        `custom_vjp` around it can add one.

    Raises:
        TypeError: The returned function raises it if arguments are not trees of arrays and numbers, if the rule doesn't
            return a pair of trees of one structure, or for a derivative by reverse mode (on JAX, `ValueError`).
        ValueError: The returned function raises it under `vmap` if results lack the mapped axis.

    Source: `jax.custom_batching.custom_vmap`.

    >>> import numpy as np
    >>> from xpand import vmap
    >>> @custom_vmap
    ... def matvec(a, x):
    ...     return a @ x
    >>> @matvec.def_vmap
    ... def rule(axis_size, in_batched, a, x):
    ...     if in_batched == (False, True):  # one product of matrices
    ...         return (a @ x.T).T, True
    ...     return vmap(np.matmul, tuple(0 if each else None for each in in_batched))(a, x), True
    >>> vmap(matvec, in_axes=(None, 0))(np.eye(2), np.ones((3, 2))).shape
    (3, 2)
    """
    return CustomVmap(function, "custom_vmap")


def sequential_vmap(function: Callable[..., Any], /) -> "CustomVmap":
    """Return a function that `vmap` calls in a loop, once for each batch element: a decorator.

    Use it for functions whose operations have no rules for `vmap`, or need too much memory.

    Args:
        function: Takes trees of arrays and returns one.

    Returns:
        The function, as `custom_vmap` returns it, with a loop by `control_flow.map` as its rule.

    Raises:
        TypeError: `function` can't be called.

    Source: `jax.custom_batching.sequential_vmap`.

    >>> import numpy as np
    >>> from xpand import vmap
    >>> vmap(sequential_vmap(lambda x: x * 2.0))(np.asarray([1.0, 2.0]))
    array([2., 4.])
    """
    custom = CustomVmap(function, "sequential_vmap")

    def rule(axis_size: int, in_batched: Sequence[Any], *args: trees.Tree) -> tuple[trees.Tree, trees.Tree]:
        leaves, structure = trees.flatten(args)
        batched = trees.leaves(tuple(in_batched))

        def one(given: list[Array]) -> trees.Tree:
            elements = iter(given)
            return custom(*trees.unflatten(structure, [next(elements) if b else x for x, b in zip(leaves, batched)]))

        out = mapped_in_a_loop(one, [x for x, b in zip(leaves, batched) if b])
        return out, trees.map(lambda _: True, out)

    custom.def_vmap(rule)
    return custom


class CustomVmap:
    """A function with a custom rule for `vmap`, made by `custom_vmap`."""

    rule: Callable[..., Any] | None = None

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        """Store the function, for the decorator `name`."""
        checks.function(name, function)
        self.function, self.name = function, name
        update_wrapper(cast(Any, self), function, updated=())

    def def_vmap(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule, and return it: a decorator.

        Args:
            rule: Takes the size of the mapped axis, a tuple with a tree of booleans like each argument (True for arrays
                with the mapped axis), and the arguments, with the mapped axis first. Returns a pair: the output, and a
                tree of booleans like it.
        """
        checks.function("def_vmap", rule)
        self.rule = rule
        return rule

    @clean_tracebacks
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        name = getattr(self.function, "__name__", "the function")
        rule = self.rule
        if rule is None:
            raise AttributeError(f"{self.name}: {name} has no rule yet; give it one with `def_vmap`")
        if kwargs:
            bound = inspect.signature(self.function).bind(*args, **kwargs)
            if bound.kwargs:
                raise TypeError(
                    f"{self.name}: keyword-only arguments can't be mapped, got {sorted(bound.kwargs)}; make them "
                    "positional, or bind them with functools.partial"
                )
            args = bound.args
        leaves, structure = arrays_of(self.name, "the arguments", args)
        flat = Flat(self.name, self.function, structure, False)

        def of_batch(axis_size: int, in_batched: Sequence[bool], *arrays: Array) -> tuple[Any, Any]:
            in_batched = trees.unflatten(structure, map(bool, in_batched))
            found = rule(axis_size, in_batched, *trees.unflatten(structure, arrays))
            return _checked(f"{self.name}: the rule of {name}", found, flat, axis_size, arrays[0])

        native = custom_vmap.native(*leaves)(lambda *arrays: flat(*arrays)[0])
        native.def_vmap(of_batch)
        return flat.output(native(*leaves))


def _checked(rule: str, found: Any, flat: Flat, size: int, like: Array) -> tuple[tuple[Array, ...], tuple[bool, ...]]:
    """Check the result of a rule. Return its arrays, and which of them have the mapped axis."""
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise TypeError(f"{rule} must return a pair (output, which parts of it are batched), got {describe(found)}")
    values, structure = trees.flatten(found[0])
    flags, of_flags = trees.flatten(found[1])
    if flat.result is None:  # the function itself has not been called
        flat.result = structure
    elif not same_structure(structure, flat.result):
        raise TypeError(f"{rule} must return the structure {flat.result}, as the function does, got {structure}")
    if not same_structure(of_flags, structure) or not all(isinstance(each, bool) for each in flags):
        raise TypeError(f"{rule} must return a boolean for each array of the output, {structure}, got {found[1]!r}")
    arrays = tuple(as_array(f"{rule} returned an output that holds", x, like) for x in values)
    for x, is_batched in zip(arrays, flags):
        if is_batched and (not x.ndim or x.shape[0] != size):
            raise ValueError(f"{rule} must return arrays with the mapped axis first, of size {size}, got {x.shape}")
    return arrays, tuple(flags)
