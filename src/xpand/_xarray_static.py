"""The static parts of xarray's objects: attributes and coordinates, with a comparison that `jit` can afford."""

import copy
from collections.abc import Hashable, Mapping
from typing import Any, Final

from ._namespace import library_of

_NUMERIC: Final = "biufcV"  # "V": such as bfloat16 of ml_dtypes
_IMMUTABLE: Final = frozenset((str, int, float, bool, bytes, complex, type(None)))


def is_data(array: Any) -> bool:
    """Return whether an array is a leaf: NumPy's arrays of dates, strings and objects, and those of pandas, are not."""
    return array.dtype.kind in _NUMERIC if is_numpy(array) else not hasattr(array, "to_numpy")


def is_numpy(array: Any) -> bool:
    """Return whether an array is NumPy's."""
    return library_of(type(array)) == "numpy"


def private(attributes: Mapping[Any, Any]) -> dict[Any, Any]:
    """Copy attributes: structures are stored for later calls, and users may change the attributes."""
    return {key: x if type(x) in _IMMUTABLE else copy.deepcopy(x) for key, x in attributes.items()}


def is_immutable(attributes: Mapping[Any, Any]) -> bool:
    """Return whether no value of attributes can be changed in place."""
    return _IMMUTABLE.issuperset(map(type, attributes.values()))


def read_only(variable: Any) -> Any:
    """Return a variable with a private copy of the array: structures are stored for later calls."""
    data = variable.data
    if not hasattr(data, "flags") or not (data.flags.writeable or data.base is not None):
        return variable
    data = data.copy()
    data.flags.writeable = False
    return variable.copy(deep=False, data=data)


def frozen(value: Any) -> Hashable:
    """Return a hashable copy of attributes, to compare them by value. Objects without a hash equal only themselves."""
    if type(value) is str:
        return value
    if isinstance(value, Mapping):
        return frozenset([(key, frozen(x)) for key, x in value.items()])
    if isinstance(value, (list, tuple)):
        return (type(value), *map(frozen, value))
    if hasattr(value, "dtype") and hasattr(value, "tobytes"):  # of `private` attributes
        return _frozen_array(value)
    try:
        hash(value)
    except TypeError:
        return _Identity(value)
    return type(value), value if value == value else repr(value)  # NaN differs from itself


def frozen_variable(variable: Any) -> Hashable:
    """Return a hashable description of a variable with a private array."""
    return variable.dims, _frozen_array(variable.values), frozen(variable.attrs), frozen(variable.encoding)


def _frozen_array(array: Any) -> Hashable:
    if array.dtype.kind == "O":
        return array.shape, "O", tuple(map(frozen, array.ravel().tolist()))
    return _Values(array)


class _Values:
    """A private array, compared by its bytes: that takes as long as an elementwise operation."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Values):
            return False
        one, two = self.array, other.array
        if one is two:
            return True
        if one.shape != two.shape or one.dtype != two.dtype:
            return False
        return not one.size or bool((_words(one) == _words(two)).all())

    def __hash__(self) -> int:
        return hash((self.array.shape, self.array.dtype.str))


def _words(array: Any) -> Any:
    return array.reshape(-1).view("u1" if array.dtype.itemsize % 8 else "u8")


class _Identity:
    """An object that can't be hashed, compared by identity."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


class Indexes:
    """The indexes of coordinates, by name. They can't be written to, and xarray shares them between objects.

    So comparing indexes takes their values only if they are two objects.
    """

    __slots__ = ("by_name",)

    def __init__(self, by_name: Mapping[Any, Any]) -> None:
        """Store the indexes."""
        self.by_name = dict(by_name)

    def __eq__(self, other: object) -> bool:
        """Return whether the indexes have the same types and values."""
        if not isinstance(other, Indexes) or self.by_name.keys() != other.by_name.keys():
            return False
        return all(_are_equal(index, other.by_name[name]) for name, index in self.by_name.items())

    def __hash__(self) -> int:
        """Return a hash of the names alone."""
        return hash(frozenset(self.by_name))


def _are_equal(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and bool(one.equals(other)))
