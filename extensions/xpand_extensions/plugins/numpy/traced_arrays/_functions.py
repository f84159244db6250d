"""NumPy's protocol for its functions other than universal functions: `__array_function__`."""

from importlib import import_module
from typing import Any, Final

import numpy as np

from xpand_extensions._subclasses import refuse_subclass
from xpand_extensions.tracing._core import TracedArray, TracedError

from ._arguments import written
from ._library import other_library
from ._table import ENTRIES, NO_VALUE, Entry, find, full_name

LAYOUT: Final = frozenset(
    {"casting", "copy", "device", "kind", "like", "optimize", "order", "overwrite_input", "subok"}
)
"""Options of NumPy that do not change values: traced arrays have no layout in memory."""

_ARRAY: Final = np.ndarray


def array_function(self: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Apply a function of NumPy. Some arguments are traced arrays."""
    xp = self._namespace
    own_class, traced = xp.own_class, type(self)
    for cls in types:
        if cls is not traced and cls is not own_class and not issubclass(cls, TracedArray):
            if cls is _ARRAY:
                if xp.takes_numpy:
                    continue
                raise other_library(full_name(func), xp)
            if issubclass(cls, _ARRAY):
                refuse_subclass(f"np.{full_name(func)}", cls)
                continue
            return NotImplemented
    entry = ENTRIES.get(func) or entry_of(func)
    if entry is None:
        raise unsupported(func)
    if len(args) > entry.direct:
        return apply_entry(xp, entry, args, kwargs)
    # Most calls have arguments that the implementation takes unchanged.
    for x in args:
        if x is NO_VALUE:
            return apply_entry(xp, entry, args, kwargs)
    if not kwargs:
        return entry.function(xp, *args)
    options = entry.options
    for key, x in kwargs.items():
        if x is NO_VALUE or key not in options:
            return apply_entry(xp, entry, args, kwargs)
    return entry.function(xp, *args, **kwargs)


def entry_of(func: Any) -> Entry | None:
    """Return the entry of a function of NumPy; None without one."""
    if not ENTRIES:
        from . import known  # noqa: F401  (fills the table, at the first call of a function)
    return ENTRIES.get(func) if callable(func) else None


def functions_of_numpy() -> dict[str, bool]:
    """Return the names of all functions that NumPy passes to `__array_function__`, and whether there is an entry."""
    for module in (
        "char",
        "fft",
        "lib.recfunctions",
        "linalg",
        "polynomial",
        "strings",
    ):  # NumPy lists what is imported
        import_module(f"numpy.{module}")
    # NumPy also lists internal functions that the public ones call for `like=`.
    names = {full_name(f): f for f in np.testing.overrides.get_overridable_numpy_array_functions()}
    return {name: entry_of(find(name) or f) is not None for name, f in sorted(names.items())}


def apply_entry(xp: Any, entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Apply a function of NumPy to its arguments."""
    function, name, names, options, takes_all, passes_options, _ = entry
    if takes_all:  # `f(*arrays, option=…)`
        given = {key: value for key, value in kwargs.items() if value is not NO_VALUE}
        positional = args
    else:
        given = {key: value for key, value in zip(names, args) if value is not NO_VALUE}
        given |= {key: value for key, value in kwargs.items() if value is not NO_VALUE}
        positional = ()
    out = None
    if not passes_options and not given.keys() <= options.keys():
        out = None if "out" in options else given.pop("out", None)
        for key in given.keys() - options.keys():
            _check_default(entry, key, given.pop(key))
    result = function(xp, *positional, **given)
    return result if out is None else written(out, result, name)


def _check_default(entry: Entry, name: str, value: Any) -> None:
    """Raise for an option that traced arrays do not have, unless it does not change the result."""
    if value is None or (name in LAYOUT and (name != "order" or value in ("A", "C", "F", "K"))):
        return
    default = entry.defaults.get(name)
    if value is default or (isinstance(value, (bool, int, float, str)) and value == default):
        return
    raise TypeError(
        f"np.{entry.name}: traced arrays take no {name}=, got {value!r}; the function takes "
        f"{', '.join(entry.options)} here"
    )


def unsupported(func: Any) -> TracedError:
    """Make the error for a function of NumPy without an entry."""
    from .known.reasons import reason_of

    name = full_name(func)
    return TracedError(f"np.{name}: not for arrays that a transformation traces; {reason_of(name)}")
