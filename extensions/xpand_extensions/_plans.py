"""Plans: the part of a call that depends only on its signature, computed once for each signature.

The signature of a call is the type, the data type, the shape and the device of each array, and the static arguments. A
facade calls `facade.planned(check, arrays, *options)`: on the first call with a signature, `check` checks the arguments
and returns data derived from them, such as an axis counted from the front. Later calls find this data and the
implementation by one look-up. The facade itself checks values: the bounds of indices, and whether values are known,
which the types of PyTorch's tensors do not show.

Python numbers are accepted as arrays. The signature holds their types, but not their values, so a loop over numbers
needs one plan. For integers it also holds the sign and the number of bits, because a data type may be too small for
them.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final, TypeVar

from xpand.extend import checks

T = TypeVar("T")

_SIMPLE: Final = frozenset({bool, int, str, type(None)})
"""The types of static arguments that are part of a key unchanged. Their types are too, because 1 equals True."""


class Memory(dict[Any, Any]):
    """A dictionary that clears itself when it gets too long."""

    most = 1024

    def add(self, key: Any, value: T) -> T:
        """Enter a value, and return it."""
        if len(self) >= self.most:
            self.clear()
        self[key] = value
        return value


def signature(arrays: tuple[Any, ...], options: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the key of a call. `arrays` are arrays, Python numbers, or None for omitted ones.

    Types come first: data types of two libraries may have the same hash and must not be compared.

    Raises:
        AttributeError: One of the arrays is not an array.
        TypeError: A static argument has a type without a key.
    """
    types = (*map(type, options),)
    if not _SIMPLE.issuperset(types):
        options = tuple([option if type(option) in _SIMPLE else exact(option, _of_others) for option in options])
    if len(arrays) == 1:
        x = arrays[0]
        return type(x), types, x.dtype, x.shape, options
    if len(arrays) == 2:  # for two and three, code without a loop takes half the time
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
    """Return the sign of an integer, and its number of bits in two's complement without the sign."""
    return number < 0, (~number if number < 0 else number).bit_length()


def _none(x: Any) -> None:
    return None


class _Described(dict[type, Callable[[Any], Any]]):
    """By type of array, the function that returns its part of the key: data type, shape and device."""

    def __missing__(self, cls: type) -> Callable[[Any], Any]:
        # JAX computes `device` from `sharding`, which takes ten times as long.
        devices = [name for name in ("sharding", "device") if hasattr(cls, name)]
        found = attrgetter("dtype", "shape", *devices[:1])
        if len(self) < Memory.most:
            self[cls] = found
        return found


_DESCRIBED: Final = _Described({int: _size, **dict.fromkeys((bool, float, complex, type(None)), _none)})
"""By type, the function that describes an array. None and numbers except integers need no more than their type."""


def exact(value: Any, other: Callable[[Any], Any]) -> Any:
    """Return a key of a static value that differs from all other values' keys: 1, True, 1.0; 0.0 and -0.0.

    Args:
        value: The value, or a tuple of values. All NaNs have the same key.
        other: Returns the key of a value that is not a number, a string or None.
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
    """Return the key of a data type, or of a list, which facades accept in place of a tuple."""
    if type(option) is list:
        return list, exact(tuple(option), _of_others)
    if checks.knows_dtype(option):
        return type(option), option
    raise TypeError(f"{type(option).__name__}: can change, so it cannot be part of a key")
