"""Loops and branches that can be traced, with JAX's names, arguments and meaning, on every library.

Python's loops and conditions work on concrete arrays only. These functions also work on abstract ones: under `jit`, the
loop becomes part of the program; under `vmap`, each lane takes its own number of steps or its own branch. Values are
trees of arrays. The arrays of a call select the library.
"""

from typing import TYPE_CHECKING

from .._elsewhere import elsewhere
from ._branches import cond, switch
from ._loops import fori_loop, while_loop
from ._scans import associative_scan, map, scan

__all__ = ["associative_scan", "cond", "fori_loop", "map", "scan", "switch", "while_loop"]
__dir__ = __all__.copy

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = elsewhere(__name__)
