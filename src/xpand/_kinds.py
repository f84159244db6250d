"""The kinds of data types, such as "signed" or "complex", and their limits."""

from typing import Any, Final, Literal, TypeAlias

from ._imports import trace_instead
from ._namespace import array_namespace
from .typing import Array, DType, Namespace

Kind: TypeAlias = Literal["bool", "unsigned", "signed", "real", "complex"]
"""The kinds of data types that promotion distinguishes."""

_ISDTYPE: Final[dict[Kind, str]] = {
    "bool": "bool",
    "unsigned": "unsigned integer",
    "signed": "signed integer",
    "real": "real floating",
    "complex": "complex floating",
}

INTEGERS: Final[frozenset[Kind]] = frozenset({"unsigned", "signed"})
NUMERIC: Final[frozenset[Kind]] = frozenset({"unsigned", "signed", "real", "complex"})
FLOATING: Final[frozenset[Kind]] = frozenset({"real", "complex"})
ORDERED: Final[frozenset[Kind]] = frozenset({"bool", "unsigned", "signed", "real"})
REAL_VALUED: Final[frozenset[Kind]] = frozenset({"unsigned", "signed", "real"})
REAL: Final[frozenset[Kind]] = frozenset({"real"})
BITS: Final[frozenset[Kind]] = frozenset({"bool", "unsigned", "signed"})

# Dictionaries, because torch.compile warns about functools.cache. There is one dictionary for each type of data types:
# array-api-strict warns if its data types are compared with NumPy's, and PyTorch 2.11 cannot compile code that reads a
# dictionary with NumPy's data types.
_kinds: dict[type, dict[DType, Kind | None]] = {}
_ranges: dict[type, dict[DType, tuple[int, int]]] = {}


def _store(table: dict[type, dict[DType, Any]], dtype: DType, value: Any) -> None:
    table.setdefault(type(dtype), {})[dtype] = value


# torch.compile would write the whole table again, including the data types of other libraries.
trace_instead(_store, lambda table, dtype, value: None)


def kind(xp: Namespace, dtype: DType) -> Kind | None:
    """Return the kind of a data type, or None if the standard does not have it."""
    known = _kinds.get(type(dtype))
    if known is not None and dtype in known:
        return known[dtype]
    if dtype is None:  # JAX and Dask take None for float64
        return None
    found = next((name for name, argument in _ISDTYPE.items() if xp.isdtype(dtype, argument)), None)
    _store(_kinds, dtype, found)
    return found


def knows_dtype(value: Any) -> bool:
    """Return whether a value is a data type that has been checked before. Such values are immutable and hashable."""
    known = _kinds.get(type(value))
    return known is not None and value in known


def kind_of(x: Array) -> Kind | None:
    """Return the kind of an array's data type, without looking for the namespace if the kind is stored."""
    dtype = x.dtype
    known = _kinds.get(type(dtype))
    return known[dtype] if known is not None and dtype in known else kind(array_namespace(x), dtype)


_DTYPE_NAMES: Final = frozenset(
    {"bool", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"}
    | {f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}
)


def is_dtype_name(name: str) -> bool:
    """Return whether a string names a data type."""
    return name in _DTYPE_NAMES


def named_dtype(function: str, xp: Namespace, dtype: DType) -> DType:
    """Return the library's data type for a name such as "float32", and any other value unchanged.

    Raises:
        TypeError: The library has no data type of this name.
    """
    if not isinstance(dtype, str):
        return dtype
    found = getattr(xp, dtype, None) if is_dtype_name(dtype) else None
    if found is None:
        raise TypeError(f"{function}: dtype must be a data type or the name of one, such as 'float32', got {dtype!r}")
    return found


def integer_range(xp: Namespace, dtype: DType) -> tuple[int, int]:
    """Return the smallest and the largest integer of a data type."""
    known = _ranges.get(type(dtype))
    if known is not None and dtype in known:
        return known[dtype]
    info = xp.iinfo(dtype)
    found = int(info.min), int(info.max)
    _store(_ranges, dtype, found)
    return found
