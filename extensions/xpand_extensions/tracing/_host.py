"""Host functions of NumPy arrays, as operations."""

from collections.abc import Callable, Sequence
from typing import Any

from xpand import UnsupportedError, array_namespace, is_concrete, library_name, namespace
from xpand.extend import Array, LibraryNamespace

from .._dispatch import OPERATIONS
from ..devices._move import on_host
from ..jit._host import of_shapes
from ._core import CURRENT, TracedArray, bind
from ._namespace import traced_namespace


def pure_callback(
    function: Callable[..., Any], declared: Sequence[Any], arrays: Sequence[Array], vmap_method: str
) -> tuple[Array, ...]:
    """Call a function of NumPy arrays that returns a tuple of NumPy arrays with declared shapes and data types."""
    traced = traced_namespace(array_namespace(*arrays))
    op = traced.operation("pure_callback", _called)
    params = {"function": function, "declared": tuple(declared), "vmap_method": vmap_method}
    found = bind(op, arrays, params)
    return tuple(map(traced.wrap, found)) if any(isinstance(x, TracedArray) for x in arrays) else tuple(found)


def io_callback(
    function: Callable[..., Any],
    declared: Sequence[Any],
    arrays: Sequence[Array],
    lazily: Callable[..., None] | None = None,
) -> tuple[Array, ...]:
    """Call a function with side effects each time the program runs this operation.

    `lazily` is called instead with lazy arrays, since their values would have to be computed.
    """
    around = CURRENT.get()
    written = around is not None and not any(isinstance(x, TracedArray) for x in arrays)
    traced = around.namespace if around is not None and written else traced_namespace(array_namespace(*arrays))
    op = traced.operation("io_callback", _called_for_effects, effects=True)
    params = {"function": function, "declared": tuple(declared), "lazily": lazily}
    # A call with only constants belongs to the staged program, too.
    found = around.process(op, arrays, params) if around is not None and written else bind(op, arrays, params)
    is_traced = written or any(isinstance(x, TracedArray) for x in arrays)
    return tuple(map(traced.wrap, found)) if is_traced else tuple(found)


def _called_for_effects(
    *arrays: Array, function: Callable[..., Any], declared: Any, lazily: Callable[..., None] | None
) -> tuple[Array, ...]:
    if all(map(is_concrete, arrays)):
        return _called(*arrays, function=function, declared=declared, vmap_method="sequential")
    if lazily is not None:
        lazily(*arrays)
        return ()
    if not declared:
        raise UnsupportedError(
            f"callback: the values of lazy arrays of {library_name(array_namespace(*arrays))} are not computed for a "
            "function that returns nothing; compute the arrays first, or use `io_callback` with a result that is used"
        )
    return _later(arrays, function, declared, "sequential")


def _called(*arrays: Array, function: Callable[..., Any], declared: Any, vmap_method: str) -> tuple[Array, ...]:
    xp = array_namespace(*arrays)
    device = getattr(arrays[0], "device", None)
    if not all(map(is_concrete, arrays)):
        return _later(arrays, function, declared, vmap_method)
    host: LibraryNamespace = namespace("numpy")
    given = [on_host(x) for x in arrays]
    # Copy: the function may store and change its result, and libraries don't accept all memory layouts.
    results = [host.asarray(x).copy() for x in function(*map(host.asarray, given))]
    of_shapes(results, [each.shape for each in declared])
    return tuple(xp.asarray(x, dtype=each.dtype, device=device) for x, each in zip(results, declared))


def _later(arrays: Sequence[Array], function: Callable[..., Any], declared: Any, vmap_method: str) -> tuple[Array, ...]:
    """Make a library of lazy arrays call a function when it computes them."""
    operation = OPERATIONS["xpand_extensions.jit.pure_callback"]
    native = operation.resolve_library(library_name(array_namespace(*arrays)))
    if native is operation.generic_implementation():
        raise UnsupportedError(
            f"pure_callback: the values of lazy arrays of {library_name(array_namespace(*arrays))} would have to be "
            "computed; compute them first, or use the library's own way to map a function over blocks"
        )
    return tuple(native(function, declared, *arrays, vmap_method=vmap_method))
