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


def _product(xp: Any, x: Any, y: Any, ndims: tuple[int, int] | None = None, of: Known = operator.matmul) -> Any:
    """Multiply arrays of one data type, with certain numbers of axes."""
    if ndims is not None and (x.ndim, y.ndim) != ndims:
        return NotImplemented
    if x.dtype is not y.dtype or is_cast_automatically(x):
        return NotImplemented
    return of(xp.wrap(x), y)


@arithmetic(*both("matmul"), _T.__matmul__)
def _matmul(xp: Any, input: Any, other: Any) -> Any:
    return _product(xp, input, other)


@arithmetic(_T.__rmatmul__)
def _rmatmul(xp: Any, input: Any, other: Any) -> Any:
    return _product(xp, other, input)


@arithmetic(*both("mm"))
def _mm(xp: Any, input: Any, mat2: Any) -> Any:
    return _product(xp, input, mat2, (2, 2))


@arithmetic(*both("bmm"))
def _bmm(xp: Any, input: Any, mat2: Any) -> Any:
    return _product(xp, input, mat2, (3, 3))


@arithmetic(*both("mv"))
def _mv(xp: Any, input: Any, vec: Any) -> Any:
    return _product(xp, input, vec, (2, 1))


@arithmetic(*both("dot"))
def _dot(xp: Any, input: Any, tensor: Any) -> Any:
    return _product(xp, input, tensor, (1, 1))


@arithmetic(*both("outer", "ger"))
def _outer(xp: Any, input: Any, vec2: Any) -> Any:
    return _product(xp, input, vec2, (1, 1), lambda x, y: x[:, None] * y)


def _plus(input: Any, product: Any) -> Any:
    """Add an array of the same data type to a product."""
    return product if product is NotImplemented or input.dtype is not product.dtype else input + product


@arithmetic(*both("addmm"))
def _addmm(xp: Any, input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    if beta != 1 or alpha != 1:
        return NotImplemented
    return _plus(input, _product(xp, mat1, mat2, (2, 2)))


@arithmetic(*both("baddbmm"))
def _baddbmm(xp: Any, input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    if beta != 1 or alpha != 1:
        return NotImplemented
    return _plus(input, _product(xp, batch1, batch2, (3, 3)))


@arithmetic(functional.linear)
def _linear(xp: Any, input: Any, weight: Any, bias: Any = None) -> Any:
    if weight.ndim != 2 or not input.ndim or is_recorded(input, weight, bias):
        return NotImplemented  # one call is faster than three operations
    product = _product(xp, input, xp.matrix_transpose(weight))
    return product if bias is None or product is NotImplemented else product + bias
