"""Plans: everything about a call that depends only on its signature, computed once for each signature.

The signature of a call is the type, the data type, the shape and the device of each array, and the static arguments. A
facade calls `facade.planned(check, arrays, *options)`: on the first call of a signature `check` checks the arguments
and returns what follows from them, such as an axis counted from the front; later calls find that, with the
implementation, by one look-up. Checks of values stay in the facade: bounds of indices, and whether values are known,
since types of PyTorch's tensors do not show this.

Python numbers are accepted as arrays. Their values are not in the signature, but their types are. Integers add their
sign and number of bits, which decide whether a data type can hold them. So a loop over numbers needs one plan.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final, TypeVar

from xpand.extend import checks

T = TypeVar("T")

_SIMPLE: Final = frozenset({bool, int, str, type(None)})
"""The types of static arguments that a key may hold as they are, next to their types: 1 equals True."""


class Memory(dict[Any, Any]):
    """A dictionary that is cleared when it gets too long."""

    most = 1024

    def add(self, key: Any, value: T) -> T:
        """Enter a value, and return it."""
        if len(self) >= self.most:
            self.clear()
        self[key] = value
        return value


def signature(arrays: tuple[Any, ...], options: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the key of a call. Each array is an array, a Python number, or None if it is not given.

    Types come first, since data types of two libraries may have one hash and must not be compared.

    Raises:
        AttributeError: One of the arrays is not an array.
        TypeError: A static argument is of a type that has no key.
    """
    types = (*map(type, options),)
    if not _SIMPLE.issuperset(types):
        options = tuple([option if type(option) in _SIMPLE else exact(option, _of_others) for option in options])
    if len(arrays) == 1:
        x = arrays[0]
        return type(x), types, x.dtype, x.shape, options
    if len(arrays) == 2:  # two and three without a loop, in half the time
        x, y = arrays
        c, d = type(x), type(y)
        return c, d, types, _DESCRIBED[c](x), _DESCRIBED[d](y), options
    if len(arrays) == 3:
        x, y, z = arrays
        c, d, e = type(x), type(y), type(z)
        return c, d, e, types, _DESCRIBED[c](x), _DESCRIBED[d](y), _DESCRIBED[e](z), options
    classes = (*map(type, arrays),)
    return classes, types, *[_DESCRIBED[cls](x) for cls, x in zip(classes, arrays)], options


def _size(number: int) -> tuple[bool, int]:
    """Return the sign of an integer and its number of bits, without the sign, in two's complement."""
    return number < 0, (~number if number < 0 else number).bit_length()


def _none(x: Any) -> None:
    return None


class _Described(dict[type, Callable[[Any], Any]]):
    """Functions that return the part of the key for an array, by its type: data type, shape and device."""

    def __missing__(self, cls: type) -> Callable[[Any], Any]:
        # JAX's `device` is computed from `sharding`, in ten times the time.
        devices = [name for name in ("sharding", "device") if hasattr(cls, name)]
        found = attrgetter("dtype", "shape", *devices[:1])
        if len(self) < Memory.most:
            self[cls] = found
        return found


_DESCRIBED: Final = _Described({int: _size, **dict.fromkeys((bool, float, complex, type(None)), _none)})
"""The functions that describe an array, by type. For None, and for numbers except integers, the type is enough."""


def exact(value: Any, other: Callable[[Any], Any]) -> Any:
    """Return a key of a static value that equals that of no other: 1, True and 1.0 differ, as 0.0 and -0.0 do.

    Args:
        value: The value, or a tuple of values. All NaNs have one key.
        other: Returns the key of a value that is not a number, text or None.
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
