"""Loops and branches on PyTorch: Python's, which its transformations trace, or operations of compiled graphs."""

from ._branches import cond, switch
from ._loops import fori_loop, map, scan, while_loop
