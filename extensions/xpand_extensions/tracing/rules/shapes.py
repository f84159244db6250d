"""Rules of the functions that give arrays other shapes."""

from typing import Any, Final

from .._core import Aval
from .._derivatives import LINEAR

DERIVATIVES: Final[dict[str, Any]] = {
    "broadcast_to": (LINEAR,),
    "expand_dims": (LINEAR,),
    "reshape": (LINEAR,),
}

TRANSPOSES: Final[dict[str, Any]] = {
    "broadcast_to": (lambda xp, ct, x, shape: ct,),  # the caller sums over the axes that are new
    "expand_dims": (lambda xp, ct, x, axis=0: xp.reshape(ct, tuple(x.shape)),),
    "reshape": (lambda xp, ct, x, shape, copy=None: xp.reshape(ct, tuple(x.shape)),),
}


def _reshaped(namespace: Any, x: Any, shape: Any, copy: Any = None) -> Any:
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    known = 1
    for length in shape:
        known *= length if length != -1 else 1
    if -1 in shape and known:
        shape = tuple(x.size // known if length == -1 else length for length in shape)
    found = Aval(shape, x.dtype, x.device)
    if found.size != x.size:
        raise ValueError(f"reshape: an array of shape {x.shape} can't have the shape {shape}")
    return found


SHAPES: Final[dict[str, Any]] = {
    "broadcast_to": lambda namespace, x, shape: Aval(tuple(shape), x.dtype, x.device),
    "reshape": _reshaped,
}

BATCHING: Final[dict[str, Any]] = {
    "reshape": lambda xp, mapped, x, shape, copy=None: xp.reshape(
        x, (x.shape[0], *_reshaped(None, Aval(tuple(x.shape[1:]), None), shape).shape)
    ),
}
