"""Loops and branches on PyTorch: Python's, which its transformations trace, or PyTorch's operators if compiled."""

from ._branches import cond, switch
from ._loops import fori_loop, map, scan, while_loop
