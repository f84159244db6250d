"""Derivatives of functions of trees of arrays, with JAX's names, arguments and conventions, on every library that has
them.

The arrays of a call select the library. A function may take and return arrays, Python numbers, and trees of these. The
gradient of a real function of complex numbers is JAX's: its conjugate is the direction of steepest ascent.
"""

from typing import TYPE_CHECKING

from .._elsewhere import elsewhere
from . import checkpoint_policies
from ._check import check_grads
from ._checkpoint import checkpoint, checkpoint_name
from ._closures import closure_convert, custom_gradient
from ._gradients import grad, hessian, jacfwd, jacrev, value_and_grad
from ._linear import linear_transpose, linearize
from ._products import is_differentiated as is_differentiated, jvp, stop_gradient, vjp
from ._rule_calls import CustomVJPPrimal, SymbolicZero, custom_vjp_primal_tree_values
from ._rules import custom_jvp, custom_vjp
from ._solve import custom_linear_solve, custom_root

__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "check_grads",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_linear_solve",
    "custom_root",
    "custom_vjp",
    "custom_vjp_primal_tree_values",
    "grad",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linear_transpose",
    "linearize",
    "stop_gradient",
    "value_and_grad",
    "vjp",
]
__dir__ = __all__.copy

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = elsewhere(__name__)
