"""Traced arrays over CuPy take part in NumPy's dispatch protocols, by the tables of traced arrays over NumPy.

CuPy's own functions do not dispatch on their arguments: they refuse traced arrays.
"""

from typing import Any, Final

import cupy

from xpand_extensions.tracing._advice import Advice
from xpand_extensions.tracing._core import TracedArray

from ..numpy.traced_arrays import ProtocolNamespace, with_protocols

ADVICE: Final = Advice(
    functions=(
        "write NumPy's function in place of CuPy's, such as `np.sum(x)` in place of `cupy.sum(x)`, or `xp.sum(x)` with "
        "`xp = xpand.array_namespace(x, …)`; or use `stop_gradient` or `pure_callback`"
    ),
    index="to index a constant array with it, write `np.take(np.asarray(table, like=x), x)` in place of `table[x]`",
    numbers="write `np.sin(x)` in place of `math.sin(x)`, and keep numbers as arrays in place of `float(x)`",
    buffer="make the buffer with `np.zeros_like(x, shape=…)`, or put the elements together with `np.stack`",
)
"""Replacements by functions of NumPy."""


class Namespace(ProtocolNamespace):
    """The namespace of traced arrays over CuPy."""

    advice = ADVICE
    own_class = cupy.ndarray
    takes_numpy = False  # as in CuPy: a transfer to the device is explicit


def class_of(namespace: Any, base: type[TracedArray], methods: dict[str, Any]) -> type[TracedArray]:
    """Make the class of traced arrays, with NumPy's protocols."""
    namespace.ufuncs, namespace.ufuncs_of_floats = {}, {}  # NumPy's data types of results are not always CuPy's
    return with_protocols(base, methods)
