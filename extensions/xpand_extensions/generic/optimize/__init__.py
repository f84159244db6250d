"""Iterations for any library, and the equations of their derivatives."""

from ._implicit import tangent_of
from ._iterate import iterate
