"""Plans: what a call needs to know and depends on its signature alone, found once for each signature.

The signature of a call is the type, the data type, the shape and the device of each array, and the static arguments. A
facade calls `facade.planned(check, arrays, *options)`: on the first call of a signature `check` checks the arguments
and returns what follows from them, such as an axis counted from the front; later calls find that, with the
implementation, by one look-up. What depends on values stays in the facade: bounds of indices, and whether values are
known, which the types of PyTorch's tensors do not tell.

A Python number may stand for an array. The signature has its type, and the sign and the number of bits of an integer,
which decide whether a data type can hold it. So a loop over numbers finds the plan of its first step.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final, TypeVar

from xpand.extend import Array, checks

T = TypeVar("T")

_SIMPLE: Final = frozenset({bool, int, str, type(None)})
"""The types of static arguments that a key may hold as they are, next to their types: 1 equals True."""
_NUMBERS: Final = frozenset({bool, int, float, complex, type(None)})
"""The types of what may stand for an array; of None and of all numbers but integers the type is the key."""


class Memory(dict[Any, Any]):
    """A dictionary that forgets everything when it gets too long."""

    most = 1024

    def add(self, key: Any, value: T) -> T:
        """Enter a value, and return it."""
        if len(self) >= self.most:
            self.clear()
        self[key] = value
        return value


def signature(arrays: tuple[Any, ...], options: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the key of a call; None stands for an array that is not given, and a Python number for one of its value.

    Types come first, since data types of two libraries may have one hash and must not be compared.

    Raises:
        AttributeError: One of the arrays is none.
        TypeError: A static argument is of a type that a key cannot stand for.
    """
    types = (*map(type, options),)
    if not _SIMPLE.issuperset(types):
        options = tuple([option if type(option) in _SIMPLE else exact(option, _of_others) for option in options])
    if len(arrays) == 1:
        x = arrays[0]
        return type(x), types, x.dtype, x.shape, options
    classes = (*map(type, arrays),)
    described = [
        (x.dtype, x.shape, _DEVICE[cls](x)) if cls not in _NUMBERS else _size(x) if cls is int else None
        for cls, x in zip(classes, arrays)
    ]
    return classes, types, *described, options


def _size(number: int) -> tuple[bool, int]:
    """Return the sign of an integer and its number of bits, without the sign, in two's complement."""
    return number < 0, (~number if number < 0 else number).bit_length()


class _Devices(dict[type, Callable[[Array], Any]]):
    """The attribute that says where an array lies, by type."""

    def __missing__(self, cls: type) -> Callable[[Array], Any]:
        # JAX's `device` is computed from `sharding`, in ten times the time.
        name = next((name for name in ("sharding", "device") if hasattr(cls, name)), None)
        found = _no_device if name is None else attrgetter(name)
        if len(self) < Memory.most:
            self[cls] = found
        return found


def _no_device(x: Array) -> None:
    return None


_DEVICE: Final = _Devices()


def exact(value: Any, other: Callable[[Any], Any]) -> Any:
    """Return a key of a static value that equals that of no other: 1, True and 1.0 differ, as 0.0 and -0.0 do.

    Args:
        value: The value, or a tuple of values. All NaNs have one key.
        other: Returns the key of a value that is no number, text or None.
    """
    cls = type(value)
    if isinstance(value, (float, complex)):
        return cls, repr(value)
    if cls is tuple:
        types = (*map(type, value),)
        if not _SIMPLE.issuperset(types):
            value = [part if type(part) in _SIMPLE else exact(part, other) for part in value]
        return cls, *value, types
    return (cls, value) if cls in _SIMPLE else other(value)


def _of_others(option: Any) -> Any:
    """Return the key of a list, which a facade takes where it takes a tuple, or of a data type."""
    if type(option) is list:
        return list, exact(tuple(option), _of_others)
    if checks.knows_dtype(option):
        return type(option), option
    raise TypeError(f"{type(option).__name__}: may change, so that it cannot be part of a key")
