"""Compilation on any library, by tracing."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from xpand import _arguments, array_namespace, choose_namespace, trees
from xpand._typing import Array

from ..jit._ahead import Lowering
from ..jit._graph import ShapeDtype, namespace_with
from ..tracing import Graph, traced_namespace
from ..tracing._core import Aval, aval_of
from ..tracing._host import io_callback as _io_callback
from ..tracing._host import pure_callback as _pure_callback
from ..tracing._jit import as_arrays
from ..tracing._jit import jit as _jit
from ..tracing._simplify import simplified
from ..tracing._staging import scope, stage


def jit(
    function: Callable[..., Any],
    /,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] = (),
) -> Callable[..., Any]:
    return _jit(function)


def make_graph(
    function: Callable[..., Any],
    /,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
) -> Callable[..., Graph]:
    return lambda *leaves: _staged("make_graph", function, leaves)[0]


def lower(
    function: Callable[..., Any],
    /,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
) -> Callable[..., Any]:
    return lambda *leaves: Lowering(str(simplified(_staged("lower", function, leaves)[0])))


def eval_shape(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    graph, structure = _staged("eval_shape", function, args)
    return trees.unflatten(structure, [ShapeDtype(x.shape, x.dtype) for x in graph.outputs])


def named_call(function: Callable[..., Any], /, *, name: str | None = None) -> Callable[..., Any]:
    def named(*args: Any, **kwargs: Any) -> Any:
        with scope(name or ""):
            return function(*args, **kwargs)

    return named


def pure_callback(
    function: Callable[..., Any],
    result_shape_dtypes: Any,
    /,
    *args: Array,
    vmap_method: str = "sequential",
    **kwargs: Array,
) -> Any:
    return _pure_callback(function, result_shape_dtypes, args, vmap_method)


def io_callback(
    function: Callable[..., Any], result_shape_dtypes: Any, /, *args: Array, ordered: bool = False, **kwargs: Array
) -> Any:
    return _io_callback(function, result_shape_dtypes, args)


def _staged(name: str, function: Callable[..., Any], leaves: Sequence[Any]) -> tuple[Graph, trees.Structure]:
    """Trace a function of arrays, and of what stands for arrays, that returns a tree."""
    avals = [_aval(x) for x in leaves]
    arrays = [x for x in leaves if _arguments.is_array(x)]
    if arrays:
        base = array_namespace(*arrays)
    else:
        standing = [x for x in avals if x is not None]
        base = namespace_with(standing[0].dtype) if standing else choose_namespace(*leaves)
    namespace = traced_namespace(base)
    structure: trees.Structure | None = None

    def flat(*inputs: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        nonlocal structure
        found, structure = trees.flatten(function(*inputs))
        return tuple(found), ()

    others = [*arrays, *[x for x in avals if x is not None]]
    numbers = iter(as_arrays([x for x, aval in zip(leaves, avals) if aval is None], namespace.base, others, name))
    weak = [i for i, x in enumerate(avals) if x is None]
    given = [aval_of(next(numbers)) if x is None else x for x in avals]
    graph, _ = stage(namespace, name, flat, given, weak)
    assert structure is not None, "the function has been called"
    return graph, structure


def _aval(x: Any) -> Aval | None:
    if not (hasattr(x, "shape") and hasattr(x, "dtype")):
        return None
    device = getattr(x, "device", None)
    return Aval(tuple(x.shape), x.dtype, device)
