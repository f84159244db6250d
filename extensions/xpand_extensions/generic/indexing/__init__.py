"""Indexing with the standard alone."""

from ._read import (
    argwhere,
    boolean_mask,
    dynamic_slice,
    gather,
    gather_nd,
    nonzero,
    put_slice,
    ravel_multi_index,
    repeat,
    take,
    take_along_axis,
    unravel_index,
)
