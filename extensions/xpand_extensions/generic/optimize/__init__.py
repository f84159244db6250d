"""Iterations for any library, and the equations for their derivatives."""

from ._drivers import driver_of
from ._implicit import tangent_of
from ._iterate import iterate
