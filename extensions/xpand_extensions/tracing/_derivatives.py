"""Building blocks of the rules for derivatives.

The rule of an operation is a tuple with an entry for each of its arrays:

- `None`: the result does not depend on it differentiably (an index, a condition);
- a number: the derivative is that number;
- `factor(f)`: the derivative is the array `f(xp, out, *args)`, element by element;
- `scale(f)`: the same where the operation is linear in this array, so that the factor does not depend on it;
- `LINEAR`: the operation is linear in this array: its derivative along `t` is itself, applied to `t`;
- `contribution(f)`: the derivative along `t` is `f(xp, t, out, *args, **params)`, linear in `t`; None for zero.

`Each(entry)` is one entry for every array, `First(entries)` are those of the first, with None for the rest. `joint(f)`
serves all arrays at once: `f(xp, tangents, out, *args, **params)` gives the derivative of the result, or of each array
of it, along tangents some of which are None.
"""

from collections.abc import Callable, Iterator
from itertools import chain, repeat
from typing import Any, Final


class _Rule:
    __slots__ = ("of",)

    def __init__(self, of: Callable[..., Any]) -> None:
        self.of = of


class factor(_Rule):
    """The derivative in an array is a factor."""

    is_factor = True
    __slots__ = ()


class scale(factor):
    """The same, of an operation that is linear in this array."""

    __slots__ = ()


class contribution(_Rule):
    """The contribution of an array to the derivative of the result."""

    __slots__ = ()


class joint(_Rule):
    """The derivative of all results along all arrays."""

    __slots__ = ()


class _Linear:
    __slots__ = ()

    def __repr__(self) -> str:
        return "LINEAR"


LINEAR: Final = _Linear()


class First:
    """Entries for the first arrays of an operation: the result does not depend differentiably on the others."""

    __slots__ = ("entries",)

    def __init__(self, *entries: Any) -> None:
        self.entries = entries

    def __iter__(self) -> Iterator[Any]:
        return chain(self.entries, repeat(None))

    def __getitem__(self, i: int) -> Any:
        return self.entries[i] if i < len(self.entries) else None
