"""Compilation on any library, by tracing."""

from collections.abc import Callable, Hashable
from typing import Any

from xpand import trees
from xpand.extend import Array

from .._dispatch import forwards_to
from ..jit._calls import traced_with
from ..jit._graph import ShapeDtype
from ..jit._host import pure_callback as facade
from ..tracing._backend import LIBRARY
from ..tracing._host import io_callback as _io_callback, pure_callback as _pure_callback
from ..tracing._jit import jit_by, lower_by, staged
from ..tracing._staging import scope

jit = jit_by(LIBRARY)
make_graph = traced_with(lambda function, leaves: staged("make_graph", function, leaves)[0])
lower = lower_by()


def eval_shape(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    graph, structure, _ = staged("eval_shape", function, args)
    return trees.unflatten(structure, [ShapeDtype(x.shape, x.dtype) for x in graph.outputs])


def reused(
    function: Callable[..., Any], like: Array, /, *args: Any, of: tuple[Any, ...], key: Hashable, small: bool = False
) -> Any:
    return function(*args)


def named_call(function: Callable[..., Any], /, *, name: str | None = None) -> Callable[..., Any]:
    def named(*args: Any, **kwargs: Any) -> Any:
        with scope(name or ""):
            return function(*args, **kwargs)

    return named


@forwards_to(facade)
def pure_callback(function: Any, result_shape_dtypes: Any, /, *args: Array, vmap_method: str) -> Any:
    return _pure_callback(function, result_shape_dtypes, args, vmap_method)


def io_callback(
    function: Callable[..., Any], result_shape_dtypes: Any, /, *args: Array, ordered: bool = False, **kwargs: Array
) -> Any:
    return _io_callback(function, result_shape_dtypes, args)
