"""Registration of derivative and batching rules for operations of other packages."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from xpand.extend import describe, import_module

from .._dispatch import Operation, Pluggable, operation_of
from ._applied import Rules
from ._derivatives import LINEAR, contribution, factor, joint, pullback

Entry: TypeAlias = Any
"""An entry of a derivative: None, an integer, `LINEAR`, `factor(f)`, `scale(f)` or `contribution(f)`."""

_AXES: Final = __name__.partition(".")[0] + ".tracing.rules._own"
"""Imported late: most operations have no axis signature."""


def register_rules(
    operation: Pluggable[..., Any],
    /,
    *,
    derivative: Mapping[str, Entry] | joint | pullback | None = None,
    batching: Callable[..., Any] | None = None,
    axes: str | None = None,
) -> None:
    """Give an operation its own derivative, and its own batching rule or an axis signature that yields one.

    `grad`, `jvp`, `vmap`, `jit` and the other transformations then use the rules on every library. Without a rule, they
    transform the operations of the implementation.

    Args:
        operation: A function made by `pluggable`, of a package other than xpand.
        derivative: How the results depend on the arrays, in one of three forms. The first is a dictionary from names of
            arguments to entries:

            - `factor(f)`: the tangent is multiplied by `f(xp, out, **arguments)`, element by element;
            - `scale(f)`: as `factor`, for an operation that is linear in this argument;
            - `LINEAR`: the operation itself is applied to the tangent;
            - `contribution(f)`: `f(xp, tangent, out, **arguments)`, linear in the tangent;
            - an integer: the tangent is multiplied by it;
            - None, or no entry: the argument has no derivative.

            The second, for all arguments and results together, is `joint(f)`: `f(xp, tangents, out, **arguments)`
            returns the tangent of the result, or a tuple with one for each result. `tangents` is a dictionary by the
            names of arguments. The third, only for reverse mode, is `pullback(f)`: `f(xp, cotangent, out, **arguments)`
            returns a dictionary from names of arguments to their cotangents. In all forms, None means zero.
        batching: `batching(xp, mapped, **arguments)` computes all batch elements together. `mapped` has a boolean for
            each argument, by name: whether it has the mapped axis, which is then its first axis. The function returns
            the result, or a tuple of results, with that axis first. `vmap` uses it.
        axes: Which axis of a result comes from which axis of an argument, such as "...i->..." for a mean. It replaces
            `batching`: `vmap` calls the operation once, with one more leading axis. `named.by_name` finds the names of
            the results. For operations without a default implementation, `jit` finds the shapes of results; their data
            type is the one to which the arrays promote. The grammar is in the guide "Extend xpand".

    `xp` is the namespace to compute with, and `out` is the result. `arguments` are the arguments that the facade passes
    to its implementation, by name. Rules have the same defaults as the implementation.

    Raises:
        TypeError: `operation` is not made by `pluggable`, or a rule has another type.
        ValueError: The operation belongs to xpand or already has rules, no rule is given, a name is no argument, or the
            axis signature violates the grammar or doesn't fit the operation.

    A call raises `TypeError` or `ValueError` if a rule returns a wrong number of arrays, or arrays of a wrong shape.

    >>> import numpy as np
    >>> from xpand import array_namespace, grad
    >>> from xpand_extensions.extend import factor, pluggable, register_rules
    >>> @pluggable
    ... def log1mexp(x, /):
    ...     "log(1 - exp(-x)) of every element."
    ...     return log1mexp.native(x)(x)
    >>> @log1mexp.default
    ... def _(x, /):
    ...     xp = array_namespace(x)
    ...     return xp.log(-xp.expm1(-x))
    >>> register_rules(log1mexp, derivative={"x": factor(lambda xp, out, x: 1 / xp.expm1(x))})
    >>> float(grad(log1mexp)(np.asarray(800.0)))
    0.0
    """
    record = operation_of(operation)
    if record is None:
        raise TypeError(
            f"register_rules: takes an operation made by `pluggable`, got {describe(operation)}; decorate the function "
            "with `pluggable` first"
        )
    name = record.name
    if record.is_own:
        raise ValueError(f"register_rules: {name} belongs to xpand; define your own operation with `pluggable`")
    if record.rules is not None:
        raise ValueError(
            f"register_rules: {name} already has rules; give its derivative and its batching rule in one call"
        )
    if derivative is None and batching is None and axes is None:
        raise ValueError(f"register_rules: {name} needs a derivative, a batching rule or axes, got none of them")
    if batching is not None and axes is not None:
        raise ValueError(
            f"register_rules: {name} got both batching and axes; give only axes if they describe the operation"
        )
    if axes is not None and not isinstance(axes, str):
        raise TypeError(f"register_rules: axes of {name} must be text such as '...i->...', got {describe(axes)}")
    if batching is not None and not callable(batching):
        raise TypeError(f"register_rules: batching of {name} must be a function, got {describe(batching)}")
    parameters = inspect.signature(operation).parameters
    variable = [each.name for each in parameters.values() if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    if variable:
        raise TypeError(
            f"register_rules: {name} takes any number of arguments as {variable[0]!r}; rules need a named "
            "argument, such as a sequence of arrays"
        )
    _check_derivative(record, derivative)
    found = None if axes is None else import_module(_AXES).own_axes(record, axes)
    record.rules = Rules(record, derivative, batching, found)
    record.forget()


def _check_derivative(operation: Operation[..., Any], derivative: Any) -> None:
    name = operation.name
    if derivative is None or isinstance(derivative, (joint, pullback)):
        _check_callable(f"derivative of {name}", derivative)
        return
    if not isinstance(derivative, Mapping):
        raise TypeError(
            f"register_rules: derivative of {name} must be a dictionary by the names of arguments, `joint(f)` or "
            f"`pullback(f)`, got {describe(derivative)}"
        )
    known = list(inspect.signature(operation.facade).parameters)
    for argument, entry in derivative.items():
        if argument not in known:
            raise ValueError(
                f"register_rules: derivative of {name} has {argument!r}, which is not an argument; its arguments are "
                f"{', '.join(known)}"
            )
        is_entry = isinstance(entry, (factor, contribution)) or (isinstance(entry, int) and type(entry) is not bool)
        if entry is not None and entry is not LINEAR and not is_entry:
            raise TypeError(
                f"register_rules: derivative of {name} in {argument} must be None, an integer, `LINEAR`, `factor(f)`, "
                f"`scale(f)` or `contribution(f)`, got {describe(entry)}"
            )
        _check_callable(f"derivative of {name} in {argument}", entry)


def _check_callable(what: str, rule: Any) -> None:
    of = getattr(rule, "of", len)
    if not callable(of):
        raise TypeError(f"register_rules: {what}: `{type(rule).__name__}` takes a function, got {describe(of)}")
