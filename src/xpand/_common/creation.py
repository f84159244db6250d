"""Default data types of creation functions, from the current precision."""

from collections.abc import Sequence
from typing import Any, Final

from .._precision import PRECISION, current, dtype_for
from ..typing import Device, DType, Namespace

_REAL: Final[tuple[str, ...]] = ()

# For each function: the number of positional arguments before the data type in NumPy and JAX, and the names of the
# leading arguments whose values affect the data type.
CALLS: Final[dict[str, tuple[int, tuple[str, ...]]]] = {
    "arange": (3, ("start", "stop", "step")),
    "asarray": (1, ("a",)),
    "empty": (1, _REAL),
    "eye": (3, _REAL),
    "fft.fftfreq": (2, _REAL),
    "fft.rfftfreq": (2, _REAL),
    "full": (2, ("", "fill_value")),
    "linspace": (5, ("start", "stop")),
    "ones": (1, _REAL),
    "zeros": (1, _REAL),
}


def refuse_sparse(obj: Any) -> None:
    """Raise for sparse matrices. Libraries convert them to arrays of objects, or raise an error without advice.

    Raises:
        TypeError: `obj` is sparse.
    """
    if hasattr(obj, "todense") and hasattr(obj, "shape"):
        raise TypeError(
            "asarray: obj must be an array, a number or a nested sequence of numbers, got a sparse "
            f"{type(obj).__name__}; write `obj.todense()` or SciPy's `obj.toarray()` for a dense array, or "
            "`xpand.sparse.from_native(obj)` for a sparse one"
        )


def with_default(xp: Namespace, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments of a call, with the data type of the precision if the call has none."""
    position, names = CALLS[name]
    if len(args) > position or kwargs.get("dtype") is not None:
        return kwargs
    device = kwargs.get("device")
    if names:
        given = [x for i, x in enumerate(args[: len(names)]) if names[i]]
        given += [kwargs[each] for each in names if each in kwargs]
        dtype = dtype_of(xp, *given, device=device, is_floating=name == "linspace")
    else:
        dtype = dtype_for(xp, "real floating", device)
    return kwargs if dtype is None else {**kwargs, "dtype": dtype}


_NUMBERS: Final = frozenset({bool, int, float, complex})
_SEQUENCES: Final = frozenset({list, tuple})


def dtype_of(xp: Namespace, *values: Any, device: Device | None = None, is_floating: bool = False) -> DType | None:
    """Return the data type of the precision for Python numbers, alone or in (nested) sequences.

    Return None if no precision is set, if all numbers are booleans, or if there are arrays, which have data types.
    Values of None are ignored. With `is_floating`, integers count as real numbers.

    Raises:
        OverflowError: An integer does not fit into the data type.
    """
    setting = current()
    types: set[type] = set()
    _add_types(values, types)
    types.discard(type(None))
    if setting is None or not types <= _NUMBERS:
        return None
    if complex in types:
        return dtype_for(xp, "complex floating", device)
    # The standard does not define the data type of empty sequences. In all libraries it is real.
    if float in types or not types or (is_floating and int in types):
        return dtype_for(xp, "real floating", device)
    if int not in types:
        return None
    if setting.integral == "int32":  # some libraries wrap silently
        _check_range(values)
    return dtype_for(xp, "integral", device)


def _add_types(values: Sequence[Any], found: set[type]) -> None:
    types = set(map(type, values))
    found |= types - _SEQUENCES
    if range in types:
        found.remove(range)
        found.add(int)
    if types & _SEQUENCES:
        for value in values:
            if type(value) in _SEQUENCES:
                _add_types(value, found)


def _check_range(values: Sequence[Any]) -> None:
    for value in values:
        if type(value) in _SEQUENCES:
            _check_range(value)
        elif type(value) is int and not -(2**31) <= value < 2**31:
            raise OverflowError(
                f"precision: {value} does not fit into int32, the integer data type of the current precision; pass "
                "dtype=, or set the precision with `integer=64`"
            )


def defaults_set(xp: Namespace, own: dict[str, DType], device: Device | None = None) -> dict[str, DType]:
    """Return the default data types: a library's `own`, or those of the current precision."""
    if not PRECISION.active or current() is None:
        return own
    return {kind: dtype if kind == "indexing" else dtype_for(xp, kind, device) for kind, dtype in own.items()}  # type: ignore[arg-type]
