"""Rules of random numbers: those of a batch of keys are made in one call, each key's in a row.

Uniform numbers between bounds that differ among the lanes use the generic implementation, and so do derivatives
in the bounds.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from xpand import _arguments
from xpand_extensions import random

from .._core import Aval
from .products import device_of
from .scatter import native


def _of_keys(facade: Any) -> Callable[..., Any]:
    def rule(xp: Any, mapped: Any, key: Any, **options: Any) -> Any:
        return native(facade, key, **options)

    return rule


def _fold_in(xp: Any, mapped: Any, key: Any, data: Any) -> Any:
    """Fold batch elements: what is mapped gets as many axes behind the batch as either, to broadcast."""
    has_axes = hasattr(data, "shape")
    axes = max(key.ndim - 1 - mapped["key"], data.ndim - mapped["data"] if has_axes else 0)
    if mapped["key"]:
        key = xp.reshape(key, (key.shape[0], *(1,) * (axes + 2 - key.ndim), *key.shape[1:]))
    if has_axes and mapped["data"]:
        data = xp.reshape(data, (data.shape[0], *(1,) * (axes + 1 - data.ndim), *data.shape[1:]))
    return native(random.fold_in, key, data)


def _shape_of_folded(namespace: Any, key: Any, data: Any) -> Aval:
    lead = _arguments.broadcast(key.shape[:-1], getattr(data, "shape", ()))
    return Aval((*lead, 2), key.dtype, device_of(key))


def _batch_of_uniform(trace: Any, op: Any, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Make the numbers of all keys at once, where the bounds are the same."""
    mapped = [name for name, x in zip(params["template"].names, args) if trace.owns(x)]
    return trace.by_rule(op, args, params) if mapped == ["key"] else op.decompose(args, params)


def _shape(namespace: Any, key: Any, shape: Any, dtype: Any, **bounds: Any) -> Aval:
    return Aval((*key.shape[:-1], *shape), dtype, device_of(key))


def _shape_of_keys(namespace: Any, key: Any, num: Any) -> Aval:
    return Aval((*key.shape[:-1], *num, 2), key.dtype, device_of(key))


BATCHING: Final[dict[str, Any]] = {
    "random.bits": _of_keys(random.bits),
    "random.fold_in": _fold_in,
    "random.normal": _of_keys(random.normal),
    "random.split": _of_keys(random.split),
    "random.uniform": _of_keys(random.uniform),
}

SHAPES: Final[dict[str, Any]] = {
    "random.bits": _shape,
    "random.fold_in": _shape_of_folded,
    "random.normal": _shape,
    "random.split": _shape_of_keys,
    "random.uniform": _shape,
}

OVERRIDES: Final[dict[str, Any]] = {"random.uniform": {"batch": _batch_of_uniform}}
"""The bounds of uniform numbers may be mapped too."""
