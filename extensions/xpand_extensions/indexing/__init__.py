"""Reading parts of arrays: at indices, by a mask, or from a start that may be abstract.

Each function does the same on every library, and under jit, vmap and grad if the shape of its result is known. An index
out of bounds raises `IndexError` if its value is known; otherwise (under jit and vmap, in lazy arrays) a fill value is
returned. `mode` selects another treatment. Functions that write at indices are in `scatter`.
"""

from typing import TYPE_CHECKING

from .._bounds import Mode
from .._elsewhere import elsewhere
from ._flat import ravel_multi_index, unravel_index
from ._mask import argwhere, boolean_mask, nonzero
from ._slice import SliceMode, dynamic_slice, put_slice, repeat
from ._take import gather, gather_nd, take, take_along_axis

__all__ = [
    "Mode",
    "SliceMode",
    "argwhere",
    "boolean_mask",
    "dynamic_slice",
    "gather",
    "gather_nd",
    "nonzero",
    "put_slice",
    "ravel_multi_index",
    "repeat",
    "take",
    "take_along_axis",
    "unravel_index",
]
__dir__ = __all__.copy

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = elsewhere(__name__)
