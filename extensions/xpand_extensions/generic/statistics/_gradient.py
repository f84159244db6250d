"""Derivatives by finite differences, with the standard alone."""

from typing import Any

from xpand import array_namespace
from xpand.extend import Array, Namespace, checks

from .._last_axis import from_last, to_last


def gradient(f: Array, /, *spacing: Any, axis: Any = None, edge_order: Any = 1) -> Any:
    xp = array_namespace(f, *spacing)
    return tuple(_along(xp, f, step, item, edge_order) for step, item in zip(spacing, axis))


def _along(xp: Namespace, f: Array, step: Any, axis: int, edge_order: int) -> Array:
    rows = to_last(xp, f, axis)
    if not isinstance(step, float):
        step = xp.astype(step, _real(xp, f), copy=False)
    if not isinstance(step, float) and step.ndim:
        steps = step[1:] - step[:-1]
        inner = _uneven(rows, steps)
        first, last, second, before = steps[0], steps[-1], steps[1:2], steps[-2:-1]
    else:
        inner = (rows[..., 2:] - rows[..., :-2]) / (2 * step)
        first = last = second = before = step
    left = (rows[..., 1:2] - rows[..., :1]) / first
    right = (rows[..., -1:] - rows[..., -2:-1]) / last
    if edge_order == 2:
        # The slope of the parabola through three samples, where it isn't the middle one's.
        left = left + (left - (rows[..., 2:3] - rows[..., 1:2]) / second) * (first / (first + second))
        right = right + (right - (rows[..., -2:-1] - rows[..., -3:-2]) / before) * (last / (last + before))
    return from_last(xp, xp.concat([left, inner, right], axis=-1), axis)


def _real(xp: Namespace, f: Array) -> Any:
    return xp.real(f).dtype if checks.kind(xp, f.dtype) == "complex" else f.dtype


def _uneven(rows: Array, steps: Array) -> Array:
    """Take the slopes of parabolas at their middle samples: of both sides', each weighted by the other's distance."""
    slopes = (rows[..., 1:] - rows[..., :-1]) / steps
    before, after = steps[:-1], steps[1:]
    return (slopes[..., :-1] * after + slopes[..., 1:] * before) / (before + after)
