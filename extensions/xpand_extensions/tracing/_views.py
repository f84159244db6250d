"""Views: arrays that share memory with the array that they were made from.

A traced array has no memory that another one could share. Instead, a result that may be a view refers to its base, and
the base refers to it weakly. A write into one of them gives the others new elements. Whether the result is a view
depends on the library, the data type and the shapes. So, at the first write, the library's functions are applied to an
array of zeros in row-major order. Programs that don't write only pay for the references.
"""

import math
from collections.abc import Callable
from typing import Any, Final
from weakref import ref

from xpand import is_writeable_array
from xpand.extend import device_of

from .._bounds import index_dtype
from ._core import Op, TracedArray, TracedError, bind
from ._indexing import applied
from ._keys import ARRAY, spelled_out


class View:
    """The array that another one was made from, and how."""

    __slots__ = ("_base", "function", "op", "params")

    def __init__(self, base: TracedArray, op: Op, params: dict[str, Any], function: Callable[..., Any]) -> None:
        # A write into the result of `stop_gradient` is an error only if its argument still exists.
        self._base = ref(base) if op.name == "stop_gradient" else base
        self.op, self.params = op, params
        self.function = function
        """The library's function, which knows whether the result is a view."""

    @property
    def base(self) -> Any:
        """The array, or None if it no longer exists."""
        return self._base() if isinstance(self._base, ref) else self._base


class Views(list[Any]):
    """Weak references to the views of an array."""

    __slots__ = ("most",)

    def __init__(self) -> None:
        self.most = 16

    def prune(self) -> None:
        """Remove the references to views that no longer exist."""
        self[:] = [each for each in self if each() is not None]
        self.most = 16 + 2 * len(self)


def linked(x: Any, base: Any, op: Op, params: dict[str, Any], function: Callable[..., Any] | None = None) -> Any:
    """Note that an array may be a view of another one, and return it."""
    if isinstance(base, TracedArray):  # other arrays are constants, which are never written to
        x._view = View(base, op, params, op.function if function is None else function)
        views = base._views
        if views is None:
            views = base._views = Views()
        elif len(views) == views.most:
            views.prune()
        views.append(ref(x))
    return x


def selected(x: Any, base: Any, key: tuple[Any, ...]) -> Any:
    """Note that `x` is `base[key]`, which may be a view, and return it."""
    namespace = base._namespace
    if not x.shape and Ellipsis not in key and not namespace.writes_in_place[1]:
        return x  # an immutable scalar
    return linked(x, base, namespace.operations["getitem"], {"key": key})


def is_selected(x: Any, base: Any, key: tuple[Any, ...]) -> bool:
    """Return whether `x` is the view `base[key]`."""
    view = x._view if isinstance(x, TracedArray) else None
    if view is None or view.base is not base or view.op.name != "getitem" or view.params["key"] != key:
        return False
    return is_view(x)


def linked_parts(op: Op, parts: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Note that the results of `unstack` and `broadcast_arrays` may be views, and return them."""
    if op.name == "unstack":
        if isinstance(args[0], TracedArray):
            base: Any = args[0]
            before = (slice(None),) * (params["axis"] % base.ndim)
            for i, part in enumerate(parts):
                selected(part, base, (*before, i) if base.ndim == 1 else (*before, i, ...))
    else:
        operations = op.namespace.operations
        for x, part in zip(args, parts):
            if tuple(x.shape) == part.shape:
                linked(part, x, operations["getitem"], {"key": (...,)})
            else:
                linked(part, x, operations["broadcast_to"], {"shape": part.shape})
    return parts


def is_view(x: Any) -> bool:
    """Return whether an array is a view of its base. If not, it forgets its base."""
    if x._view is None:
        return False
    base = x._view.base
    if base is not None:
        is_view(base)
        if _probed(x)[0]:
            return True
    x._view = None
    return False


def check_writable(x: Any) -> None:
    """Check that the library's own array, a result of a function, could be written to.

    Raises:
        ValueError: It is read-only.
        TracedError: It is a view, and its base would lose its derivative.
    """
    if x._view.base is not None:
        is_view(x._view.base)
        _, message = _probed(x)
        if message:
            raise ValueError(f"{x._view.op.name}: {message}; copy the result first with `xp.asarray(x, copy=True)`")
    is_view(x)
    while x._view is not None:
        if x._view.op.name == "stop_gradient":
            raise TracedError(
                "writing into the result of stop_gradient, which shares memory with its argument: the derivative of "
                "the argument would be lost; copy the result first with `xp.asarray(x, copy=True)`"
            )
        x = x._view.base


def _probed(x: Any) -> tuple[bool, str]:
    """Return whether a result shares memory with its base in the library, and the error of a write or ''."""
    views: list[View] = []
    while x._view is not None:
        views.append(x._view)
        x = x._view.base
    namespace, shape, dtype = x._namespace, x.shape, x.dtype
    key = (shape, dtype, *[(each.function, repr(each.params)) for each in views])
    found = namespace.known_views.get(key)
    if found is None:
        found = namespace.known_views.add(key, _tried(namespace, shape, dtype, x.device, views))
    shares, message = found
    return shares and (bool(shape) or x._is_written_in_place()), message  # a scalar has no views


def _tried(namespace: Any, shape: tuple[int, ...], dtype: Any, device: Any, views: list[View]) -> tuple[bool, str]:
    base = namespace.base
    root = x = base.zeros(shape, dtype=dtype, device=device)
    if not is_writeable_array(root):
        return False, ""
    for view in reversed(views):
        x = view.function(x, **view.params)
    root[...] = base.asarray(1 + 1j if namespace.is_complex(dtype) else 1, dtype=dtype, device=device)
    found = 0 in x.shape or bool(base.any(x))
    try:
        x[...] = base.ones((), dtype=x.dtype, device=device_of(x))
    except (RuntimeError, TypeError, ValueError) as error:
        return found, str(error)
    return found, ""


def write(x: Any, found: TracedArray, key: tuple[Any, ...] | None = None) -> None:
    """Give an array new elements, and all arrays that share memory with it.

    `key`: selects the elements that change, if it is known and without arrays.
    """
    x._take(found)
    x._is_array = True
    if x._views:
        _refresh(x, key)
    while x._view is not None:
        view, written = x._view, x
        x = view.base
        x._take(_with_elements(x, written, view))
        _refresh(x, view.params["key"] if view.op.name == "getitem" else None, written)


def _refresh(base: Any, key: tuple[Any, ...] | None, written: Any = None) -> None:
    """Give the views of an array its new elements. `key` selects the elements that have changed, as in `write`."""
    base._views.prune()
    for reference in base._views:
        x = reference()
        if x is None or x is written or not is_view(x):
            continue
        op, params = x._view.op, x._view.params
        if key is not None and op.name == "getitem" and _are_apart(base, key, params["key"]):
            continue
        x._take(x._namespace.wrap(bind(op, (base,), params)))
        if x._views:
            _refresh(x, None)


def _are_apart(x: Any, key: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Return whether two keys select different elements. False also if that isn't obvious."""
    parts, others = (
        [part for part in spelled_out(None, x.ndim, each, ()) if part is not None] for each in (key, other)
    )
    return any(
        _ends(n, a)[1] <= _ends(n, b)[0] or _ends(n, b)[1] <= _ends(n, a)[0] for n, a, b in zip(x.shape, parts, others)
    )


def _ends(size: int, part: Any) -> tuple[int, int]:
    """Return the first of the selected positions, and the one after the last."""
    positions = range(size)[part] if isinstance(part, slice) else range(part % size, part % size + 1)
    return (min(positions[0], positions[-1]), max(positions[0], positions[-1]) + 1) if positions else (0, 0)


def _with_elements(base: Any, x: Any, view: View) -> Any:
    """Return the base with the elements of its view `x`."""
    xp, name, params = base._namespace, view.op.name, view.params

    def apply(name: str, *arrays: Any, **params: Any) -> Any:
        return applied(xp, name, arrays, params)

    match name:
        case "getitem":
            parts = spelled_out(xp, base.ndim, params["key"], ())
            if None in parts:  # not all libraries take it in `x[key] = value`
                axes = [part for part in parts if not isinstance(part, int)]
                shape = tuple(size for size, part in zip(x.shape, axes) if part is not None)
                x = apply("reshape", x, shape=shape, copy=None)
            return apply("setitem", base, x, key=tuple(part for part in parts if part is not None))
        case "matrix_transpose" | "flip":
            return apply(name, x, **params)
        case "permute_dims":
            axes = [axis % base.ndim for axis in params["axes"]]
            return apply(name, x, axes=tuple(map(axes.index, range(base.ndim))))
        case "moveaxis":
            return apply(name, x, source=params["destination"], destination=params["source"])
        case "real" | "imag" if xp.is_complex(base.dtype):
            return _complex(xp, x, xp.imag(base)) if name == "real" else _complex(xp, xp.real(base), x)
    if math.prod(base.shape) == math.prod(x.shape) and name in _KEEP_ORDER:
        return apply("reshape", x, shape=base.shape, copy=None)
    # Any other function tells which elements it selects.
    numbers = xp.base.arange(math.prod(base.shape), dtype=index_dtype(xp.base, base.device), device=base.device)
    positions = view.function(xp.base.reshape(numbers, base.shape), **params)
    if xp.base.unique_values(positions).shape[0] < math.prod(positions.shape):
        raise TracedError(
            f"writing into a part of a result of {name} in which elements share memory: copy the result first with "
            "`xp.asarray(x, copy=True)`"
        )
    flat = apply("reshape", base, shape=(-1,), copy=None)
    values = apply("reshape", x, shape=(-1,), copy=None)
    flat = apply("setitem", flat, values, xp.base.reshape(positions, (-1,)), key=(ARRAY,))
    return apply("reshape", flat, shape=base.shape, copy=None)


_KEEP_ORDER: Final = frozenset(
    [
        "astype",
        "broadcast_to",
        "ceil",
        "clip",
        "diff",
        "expand_dims",
        "floor",
        "imag",
        "linalg.matrix_power",
        "real",
        "reshape",
        "round",
        "squeeze",
        "to_device",
        "trunc",
    ]
)
"""Views with all elements, in order."""


def _complex(xp: Any, real: Any, imag: Any) -> Any:
    dtype = xp.result_type(real.dtype, xp.complex64)
    return xp.astype(real, dtype) + 1j * xp.astype(imag, dtype)
