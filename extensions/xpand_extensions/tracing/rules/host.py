"""Rules of functions of the host."""

from collections.abc import Callable
from typing import Any, Final, NoReturn

from xpand import UnsupportedError, array_namespace
from xpand.extend import device_of

from ...extend._derivatives import joint
from .._core import Aval


def _shapes(namespace: Any, *avals: Any, declared: Any, **params: Any) -> Any:
    device = next((device_of(x) for x in avals if isinstance(x, Aval)), None)
    return tuple(Aval(tuple(x.shape), x.dtype, device) for x in declared)


def _no_derivative(xp: Any, tangents: Any, out: Any, *args: Any, **params: Any) -> NoReturn:
    raise UnsupportedError(
        "pure_callback: a function of the host has no derivative; give it one with `custom_jvp` or `custom_vjp`, or "
        "take its arguments out of differentiation with `stop_gradient`"
    )


def _no_derivative_of_effects(xp: Any, tangents: Any, out: Any, *args: Any, **params: Any) -> Any:
    if not params["declared"]:
        return ()  # nothing is returned, so there is no derivative
    raise UnsupportedError(
        "io_callback: a function of the host has no derivative; take its arguments out of differentiation with "
        "`stop_gradient`, or give the function around it one with `custom_jvp` or `custom_vjp`"
    )


class _Declared:
    """A shape and a data type, with a new first axis."""

    def __init__(self, size: int, each: Any) -> None:
        self.shape, self.dtype = (size, *each.shape), each.dtype


def _batched(
    xp: Any, mapped: tuple[bool, ...], *args: Any, function: Callable[..., Any], declared: Any, vmap_method: str
) -> Any:
    size = next(x.shape[0] for x, is_mapped in zip(args, mapped) if is_mapped)
    wider = tuple(_Declared(size, each) for each in declared)
    if vmap_method == "sequential":
        called = _one_by_one(function, mapped, wider, size)
    else:
        called = function
        args = tuple(x if is_mapped else xp.expand_dims(x, axis=0) for x, is_mapped in zip(args, mapped))
        if vmap_method == "broadcast_all":
            args = tuple(xp.broadcast_to(x, (size, *x.shape[1:])) for x in args)
    return _pure_callback(called, wider, args, vmap_method)


def _one_by_one(
    function: Callable[..., Any], mapped: tuple[bool, ...], wider: tuple[_Declared, ...], size: int
) -> Callable[..., Any]:
    """Make a function that calls another for each lane, in order."""
    from ...jit._graph import dtype_of

    def called(*arrays: Any) -> Any:
        host = array_namespace(*arrays)
        lanes = [function(*(x[i] if is_mapped else x for x, is_mapped in zip(arrays, mapped))) for i in range(size)]
        if not lanes:
            dtypes = [dtype_of("pure_callback", each.dtype, host) for each in wider]
            return tuple(host.zeros(each.shape, dtype=dtype) for each, dtype in zip(wider, dtypes))
        return tuple(host.stack(results) for results in zip(*lanes))

    return called


def _batched_effects(
    xp: Any, mapped: tuple[bool, ...], *args: Any, function: Callable[..., Any], declared: Any, lazily: Any
) -> Any:
    from .._host import io_callback

    size = next(x.shape[0] for x, is_mapped in zip(args, mapped) if is_mapped)
    wider = tuple(_Declared(size, each) for each in declared)
    return io_callback(_one_by_one(function, mapped, wider, size), wider, args, lazily)


def _pure_callback(*args: Any) -> Any:
    from .._host import pure_callback

    return pure_callback(*args)


BATCHING: Final[dict[str, Any]] = {"io_callback": _batched_effects, "pure_callback": _batched}
DERIVATIVES: Final[dict[str, Any]] = {
    "io_callback": joint(_no_derivative_of_effects),
    "pure_callback": joint(_no_derivative),
}
RESULTS: Final[dict[str, Any]] = {"io_callback": tuple, "pure_callback": tuple}
SHAPES: Final[dict[str, Any]] = {"io_callback": _shapes, "pure_callback": _shapes}

REASONS: Final[dict[str, str]] = dict.fromkeys(SHAPES, "a function of the host says the shapes of its results")
