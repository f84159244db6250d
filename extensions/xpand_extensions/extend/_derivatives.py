"""Entries of rules for derivatives.

The rule of an operation is a tuple with an entry for each of its arrays, or a dictionary by the names of arguments:

- `None`: the array has no derivative (an index, a condition);
- an integer: the derivative is that number;
- `factor(f)`: the derivative is the array `f(xp, out, *args)`, element by element;
- `scale(f)`: as `factor`, for an operation that is linear in this array, so the factor does not depend on the array;
- `LINEAR`: the operation is linear in this array: its derivative along `t` is the operation itself, applied to `t`;
- `contribution(f)`: the derivative along `t` is `f(xp, t, out, *args, **params)`, linear in `t`; None for zero.

`Each(entry)` is one entry for every array. `First(entries)` has entries for the first arrays, and None for the others.
`joint(f)` is a rule for all arrays together: `f(xp, tangents, out, *args, **params)` returns the derivative of the
result, or of each of its arrays. A tangent is None if it is zero. `pullback(f)` is the transpose of the derivative, for
reverse mode; only operations of third parties can have it.
"""

from collections.abc import Callable, Iterator
from itertools import chain, repeat
from typing import Any, Final


class _Rule:
    __slots__ = ("of",)

    def __init__(self, of: Callable[..., Any]) -> None:
        """Store the function of the rule."""
        self.of = of


class factor(_Rule):
    """State that the derivative in an array is a factor, element by element.

    Args:
        of: `of(xp, out, **arguments)` returns the factor, of a shape that broadcasts to that of the result.
    """

    is_factor = True
    __slots__ = ()


class scale(factor):
    """State a factor for an operation that is linear in this array: the factor does not depend on the array."""

    __slots__ = ()


class contribution(_Rule):
    """State the contribution of one array to the derivative of the result.

    Args:
        of: `of(xp, tangent, out, **arguments)` returns the derivative along `tangent`, linear in it; None for zero.
    """

    __slots__ = ()


class joint(_Rule):
    """State the derivative of all results along all arrays.

    Args:
        of: `of(xp, tangents, out, **arguments)` returns the tangent of the result, or a tuple with one for each result;
            None for zero. `tangents` has the tangent of each array by the name of its argument; None for zero.
    """

    __slots__ = ()


class pullback(_Rule):
    """State how cotangents are pulled back from the results to the arrays: a derivative only for reverse mode.

    Args:
        of: `of(xp, cotangent, out, **arguments)` returns a dictionary from names of arguments to their cotangents.
            Omitted arguments have zeros. For several results, `cotangent` is a tuple.
    """

    __slots__ = ()


class _Linear:
    __slots__ = ()

    def __repr__(self) -> str:
        return "LINEAR"

    def __reduce__(self) -> str:
        return "LINEAR"  # pickled by its name, since there is one


LINEAR: Final = _Linear()
"""State that an operation is linear in an array: its derivative along a tangent is the operation, applied to the
tangent.
"""


class First:
    """Entries for the first arrays of an operation. The others have no derivatives."""

    __slots__ = ("entries",)

    def __init__(self, *entries: Any) -> None:
        self.entries = entries

    def __iter__(self) -> Iterator[Any]:
        return chain(self.entries, repeat(None))

    def __getitem__(self, i: int) -> Any:
        return self.entries[i] if i < len(self.entries) else None


class Each:
    """The same entry for all arrays of an operation."""

    __slots__ = ("entry",)

    def __init__(self, entry: Any) -> None:
        self.entry = entry

    def __iter__(self) -> Iterator[Any]:
        return repeat(self.entry)

    def __getitem__(self, i: int) -> Any:
        return self.entry
