"""Random numbers on CuPy: its own source."""

from ._random_native import native_generator as native_generator
