"""Rules of collectives: functions of all lanes along a named axis."""

from typing import Any, Final

from xpand.extend import device_of

from ...extend._derivatives import LINEAR
from .._core import Aval, bind
from .bodies import late


def _transposed(xp: Any, ct: Any, x: Any, position: Any, *, kind: str, sources: Any, size: int) -> Any:
    from .._batching import _not_mapped

    other = {"sum": "sum", "gather": "scatter", "scatter": "gather", "permute": "permute"}[kind]
    destinations = tuple(sorted(range(len(sources)), key=sources.__getitem__))
    op = type(position)._namespace.operation("collective", _not_mapped)
    return bind(op, (ct, position), {"kind": other, "sources": destinations, "size": size})


def _shape(namespace: Any, x: Any, position: Any, *, kind: str, sources: Any, size: int) -> Any:
    shape = {"gather": (size, *x.shape), "scatter": x.shape[1:]}.get(kind, x.shape)
    return Aval(shape, x.dtype, device_of(x))


DERIVATIVES: Final[dict[str, Any]] = {"collective": (LINEAR, None)}
TRANSPOSES: Final[dict[str, Any]] = {"collective": (_transposed, None)}
SHAPES: Final[dict[str, Any]] = {"collective": _shape}
OVERRIDES: Final[dict[str, Any]] = {"collective": {"batch": late("_batching", "collective_batch")}}

REASONS: Final[dict[str, str]] = {"collective": "it exchanges whole lanes"}
