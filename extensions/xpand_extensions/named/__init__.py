"""Arrays with named axes, on any library.

`named(array, axes)` names the axes of an array. All functions find axes by name: arrays with different axes broadcast
by name, reductions name the axes to remove, and the order of axes never matters.

>>> import numpy as np
>>> from xpand import named as hax
>>> Batch, Feature = hax.make_axes(batch=2, feature=3)
>>> x = hax.named(np.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), (Batch, Feature))
>>> scale = hax.named(np.asarray([1.0, 10.0]), Batch)
>>> (x * scale).sum(Feature)
NamedArray({'batch': 2}, array([  6., 150.]))
"""

from typing import TYPE_CHECKING

from .._elsewhere import elsewhere
from . import (
    _at,
    _axis,
    _by_name,
    _creation,
    _derivatives,
    _elementwise,
    _index,
    _mapping,
    _others,
    _products,
    _rearrange,
    _reductions,
    _shapes,
    _sharding,
    _xarray,
    convolution,
    fft,
    interpolation,
    linalg,
    linear_solve,
    optimize,
    poly,
    random,
    scatter,
    sparse,
    special,
    statistics,
    tree,
    typing,
)
from ._array import NamedArray, named
from ._at import *  # noqa: F403
from ._axis import *  # noqa: F403
from ._by_name import *  # noqa: F403
from ._creation import *  # noqa: F403
from ._derivatives import *  # noqa: F403
from ._elementwise import *  # noqa: F403
from ._index import *  # noqa: F403
from ._mapping import *  # noqa: F403
from ._others import *  # noqa: F403
from ._products import *  # noqa: F403
from ._rearrange import *  # noqa: F403
from ._reductions import *  # noqa: F403
from ._shapes import *  # noqa: F403
from ._sharding import *  # noqa: F403
from ._xarray import *  # noqa: F403
from .poly import (
    polyadd as polyadd,
    polyder as polyder,
    polydiv as polydiv,
    polyfit as polyfit,
    polyint as polyint,
    polymul as polymul,
    polysub as polysub,
    polyval as polyval,
    roots as roots,
    trim_zeros as trim_zeros,
    vander as vander,
)

__all__ = [
    "NamedArray",
    "convolution",
    "fft",
    "interpolation",
    "linalg",
    "linear_solve",
    "named",
    "optimize",
    "poly",
    "random",
    "scatter",
    "sparse",
    "special",
    "statistics",
    "tree",
    "typing",
]
__all__ += _at.__all__
__all__ += _axis.__all__
__all__ += _by_name.__all__
__all__ += _creation.__all__
__all__ += _derivatives.__all__
__all__ += _elementwise.__all__
__all__ += _index.__all__
__all__ += _mapping.__all__
__all__ += _others.__all__
__all__ += _products.__all__
__all__ += _rearrange.__all__
__all__ += _reductions.__all__
__all__ += _shapes.__all__
__all__ += _sharding.__all__
__all__ += _xarray.__all__
__all__ += ["polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "polyval"]
__all__ += ["roots", "trim_zeros", "vander"]
__dir__ = __all__.copy

if not TYPE_CHECKING:  # a type checker would accept any name
    __getattr__ = elsewhere(__name__)
