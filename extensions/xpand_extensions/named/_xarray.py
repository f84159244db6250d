"""Conversion to and from xarray's `DataArray`."""

from collections.abc import Mapping
from typing import Any

from xpand import array_namespace
from xpand.extend import describe

from .._optional import import_optional
from ._array import NamedArray, named
from ._plans import check_named

__all__ = ["from_xarray", "to_xarray"]


def to_xarray(x: NamedArray, /, *, coords: Mapping[Any, Any] | None = None, name: str | None = None) -> Any:
    """Convert a named array to a `DataArray`, without a copy.

    Args:
        x: The named array. Its library must be one that xarray can wrap, such as NumPy, Dask, JAX or CuPy.
        coords: Coordinates, as for `xarray.DataArray`, for example those that `from_xarray` returned. Coordinates along
            axes that the array lacks are ignored, as xarray drops them with a dimension.
        name: The name of the `DataArray`.

    Returns:
        An `xarray.DataArray`. Its dimensions are the names of the axes.

    Raises:
        TypeError: xarray can't wrap arrays of the library, for example of PyTorch.
        ValueError: Coordinates that don't fit.
        ModuleNotFoundError: xarray isn't installed.

    >>> import numpy as np
    >>> from xpand import named as hax
    >>> x = hax.named(np.asarray([1.0, 2.0]), "time")
    >>> to_xarray(x, coords={"time": [2020, 2021]}).sel(time=2021).item()
    2.0
    """
    check_named("to_xarray", "x", x)
    xarray = import_optional("xarray", "named.to_xarray")
    given = xarray.Dataset(coords=coords).coords
    fitting = {key: each for key, each in given.items() if set(each.dims) <= set(x.names)}
    found = xarray.DataArray(x.array, dims=x.names, coords=fitting, name=name)
    if array_namespace(found.data) is not array_namespace(x.array):
        raise TypeError(
            f"to_xarray: xarray can't wrap {describe(x.array)}; convert it to another library first, such as "
            'convert(x, "numpy")'
        )
    return found


def from_xarray(array: Any, /) -> tuple[NamedArray, dict[str, Any]]:
    """Convert a `DataArray` to a named array, without a copy.

    Args:
        array: An `xarray.DataArray`. The names of its dimensions must be strings.

    Returns:
        A pair of the named array and the coordinates by name. A named array has no coordinates; pass them to
        `to_xarray`.

    Raises:
        TypeError: The argument is not a `DataArray`, or a name is not a string.
        ModuleNotFoundError: xarray isn't installed.

    >>> import numpy as np
    >>> import xarray
    >>> x, coords = from_xarray(xarray.DataArray(np.ones((2, 3)), dims=("time", "place"), coords={"time": [1, 2]}))
    >>> x.shape, list(coords)
    ({'time': 2, 'place': 3}, ['time'])
    """
    xarray = import_optional("xarray", "named.from_xarray")
    if not isinstance(array, xarray.DataArray):
        advice = "; select a variable of it, array[name]" if isinstance(array, xarray.Dataset) else ""
        raise TypeError(f"from_xarray: array must be an xarray.DataArray, got {describe(array)}{advice}")
    for name in array.dims:
        if not isinstance(name, str):
            raise TypeError(f"from_xarray: names of dimensions must be strings, got {describe(name)}; rename it")
    return named(array.data, array.dims), dict(array.coords)
