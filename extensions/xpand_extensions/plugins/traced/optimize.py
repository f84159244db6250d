"""Iterations of traced arrays: loops whose bodies are graphs."""

from ...generic.optimize._drivers import drive as drive
from ...generic.optimize._iterate import iterate as iterate
