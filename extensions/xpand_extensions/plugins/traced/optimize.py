"""Iterations of traced arrays: loops whose bodies are graphs."""

from ...generic.optimize import driver_of as driver_of, iterate as iterate
