"""Rules of the facades for arithmetic and bits."""

from typing import Any, Final

from xpand._arguments import device_of

from ... import arithmetic, bits
from ...arithmetic._operands import element_width
from .._core import Aval
from .._derivatives import factor, scale
from .special import aligned, promoted

DERIVATIVES: Final[dict[str, Any]] = {
    "arithmetic.divide_no_nan": {
        "x": scale(lambda xp, z, x, y: arithmetic.divide_no_nan(1.0, y)),
        "y": factor(lambda xp, z, x, y: -arithmetic.divide_no_nan(z, y)),
    },
    # What was taken away is a whole multiple of y; rounding corrects the quotient.
    "arithmetic.truncated_remainder": {"x": 1, "y": factor(lambda xp, z, x, y: -xp.round((x - z) / y))},
}

_SHIFTS: Final = ("shift_left", "shift_right", "shift_right_logical")
_COUNTS: Final = ("count_leading_zeros", "population_count")
_BITS: Final = "a function of bits"

CONSTANT: Final[dict[str, str]] = {
    "arithmetic.quotient": "a function of integers",
    **{f"bits.{name}": _BITS for name in (*_COUNTS, *_SHIFTS, "bitcast", "packbits", "unpackbits")},
}


def _bitcast(namespace: Any, x: Any, dtype: Any) -> Aval:
    ours, theirs = (element_width(namespace.base, each) for each in (x.dtype, dtype))
    shape = (*x.shape, ours // theirs) if ours > theirs else x.shape if ours == theirs else x.shape[:-1]
    return Aval(shape, dtype, device_of(x))


def _along(name: str) -> Any:
    """Make the rule for batches of a function of bytes along an axis, or of all of them."""
    function = getattr(bits, name)

    def rule(xp: Any, mapped: Any, x: Any, axis: int | None = None, **params: Any) -> Any:
        if axis is None:
            return function(xp.reshape(x, (x.shape[0], -1)), axis=1, **params)
        return function(x, axis=axis % (x.ndim - 1) + 1, **params)

    return rule


_ELEMENTWISE: Final = {
    **{
        f"arithmetic.{name}": getattr(arithmetic, name) for name in ("divide_no_nan", "quotient", "truncated_remainder")
    },
    **{f"bits.{name}": getattr(bits, name) for name in (*_COUNTS, *_SHIFTS)},
}

BATCHING: Final[dict[str, Any]] = {
    **{name: aligned(function) for name, function in _ELEMENTWISE.items()},
    **{f"bits.{name}": _along(name) for name in ("packbits", "unpackbits")},
    "bits.bitcast": lambda xp, mapped, x, dtype: bits.bitcast(x, dtype),
}

SHAPES: Final[dict[str, Any]] = {**dict.fromkeys(_ELEMENTWISE, promoted), "bits.bitcast": _bitcast}
