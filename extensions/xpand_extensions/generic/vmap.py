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
        outs, mapped = batched(namespace, function, arrays, in_axes, size)
        # What is the same for all members has no axis yet.
        xp = array_namespace(*arrays)
        return tuple(
            x if is_mapped else xp.broadcast_to(xp.expand_dims(x, axis=0), (size, *x.shape))
            for x, is_mapped in zip(outs, mapped)
        )

    return mapped
