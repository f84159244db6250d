"""Products of matrices and vectors."""

import operator
from typing import Any, Final

import torch
from torch.nn import functional

from ._table import Known, arithmetic, both, is_recorded

_T: Final = torch.Tensor


def is_cast_automatically(x: Any) -> bool:
    """Return whether `torch.autocast` changes the data type of products on the array's device."""
    return bool(torch.is_autocast_enabled(x.device.type))


def _product(ndims: tuple[int | None, int | None], of: Known = operator.matmul) -> Known:
    """Make a product of arrays with certain numbers of axes, None for any."""

    def apply(xp: Any, input: Any, other: Any) -> Any:
        x, y = input, other
        if any(n is not None and z.ndim != n for z, n in zip((x, y), ndims)):
            return NotImplemented
        if x.dtype is not y.dtype or is_cast_automatically(x):
            return NotImplemented
        return of(xp.wrap(x), y)

    return apply


def _named(function: Known, second: str) -> Known:
    """Give a product PyTorch's name for its second argument."""
    scope: dict[str, Any] = {"function": function}
    exec(f"def apply(xp, input, {second}): return function(xp, input, {second})", scope)
    found: Known = scope["apply"]
    return found


for _name, _ndims, _second in (
    ("matmul", (None, None), "other"),
    ("mm", (2, 2), "mat2"),
    ("bmm", (3, 3), "mat2"),
    ("mv", (2, 1), "vec"),
    ("dot", (1, 1), "tensor"),
):
    arithmetic(*both(_name))(_named(_product(_ndims), _second))
arithmetic(_T.__matmul__)(_product((None, None)))
arithmetic(_T.__rmatmul__)(_named(lambda xp, input, other: _product((None, None))(xp, other, input), "other"))
_OUTER: Final = _product((1, 1), lambda x, y: x[:, None] * y)
arithmetic(*both("outer", "ger"))(_named(_OUTER, "vec2"))


@arithmetic(*both("addmm"))
def _addmm(xp: Any, input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    if beta != 1 or alpha != 1:
        return NotImplemented
    found = _product((2, 2))(xp, mat1, mat2)
    return found if found is NotImplemented or input.dtype is not found.dtype else input + found


@arithmetic(*both("baddbmm"))
def _baddbmm(xp: Any, input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    if beta != 1 or alpha != 1:
        return NotImplemented
    found = _product((3, 3))(xp, batch1, batch2)
    return found if found is NotImplemented or input.dtype is not found.dtype else input + found


@arithmetic(functional.linear)
def _linear(xp: Any, input: Any, weight: Any, bias: Any = None) -> Any:
    if weight.ndim != 2 or not input.ndim or is_recorded(input, weight, bias):
        return NotImplemented  # one call is faster than three operations
    found = _product((None, None))(xp, input, xp.matrix_transpose(weight))
    return found if bias is None or found is NotImplemented else found + bias
