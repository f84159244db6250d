"""Derivatives on PyTorch, by torch.func, with custom rules, checkpoints and implicit derivatives."""

from xpand.torch._differentiated import is_differentiated

from ._checkpoint import checkpoint, checkpoint_name
from ._products import jvp, linear_transpose, linearize, residuals, stop_gradient, value_and_grad, vjp
from ._rules import closure_convert, custom_jvp, custom_vjp
from ._solve import custom_linear_solve, custom_root
