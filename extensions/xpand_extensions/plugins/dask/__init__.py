"""Capabilities with implementations for Dask: by blocks."""
