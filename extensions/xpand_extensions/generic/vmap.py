"""Mapping on any library, by tracing."""

from collections.abc import Callable
from typing import Any

from xpand import array_namespace

from ..tracing import traced_namespace
from ..tracing._batching import batched


def vmap(function: Callable[..., Any], /, in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    def mapped(*arrays: Any) -> Any:
        namespace = traced_namespace(array_namespace(*arrays))
        size = next(x.shape[axis] for x, axis in zip(arrays, in_axes) if axis is not None)
        outs, _ = batched(namespace, function, arrays, in_axes, size)
        return outs

    return mapped
