"""Rules of the facades for arithmetic and bits."""

from typing import Any, Final

from xpand.extend import device_of

from ... import arithmetic, bits
from ...arithmetic import element_width
from ...extend._derivatives import factor, scale
from .._core import Aval
from ._derived import Axes, same

DERIVATIVES: Final[dict[str, Any]] = {
    "arithmetic.divide_no_nan": {
        "x": scale(lambda xp, z, x, y: arithmetic.divide_no_nan(1.0, y)),
        "y": factor(lambda xp, z, x, y: -arithmetic.divide_no_nan(z, y)),
    },
    # The remainder is x minus a multiple of y. Rounding corrects the quotient.
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


_ELEMENTWISE: Final = (
    *(f"arithmetic.{name}" for name in ("divide_no_nan", "quotient", "truncated_remainder")),
    *(f"bits.{name}" for name in (*_COUNTS, *_SHIFTS)),
)

BATCHING: Final[dict[str, Any]] = {"bits.bitcast": lambda xp, mapped, x, dtype: bits.bitcast(x, dtype)}

SHAPES: Final[dict[str, Any]] = {"bits.bitcast": _bitcast}

REASONS: Final[dict[str, str]] = {"bits.bitcast": "whether there is a last axis of parts depends on both data types"}


AXES: Final[dict[str, Axes]] = {
    **dict.fromkeys(_ELEMENTWISE, Axes("*...->...")),
    "bits.packbits": Axes(
        "...[(axis)]->...[(axis:k)]",
        sizes=lambda lengths, **params: {"k": -(-lengths["axis"][0] // 8)},
        dtype=lambda namespace, avals, params: namespace.base.uint8,
        flat=True,
    ),
    "bits.unpackbits": Axes(
        "...[(axis)]->...[(axis:k)]",
        sizes=lambda lengths, count=None, **params: {"k": 8 * lengths["axis"][0] if count is None else count},
        dtype=same,
        flat=True,
    ),
}
