"""Registration of derivative and batching rules of operations that other packages define."""

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
    """Give an operation its own derivative, and its own rule for batches or the axis signature that yields one.

    `grad`, `jvp`, `vmap`, `jit` and the other transformations then use the rules on every library. Without a rule they
    transform what the implementation does.

    Args:
        operation: A function made by `pluggable`, of a package other than xpand.
        derivative: How the results depend on the arrays. Either a dictionary from names of arguments to entries:

            - `factor(f)`: the tangent is multiplied by `f(xp, out, **arguments)`, element by element;
            - `scale(f)`: the same, where the operation is linear in this argument;
            - `LINEAR`: the operation itself is applied to the tangent;
            - `contribution(f)`: `f(xp, tangent, out, **arguments)`, linear in the tangent;
            - an integer: the tangent is multiplied by it;
            - None, or no entry: the results do not depend differentiably on this argument.

            Or, for all arguments and all results at once, `joint(f)`: `f(xp, tangents, out, **arguments)` returns the
            tangent of the result, or a tuple of one for each result; `tangents` is a dictionary by the names of
            arguments. Or, for reverse mode alone, `pullback(f)`: `f(xp, cotangent, out, **arguments)` returns a
            dictionary from names of arguments to their cotangents. In all of these, None means zero.
        batching: `batching(xp, mapped, **arguments)` computes all batch elements together: `mapped` says, by the names
            of arguments, which have the mapped axis, which comes first. It returns the result, or a tuple of results,
            with that axis first. `vmap` uses it.
        axes: Instead of `batching`: which axis of a result comes from which axis of an argument, such as "...i->..."
            for a mean. `vmap` calls the operation once, with a leading axis more. `named.by_name` finds the names of
            the results. Where there is no default, `jit` finds their shapes: the data type is then the one that those
            of the arrays promote to. The grammar is in the guide "Extend xpand".

    `xp` is the namespace to compute with, `out` the result, and `arguments` are those that the facade passes to its
    implementation, by name. Rules take the same defaults as the implementation.

    Raises:
        TypeError: `operation` is not made by `pluggable`, or a rule is of another kind.
        ValueError: The operation is xpand's own or has rules already, no rule is given, a name is no argument, or the
            axis signature doesn't follow the grammar or doesn't fit the operation.

    When a rule is used, it raises `TypeError` or `ValueError` for a rule that returns the wrong number of arrays, or
    arrays of the wrong shape.

    >>> import numpy as np
    >>> from xpand import array_namespace
    >>> from xpand_extensions.autodiff import grad
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
        raise ValueError(f"register_rules: {name} is xpand's own operation; define one of your own with `pluggable`")
    if record.rules is not None:
        raise ValueError(
            f"register_rules: {name} has rules already; give its derivative and its batching rule in one call"
        )
    if derivative is None and batching is None and axes is None:
        raise ValueError(f"register_rules: {name} needs a derivative, a batching rule or axes, got none of them")
    if batching is not None and axes is not None:
        raise ValueError(f"register_rules: {name} got both batching and axes; give axes alone where they describe it")
    if axes is not None and not isinstance(axes, str):
        raise TypeError(f"register_rules: axes of {name} must be text such as '...i->...', got {describe(axes)}")
    if batching is not None and not callable(batching):
        raise TypeError(f"register_rules: batching of {name} must be a function, got {describe(batching)}")
    parameters = inspect.signature(operation).parameters
    variable = [each.name for each in parameters.values() if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    if variable:
        raise TypeError(
            f"register_rules: {name} takes any number of arguments as {variable[0]!r}; rules need an argument with a "
            "name, such as a sequence of arrays"
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
                f"register_rules: derivative of {name} has {argument!r}, which is no argument; its arguments are "
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
