"""Creation of arrays from other objects."""

from typing import Any

import numpy as np

from xpand._typing import Array, Device, DType

from ._dtypes import check_device


def asarray(
    obj: Any,
    /,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    copy: bool | None = None,
    **kwargs: Any,
) -> Array:
    """An array of the values of `obj`.

    `copy`: true always copies, false raises `ValueError` where a copy would be needed, none copies where it is. The
    other keywords are those of `np.array`.
    """
    if device is not None:
        check_device("asarray", device)
    return np.array(obj, dtype, copy=copy, **kwargs)
