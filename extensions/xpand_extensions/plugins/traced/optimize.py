"""Iterations of traced arrays: loops whose bodies are graphs, since the functions in them are Python's."""

from ...generic.optimize._drivers import drive as drive
from ...generic.optimize._iterate import iterate as iterate
