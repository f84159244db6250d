"""The rules of an operation: checks of their results, and their use on libraries with their own transformations.

There, the rules are passed to the library's functions with custom derivatives and custom batching.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from inspect import signature
from typing import Any, Final, TypeAlias

from xpand import array_namespace, is_concrete, trees
from xpand.extend import Array, checks, describe, is_array, trace_instead

from .._dispatch import Operation, import_if_present, plugin_package
from .._transforms import Partial, divided
from ._derivatives import LINEAR, contribution, factor, joint, pullback

Arrays: TypeAlias = "tuple[Array, ...]"
_TRACED: Final = __name__.partition(".")[0] + ".generic.autodiff"
"""The module of functions with custom derivatives for traced arrays."""


class Rules:
    """The rules of an operation, whose results are checked. The tracing engine reads them like its own tables."""

    def __init__(
        self, operation: Operation[..., Any], derivative: Any, batching: Callable[..., Any] | None, axes: Any
    ) -> None:
        """Store the rules, which have been checked."""
        self.axes = axes
        """The axis signature and its rules, `tracing.rules._own.OwnAxes`; None if there is none."""
        if axes is not None:
            batching = axes.batching
        self.operation = operation
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

    def around(self, implementation: Callable[..., Any], library: str) -> Callable[..., Any]:
        """Return an implementation with the rules for the transformations of its library."""
        if library == "traced":  # operations on traced arrays already have the other rules
            return (
                implementation
                if self.pullback is None
                else Ruled(self, implementation, import_if_present(_TRACED), None)
            )
        if self.axes is not None and self.derivative is None and self.pullback is None:
            return implementation  # the library's own transformations derive its batching and its derivative
        package = plugin_package(library)
        if package is None:
            return implementation
        bridge = import_if_present(f"{package}.bridge")
        if bridge is not None:
            return bridge.ruled(self.operation, implementation)
        autodiff = import_if_present(f"{package}.autodiff")
        if not hasattr(autodiff, "custom_jvp"):
            return implementation
        return Ruled(self, implementation, autodiff, import_if_present(f"{package}.vmap"))


class Ruled:
    """An implementation with rules, for a library that has functions with custom derivatives and custom batching."""

    def __init__(self, rules: Rules, implementation: Callable[..., Any], autodiff: Any, vmap: Any) -> None:
        """Store the implementation, and the library's `autodiff` and `vmap`. For traced arrays, `vmap` is None."""
        self.rules, self.implementation, self.autodiff, self.vmap = rules, implementation, autodiff, vmap
        self.is_differentiated: Callable[[Array], bool] | None = getattr(autodiff, "is_differentiated", None)
        """Returns whether a concrete array is differentiated, in libraries that have such arrays."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the operation."""
        if self.vmap is not None and not self._transforms(args) and not self._transforms(kwargs.values()):
            return self.implementation(*args, **kwargs)
        call, arrays = _Call.of(self, args, kwargs)
        return call.rebuilt(call.with_rules()(*arrays))

    def _transforms(self, values: Iterable[Any]) -> bool:
        """Return whether a transformation may trace or differentiate an array among the arguments."""
        for x in values:
            if type(x) in _PLAIN:
                continue
            if isinstance(x, (tuple, list)):
                if self._transforms(x):
                    return True
            elif is_array(x):
                is_differentiated = self.is_differentiated
                if not is_concrete(x) or (is_differentiated is not None and is_differentiated(x)):
                    return True
        return False


_PLAIN: Final = frozenset({bool, int, float, complex, str, type(None)})


class _Call:
    """One call of an operation, as functions of a flat sequence of arrays."""

    def __init__(self, ruled: Ruled, names: tuple[str, ...], positional: int) -> None:
        self.ruled, self.rules, self.names, self.positional = ruled, ruled.rules, names, positional
        self.of_array: list[str] = []
        """The name of the argument that each array belongs to."""
        self.parts: list[Partial] = []
        """Each argument without its arrays. If these were stored here, PyTorch would take them for captured arrays."""
        self.make: Callable[..., Any] | None = None
        """The class of a result of several arrays. None: the result is one array."""

    @classmethod
    def of(cls, ruled: Ruled, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple["_Call", list[Array]]:
        """Split the arguments of a call. Return the call and its arrays."""
        call = cls(ruled, (*ruled.rules.names[: len(args)], *kwargs), len(args))
        arrays: list[Array] = []
        for name, value in zip(call.names, (*args, *kwargs.values())):
            found, rest = divided(value)
            arrays += found
            call.of_array += [name] * len(found)
            call.parts.append(rest)
        return call, arrays

    def fill(self, arrays: Sequence[Any]) -> dict[str, Any]:
        """Return the arguments by name, with other arrays."""
        given = iter(arrays)
        return dict(zip(self.names, [part.tree(given) for part in self.parts]))

    def of_arrays(self, values: Sequence[Any]) -> dict[str, Any]:
        """Return one value for each array, by the names of the arguments that hold arrays."""
        filled = self.fill(values)
        return {name: filled[name] for name in self.of_array}

    def call(self, function: Callable[..., Any], arrays: Sequence[Any]) -> Arrays:
        """Call a function with the arguments."""
        filled = list(self.fill(arrays).values())
        by_name = dict(zip(self.names[self.positional :], filled[self.positional :]))
        return self._flat(function(*filled[: self.positional], **by_name))

    def with_rules(self) -> Callable[..., Any]:
        """Return the library's function with custom derivatives and batching."""
        ruled, rules = self.ruled, self.rules
        run: Any = self.run
        if rules.batching is not None and hasattr(ruled.vmap, "custom_vmap"):
            run = ruled.vmap.custom_vmap(self.run)
            run.def_vmap(self.of_batch)
        if rules.pullback is not None:
            custom = ruled.autodiff.custom_vjp(run)
            custom.defvjp(self.forward, self.backward, True)
        elif rules.derivative is not None:
            custom = ruled.autodiff.custom_jvp(run)
            custom.defjvp(self.pushed, True)
        else:
            custom = run
        function: Callable[..., Any] = custom
        return function

    def run(self, *arrays: Array) -> Arrays:
        """Call the implementation."""
        return self.call(self.ruled.implementation, arrays)

    def _flat(self, out: Any) -> Arrays:
        if not isinstance(out, (tuple, list)):
            return (out,)
        make = type(out)
        self.make = make._make if hasattr(make, "_make") else make  # the class of a named tuple, or of a plain one
        return tuple(out)

    def rebuilt(self, outs: Sequence[Any]) -> Any:
        """Make the result of a call from its arrays."""
        return outs[0] if self.make is None else self.make(outs)

    def of_batch(self, size: int, mapped: Sequence[bool], *arrays: Array) -> tuple[Arrays, tuple[bool, ...]]:
        """Compute the operation for all lanes."""
        assert self.rules.batching is not None
        found = self.rules.batching(array_namespace(*arrays), self.of_arrays(mapped), **self.fill(arrays))
        outs = self._flat(found)
        return outs, (True,) * len(outs)

    def pushed(self, primals: Arrays, tangents: Sequence[Array | None]) -> tuple[Arrays, Arrays]:
        """Compute the operation, and return its results and their tangents."""
        outs = _again(self, primals)
        found = self._tangents(primals, tangents, outs)
        xp = array_namespace(*primals)
        return outs, tuple(_as(xp, t, x) for t, x in zip(found, outs))

    def _tangents(self, primals: Arrays, tangents: Sequence[Array | None], outs: Arrays) -> Sequence[Array | None]:
        xp, out = array_namespace(*primals), self.rebuilt(outs)
        arguments, entries = self.fill(primals), self.rules.derivative
        if isinstance(entries, joint):
            found = entries.of(xp, self.of_arrays(tangents), out, **arguments)
            return (found,) if self.make is None else tuple(found)
        assert entries is not None
        total = None
        for i, (name, t) in enumerate(zip(self.of_array, tangents)):
            entry = entries.get(name)
            if t is None or entry is None:
                continue
            if self.make is not None:
                raise self.rules.several()
            if entry is LINEAR:
                self.rules.check_linear(name, arguments[name])
                (term,) = self.run(*primals[:i], t, *primals[i + 1 :])
            elif isinstance(entry, int):
                term = t * entry
            elif isinstance(entry, factor):
                term = t * entry.of(xp, out, **arguments)
            else:
                term = entry.of(xp, t, out, **arguments)
            if term is not None:
                term = _as(xp, term, outs[0])
                total = term if total is None else total + term
        return (total,) * len(outs)

    def forward(self, perturbed: Sequence[bool], *arrays: Array) -> tuple[Arrays, Arrays]:
        """Compute the operation, and return its results and the residuals for `backward`."""
        outs = _again(self, arrays)
        return outs, (*arrays, *outs)

    def backward(
        self, perturbed: Sequence[bool], residuals: Arrays, cotangents: Sequence[Array | None]
    ) -> tuple[Array, ...]:
        """Return the cotangents of the arrays."""
        rules, count = self.rules, len(self.of_array)
        assert rules.pullback is not None
        arrays, outs = residuals[:count], residuals[count:]
        xp = array_namespace(*arrays)
        given = tuple(xp.zeros_like(x) if ct is None else ct for ct, x in zip(cotangents, outs))
        out = self.rebuilt(outs)
        found = rules.pullback.of(xp, given[0] if self.make is None else given, out, **self.fill(arrays))
        back = rules.cotangents(found, self.of_array, arrays)
        return tuple(_as(xp, ct, x) for ct, x in zip(back, arrays))


def _again(call: _Call, arrays: Sequence[Array]) -> Arrays:
    """Compute the operation with its rules: derivatives of the derivative use them."""
    return call.call(call.ruled, arrays)


# torch.compile supports no derivatives of derivatives, and fails at rules within rules.
trace_instead(_again, lambda call, arrays: call.run(*arrays))


def _as(xp: Any, t: Array | None, like: Array) -> Array:
    """Convert a tangent to the shape and the data type of its array. None becomes zeros."""
    if t is None:
        return xp.zeros_like(like)
    if t.dtype != like.dtype:
        t = xp.astype(t, like.dtype)
    return t if tuple(t.shape) == tuple(like.shape) else xp.broadcast_to(t, tuple(like.shape))


def _holds_arrays(argument: Any) -> bool:
    return any(map(is_array, trees.leaves(argument)))


def _broadcasts(shape: Sequence[int], target: Sequence[int]) -> bool:
    try:
        return checks.broadcast(tuple(shape), tuple(target)) == tuple(target)
    except ValueError:
        return False
