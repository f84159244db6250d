"""Loops and branches that transformations see: JAX's names, arguments and meaning, on every library.

Python's loops and conditions work on concrete arrays. These functions also work on abstract ones: under `jit`, where
the loop becomes part of the program, and under `vmap`, where each lane takes its own number of steps or its own branch.
Values are trees of arrays; the library is that of the arrays at the call.
"""

from typing import TYPE_CHECKING

from .._elsewhere import elsewhere
from ._branches import cond, switch
from ._loops import fori_loop, while_loop
from ._scans import associative_scan, map, scan

__all__ = ["associative_scan", "cond", "fori_loop", "map", "scan", "switch", "while_loop"]
__dir__ = __all__.copy

if not TYPE_CHECKING:  # a type checker would accept any name
    __getattr__ = elsewhere(__name__)
