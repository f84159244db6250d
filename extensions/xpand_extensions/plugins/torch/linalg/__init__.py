"""Linear algebra on PyTorch, by its functions for einsum, triangular solves, factorizations and matrix exponentials."""

import math
from collections.abc import Callable
from typing import Final

import torch

import xpand.torch as xp
from xpand import is_concrete
from xpand.extend import LibraryArray as Array
from xpand.torch._concrete import is_finite
from xpand.torch._dtypes import SIGNED
from xpand_extensions._dispatch import for_library
from xpand_extensions.generic.linalg import (
    _distances as distances,
    _factorizations as generic,
    _functions as functions,
    _schur,
)
from xpand_extensions.generic.linalg._products import execute
from xpand_extensions.linalg import _lstsq as lstsq
from xpand_extensions.linalg._factorizations import LUFactors
from xpand_extensions.linalg._lstsq import LstsqResult
from xpand_extensions.linalg._plan import Pair, plan_of
from xpand_extensions.linalg._spectra import SchurResult

from .._operators import define_operation
from .._plain import is_plain
from ..bridge import by_rules
from ._pivots import order_of

_DIRECT: Final = {
    "ab,bc->ac": torch.matmul,
    "ab,b->a": torch.matmul,
    "abc,acd->abd": torch.matmul,
    "a,a->": torch.dot,
    "a,a->a": torch.mul,
    "ab,ab->ab": torch.mul,
}
"""Functions that replace `torch.einsum`; for small arrays they take a third of the time."""


def einsum(subscripts: str, /, *operands: Array, optimize: bool | str = True) -> Array:
    dtype = operands[0].dtype
    if dtype in SIGNED:
        operands = tuple(x.view(SIGNED[dtype]) for x in operands)
        return einsum(subscripts, *operands, optimize=optimize).view(dtype)
    plan = plan_of(subscripts, tuple([tuple(x.shape) for x in operands]), optimize)
    return execute(plan, operands, _pair)


def _pair(step: Pair, x1: Array, x2: Array) -> Array:
    direct = _DIRECT.get(step.subscripts)
    return torch.einsum(step.subscripts, x1, x2) if direct is None else direct(x1, x2)


def diagonal(x: Array, /, *, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Array:
    return torch.diagonal(x, offset, axis1, axis2)


def triangular_solve(
    a: Array,
    b: Array,
    /,
    *,
    lower: bool = True,
    transpose: bool = False,
    conjugate: bool = False,
    unit_diagonal: bool = False,
    left_side: bool = True,
) -> Array:
    vector = b.ndim == 1
    if vector:
        b = b[:, None] if left_side else b[None, :]
    if transpose:
        a = a.mT
    if conjugate:
        a = a.conj()
    x = torch.linalg.solve_triangular(a, b, upper=lower is transpose, left=left_side, unitriangular=unit_diagonal)
    if vector:
        return x[..., 0] if left_side else x[..., 0, :]
    return x


def lu_factor(x: Array, /) -> LUFactors:
    factors, pivots, _ = torch.linalg.lu_factor_ex(x)
    return LUFactors(factors, order_of(factors, pivots))


def least_squares(a: Array, b: Array, /, *, rtol: float | None = None) -> LstsqResult:
    tracked = not (is_concrete(a) and is_concrete(b)) or a.requires_grad or b.requires_grad
    a, b, finite = lstsq.finite_matrices(xp, a, b)
    if 0 in a.shape[-2:]:
        return lstsq.no_values(xp, a, b, finite)
    tolerance = lstsq.cutoff(xp, a, rtol)
    if tracked:
        # If singular values are equal, the derivative of the singular vectors is infinite, but not that of the
        # pseudo-inverse.
        x, s = torch.linalg.pinv(a, rtol=tolerance) @ b, torch.linalg.svdvals(a)
    elif a.device.type == "cpu" and a.numel() and b.numel():
        # A singular value decomposition that applies the singular vectors without returning them.
        x, _, _, s = torch.linalg.lstsq(a, b, rcond=tolerance, driver="gelsd")
    else:
        x, s = generic.by_singular_values(xp, a, b, tolerance)
    return lstsq.lstsq_result(xp, a, b, x, s, s > tolerance * s[..., :1], finite)


def expm(x: Array, /) -> Array:
    if 0 in x.shape:
        return x.clone()
    if is_finite(x):
        return torch.linalg.matrix_exp(x.contiguous())  # it raises for exchanged axes of a stack
    finite = torch.isfinite(x).all(dim=-1, keepdim=True).all(dim=-2, keepdim=True)
    return torch.where(finite, torch.linalg.matrix_exp(torch.where(finite, x, 0.0)), math.nan)


# One operation: its steps depend on values, so compilers must not trace them.
_LOGM: Final[Callable[..., Array]] = define_operation(
    "logm(Tensor x)",
    lambda x: functions.logm(x).contiguous(),
    # The transpose of the derivative is the derivative at the adjoint of `x`.
    lambda cotangent, x, out: (functions.logarithm_along(_LOGM, x.mH, cotangent),),
)


@by_rules("linalg.logm")
def logm(x: Array, /) -> Array:
    return _LOGM(x)


def _schur_factors(both: Array) -> Array:
    x = both[..., : both.shape[-2]]
    if x.device.type != "cpu":
        return torch.cat(_schur.schur_factors(x), dim=-1)
    found = for_library("linalg.schur_factors", "numpy")(x.resolve_conj().numpy())
    return torch.cat([torch.from_numpy(each) for each in found], dim=-1)


# One operation, since its steps depend on values. Operations have one result of the shape of their argument, so there
# is room for both factors.
_SCHUR: Final = define_operation("schur(Tensor both)", _schur_factors)


def schur_factors(x: Array, /) -> SchurResult:
    size = x.shape[-1]
    found = _SCHUR(torch.cat([x, x], dim=-1))
    return SchurResult(found[..., :size], found[..., size:])


_POWERS: Final = {"euclidean": 2.0, "cityblock": 1.0, "chebyshev": math.inf}


def cdist(x1: Array, x2: Array, /, metric: str = "euclidean", *, p: float = 2.0) -> Array:
    power = p if metric == "minkowski" else _POWERS.get(metric)
    # PyTorch's derivative is not differentiable. Its maximum ignores NaN.
    if power is None or power == math.inf or x1.dtype not in (torch.float32, torch.float64) or not is_plain(x1, x2):
        return distances.cdist(x1, x2, metric, p=p)
    return torch.cdist(x1, x2, power, compute_mode="donot_use_mm_for_euclid_dist")
