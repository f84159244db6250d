"""Arrays with named axes, on any library.

`named(array, axes)` names the axes of an array. All functions find axes by name: arrays with different axes broadcast
by name, reductions name the axes that they remove, and the order of axes matters nowhere.

>>> import numpy as np
>>> from xpand_extensions import named as hax
>>> Batch, Feature = hax.make_axes(batch=2, feature=3)
>>> x = hax.named(np.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), (Batch, Feature))
>>> scale = hax.named(np.asarray([1.0, 10.0]), Batch)
>>> (x * scale).sum(Feature)
NamedArray({'batch': 2}, array([  6., 150.]))
"""

from . import _axis, _binary, _reduced, _structured, _unary
from . import _converted as _converted
from . import _creation as _creation
from ._array import NamedArray, named
from ._axis import *  # noqa: F403
from ._binary import *  # noqa: F403
from ._index import NamedAt, dblock, ds, dslice
from ._reduced import *  # noqa: F403
from ._structured import *  # noqa: F403
from ._unary import *  # noqa: F403

__all__ = [
    "NamedArray",
    "NamedAt",
    "dblock",
    "ds",
    "dslice",
    "named",
]
__all__ += _axis.__all__
__all__ += _binary.__all__
__all__ += _reduced.__all__
__all__ += _structured.__all__
__all__ += _unary.__all__
