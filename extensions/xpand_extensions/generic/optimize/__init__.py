"""Iterations for any library, and the equations of their derivatives."""

from ._drivers import drive
from ._implicit import tangent_of
from ._iterate import iterate
