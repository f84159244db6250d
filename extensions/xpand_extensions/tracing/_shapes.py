"""Shapes that broadcast."""

from collections.abc import Sequence


def broadcast(*shapes: Sequence[int]) -> tuple[int, ...]:
    """Return the shape that shapes broadcast to, or raise `ValueError`."""
    ndim = max(map(len, shapes), default=0)
    result = []
    for i in range(-ndim, 0):
        lengths = {shape[i] for shape in shapes if len(shape) >= -i} - {1}
        if len(lengths) > 1:
            raise ValueError(f"shapes {', '.join(map(str, map(tuple, shapes)))} can't be broadcast together")
        result.append(lengths.pop() if lengths else 1)
    return tuple(result)
