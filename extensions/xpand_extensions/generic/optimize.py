"""Iterations for any library, and the equations of their derivatives."""

from ._optimize_implicit import tangent_of
from ._optimize_iterate import iterate

__all__ = ["iterate", "tangent_of"]
