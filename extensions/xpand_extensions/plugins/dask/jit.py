"""Host functions on Dask: separate tasks, which run when results that depend on them are computed."""

from collections.abc import Callable, Sequence
from typing import Any

import dask.array as da
import numpy as np
from dask import delayed

from xpand.extend import Array
from xpand_extensions._dispatch import forwards_to
from xpand_extensions.jit._host import of_shapes, pure_callback as facade


@forwards_to(facade)
def pure_callback(function: Any, result_shape_dtypes: Any, /, *args: Array, **options: Any) -> Any:
    shapes = [tuple(each.shape) for each in result_shape_dtypes]
    found = delayed(_called)(function, shapes, *args)
    return tuple(
        [
            da.from_delayed(found[i], shape, dtype=each.dtype)
            for i, (shape, each) in enumerate(zip(shapes, result_shape_dtypes))
        ]
    )


def _called(function: Callable[..., Any], shapes: Sequence[tuple[int, ...]], *arrays: Any) -> list[Any]:
    found = [np.array(x) for x in function(*arrays)]  # copy the arrays: the function may return or store its argument
    of_shapes(found, shapes)
    return found
