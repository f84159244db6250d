"""Vectorization: map functions over axes of their arguments in one pass.

Functions mapped over a named axis can use values of the other lanes: their sum, their extremes, all of them, and the
position of each lane.
"""

from typing import TYPE_CHECKING

from .._elsewhere import elsewhere
from .._modules import make_callable
from ._collectives import all_gather, all_to_all, axis_index, axis_size, pmax, pmean, pmin, ppermute, psum, psum_scatter
from ._custom import custom_vmap, sequential_vmap
from ._mapping import mapped as mapped, vmap
from ._names import axis_around as axis_around
from ._parallel import pmap
from ._vectorize import apply_along_axis, vectorize

__all__ = [
    "all_gather",
    "all_to_all",
    "apply_along_axis",
    "axis_index",
    "axis_size",
    "custom_vmap",
    "pmap",
    "pmax",
    "pmean",
    "pmin",
    "ppermute",
    "psum",
    "psum_scatter",
    "sequential_vmap",
    "vectorize",
    "vmap",
]
__dir__ = __all__.copy

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = elsewhere(__name__)

make_callable(__name__)
