"""Loops, scans and branches for any library: those of Python, where values are concrete."""

from ._loops import associative_scan, cond, fori_loop, map, scan, switch, while_loop
