"""Checks of the arguments of polynomial functions."""

from typing import Any

from . import _arguments
from .typing import Array, Namespace


def one(function: str, p: Array, name: str = "p", kinds: frozenset[_arguments.Kind] = _arguments.NUMERIC) -> Namespace:
    """Check the data type of coefficients or points, and that they have an axis; return their namespace."""
    xp = _arguments.namespace_of(function, **{name: p})
    _arguments.dtype(function, name, xp, p, kinds)
    if not p.ndim:
        raise ValueError(f"{function}: {name} must have one axis or more, got a single value")
    _arguments.known_shape(function, name, p)
    return xp


def nonempty(function: str, name: str, p: Array) -> int:
    """Check that the last axis is not empty; return its size."""
    size: int = p.shape[-1] if p.ndim else 0
    if not size:
        raise ValueError(f"{function}: {name} must have one element or more along its last axis, got shape {p.shape}")
    return size


def pair(
    function: str, p1: Array, p2: Array, kinds: frozenset[_arguments.Kind] = _arguments.NUMERIC
) -> tuple[Namespace, Array, Array]:
    """Check two arrays of polynomials; return their namespace, and both arrays in their common data type."""
    arrays = _names(function, p1, p2)
    xp = _arguments.namespace_of(function, **arrays)
    _arguments.one_device(function, **arrays)
    for name, p in arrays.items():
        one(function, p, name, kinds)
    batch(function, p1, p2)
    return xp, *_arguments.promote(function, xp, **arrays)


def batch(function: str, p1: Array, p2: Array) -> tuple[int, ...]:
    """Broadcast the leading axes of two arrays of polynomials."""
    return _arguments.broadcast_shapes(function, **_names(function, p1.shape[:-1], p2.shape[:-1]))


def _names(function: str, first: Any, second: Any) -> dict[str, Any]:
    return dict(zip(("u", "v") if function == "polydiv" else ("p1", "p2"), (first, second)))
