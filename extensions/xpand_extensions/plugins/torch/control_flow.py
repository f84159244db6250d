"""Loops and branches on PyTorch: those of Python, which its transformations go through; compiled, its own."""

from ._control_flow_branches import cond, switch
from ._control_flow_loops import fori_loop, while_loop
from ._control_flow_scans import map, scan

__all__ = ["cond", "fori_loop", "map", "scan", "switch", "while_loop"]
