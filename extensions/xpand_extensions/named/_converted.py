"""The elements of arrays as Python objects."""

from typing import Any

from ..convert import to_numpy
from ._array import NamedArray
from ._calls import operation
from ._plans import check_rank


@operation
def _tolist(x: NamedArray) -> Any:
    check_rank("tolist", x)
    return to_numpy(x.array).tolist()


@operation
def _tobytes(x: NamedArray, order: str = "C") -> bytes:
    check_rank("tobytes", x)
    found: bytes = to_numpy(x.array).tobytes(order)
    return found
