"""Iterations on Dask. Derivatives use a matrix, since no pivot is known before the graph is computed."""

from ...generic.optimize import _by_matrix as tangent_of

__all__ = ["tangent_of"]
