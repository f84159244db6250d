"""The matrix logarithm as one operation of PyTorch: its steps depend on values, so its compiler must not see them."""

from typing import Final

import torch

from xpand.extend import LibraryArray as Array
from xpand_extensions.generic.linalg import _functions as generic

from .._operators import define_operation
from ..autodiff._levels import Rule, call

_operation: Final = define_operation("logm(Tensor x)", lambda x: generic.logm(x).contiguous())


def _derivative(x: Array, e: Array) -> Array:
    """Return the derivative at `x` in the direction `e`: the upper right block of the logarithm of `[[x, e], [0, x]]`.

    (R. Mathias, SIAM J. Matrix Anal. Appl. 17 (1996) 610.)
    """
    size = x.shape[-1]
    upper = torch.cat([x, e], dim=-1)
    lower = torch.cat([torch.zeros_like(x), x], dim=-1)
    return logm(torch.cat([upper, lower], dim=-2))[..., :size, size:]


def logm(x: Array, /) -> Array:
    return call(_RULE, (x,))[0]


# The transpose of the derivative is the derivative at the transpose of `x`.
_RULE: Final = Rule(
    function=lambda x: (_operation(x),),
    forward=lambda x: ((logm(x),), (x,)),
    pull=lambda residuals, cotangents: (_derivative(residuals[0].mT, cotangents[0]),),
    push=lambda residuals, tangents: (_derivative(residuals[0], tangents[0]),),
)
