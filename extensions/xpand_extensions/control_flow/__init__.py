"""Loops and branches that transformations see: JAX's names, arguments and meaning, on every library.

Code of ordinary loops and conditions works on arrays whose values are known. These functions also work where they are
not: under `jit`, where the loop becomes part of what is compiled, and under `vmap`, where each lane takes its own
number of steps or its own branch. Values are trees of arrays; the library is that of the arrays at the call.
"""

from typing import TYPE_CHECKING

from .._elsewhere import elsewhere
from ._branches import cond, switch
from ._loops import fori_loop, while_loop
from ._scans import associative_scan, map, scan

__all__ = ["associative_scan", "cond", "fori_loop", "map", "scan", "switch", "while_loop"]

if not TYPE_CHECKING:  # which would take every name for known
    __getattr__ = elsewhere(__name__)
