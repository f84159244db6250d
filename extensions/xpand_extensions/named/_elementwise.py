"""Functions that make elementwise operations."""

from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar

from xpand import array_namespace, default_namespace
from xpand.extend import is_array

from ._array import NamedArray, check_rank, make
from ._calls import entered
from ._plans import ALIGNMENTS, Positional, aligned, alignment, check_sizes, stepped, without_axes

_new = object.__new__

A = TypeVar("A")
"""A named array, a number, or an array without names."""
Source = str | Callable[..., Any]
"""The positional function of an operation, or its path (see `Positional`)."""

UNARY: Final[dict[str, Source]] = {}
"""The functions of one array."""
BINARY: Final[dict[str, Source]] = {}
"""The functions of two arrays that broadcast."""


class Unary(Protocol):
    """An elementwise function of one array."""

    def __call__(self, a: A) -> A:
        """Return an array with the same axes."""
        ...


class Binary(Protocol):
    """An elementwise function of two arrays."""

    def __call__(self, x1: Any, x2: Any) -> Any:
        """Return an array with the axes of both."""
        ...


def unary(name: str, doc: str, source: Source = "") -> Unary:
    """Make a function of one array, by default from the positional function of the same name."""
    UNARY[name] = source = source or name
    function = Positional(source)
    by_type = function.by_type
    find = function.found
    named = NamedArray
    new = _new

    def apply(a: Any) -> Any:
        if type(a) is named:
            x = a.array
            out = new(named)
            out.array = (by_type.get(type(x)) or find(x))(x)
            out.names = a.names
            return out
        x = a if is_array(a) else default_namespace().asarray(a)
        return function(x)

    return entered(name, f"{doc}\n\nThe result has the same axes.", apply)


def binary(name: str, doc: str, source: Source = "") -> Binary:
    """Make a function of two arrays that broadcast, by default from the positional function of the same name."""
    BINARY[name] = source = source or name
    function = Positional(source)
    by_type = function.by_type
    find = function.found
    named = NamedArray
    new = _new
    plans = ALIGNMENTS

    def apply(x1: Any, x2: Any) -> Any:
        if type(x1) is named and type(x2) is named:
            names = x1.names
            a, b = x1.array, x2.array
            if names is x2.names and type(a) is type(b) and a.shape == b.shape:
                out = new(named)
                out.array = (by_type.get(type(a)) or find(a))(a, b)
                out.names = names
                return out
            key = (names, x2.names)
            plan = plans.get(key) or alignment(key)
            shape1, shape2 = a.shape, b.shape
            if len(shape1) != len(names) or len(shape2) != len(x2.names):
                check_rank(name, x1)
                check_rank(name, x2)
            for _, i, _, j in plan.same:
                if shape1[i] != shape2[j]:
                    check_sizes(name, plan.same, (x1, x2))
            step1, step2 = plan.steps
            if step1 is not None:
                a = stepped(a, step1)
            if step2 is not None:
                b = stepped(b, step2)
            if type(a) is not type(b):
                array_namespace(a, b)
            out = new(named)
            out.array = (by_type.get(type(a)) or find(a))(a, b)
            out.names = plan.names
            return out
        return _with_number(name, function, x1, x2)

    return entered(name, f"{doc}\n\nThe arrays broadcast by name, and the result has the axes of both.", apply)


def _with_number(name: str, function: Positional, x1: Any, x2: Any) -> Any:
    if isinstance(x1, NamedArray):
        without_axes(name, x2)
        return make(function(x1.array, x2), x1.names)
    if isinstance(x2, NamedArray):
        without_axes(name, x1)
        return make(function.of(x2.array)(x1, x2.array), x2.names)
    if not is_array(x1) and not is_array(x2):
        x1 = default_namespace().asarray(x1)
    return function.of(x1 if is_array(x1) else x2)(x1, x2)


def elementwise(name: str, source: Source) -> Callable[..., Any]:
    """Make an operation on any number of arrays that broadcast. Static parameters are keyword arguments."""
    function = Positional(source)
    named = NamedArray

    def apply(*operands: Any, **params: Any) -> Any:
        first = operands[0]
        if type(first) is named:
            x, names = first.array, first.names
            kind, shape = type(x), x.shape
            for other in operands[1:]:
                if type(other) is not named or other.names is not names:
                    break
                if type(other.array) is not kind or other.array.shape != shape:
                    break
            else:
                return _renamed(function.of(x)(*[each.array for each in operands], **params), names)
        if not any(isinstance(x, NamedArray) for x in operands):
            arrays = [x for x in operands if is_array(x)]
            if not arrays:
                operands = (default_namespace().asarray(operands[0]), *operands[1:])
                arrays = [operands[0]]
            return function.of(arrays[0])(*operands, **params)
        names, arrays = aligned(name, operands)
        return _renamed(function.of(next(x for x in arrays if is_array(x)))(*arrays, **params), names)

    return apply


def _renamed(found: Any, names: tuple[str, ...]) -> Any:
    """Name the axes of an array, or of several."""
    return tuple([make(x, names) for x in found]) if type(found) is tuple else make(found, names)
