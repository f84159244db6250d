"""Loops and branches for any library, by those of Python: flat tuples of arrays, and functions of arrays."""

from ._branches import cond, switch
from ._loops import fori_loop, while_loop
from ._scans import associative_scan, map, scan
