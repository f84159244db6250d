"""Sums, means, extrema and other reductions."""

from typing import Any, Final

import torch

from ._table import Known, arithmetic, both, is_real_floating


def _axes(dim: Any) -> Any:
    """Return axes as the standard takes them. PyTorch reduces all axes for an empty list."""
    if isinstance(dim, (tuple, list)):
        return tuple(dim) or None
    return dim


def _total(name: str) -> Known:
    def apply(xp: Any, input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        if not is_real_floating(input) or dtype not in (None, input.dtype):
            return NotImplemented
        return getattr(xp, name)(input, axis=_axes(dim), keepdims=keepdim)

    return apply


for _name in ("sum", "mean"):
    arithmetic(*both(_name))(_total(_name))


@arithmetic(*both("prod"))
def _prod(xp: Any, input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if not is_real_floating(input) or dtype not in (None, input.dtype) or isinstance(dim, (tuple, list)):
        return NotImplemented
    return xp.prod(input, axis=dim, keepdims=keepdim)


def _extreme(name: str) -> Known:
    def apply(xp: Any, input: Any, dim: Any = (), keepdim: bool = False) -> Any:
        return (
            getattr(xp, name)(input, axis=_axes(dim), keepdims=keepdim) if is_real_floating(input) else NotImplemented
        )

    return apply


def _extreme_of_all(name: str) -> Known:
    def apply(xp: Any, input: Any) -> Any:
        return getattr(xp, name)(input) if is_real_floating(input) else NotImplemented

    return apply


def _position(name: str) -> Known:
    def apply(xp: Any, input: Any, dim: Any = None, keepdim: bool = False) -> Any:
        return getattr(xp, name)(input, axis=dim, keepdims=keepdim) if is_real_floating(input) else NotImplemented

    return apply


for _name in ("max", "min"):
    arithmetic(*both(f"a{_name}"))(_extreme(_name))
    arithmetic(*both(_name))(_extreme_of_all(_name))
    arithmetic(*both(f"arg{_name}"))(_position(f"arg{_name}"))


def _logical(name: str) -> Known:
    def apply(xp: Any, input: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if input.dtype != torch.bool or dim in ((), []):
            return NotImplemented
        return getattr(xp, name)(input, axis=_axes(dim), keepdims=keepdim)

    return apply


for _name in ("all", "any"):
    arithmetic(*both(_name))(_logical(_name))

_MISSING: Final = object()


def _spread(name: str) -> Known:
    def apply(
        xp: Any,
        input: Any,
        dim: Any = None,
        unbiased: Any = True,
        keepdim: bool = False,
        *,
        correction: Any = _MISSING,
    ) -> Any:
        if not is_real_floating(input):
            return NotImplemented
        if isinstance(dim, bool):  # x.var(unbiased)
            dim, unbiased = None, dim
        if correction is _MISSING or correction is None:
            correction = 1 if correction is None else int(unbiased)
        return getattr(xp, name)(input, axis=_axes(dim), correction=correction, keepdims=keepdim)

    return apply


for _name in ("std", "var"):
    arithmetic(*both(_name))(_spread(_name))


def _cumulative(name: str) -> Known:
    def apply(xp: Any, input: Any, dim: int, *, dtype: Any = None) -> Any:
        if not is_real_floating(input) or dtype not in (None, input.dtype) or not input.ndim:
            return NotImplemented
        return getattr(xp, name)(input, axis=dim)

    return apply


arithmetic(*both("cumsum"))(_cumulative("cumulative_sum"))
arithmetic(*both("cumprod"))(_cumulative("cumulative_prod"))
