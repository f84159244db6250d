"""Compilation on NumPy by tracing, with the backends in this folder."""

from collections.abc import Callable
from typing import Final

from ....jit._reused import reused_by
from ....tracing._backend import Backend, Backends, Run
from ....tracing._graph import Graph
from ....tracing._jit import jit_by, lower_by
from ._small_loops import step_of_numbers


class _Steps(Backend):
    """Makes Python code of solvers' steps on a few numbers. Results without axes may be NumPy arrays or scalars."""

    def improved(self, graph: Graph, run: Run, compile_graph: Callable[[], Run]) -> Run:
        return step_of_numbers(graph, run)


BACKENDS: Final = Backends(__name__, __path__)
jit = jit_by(BACKENDS.preferred(), BACKENDS)
_jit_steps = jit_by(BACKENDS.preferred(), BACKENDS.with_another(_Steps()))
lower = lower_by(BACKENDS)
reused = reused_by(jit, compiles_large=False)
