"""Conversion from and to Dask. Export computes the values; import makes one chunk."""

from typing import Any, Final

import dask.array as da
import numpy as np

from xpand.extend import LibraryArray as Array, Namespace
from xpand_extensions.convert import exported as export
from xpand_extensions.convert._dtypes import copy_needed

UNSUPPORTED: Final = {
    "pointer": "its arrays have no memory before they are computed; convert to NumPy first",
    "from_pointer": "it copies arrays; make an array of NumPy and convert that",
}


def exported(x: Array, /, *, to_host: bool = False, copy: bool | None = None) -> Array:
    if copy is False:
        raise copy_needed("the values of a Dask array are computed")
    return np.asarray(x.compute())


def imported(x: Any, /, *, copy: bool | None = None, xp: Namespace | str | None = None) -> Array:
    if copy is False:
        raise copy_needed("Dask copies arrays")
    # Use no name computed from all values: that would take longer than the rest.
    return da.from_array(export(x, to_host=True), chunks=-1, name=False)
