"""PyTorch's own transformations, which torch.compile traces in place of xpand's.

torch.compile reads bytecode, and can't trace xpand's tracing. While it traces, each function of this package takes the
place of a generic implementation; other calls never reach it.
"""

from . import _derivatives, _loops, _rules
