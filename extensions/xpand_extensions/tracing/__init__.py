"""Transformations for libraries that have none, by tracing the standard itself.

`traced_namespace(xp)` is the standard over the arrays of a library, whose functions interpreters trace: forward mode,
linearisation, batching, staging. See `_core` for how they stack, and `rules` for what each makes of an operation.
"""

from . import _check as _check, _translate as _translate
from ._core import (
    LeakedArrayError as LeakedArrayError,
    NonlinearError as NonlinearError,
    TracedArray as TracedArray,
    TracedError as TracedError,
)
from ._graph import Equation as Equation, Graph as Graph, GraphError as GraphError, Variable as Variable
from ._namespace import traced_namespace as traced_namespace
