"""Transformations for libraries that have none, by tracing the standard itself.

`traced_namespace(xp)` is the standard over the arrays of a library, whose functions interpreters trace: forward mode,
linearisation, batching, staging. See `_core` for how they stack, and `rules` for what each makes of an operation.
"""

from . import _check as _check
from . import _translate as _translate
from ._core import (
    LeakedArrayError as LeakedArrayError,
)
from ._core import (
    NonlinearError as NonlinearError,
)
from ._core import (
    TracedArray as TracedArray,
)
from ._core import (
    TracedError as TracedError,
)
from ._graph import Equation as Equation
from ._graph import Graph as Graph
from ._graph import GraphError as GraphError
from ._graph import Variable as Variable
from ._namespace import traced_namespace as traced_namespace
