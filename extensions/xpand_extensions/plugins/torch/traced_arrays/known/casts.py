"""Conversions, copies, and arrays like another one."""

from typing import Any, Final

import torch

from xpand_extensions.tracing._core import bind
from xpand_extensions.tracing._views import linked

from ._table import Known, both, is_traced, known, several

_T: Final = torch.Tensor


def _converted(xp: Any, x: Any, dtype: Any, copy: bool = False) -> Any:
    if x.dtype.is_complex and not dtype.is_complex:
        return NotImplemented  # PyTorch warns
    if dtype is x.dtype and not copy:
        return x
    return xp.astype(x, dtype, copy=True)


@known(_T.to)
def _to(xp: Any, input: Any, *options: Any, dtype: Any = None, device: Any = None, copy: bool = False) -> Any:
    for x in options:
        if isinstance(x, torch.Tensor):
            dtype, device = x.dtype, x.device
        elif isinstance(x, torch.dtype):
            dtype = x
        elif isinstance(x, (str, torch.device)):
            device = x
        elif x is not None:
            return NotImplemented
    device = None if device is None else torch.device(device)
    is_moved = device is not None and (
        device.type != input.device.type or device.index not in (None, input.device.index)
    )
    if is_moved:
        input = input.to_device(device)
    converted = _converted(xp, input, dtype or input.dtype, copy and not is_moved)
    return input.to(dtype) if converted is NotImplemented and device is not None else converted


@known(_T.type_as)
def _type_as(xp: Any, input: Any, other: Any) -> Any:
    return _converted(xp, input, other.dtype)


@known(_T.type)
def _type(xp: Any, input: Any, dtype: Any = None) -> Any:
    return _converted(xp, input, dtype) if isinstance(dtype, torch.dtype) else NotImplemented


@known(_T.cpu)
def _cpu(xp: Any, input: Any) -> Any:
    return _to(xp, input, device="cpu")


def _cast(dtype: torch.dtype) -> Known:
    return lambda xp, input: _converted(xp, input, dtype)


for _name in ("double", "float", "half", "bfloat16", "long", "int", "short", "bool"):
    known(getattr(_T, _name))(_cast(getattr(torch, _name)))


@known(*both("detach"))
def _detach(xp: Any, input: Any) -> Any:
    op = xp.operations["stop_gradient"]
    return linked(xp.wrap(bind(op, (input,), {})), input, op, {})


@known(*both("clone"))
def _clone(xp: Any, input: Any, *, memory_format: Any = None) -> Any:
    return xp.asarray(input, copy=True)


# Arrays like another one


def _like(name: str) -> Known:
    def apply(xp: Any, input: Any, *, dtype: Any = None, device: Any = None) -> Any:
        return getattr(xp, f"{name}_like")(input, dtype=dtype, device=device)

    return apply


for _name in ("zeros", "ones", "empty"):
    known(getattr(torch, f"{_name}_like"))(_like(_name))


@known(torch.full_like)
def _full_like(xp: Any, input: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    return xp.full_like(input, fill_value, dtype=dtype or input.dtype, device=device)


def _new(name: str) -> Known:
    def apply(xp: Any, input: Any, *size: Any, dtype: Any = None, device: Any = None) -> Any:
        return getattr(xp, name)(several(size), dtype=dtype or input.dtype, device=device or input.device)

    return apply


for _name in ("zeros", "ones", "empty"):
    known(getattr(_T, f"new_{_name}"))(_new(_name))


@known(_T.new_full)
def _new_full(xp: Any, input: Any, size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    return xp.full(tuple(size), fill_value, dtype=dtype or input.dtype, device=device or input.device)


@known(_T.new_tensor)
def _new_tensor(xp: Any, input: Any, data: Any, *, dtype: Any = None, device: Any = None) -> Any:
    if isinstance(data, torch.Tensor):
        return NotImplemented
    return xp.asarray(data, dtype=dtype or input.dtype, device=device or input.device)


def _line(
    xp: Any,
    start: Any,
    end: Any,
    steps: int,
    *,
    dtype: Any = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
) -> Any:
    """Return numbers at equal distances, whose derivatives PyTorch would drop."""
    ends = [x for x in (start, end) if isinstance(x, torch.Tensor)]
    dtype = dtype or torch.get_default_dtype()
    if not dtype.is_floating_point or any(x.dtype.is_complex for x in ends):
        return NotImplemented  # integers have no derivatives, and PyTorch rounds their values
    fractions = torch.linspace(0.0, 1.0, steps, dtype=dtype, device=device or ends[0].device)
    start, end = (x.to(dtype) if isinstance(x, torch.Tensor) else x for x in (start, end))
    return xp.where(
        fractions < 1, start + (end - start) * xp.wrap(fractions), end * xp.wrap(torch.ones_like(fractions))
    )


known(torch.linspace)(_line)


@known(torch.logspace)
def _logspace(xp: Any, start: Any, end: Any, steps: int, base: float = 10.0, **options: Any) -> Any:
    exponents = _line(xp, start, end, steps, **options)
    return exponents if exponents is NotImplemented else base**exponents


# Writes of whole arrays


@known(_T.copy_)
def _copy_into(xp: Any, input: Any, src: Any, non_blocking: bool = False) -> Any:
    if not (is_traced(input) and isinstance(src, torch.Tensor)):
        return NotImplemented
    input[...] = src if src.dtype is input.dtype else xp.astype(src, input.dtype)
    return input


@known(_T.fill_)
def _fill(xp: Any, input: Any, value: Any) -> Any:
    if not is_traced(input):
        return NotImplemented
    input[...] = value
    return input


@known(_T.zero_)
def _zero(xp: Any, input: Any) -> Any:
    input[...] = 0
    return input
