"""Conversion of arrays, and trees of arrays, to another library.

A conversion has two halves. `exported`, of the source, checks that the values may leave the library, and exports an
array that others accept. `imported`, of the target, takes this array, by DLPack if possible. Both are looked up once
for a pair of types.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

from xpand import array_namespace, library_name, namespace, trees
from xpand.extend import Device, LibraryArray as Array, Namespace, checks, describe, library_of, namespace_or_default

from .. import devices
from .._dispatch import OPERATIONS, pluggable
from ..devices._list import library_under
from ..sparse._convert import is_sparse
from ..sparse._libraries import module_of
from ..sparse._native import from_native, to_native
from ._dtypes import copy_needed

Path: TypeAlias = Callable[[Any, Device, bool | None], Any]
"""Takes an array, a device and `copy`."""

_HOST: Final = 1
"""DLPack's number for memory of the host."""

_paths: Final[dict[tuple[type, Any], Path]] = {}
_MAX_PATHS: Final = 4096  # the table must stay bounded if a program keeps making classes


def convert(x: trees.Tree, /, to: Namespace | str, *, device: Device | None = None, copy: bool | None = None) -> Any:
    """Convert an array, or the arrays of a tree, to another library.

    Args:
        x: An array of any library, an object with `__dlpack__` or `__array__`, or a tree of these. Sparse containers
            are converted by their parts, and a library's own sparse arrays become those of the other library. JAX's
            typed keys for random numbers become their uint32 data. Leaves that are not arrays stay unchanged.
        to: The library: a namespace, or a name such as "torch".
        device: The device of the result, in a form that `devices.to_device` accepts: an object of the library, or a
            string such as "gpu" or "cuda:1". None: the device of `x`, if the library has arrays there; otherwise the
            host.
        copy: True: always copy. False: share memory or raise. None: share memory if possible.

    Returns:
        Arrays of the library, with the data types, shapes and values of `x`. Arrays that already belong to this library
        and are on this device are returned unchanged, unless `copy` is True; also under transformations.

        If memory is shared, write into neither array: the other one would change, too, even an array of JAX, which
        counts as constant. A read-only NumPy array is copied if the other library could write into it. A NumPy array
        that shares memory with a JAX array is read-only. PyTorch has no read-only tensors, so it can write into the
        memory of a JAX array.

    Raises:
        TypeError: `x` is neither an array nor a tree; `to` is not a library; the library has no such data type; or a
            transformation traces the array, or it requires a gradient, which would be lost.
        ValueError: `copy` is False and memory can't be shared; or the library has no such device.

    Without a copy, a conversion takes microseconds: 20 to JAX, 1 to 5 to others. Dask's arrays are computed.

    Source: PhiML's `convert`, and the standard's `from_dlpack`.

    >>> import numpy as np
    >>> x = np.asarray([1.0, 2.0])
    >>> y = convert(x, "torch")
    >>> y
    tensor([1., 2.], dtype=torch.float64)
    >>> y.data_ptr() == x.ctypes.data
    True
    >>> convert({"a": y, "name": "y"}, np)
    {'a': array([1., 2.]), 'name': 'y'}
    """
    if copy is not None and copy is not True and copy is not False:
        raise TypeError(f"convert: copy must be None, True or False, got {copy!r} ({describe(copy)})")
    try:
        path = _paths.get((type(x), to))
    except TypeError:  # `to` is not hashable
        path = None
    return _tree(x, to, device, copy) if path is None else path(x, device, copy)


def to_numpy(x: trees.Tree, /, *, copy: bool | None = None) -> Any:
    """Convert an array, or the arrays of a tree, to NumPy: from any library and any device.

    Arguments, results and errors are as in `convert(x, "numpy")`. An array that shares memory with a JAX array is
    read-only.

    >>> import torch
    >>> to_numpy([torch.ones(2), 3])
    [array([1., 1.], dtype=float32), 3]
    """
    return convert(x, "numpy", copy=copy)


@pluggable
def exported(x: Array, /, *, to_host: bool = False, copy: bool | None = None) -> Array:
    """Return an array's values in a form that other libraries accept: the first half of `convert`, for plug-ins.

    Args:
        x: An array of the library.
        to_host: Whether to return a NumPy array. Otherwise, it is an object that other libraries accept, by DLPack or
            as a NumPy array.
        copy: True: with `to_host`, make an independent copy. False: share memory or raise. None: copy if needed.

    Raises:
        TypeError: The array is traced by a transformation, or requires a gradient.
        ValueError: `copy` is False, and memory can't be shared.

    >>> import numpy as np
    >>> exported(np.asarray([1.0, 2.0]))
    array([1., 2.])
    """
    x = resolved(x)
    return exported.native(x)(x, to_host=to_host, copy=copy)


@pluggable
def imported(x: Array, /, *, copy: bool | None = None, xp: Namespace | str | None = None) -> Array:
    """Create an array from the result of `exported`: the second half of `convert`, for plug-ins.

    Args:
        x: An array of NumPy, or of another library than `xp` whose memory DLPack exports.
        copy: True: make an independent copy. False: share memory or raise. None: copy if needed.
        xp: The library. None: `xpand.default_namespace()`.

    Raises:
        TypeError: The library has no such data type.
        ValueError: `copy` is False, and memory can't be shared.

    >>> import numpy as np
    >>> imported(np.asarray([1.0, 2.0]), xp="torch")
    tensor([1., 2.], dtype=torch.float64)
    """
    xp = library_under(namespace_or_default(xp, "imported"))
    return imported.native_for(xp)(x, copy=copy, xp=xp)


def _tree(x: trees.Tree, to: Namespace | str, device: Device, copy: bool | None) -> Any:
    xp = _target(to)
    if _is_leaf(x):
        return _leaf(x, to, xp, device, copy)
    if trees.structure(x).is_leaf():
        raise TypeError(
            f"convert: x must be an array, or a tree of arrays, got {describe(x)}; make arrays of numbers with "
            "`xp.asarray`"
        )
    return trees.map(lambda leaf: _leaf(leaf, to, xp, device, copy), x, is_leaf=_is_leaf)


def _target(to: Namespace | str) -> Namespace:
    try:
        if to is not None:
            # Under a transformation of xpand, the library's own arrays may be combined with traced ones.
            return library_under(namespace_or_default(to, "convert"))
    except TypeError:
        pass
    raise TypeError(f"convert: to must be a namespace or a library's name such as 'torch', got {describe(to)}")


def _is_leaf(x: Any) -> bool:
    return checks.is_array(x) or is_sparse(x) or _is_foreign(x)


def _is_foreign(x: Any) -> bool:
    """Return whether an object is not an array of the standard, but can be converted to one."""
    return (hasattr(x, "__dlpack__") or hasattr(x, "__array__")) and not isinstance(x, type)


def _leaf(x: Any, to: Namespace | str, xp: Namespace, device: Device, copy: bool | None) -> Any:
    if is_sparse(x):
        return _of_parts(x, xp, copy, lambda part: _leaf(part, to, xp, device, copy))
    if not _is_leaf(x):
        return x
    return path_of(x, to, xp)(x, device, copy)


def _of_parts(x: Any, xp: Namespace, copy: bool | None, convert: Callable[[Any], Any]) -> Any:
    """Convert the parts of a sparse array, and combine them in the same format.

    Plans that a library computed from the pattern are dropped.
    """
    a = from_native(x)
    here = array_namespace(a.values) is xp
    if a is not x:
        if here and not copy:
            return x
        if copy is False:
            raise copy_needed("the library's own sparse arrays are always copied")
    values, pattern = convert(a.values), tuple(convert(part) for part in a.pattern)
    if here and values is a.values and all(new is old for new, old in zip(pattern, a.pattern)):
        return x
    made = a._of(values, pattern, a._static())
    return made if a is x else to_native(made)


def path_of(x: Any, to: Namespace | str, xp: Namespace) -> Path:
    """Find the conversion of an array to a library. Cache it if only the type of the array decides."""
    found = _paths.get((type(x), to))
    if found is not None:
        return found
    if hasattr(x, "is_traced"):
        return _from_traced(x, to, xp)
    if not checks.is_array(x):
        return partial(_from_foreign, xp)
    source = array_namespace(x)
    found = partial(_within, xp) if source is xp else _to(xp)
    if module_of(type(x)) is not None:  # instances may be sparse
        found = partial(_unless_sparse, found, to, xp)
    # Third-party arrays, and JAX's gradients of integers (NumPy arrays), are not cached: their type does not determine
    # the library.
    if library_of(type(x)) == library_name(source) and len(_paths) < _MAX_PATHS:
        _paths[type(x), to] = found
    return found


def _to(xp: Namespace) -> Path:
    """Make the conversion from one library to another."""
    library = library_name(xp)
    return partial(_between, xp, library, library == "numpy", OPERATIONS[f"{__package__}.imported"].by_library)


# The conversions are `partial` functions, not closures, so torch.compile can store them.


def _between(
    xp: Namespace,
    library: str,
    to_host: bool,
    imports: dict[str, Callable[..., Any]],
    x: Any,
    device: Device,
    copy: bool | None,
) -> Any:
    export, import_ = exported.native(x), imports.get(library) or imported.native_for(xp)
    if device is None:
        return import_(export(x, to_host=to_host, copy=copy), copy=copy, xp=xp)
    shared = False if copy is False else None  # the move may already copy
    made = import_(export(x, to_host=to_host, copy=shared), copy=shared, xp=xp)
    return devices.to_device(made, device, copy=copy)


def _within(xp: Namespace, x: Any, device: Device, copy: bool | None) -> Any:
    """Move an array to another device of its library, or copy it."""
    if device is not None:
        return devices.to_device(x, device, copy=copy)
    return xp.asarray(x, copy=True) if copy else x


def _unless_sparse(dense: Path, to: Namespace | str, xp: Namespace, x: Any, device: Device, copy: bool | None) -> Any:
    return _leaf(x, to, xp, device, copy) if is_sparse(x) else dense(x, device, copy)


def _from_traced(x: Any, to: Namespace | str, xp: Namespace) -> Path:
    """Find the conversion of an array that a transformation of xpand may trace: only to its own library."""
    source = array_namespace(x)
    if xp in (source, getattr(source, "base", None)):
        return partial(_within, source)
    known = resolved(x)
    if known is x:  # a third-party array may have the same attribute
        return _to(xp)
    return lambda x, device, copy: path_of(known, to, xp)(known, device, copy)


def resolved(x: Any) -> Array:
    """Return a library's own array. A traced array is replaced by its value if no transformation of xpand traces it.

    Raises:
        TypeError: A transformation of xpand traces it.
    """
    if not hasattr(x, "is_traced"):
        return x
    from ..tracing._core import TracedArray, library_array  # this import loads all rules

    return library_array(x, "convert") if isinstance(x, TracedArray) else x


def _from_foreign(xp: Namespace, x: Any, device: Device, copy: bool | None) -> Any:
    """Convert an object that is not an array, but can be converted to one."""
    numpy = namespace("numpy")
    if not hasattr(x, "__dlpack__"):
        made = numpy.asarray(x, copy=False if copy is False else None)
    elif x.__dlpack_device__()[0] == _HOST:
        made = numpy.from_dlpack(x)  # NumPy accepts any memory layout
    else:
        made = xp.from_dlpack(x)
    return path_of(made, xp, xp)(made, device, copy)
