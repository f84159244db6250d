"""`b += x` for NumPy's own array `b` and a traced array `x`.

NumPy calls the universal function with `out=(b,)`, and Python binds the result to the name again. `b` can't hold traced
values, so the result is a new array. This is right only if no other name, view or object refers to `b`, since they
would still see the old values. So references are counted: a call that has one more than the operator with one name is
an error. The count misses a few uses (`operator.iadd(b, x)` without its result, an attribute of a class). So `b` loses
its values: any later use is an error.
"""

import sys
from collections.abc import Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np

from xpand_extensions.tracing._core import TracedError

_REPLACED: Final = np.dtype([("replaced by a traced array; write b = b + x in place of b += x", "V1")])
"""The data type of an array that was replaced: NumPy's errors show it."""


class _Counts(NamedTuple):
    operator: int
    """The references to an array `b` in `b += x`, if it has one name."""
    base: int
    """Those to the base of `b`, if only `b` refers to it."""
    is_distinct: bool
    """Whether `np.add(b, x, out=b)` has more."""


class _Counter:
    """The second operand of calls whose references are counted."""

    __slots__ = ("counts",)

    def __init__(self) -> None:
        self.counts: list[tuple[int, int]] = []

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        self.counts.append(_count(kwargs))
        return None


def _count(kwargs: dict[str, Any]) -> tuple[int, int]:
    """Return the number of references to the array `out`, and to its base."""
    base = kwargs["out"][0].base
    return sys.getrefcount(kwargs["out"][0]), sys.getrefcount(base)


@cache
def _expected() -> _Counts:
    """Measure the references of an array with one name in this version of Python and NumPy."""
    x: Any = _Counter()

    def by_operator() -> None:
        array = np.zeros(3)
        array += x

    def by_operator_with_base() -> None:
        array = np.zeros((2, 3)).reshape(3, 2)
        array += x

    def by_function() -> None:
        array = np.zeros(3)
        np.add(array, x, out=array)

    by_operator()
    by_operator_with_base()
    by_function()
    (operator, _), (_, base), (function, _) = x.counts
    return _Counts(operator, base, function > operator)


def is_in_place(inputs: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Return whether the output is NumPy's own array, and the first operand."""
    return "out" in kwargs and type(kwargs["out"][0]) is np.ndarray and kwargs["out"][0] is inputs[0]


def is_replaceable(kwargs: dict[str, Any]) -> bool:
    """Return whether an operator is applied in place to an array that only one name refers to."""
    if kwargs.keys() != {"out"} or len(kwargs["out"]) != 1:
        return False
    references, of_base = _count(kwargs)
    expected = _expected()
    if not expected.is_distinct or references != expected.operator:
        return False
    array = kwargs["out"][0]
    if array.base is None:
        return bool(array.flags.owndata)
    return type(array.base) is np.ndarray and bool(array.base.flags.owndata) and of_base == expected.base


def not_replaceable(name: str) -> TracedError:
    """Make the error for an array that others may refer to."""
    return TracedError(
        f"np.{name} in place, such as `b += x`: NumPy's own array can't hold values that a transformation traces, and "
        "its other names and views would keep the old ones; write `b = b + x`, or make b with `np.zeros_like(x)` or "
        "`np.zeros(shape, like=x)` of a traced array x"
    )


def invalidate(array: Any) -> None:
    """Take the values from an array that was replaced, so that an overlooked name or view can't read old ones."""
    array.__setstate__((1, (0,), _REPLACED, False, b""))
