"""What the host keeps for arrays: objects that no array can hold, under numbers that arrays can.

A number lives as long as an array that it was given to, and through a few more calls. Whoever asks for a number must be
prepared that there is nothing under it any more.
"""

import weakref
from collections import deque
from collections.abc import Sequence
from itertools import count
from typing import Any, Final

from xpand._typing import Array

_KEPT: Final[weakref.WeakValueDictionary[int, Any]] = weakref.WeakValueDictionary()
_OWNED: Final[dict[int, list[Any]]] = {}
_RECENT: Final[deque[list[Any]]] = deque(maxlen=4)
"""What compiled programs have made, whose arrays nobody sees before they are at an end."""
_NUMBERS: Final = count(1)
_LARGEST: Final = 2**31 - 1


def keep(things: Sequence[Any]) -> list[int]:
    """Keep things for now; return their numbers."""
    numbers = [next(_NUMBERS) % _LARGEST for _ in things]
    _KEPT.update(zip(numbers, things))
    _RECENT.append(list(things))
    return numbers


def keep_for(owner: Array, numbers: Sequence[int]) -> None:
    """Keep what is under numbers for as long as an array lives."""
    things = [thing for number in numbers if (thing := _KEPT.get(number)) is not None]
    key = next(_NUMBERS)
    _OWNED[key] = things
    weakref.finalize(owner, _OWNED.pop, key, None)


def kept(number: int) -> Any:
    """Return what is under a number; None if there is nothing any more."""
    return _KEPT.get(number)


def recent() -> list[Any]:
    """List what was kept last, the newest first."""
    return [thing for things in reversed(_RECENT) for thing in things]
