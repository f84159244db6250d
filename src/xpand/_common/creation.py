"""What a call of a creation function leaves to the precision that is set."""

from typing import Any, Final

from .._precision import PRECISION, DefaultKind, current, dtype_for, floating_kind_of, kind_of
from .._typing import Device, DType, Namespace

_REAL: Final[tuple[str, ...]] = ()

# How many arguments NumPy and JAX take before the data type, if by position, and the names of those, all at the front,
# whose values have a say.
_CALLS: Final[dict[str, tuple[int, tuple[str, ...]]]] = {
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


def kind_of_call(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> DefaultKind | None:
    """Name the kind of default that a call leaves open; None where it names a data type, or its values have one."""
    place, names = _CALLS[name]
    if len(args) > place or kwargs.get("dtype") is not None:
        return None
    if not names:
        return "real floating"
    given = [x for i, x in enumerate(args[: len(names)]) if names[i]]
    given += [kwargs[each] for each in names if each in kwargs]
    return (floating_kind_of if name == "linspace" else kind_of)(*[x for x in given if x is not None])


def with_default(xp: Namespace, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments of a call, with the data type where the precision says one."""
    dtype = dtype_for(xp, kind_of_call(name, args, kwargs), kwargs.get("device"))
    return kwargs if dtype is None else {**kwargs, "dtype": dtype}


def defaults_set(xp: Namespace, own: dict[str, DType], device: Device | None = None) -> dict[str, DType]:
    """Return the default data types: a library's `own`, or those of the precision that is set."""
    if not PRECISION.active or current() is None:
        return own
    return {kind: dtype if kind == "indexing" else dtype_for(xp, kind, device) for kind, dtype in own.items()}  # type: ignore[arg-type]
