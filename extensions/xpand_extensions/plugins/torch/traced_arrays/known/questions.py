"""Sizes, data types and other questions, and what a traced array can't do."""

import math
from typing import Any, Final

import torch

from xpand_extensions.tracing._core import TracedArray, TracedError

from ._table import both, known

_T: Final = torch.Tensor


@known(_T.size)
def _size(xp: Any, input: Any, dim: int | None = None) -> Any:
    return input.shape if dim is None else input.shape[dim]


@known(_T.dim, _T.ndimension)
def _dim(xp: Any, input: Any) -> int:
    return len(input.shape)


@known(_T.numel, _T.nelement, torch.numel)
def _numel(xp: Any, input: Any) -> int:
    return math.prod(input.shape)


@known(_T.is_floating_point, torch.is_floating_point)
def _is_floating_point(xp: Any, input: Any) -> bool:
    return bool(input.dtype.is_floating_point)


@known(_T.is_complex, torch.is_complex)
def _is_complex(xp: Any, input: Any) -> bool:
    return bool(input.dtype.is_complex)


@known(_T.is_contiguous)
def _is_contiguous(xp: Any, input: Any, memory_format: Any = None) -> bool:
    return True


@known(*both("is_conj", "is_neg", "is_inference"))
def _is_special(xp: Any, input: Any) -> bool:
    return False


@known(_T.get_device)
def _get_device(xp: Any, input: Any) -> int:
    return -1 if input.device.index is None else int(input.device.index)


@known(_T.item)
def _item(xp: Any, input: Any) -> Any:
    kind = complex if input.dtype.is_complex else float if input.dtype.is_floating_point else int
    return bool(input) if input.dtype == torch.bool else kind(input)


def _refused(*names: str, advice: str) -> None:
    for name in names:

        def refuse(xp: Any, input: Any, *args: Any, name: str = name, **kwargs: Any) -> Any:
            raise TracedError(f"x.{name}: `{input._trace.what}` traces this array; {advice}")

        known(getattr(_T, name))(refuse)


_refused("backward", "requires_grad_", "retain_grad", "register_hook", advice="take derivatives with `autodiff.grad`")
_refused(
    *("numpy", "tolist", "data_ptr", "untyped_storage", "storage"),
    advice="its values are known outside of the transformation: return the array, or use `pure_callback`",
)


@known(torch.autograd.grad)
def _grad(xp: Any, outputs: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
    raise TracedError(
        "torch.autograd.grad: a transformation of xpand traces the arrays, which PyTorch doesn't record; use `grad` or "
        "`vjp` of `xpand_extensions.autodiff` of a function"
    )


@known(torch.autograd.backward)
def _backward(xp: Any, tensors: Any, *args: Any, **kwargs: Any) -> Any:
    raise TracedError(
        "torch.autograd.backward: a transformation of xpand traces the arrays, which PyTorch doesn't record; use "
        "`grad` of `xpand_extensions.autodiff` of a function"
    )


@known(torch.is_tensor)
def _is_tensor(xp: Any, input: Any) -> bool:
    return isinstance(input, (torch.Tensor, TracedArray))
