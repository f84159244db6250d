"""Iterations of traced arrays: loops whose bodies are graphs."""

from ...generic.optimize._drivers import driver_of as driver_of
from ...generic.optimize._iterate import iterate as iterate
