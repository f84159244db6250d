"""Derivatives on any library, by tracing."""

from collections.abc import Callable, Sequence
from typing import Any

from xpand import array_namespace
from xpand._typing import Array

from ..tracing import TracedArray, traced_namespace
from ..tracing._core import bind
from ..tracing._forward import jvp as _jvp
from ..tracing._reverse import linearize as _linearize


def stop_gradient(x: Array, /) -> Array:
    if not isinstance(x, TracedArray):
        return x
    namespace = array_namespace(x)
    return namespace.wrap(bind(namespace.operations["stop_gradient"], (x,), {}))


def jvp(
    function: Callable[..., Any], primals: Sequence[Array], tangents: Sequence[Array], /, *, has_aux: bool = False
) -> tuple[Any, ...]:
    namespace = traced_namespace(array_namespace(*primals, *tangents))
    return _jvp(namespace, function, primals, tangents)


def vjp(function: Callable[..., Any], /, *primals: Array, has_aux: bool = False) -> tuple[Any, ...]:
    namespace = traced_namespace(array_namespace(*primals))
    outs, aux, linear = _linearize(namespace, "vjp", function, primals)
    return outs, linear.pull, aux
