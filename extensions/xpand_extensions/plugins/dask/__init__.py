"""Implementations on Dask, by blocks."""
