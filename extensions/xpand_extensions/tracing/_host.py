"""Functions of the host, of NumPy's arrays, as operations."""

from collections.abc import Callable, Sequence
from typing import Any

from xpand import array_namespace, is_concrete, library_name, namespace
from xpand._errors import UnsupportedError
from xpand._typing import Array

from ..jit import pure_callback as facade
from ..jit._host import of_shapes
from ._core import TracedArray, bind
from ._namespace import traced_namespace


def pure_callback(
    function: Callable[..., Any], declared: Sequence[Any], arrays: Sequence[Array], vmap_method: str
) -> tuple[Array, ...]:
    """Call a function of NumPy arrays that returns a tuple of such, of declared shapes and data types."""
    traced = traced_namespace(array_namespace(*arrays))
    op = traced.operation("pure_callback", _called)
    params = {"function": function, "declared": tuple(declared), "vmap_method": vmap_method}
    found = bind(op, arrays, params)
    return tuple(map(traced.wrap, found)) if any(isinstance(x, TracedArray) for x in arrays) else tuple(found)


def on_host(x: Array) -> Any:
    """Return an array of any library, whose values are known, as one of NumPy's."""
    xp, host = array_namespace(x), namespace("numpy")
    if xp is host:
        return x
    return host.asarray(xp.asarray(x, device=xp.__array_namespace_info__().default_device()))


def _called(*arrays: Array, function: Callable[..., Any], declared: Any, vmap_method: str) -> tuple[Array, ...]:
    xp = array_namespace(*arrays)
    device = getattr(arrays[0], "device", None)
    if not all(map(is_concrete, arrays)):
        return _later(arrays, function, declared, vmap_method)
    host = namespace("numpy")
    given = [on_host(x) for x in arrays]
    # Copies: what the function returns it may keep, and change; and libraries don't take every layout of memory.
    results = [host.asarray(x).copy() for x in function(*map(host.asarray, given))]
    of_shapes(results, [each.shape for each in declared])
    return tuple(xp.asarray(x, dtype=each.dtype, device=device) for x, each in zip(results, declared))


def _later(arrays: Sequence[Array], function: Callable[..., Any], declared: Any, vmap_method: str) -> tuple[Array, ...]:
    """Have a library of lazy arrays call a function when it computes them."""
    from ..generic import jit as generic

    native = facade.native(*arrays)
    if native is generic.pure_callback:
        raise UnsupportedError(
            f"pure_callback: the values of lazy arrays of {library_name(array_namespace(*arrays))} would have to be "
            "computed; compute them first, or use the library's own way to map a function over blocks"
        )
    return tuple(native(function, declared, *arrays, vmap_method=vmap_method))
