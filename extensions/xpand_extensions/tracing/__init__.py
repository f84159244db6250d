"""Transformations for libraries that have none, by tracing the standard itself.

`traced_namespace(xp)` is the standard over the arrays of a library. Interpreters trace its functions: forward mode,
linearization, batching, staging. `_core` explains their levels, and `rules` has their rules for each operation.
"""

from ._core import (
    LeakedArrayError as LeakedArrayError,
    NonlinearError as NonlinearError,
    TracedArray as TracedArray,
    TracedError as TracedError,
)
from ._graph import Equation as Equation, Graph as Graph, GraphError as GraphError, Variable as Variable
from ._namespace import traced_namespace as traced_namespace
