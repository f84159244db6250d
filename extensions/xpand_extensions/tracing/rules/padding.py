"""Rules of padding, which is linear in the array and in the padding values."""

from typing import Any, Final

from xpand import trees
from xpand_extensions.padding import pad

from ...extend._derivatives import joint


def _of_constants(tangents: Any) -> Any:
    """Replace numbers, and arrays without a tangent, by zeros."""
    if isinstance(tangents, (tuple, list)):
        return tuple([_of_constants(t) for t in tangents])
    return tangents if hasattr(tangents, "dtype") else 0


def _padded(
    xp: Any, tangents: Any, out: Any, x: Any, pad_width: Any, constant_values: Any, end_values: Any, **options: Any
) -> Any:
    t = tangents["x"]
    t = xp.zeros_like(x) if t is None else t
    constants = {name: _of_constants(tangents[name]) for name in ("constant_values", "end_values")}
    given = [each for each in trees.leaves(constants) if hasattr(each, "dtype")]
    return pad.native(t, *given)(t, pad_width, **constants, **options)


_BY_TANGENTS: Final = joint(_padded)

DERIVATIVES: Final[dict[str, Any]] = {
    # Trace the generic implementation for ramps: they depend on whether their ends are finite.
    "padding.pad": lambda static: None if static["mode"] == "linear_ramp" else _BY_TANGENTS
}


def _batched_pad(
    xp: Any, mapped: Any, x: Any, pad_width: Any, constant_values: Any, end_values: Any, interior: Any, **options: Any
) -> Any:
    if any(each is True for name in ("constant_values", "end_values") for each in trees.leaves(mapped[name])):
        return None  # lanes have different padding values
    return pad.native(x)(
        x,
        ((0, 0), *pad_width),
        constant_values=_with_batch(constant_values),
        end_values=_with_batch(end_values),
        interior=(0, *interior),
        **options,
    )


def _with_batch(values: Any) -> Any:
    """Add padding values for the batch axis, which is not padded."""
    return ((0, 0), *values) if isinstance(values, tuple) else values


# Parameters have an entry for each axis.
BATCHING: Final[dict[str, Any]] = {"padding.pad": _batched_pad}
