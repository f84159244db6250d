"""Norms, and roots of sums of squares, with the derivatives that other libraries have at zeros."""

from __future__ import annotations

from math import inf
from typing import Any

import torch

from .._typing import Array, Axis
from ._following import absolute, is_followed, is_followed_in_both, is_nowhere, with_derivatives


def vector_norm(
    x: Array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: float = 2,
    **kwargs: Any,
) -> Array:
    """The norm of vectors along axes; over no axis the absolute value, where PyTorch takes `()` for all axes."""
    if axis == ():
        result = (x != 0).to(x.real.dtype) if ord == 0 else _plain_abs(x, ord)
        out = kwargs.get("out")
        return result if out is None else out.copy_(result)
    if kwargs or ord == 0 or not is_followed(x):
        return torch.linalg.vector_norm(x, ord, axis, keepdims, **kwargs)
    norm = _with_zeros(x, torch.linalg.vector_norm(x, ord, axis, True), axis, ord)
    if keepdims:
        return norm
    return norm.reshape(()) if axis is None else norm.squeeze(axis)


def _plain_abs(x: Array, ord: float) -> Array:
    if ord == 2 and is_followed(x):
        return root_at_zeros(torch.abs(x), x)
    return absolute(x) if is_followed(x) and not x.dtype.is_complex else torch.abs(x)


def _with_zeros(x: Array, norm: Array, axis: int | tuple[int, ...] | None, ord: float) -> Array:
    """Norms, with axes of size 1, and the derivatives at zeros that those of absolute values and of roots give."""
    if ord == 2 and is_followed_in_both(x):
        return root_of_squares(norm, x, axis)
    zero = x == 0 if ord == 1 else norm == 0
    if is_nowhere(zero) or -inf < ord < 1:
        return norm
    if ord not in (1, inf, -inf):
        return root_at_zeros(norm, torch.sum(x, axis, True))
    if x.dtype.is_complex:
        return norm
    # The slope of each of the zeros is 1; one extreme among equals has its share.
    own = zero if ord == 1 else zero & (x == 0)
    total = torch.sum(torch.where(own, x, 0.0), axis, True)
    return norm + (total if ord == 1 else total / torch.sum(own, axis, True).clamp(min=1))


def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: float | str | None = "fro", **kwargs: Any) -> Array:
    """The norms of a stack of matrices."""
    if kwargs or not is_followed(x) or ord not in ("fro", 1, -1, inf, -inf):
        return torch.linalg.matrix_norm(x, ord, (-2, -1), keepdims, **kwargs)
    if ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    along, across = (-2, -1) if ord in (1, -1) else (-1, -2)
    sums = vector_norm(x, axis=along, keepdims=True, ord=1)
    norm = torch.amax(sums, across, True) if ord in (1, inf) else torch.amin(sums, across, True)
    return norm if keepdims else norm[..., 0, 0]


def root_of_squares(norm: Array, x: Array, axis: Axis) -> Array:
    """Return norms, of axes of size 1, in a form whose third derivatives PyTorch has: of its own they raise."""
    plain = norm.detach()
    scale = torch.where((plain > 0) & torch.isfinite(plain), plain, 1.0)  # so that no square overflows
    y = x / scale
    root = scale * torch.sqrt(torch.sum(squares(y), axis, True))
    return torch.where(torch.isfinite(plain), with_derivatives(plain, root), root)


def root_at_zeros(result: Array, total: Array) -> Array:
    """Return roots of sums of squares, with the derivative of the root at zeros: NaN, where PyTorch masks it.

    Args:
        result: The roots.
        total: Sums of the same elements; only their derivative counts.
    """
    zero = result == 0
    total = torch.where(zero, total - total.detach(), 1.0)
    return torch.where(zero, torch.sqrt(squares(total)), result)


def squares(x: Array) -> Array:
    """Return the squares of absolute values."""
    return x.real * x.real + x.imag * x.imag if x.dtype.is_complex else x * x
