"""Rules of windows. Sums are linear; an extreme is one of the elements."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from xpand import array_namespace
from xpand_extensions import windows
from xpand_extensions.padding import pad
from xpand_extensions.windows._arguments import passes
from xpand_extensions.windows._passes import extreme_positions, inside, scatter_to_extremes

from ..._dtypes import plain_sum
from ...extend._derivatives import LINEAR, contribution
from .._indexing import applied
from ._derived import Axes
from .products import zeros_of
from .scatter import native

_REDUCTIONS: Final = ("window_max", "window_mean", "window_min", "window_prod", "window_sum")


def _padded(x: Any, widths: Sequence[tuple[int, int]], interior: Sequence[int]) -> Any:
    if not any(map(any, widths)) and not any(interior):
        return x
    return native(
        pad,
        x,
        tuple(widths),
        mode="constant",
        constant_values=0,
        end_values=0,
        reflect_type="even",
        interior=tuple(interior),
    )


# Sums


def _sum_transposed(xp: Any, ct: Any, x: Any, **where: Any) -> Any:
    """Sum, for each element, the values of the windows that contain it, with windows that slide over windows."""
    if 0 in ct.shape or 0 in x.shape:
        return zeros_of(xp, ct, x)
    widths, interior = [(0, 0)] * x.ndim, [0] * x.ndim
    over = []
    for each in passes(**where):
        k, size, length = each.axis, x.shape[each.axis], ct.shape[each.axis]
        if each.stride == each.size and each.dilation == 1:  # windows don't overlap
            ct = _repeated(xp, ct, k, each.size)
            widths[k] = -each.low, size + each.low - length * each.size
            continue
        low = each.span - 1 - each.low
        interior[k] = each.stride - 1
        widths[k] = low, size + each.low - (length - 1) * each.stride - 1
        if each.size > 1:
            over.append(each)
    reached = [(0, 0)] * len(over)
    for i, each in enumerate(over):
        if not interior[each.axis] and min(widths[each.axis]) >= 0:
            reached[i], widths[each.axis] = widths[each.axis], (0, 0)
    ct = _padded(ct, widths, interior)
    if not over:
        return ct
    return native(
        windows.window_sum,
        ct,
        tuple([each.size for each in over]),
        axis=tuple([each.axis for each in over]),
        strides=(1,) * len(over),
        padding=tuple(reached),
        window_dilation=tuple([each.dilation for each in over]),
    )


def _repeated(xp: Any, x: Any, axis: int, times: int) -> Any:
    """Repeat each element along an axis."""
    if times == 1:
        return x
    before, after = x.shape[: axis + 1], x.shape[axis + 1 :]
    spread = xp.broadcast_to(xp.expand_dims(x, axis=axis + 1), (*before, times, *after))
    return xp.reshape(spread, (*before[:-1], before[-1] * times, *after))


def _mean(
    xp: Any, t: Any, out: Any, x: Any, window_shape: Any, padding: Any, count_include_pad: bool, **options: Any
) -> Any:
    where = {"padding": padding, **options}
    total = native(windows.window_sum, t, window_shape, **where)
    if count_include_pad or not any(map(any, padding)):
        return total / math.prod(window_shape)
    for each in passes(window_shape, **where):
        number = inside(xp, each, x.shape[each.axis], getattr(x, "device", None))
        number = xp.reshape(number, tuple([-1 if k == each.axis else 1 for k in range(len(x.shape))]))
        # Divide empty windows by 1, not by 0.
        total = total / xp.astype(xp.maximum(number, xp.ones_like(number)), out.dtype)
    return total


# Extremes


def _extreme(largest: bool) -> contribution:
    """Make the rule of minima or maxima. The first of equal elements counts."""

    def rule(xp: Any, t: Any, out: Any, x: Any, padding: Any, **where: Any) -> Any:
        if 0 in x.shape or 0 in out.shape:
            return None
        mine = array_namespace(x)
        x = applied(mine, "stop_gradient", (x,), {})
        positions = extreme_positions(mine, x, passes(padding=padding, **where), largest=largest)
        index = mine.reshape(positions, (-1,))
        if not any(map(any, padding)):
            return xp.reshape(xp.take(xp.reshape(t, (-1,)), index, axis=0), tuple(out.shape))
        exists = index >= 0
        taken = xp.take(xp.reshape(t, (-1,)), mine.where(exists, index, mine.zeros_like(index)), axis=0)
        return xp.reshape(xp.where(exists, taken, xp.zeros_like(taken)), tuple(out.shape))

    return contribution(rule)


def _scattered(largest: bool) -> Callable[..., Any]:
    """Make the rule of scattering to extremes, whose positions have no derivative."""

    def rule(
        xp: Any, x: Any, source: Any, initial: Any, window_shape: Any, axis: Any, strides: Any, padding: Any
    ) -> Any:
        x = applied(array_namespace(x), "stop_gradient", (x,), {})
        options = {"axis": axis, "strides": strides, "padding": padding, "largest": largest}
        return scatter_to_extremes(x, source, initial, window_shape, **options)

    return rule


# Views


def _view_transposed(xp: Any, ct: Any, x: Any, window_shape: Any, axis: Any, strides: Any, window_dilation: Any) -> Any:
    """Sum the copies of each element in all windows, one axis after the other."""
    if 0 in ct.shape:
        return zeros_of(xp, ct, x)
    for k, window, stride, dilation in reversed(list(zip(axis, window_shape, strides, window_dilation))):
        size, length = x.shape[k], ct.shape[k]
        before = [(0, 0)] * k
        if stride == window and dilation == 1:
            ct = xp.moveaxis(ct, -1, k + 1)
            ct = xp.reshape(ct, (*ct.shape[:k], length * window, *ct.shape[k + 2 :]))
            ct = _padded(ct, [*before, (0, size - length * window), *[(0, 0)] * (ct.ndim - k - 1)], [0] * ct.ndim)
            continue
        # Put the first elements of all windows in one row, the second elements in the next. Rows are longer than the
        # result by the distance between elements of a window. Flattened and cut to the length of the result, all copies
        # of an element are in one column.
        ct = xp.moveaxis(ct, -1, k)
        row = size + dilation
        widths = [*before, (0, 0), (0, row - (length - 1) * stride - 1), *[(0, 0)] * (ct.ndim - k - 2)]
        ct = _padded(ct, widths, [stride - 1 if i == k + 1 else 0 for i in range(ct.ndim)])
        ct = xp.reshape(ct, (*ct.shape[:k], window * row, *ct.shape[k + 2 :]))
        ct = ct[(slice(None),) * k + (slice(0, window * size), ...)]
        ct = plain_sum(xp, xp.reshape(ct, (*ct.shape[:k], window, size, *ct.shape[k + 1 :])), axis=k)
    return ct


DERIVATIVES: Final[dict[str, Any]] = {
    "windows.sliding_window_view": {"x": LINEAR},
    "windows.window_max": {"x": _extreme(largest=True)},
    "windows.window_mean": {"x": contribution(_mean)},
    "windows.window_min": {"x": _extreme(largest=False)},
    "windows.window_sum": {"x": LINEAR},
}

TRANSPOSES: Final[dict[str, Any]] = {
    "windows.sliding_window_view": {"x": _view_transposed},
    "windows.window_sum": {"x": _sum_transposed},
}

DECOMPOSITIONS: Final[dict[str, Any]] = {
    "windows.window_scatter_max": _scattered(largest=True),
    "windows.window_scatter_min": _scattered(largest=False),
}


# Shapes


def _windows(
    lengths: Any, window_shape: Any, axis: Any, strides: Any, window_dilation: Any, padding: Any = None, **_: Any
) -> dict[str, Any]:
    """Return the numbers of windows along the axes."""
    found = dict(zip(axis, lengths["axis"]))
    for each in passes(window_shape, axis, strides, padding or ((0, 0),) * len(axis), window_dilation):
        found[each.axis] = each.count(found[each.axis])
    return {"k": tuple([found[i] for i in axis])}


AXES: Final[dict[str, Axes]] = {
    **{f"windows.{name}": Axes("...[(axis)]->...[(axis:k)]", sizes=_windows) for name in _REDUCTIONS},
    "windows.sliding_window_view": Axes("...[(axis)]->...[(axis:k)]{window_shape}", sizes=_windows),
}
