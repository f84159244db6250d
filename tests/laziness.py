"""Laziness of Dask: one detector of everything that computes an array."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def nothing_computed() -> Iterator[None]:
    """Fail if a Dask array is computed, by any means: they all ask the scheduler."""
    import dask

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("a lazy array was computed")

    with dask.config.set(scheduler=refuse):
        yield
