"""Indexing with the standard alone."""

from ._indexing_flat import ravel_multi_index, unravel_index
from ._indexing_mask import argwhere, boolean_mask, nonzero
from ._indexing_slice import dynamic_slice, put_slice, repeat
from ._indexing_take import gather, gather_nd, take, take_along_axis

__all__ = [
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
