"""Loops and branches on PyTorch: those of Python, which its transformations go through; compiled, its own."""

from ._branches import cond, switch
from ._loops import fori_loop, while_loop
from ._scans import map, scan

__all__ = ["cond", "fori_loop", "map", "scan", "switch", "while_loop"]
