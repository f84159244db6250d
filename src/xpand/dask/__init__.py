"""The Dask namespace: `xpand.dask.array`."""
