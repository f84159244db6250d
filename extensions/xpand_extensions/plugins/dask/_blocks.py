"""Elementwise functions on Dask: each block by its own library."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import dask.array as da

F = TypeVar("F", bound=Callable[..., Any])


def blockwise(function: F) -> F:
    """Make a function of arrays run on their blocks, which broadcast as the arrays would."""

    @wraps(function)
    def run(*arrays: Any) -> Any:
        return da.core.elemwise(function, *arrays, dtype=da.result_type(*arrays))

    return run  # type: ignore[return-value]
