"""Iterations for any library."""

from ._optimize_iterate import iterate

__all__ = ["iterate"]
