"""Traced arrays over Dask take part in NumPy's dispatch protocols, by the tables of traced arrays over NumPy.

Dask's own functions do not dispatch on their arguments, except its universal functions, which call NumPy's.
"""

from typing import Any, Final

import dask.array as da

from xpand_extensions.tracing._advice import Advice
from xpand_extensions.tracing._core import TracedArray

from ..numpy.traced_arrays import ProtocolNamespace, with_protocols

ADVICE: Final = Advice(
    functions=(
        "write NumPy's function in place of Dask's, such as `np.sum(x)` in place of `da.sum(x)`, or `xp.sum(x)` with "
        "`xp = xpand.array_namespace(x, …)`; or use `stop_gradient` or `pure_callback`"
    ),
    index="to index a constant array with it, write `np.take(np.asarray(table, like=x), x)` in place of `table[x]`",
    numbers="write `np.sin(x)` in place of `math.sin(x)`, and keep numbers as arrays in place of `float(x)`",
    buffer="put the elements together with `np.stack`, or make the buffer with `np.zeros_like(x, shape=…)`",
)
"""Replacements by functions of NumPy."""


class Namespace(ProtocolNamespace):
    """The namespace of traced arrays over Dask."""

    advice = ADVICE
    own_class = da.Array
    shares_memory = False


def class_of(namespace: Any, base: type[TracedArray], methods: dict[str, Any]) -> type[TracedArray]:
    """Make the class of traced arrays, with NumPy's protocols."""
    namespace.ufuncs, namespace.ufuncs_of_floats = {}, {}  # NumPy's data types of results are not always Dask's
    return with_protocols(base, methods)
