"""Conversion to and from any conforming library, by DLPack or through NumPy."""

from dataclasses import replace
from typing import Any

import xpand_extensions.convert as capability
from xpand import UnsupportedError, array_namespace, is_concrete, library_name, namespace
from xpand.extend import Array, Namespace, describe
from xpand_extensions import bits
from xpand_extensions.convert import Pointer
from xpand_extensions.convert._dtypes import copy_needed, integer_of, is_short, name_of, no_dtype, no_values


def exported(x: Array, /, *, to_host: bool = False, copy: bool | None = None) -> Array:
    compute: Any = getattr(x, "compute", None)  # of a lazy array
    if compute is not None:
        if copy is False:
            raise copy_needed(f"the values of a {describe(x)} are computed")
        return namespace("numpy").asarray(compute())
    if not is_concrete(x):
        raise no_values(x)
    if not to_host:
        return x
    numpy = namespace("numpy")
    try:
        found = numpy.from_dlpack(x) if hasattr(x, "__dlpack__") else numpy.asarray(x)
    except (AttributeError, BufferError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        # Libraries raise all of these if they don't export an array.
        raise TypeError(f"convert: {describe(x)} cannot export its values to other libraries ({error})") from error
    return numpy.asarray(found, copy=True) if copy else found


def imported(x: Any, /, *, copy: bool | None = None, xp: Namespace | str | None = None) -> Array:
    to: Any = xp
    library = library_name(to)
    if getattr(to, name_of(x.dtype), None) is None:
        raise no_dtype(library, x.dtype)
    made = _imported(x, to, library, copy)
    return to.asarray(made, copy=True) if copy else made


def _imported(x: Any, to: Namespace, library: str, copy: bool | None) -> Any:
    flags = getattr(x, "flags", None)
    if flags is not None and not getattr(flags, "writeable", True):
        # Consumers of DLPack may not check whether memory is read-only.
        if copy is False:
            raise copy_needed(f"the memory is read-only, which {library} may ignore")
        x = namespace("numpy").asarray(x, copy=True)
    try:
        return to.from_dlpack(x)
    except (AttributeError, BufferError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        # Libraries raise all of these if they don't import an array.
        if copy is False:
            raise copy_needed(f"{library} does not take the memory by DLPack ({error})") from error
    return to.asarray(capability.exported(x, to_host=True))


def from_bytes(
    data: Any, /, dtype: Any, shape: Any = None, *, byteorder: Any = "little", device: Any = None, xp: Any = None
) -> Array:
    library: Any = xp
    name = name_of(dtype)
    if getattr(library, name, None) is None:
        raise no_dtype(library_name(library), name)
    known = integer_of(name) if is_short(name) else name
    on_host = capability.from_bytes(data, known, shape, byteorder=byteorder, xp="numpy")
    made = capability.convert(on_host, library, device=device)
    return made if known == name else bits.bitcast.native(made)(made, getattr(library, name))


def pointer(x: Array, /) -> Pointer:
    """Return the pointer of a NumPy array over the same memory."""
    try:
        on_host = capability.exported(x, to_host=True, copy=False)
    except TypeError as error:
        raise UnsupportedError(f"pointer: {library_name(array_namespace(x))} has no address ({error})") from error
    return replace(capability.pointer(on_host), owner=x)


def from_pointer(memory: Pointer, /, *, xp: Namespace | str | None = None) -> Array:
    """Convert a NumPy array over the memory."""
    library: Any = xp
    return capability.convert(capability.from_pointer(memory, xp="numpy"), library, copy=False)
