"""Loops, scans and branches for any library: Python's own, for concrete values."""

from ._loops import associative_scan, cond, fori_loop, map, scan, switch, while_loop
