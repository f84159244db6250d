"""The rules of an operation. Their results are checked at each call."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import signature
from typing import Any

from xpand import trees
from xpand.extend import Array, checks, describe, is_array

from .._dispatch import Operation
from ._derivatives import contribution, factor, joint, pullback


class CheckedRules:
    """The rules of an operation. The tracing engine reads them like its own tables."""

    def __init__(
        self, operation: Operation[..., Any], derivative: Any, batching: Callable[..., Any] | None, axes: Any
    ) -> None:
        """Store the rules, which have been checked."""
        self.axes = axes
        """The axis signature and its rules, `tracing.rules._own.OwnAxes`; None if there is none."""
        if axes is not None:
            batching = axes.batching
        self.name, self.names = operation.name, tuple(signature(operation.facade).parameters)
        self.pullback = derivative if isinstance(derivative, pullback) else None
        self.batching: Callable[..., Any] | None = None if batching is None else partial(self._batched, batching)
        self.derivative: Any = None
        """The rule for the tracing engine, in which `pullback` is a function with a custom derivative."""
        if isinstance(derivative, joint):
            self.derivative = joint(partial(self._joint, derivative.of))
        elif isinstance(derivative, Mapping):
            chosen = {name: entry for name, entry in derivative.items() if entry is not None}
            self.derivative = {name: self._entry(name, entry) for name, entry in chosen.items()}

    def _entry(self, argument: str, entry: Any) -> Any:
        if isinstance(entry, factor):
            return type(entry)(partial(self._factor, argument, entry.of))
        return contribution(partial(self._term, argument, entry.of)) if isinstance(entry, contribution) else entry

    def _factor(self, argument: str, of: Callable[..., Any], xp: Any, out: Any, /, **arguments: Any) -> Any:
        found = of(xp, out, **arguments)
        return self._like(f"the factor of {argument}", found, out, numbers=True)

    def _term(self, argument: str, of: Callable[..., Any], xp: Any, t: Any, out: Any, /, **arguments: Any) -> Any:
        return self._like(f"the contribution of {argument}", of(xp, t, out, **arguments), out)

    def _joint(self, of: Callable[..., Any], xp: Any, tangents: Any, out: Any, /, **arguments: Any) -> Any:
        chosen = {name: t for name, t in tangents.items() if _holds_arrays(arguments[name])}
        found = of(xp, chosen, out, **arguments)
        if not isinstance(out, (tuple, list)):
            return self._like("the tangent", found, out)
        count = len(found) if isinstance(found, (tuple, list)) else None
        if count != len(out):
            got = describe(found) if count is None else f"{count}"
            raise TypeError(
                f"{self.name}: the derivative must return a tuple of {len(out)} tangents, one for each result, got "
                f"{got}"
            )
        return tuple(self._like(f"tangent {i}", t, x) for i, (t, x) in enumerate(zip(found, out)))

    def _like(self, what: str, found: Any, out: Any, *, numbers: bool = False) -> Any:
        """Check that a rule has returned an array that broadcasts to a result, or None."""
        if (numbers and isinstance(found, (int, float, complex))) or (found is None and not numbers):
            return found
        if not is_array(found):
            raise TypeError(f"{self.name}: {what} must be an array, got {describe(found)}")
        if out is not None and not _broadcasts(found.shape, out.shape):
            raise ValueError(
                f"{self.name}: {what} must have the shape of the result, {tuple(out.shape)}, got {tuple(found.shape)}"
            )
        return found

    def _batched(self, rule: Callable[..., Any], xp: Any, mapped: Any, /, **arguments: Any) -> Any:
        which = {name: x for name, x in mapped.items() if _holds_arrays(arguments[name])}
        found = rule(xp, which, **arguments)
        pairs = zip(trees.leaves(which), [x for name in sorted(which) for x in trees.leaves(arguments[name])])
        size = next(x.shape[0] for is_mapped, x in pairs if is_mapped is True)
        for x in found if isinstance(found, (tuple, list)) else (found,):
            if not is_array(x):
                raise TypeError(f"{self.name}: the batching rule must return arrays, got {describe(x)}")
            if not x.shape or x.shape[0] != size:
                raise ValueError(
                    f"{self.name}: the batching rule must return arrays with the mapped axis first, of size {size}, "
                    f"got the shape {tuple(x.shape)}"
                )
        return found

    def cotangents(self, found: Any, names: Sequence[str], arrays: Sequence[Array]) -> list[Array | None]:
        """Check the result of a pullback. Return the cotangent of each array; `names` are the arguments that they
        belong to.
        """
        if not isinstance(found, Mapping):
            raise TypeError(
                f"{self.name}: the pullback must return a dictionary from names of arguments to cotangents, got "
                f"{describe(found)}"
            )
        unknown = found.keys() - set(names)
        if unknown:
            raise ValueError(
                f"{self.name}: the pullback returns {sorted(unknown)}, which are not arrays among the arguments; "
                f"these are {', '.join(dict.fromkeys(names))}"
            )
        back: list[Array | None] = [None] * len(names)
        for name, ct in found.items():
            cts = trees.leaves(ct, is_leaf=lambda x: x is None)
            positions = [i for i, each in enumerate(names) if each == name]
            if len(cts) != len(positions):
                raise ValueError(
                    f"{self.name}: the pullback must return {len(positions)} cotangents for {name}, got {len(cts)}"
                )
            for i, each in zip(positions, cts):
                if each is not None and tuple(each.shape) != tuple(arrays[i].shape):
                    raise ValueError(
                        f"{self.name}: the cotangent of {name} must have its shape, {tuple(arrays[i].shape)}, got "
                        f"{tuple(each.shape)}"
                    )
                back[i] = each
        return back

    def several(self) -> TypeError:
        """Return the error for a derivative by arguments of an operation with several results."""
        return TypeError(
            f"{self.name}: returns several arrays, so that its derivative must be `joint(f)` or `pullback(f)`, not a "
            "dictionary by arguments"
        )

    def check_linear(self, name: str, value: Any) -> None:
        """Check that an argument in which an operation is linear is one array."""
        if not is_array(value):
            raise TypeError(
                f"{self.name}: the derivative in {name} is `LINEAR`, so this argument must be one array, got "
                f"{describe(value)}; use `joint(f)`"
            )


def _holds_arrays(argument: Any) -> bool:
    return any(map(is_array, trees.leaves(argument)))


def _broadcasts(shape: Sequence[int], target: Sequence[int]) -> bool:
    try:
        return checks.broadcast(tuple(shape), tuple(target)) == tuple(target)
    except ValueError:
        return False
