"""Arrays, and trees of them, to another library.

A conversion has two halves. `exported` is the source's: it checks that the values may leave, and exports an array
that others can take. `imported` is the target's: it takes that array, through DLPack where it can. Both are looked up
once for a pair of types.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

from xpand import array_namespace, library_name, namespace, trees
from xpand.extend import Device, LibraryArray as Array, Namespace, checks, describe, library_of, namespace_or_default

from .. import devices
from .._dispatch import OPERATIONS, pluggable
from ..devices._list import library_under
from . import _sparse as sparse

Path: TypeAlias = Callable[[Any, Device, bool | None], Any]
"""Takes an array, a device and `copy`."""

_HOST: Final = 1
"""DLPack's number for memory of the host."""

_paths: Final[dict[tuple[type, Any], Path]] = {}
_MAX_PATHS: Final = 4096  # the table must stay bounded if a program keeps making classes


def convert(x: trees.Tree, /, to: Namespace | str, *, device: Device | None = None, copy: bool | None = None) -> Any:
    """Convert an array, or the arrays of a tree, to another library.

    Args:
        x: An array of any library, anything with `__dlpack__` or `__array__`, or a tree of these. Of sparse containers
            the parts are converted; sparse arrays of a library's own become those of the other library. JAX's typed
            keys for random numbers become their data, of uint32. Leaves that are not arrays stay the same objects.
        to: The library: a namespace, or a name such as "torch".
        device: Where the result is to lie, as `devices.to_device` takes it: an object of the library, or a string such
            as "gpu" or "cuda:1". None: where `x` lies, if the library has arrays there, otherwise on the host.
        copy: True to always copy. False to share memory or raise. None: share where possible.

    Returns:
        Arrays of the library, with the data types, shapes and values of `x`. Arrays that belong to this library
        already, and lie on this device, are returned unchanged, unless `copy` is True; also under transformations.

        Where memory is shared, write into neither array: the other would change too, arrays of JAX included, which are
        taken for constants. A NumPy array that is read-only is copied where the other library could write into it; one
        over the memory of a JAX array is read-only. PyTorch has no read-only tensors: it can write into the memory of a
        JAX array.

    Raises:
        TypeError: `x` is neither an array nor a tree; `to` is not a library; the library has no such data type; or the
            array is traced by a transformation, or requires a gradient, and would lose it.
        ValueError: `copy` is False and memory can't be shared; or the library has no such device.

    Without a copy, takes microseconds: 20 to JAX, 1 to 5 otherwise. Dask's arrays are computed.

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
    except TypeError:  # `to` cannot be a key
        path = None
    return _tree(x, to, device, copy) if path is None else path(x, device, copy)


def to_numpy(x: trees.Tree, /, *, copy: bool | None = None) -> Any:
    """Convert an array, or the arrays of a tree, to NumPy: from any library and any device.

    Arguments, results and errors are those of `convert(x, "numpy")`. An array over the memory of one of JAX is
    read-only.

    >>> import torch
    >>> to_numpy([torch.ones(2), 3])
    [array([1., 1.], dtype=float32), 3]
    """
    return convert(x, "numpy", copy=copy)


@pluggable
def exported(x: Array, /, *, to_host: bool = False, copy: bool | None = None) -> Array:
    """Return the values of an array in a form that other libraries accept: the source's part of `convert`, for
    plug-ins.

    Args:
        x: An array of the library.
        to_host: Return a NumPy array; otherwise an object that other libraries understand, by DLPack or as a NumPy
            array.
        copy: True for memory of its own, where `to_host` is True; False to share memory or raise; None: as needed.

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
    """Create an array from the result of `exported`: the target's part of `convert`, for plug-ins.

    Args:
        x: An array of NumPy, or of a library other than `xp` whose memory DLPack exports.
        copy: True for memory of its own; False to share memory or raise; None: as needed.
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
    return checks.is_array(x) or sparse.is_sparse(x) or _is_foreign(x)


def _is_foreign(x: Any) -> bool:
    """Return whether an object is not an array of the standard, but can be converted to one."""
    return (hasattr(x, "__dlpack__") or hasattr(x, "__array__")) and not isinstance(x, type)


def _leaf(x: Any, to: Namespace | str, xp: Namespace, device: Device, copy: bool | None) -> Any:
    if sparse.is_sparse(x):
        return sparse.converted(x, xp, copy, lambda part: _leaf(part, to, xp, device, copy))
    if not _is_leaf(x):
        return x
    return path_of(x, to, xp)(x, device, copy)


def path_of(x: Any, to: Namespace | str, xp: Namespace) -> Path:
    """Find the conversion of an array to a library, and cache it if the type alone decides."""
    found = _paths.get((type(x), to))
    if found is not None:
        return found
    if hasattr(x, "is_traced"):
        return _from_traced(x, to, xp)
    if not checks.is_array(x):
        return partial(_from_foreign, xp)
    source = array_namespace(x)
    found = partial(_within, xp) if source is xp else _to(xp)
    if sparse.has_sparse(type(x)):
        found = partial(_unless_sparse, found, to, xp)
    # Third-party arrays, and JAX's gradients of integers (NumPy arrays), are excluded: their type alone does not
    # determine the library.
    if library_of(type(x)) == library_name(source) and len(_paths) < _MAX_PATHS:
        _paths[type(x), to] = found
    return found


def _to(xp: Namespace) -> Path:
    """Make the conversion from one library to another."""
    library = library_name(xp)
    return partial(_between, xp, library, library == "numpy", OPERATIONS[f"{__package__}.imported"].by_library)


# The conversions are `partial` functions, not closures: torch.compile can keep these.


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
    shared = False if copy is False else None  # a move may be the copy already
    made = import_(export(x, to_host=to_host, copy=shared), copy=shared, xp=xp)
    return devices.to_device(made, device, copy=copy)


def _within(xp: Namespace, x: Any, device: Device, copy: bool | None) -> Any:
    """Bring an array to another device of its library, or to another copy."""
    if device is not None:
        return devices.to_device(x, device, copy=copy)
    return xp.asarray(x, copy=True) if copy else x


def _unless_sparse(dense: Path, to: Namespace | str, xp: Namespace, x: Any, device: Device, copy: bool | None) -> Any:
    return _leaf(x, to, xp, device, copy) if sparse.is_sparse(x) else dense(x, device, copy)


def _from_traced(x: Any, to: Namespace | str, xp: Namespace) -> Path:
    """Find the conversion of an array that a transformation of xpand may trace: only to its own library."""
    source = array_namespace(x)
    if xp in (source, getattr(source, "base", None)):
        return partial(_within, source)
    known = resolved(x)
    if known is x:  # a third-party array with the same attribute
        return _to(xp)
    return lambda x, device, copy: path_of(known, to, xp)(known, device, copy)


def resolved(x: Any) -> Array:
    """Return a library's own array: the value of a traced one, if no transformation of xpand traces it.

    Raises:
        TypeError: One does.
    """
    if not hasattr(x, "is_traced"):
        return x
    from ..tracing._core import TracedArray, library_array  # which loads all rules

    return library_array(x, "convert") if isinstance(x, TracedArray) else x


def _from_foreign(xp: Namespace, x: Any, device: Device, copy: bool | None) -> Any:
    """Convert an object that is not an array, but can be converted to one."""
    numpy = namespace("numpy")
    if not hasattr(x, "__dlpack__"):
        made = numpy.asarray(x, copy=False if copy is False else None)
    elif x.__dlpack_device__()[0] == _HOST:
        made = numpy.from_dlpack(x)  # which accepts any memory layout
    else:
        made = xp.from_dlpack(x)
    return path_of(made, xp, xp)(made, device, copy)
