"""Derivatives, of functions of trees of arrays: JAX's names, arguments and conventions, on every library that has them.

The library is that of the arrays of a call. A function may take and return arrays, Python numbers, and trees of such.
The gradient of a real function of complex numbers is JAX's: its conjugate is the direction of steepest ascent.
"""

from ._autodiff_gradients import grad, value_and_grad
from ._autodiff_jacobians import hessian, jacfwd, jacrev
from ._autodiff_products import jvp, stop_gradient, vjp

__all__ = ["grad", "hessian", "jacfwd", "jacrev", "jvp", "stop_gradient", "value_and_grad", "vjp"]
