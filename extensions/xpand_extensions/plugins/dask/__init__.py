"""Capabilities that Dask has a way of its own for: by blocks."""
