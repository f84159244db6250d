"""Rules of facades that read and write at indices, and of reductions over segments.

If tangents need the same operation as values, it is applied to them: by the library on its own arrays, otherwise traced
as reads of elements and writes of rows.
"""

from collections.abc import Callable
from typing import Any, Final

from xpand_extensions import indexing, scatter
from xpand_extensions._bounds import index_dtype, resolve
from xpand_extensions._rows import row_kernels

from ...extend._derivatives import LINEAR, contribution, joint
from ._derived import Axes, same
from .rows import numbered

_READING: Final = ("take", "take_along_axis", "gather", "gather_nd")
_SEGMENTS: Final = ("segment_sum", "segment_prod", "segment_min", "segment_max", "segment_mean")


def native(facade: Any, *args: Any, **options: Any) -> Any:
    """Apply the operation of a facade to checked arguments, traced or not."""
    return facade.native(*[x for x in args if hasattr(x, "dtype")])(*args, **options)


def _read(name: str) -> joint:
    facade = getattr(indexing, name)

    def rule(xp: Any, tangents: Any, out: Any, x: Any, indices: Any, fill_value: Any = None, **options: Any) -> Any:
        t, fill = tangents["x"], tangents["fill_value"]
        t = xp.zeros_like(x) if t is None else t
        # Reads out of bounds return the fill value, and its derivative.
        return native(facade, t, indices, **options, fill_value=fill if hasattr(fill, "dtype") else 0.0)

    return joint(rule)


def _written(name: str) -> Callable[[dict[str, Any]], joint | None]:
    """Make the rule of writes that are linear in all arrays. Other writes trace the generic implementation."""
    facade = getattr(scatter, name)

    def rule(xp: Any, tangents: Any, out: Any, x: Any, indices: Any, values: Any, **options: Any) -> Any:
        t, of_values = tangents["x"], tangents["values"]
        t = xp.zeros_like(x) if t is None else t
        return native(facade, t, indices, of_values if hasattr(of_values, "dtype") else 0.0, **options)

    linear = joint(rule)
    return lambda static: linear if static["operation"] in ("set", "add", "subtract", "mean") else None


def _of_segments(xp: Any, y: Any, segment_ids: Any, num_segments: int, axis: int, mode: Any, **options: Any) -> Any:
    """Give each position the value of its segment. Dropped positions get zero."""
    index, dropped = resolve(
        "segment_sum", xp, segment_ids, num_segments, mode, row_kernels(segment_ids).bounds, axis=None, from_end=False
    )
    if not num_segments:
        shape = (*y.shape[:axis], *segment_ids.shape, *y.shape[axis + 1 :])
        return xp.zeros(shape, dtype=y.dtype, device=getattr(y, "device", None))
    if not dropped:
        return xp.take(y, index, axis=axis)
    inside = index < num_segments
    found = xp.take(y, xp.where(inside, index, xp.zeros_like(index)), axis=axis)
    inside = xp.reshape(inside, (-1, *(1,) * (len(y.shape) - axis - 1)))
    return xp.where(inside, found, xp.zeros_like(found))


def _mean(xp: Any, t: Any, out: Any, values: Any, segment_ids: Any, axis: int, **options: Any) -> Any:
    device = getattr(segment_ids, "device", None)
    ones = xp.ones_like(segment_ids, dtype=index_dtype(xp, device))
    count = native(scatter.segment_sum, ones, segment_ids, axis=0, **options)
    count = xp.astype(xp.maximum(count, xp.ones_like(count)), out.dtype)
    shape = (-1, *(1,) * (len(out.shape) - axis - 1))
    return native(scatter.segment_sum, t, segment_ids, axis=axis, **options) / xp.reshape(count, shape)


def _extremum(xp: Any, t: Any, out: Any, values: Any, segment_ids: Any, **options: Any) -> Any:
    """Push a tangent through minima or maxima: average over all equal values; NaN if the extreme is NaN."""
    is_it = xp.astype(xp.equal(values, _of_segments(xp, out, segment_ids, **options)), out.dtype)
    count = native(scatter.segment_sum, is_it, segment_ids, **options)
    count = xp.where(xp.isnan(out), out, xp.maximum(count, xp.ones_like(count)))
    return native(scatter.segment_sum, t * is_it, segment_ids, **options) / count


DERIVATIVES: Final[dict[str, Any]] = {
    **{f"indexing.{name}": _read(name) for name in _READING},
    "scatter.scatter": _written("scatter"),
    "scatter.scatter_nd": _written("scatter_nd"),
    "scatter.segment_max": {"values": contribution(_extremum)},
    "scatter.segment_mean": {"values": contribution(_mean)},
    "scatter.segment_min": {"values": contribution(_extremum)},
    "scatter.segment_sum": {"values": LINEAR},
}

TRANSPOSES: Final[dict[str, Any]] = {
    "scatter.segment_sum": {
        "values": lambda xp, ct, values, segment_ids, **options: _of_segments(xp, ct, segment_ids, **options)
    }
}


def _batched_segments(name: str) -> Callable[..., Any]:
    facade = getattr(scatter, name)

    def rule(
        xp: Any, mapped: Any, values: Any, segment_ids: Any, num_segments: int, axis: int, mode: Any, **options: Any
    ) -> Any:
        if not mapped["segment_ids"]:
            return native(facade, values, segment_ids, num_segments=num_segments, axis=axis + 1, mode=mode, **options)
        lanes, size = segment_ids.shape
        if not mapped["values"]:
            values = xp.broadcast_to(xp.expand_dims(values, axis=0), (lanes, *values.shape))
        rows = xp.moveaxis(values, axis + 1, 1) if axis else values
        rest = tuple(rows.shape[2:])
        index, dropped = resolve(
            name, xp, segment_ids, num_segments, mode, row_kernels(segment_ids).bounds, axis=None, from_end=False
        )
        found = native(
            facade,
            xp.reshape(rows, (lanes * size, *rest)),
            numbered(xp, index, num_segments, dropped),
            num_segments=lanes * num_segments,
            axis=0,
            indices_are_sorted=False,
            mode="drop" if dropped else mode,
        )
        found = xp.reshape(found, (lanes, num_segments, *rest))
        return xp.moveaxis(found, 1, axis + 1) if axis else found

    return rule


BATCHING: Final[dict[str, Any]] = {f"scatter.{name}": _batched_segments(name) for name in _SEGMENTS}


REASONS: Final[dict[str, str]] = dict.fromkeys(BATCHING, "the segments of all lanes become segments of one array")

AXES: Final[dict[str, Axes]] = {
    f"scatter.{name}": Axes(
        "values:...[(axis)],segment_ids:[n]->...[(axis:k)]",
        sizes=lambda lengths, num_segments, **params: {"k": num_segments},
        dtype=same,
    )
    for name in _SEGMENTS
}
