"""The matrix logarithm as one operation of PyTorch: its steps depend on values, so its compiler must not see them."""

from typing import Final

from xpand.extend import LibraryArray as Array
from xpand_extensions.generic.linalg import _functions as generic

from .._operators import define_operation
from ..autodiff._levels import Rule, call

_operation: Final = define_operation("logm(Tensor x)", lambda x: generic.logm(x).contiguous())


def logm(x: Array, /) -> Array:
    return call(_RULE, (x,))[0]


# The transpose of the derivative is the derivative at the transpose of `x`.
_RULE: Final = Rule(
    function=lambda x: (_operation(x),),
    forward=lambda x: ((logm(x),), (x,)),
    pull=lambda residuals, cotangents: (generic.logarithm_along(logm, residuals[0].mT, cotangents[0]),),
    push=lambda residuals, tangents: (generic.logarithm_along(logm, residuals[0], tangents[0]),),
)
