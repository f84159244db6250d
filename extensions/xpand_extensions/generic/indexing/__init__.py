"""Indexing with the standard alone."""

from ._flat import ravel_multi_index, unravel_index
from ._mask import argwhere, boolean_mask, nonzero
from ._slice import dynamic_slice, put_slice, repeat
from ._take import gather, gather_nd, take, take_along_axis
