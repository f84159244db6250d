"""Random numbers on CuPy: its own source."""

from ._native import native_generator
