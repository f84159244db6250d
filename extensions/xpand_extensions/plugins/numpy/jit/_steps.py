"""Compilation of steps of solvers. Results without axes may be NumPy arrays or scalars."""

from collections.abc import Callable

from ....tracing._backend import Backend, Run
from ....tracing._graph import Graph
from ....tracing._jit import jit_by
from . import BACKENDS
from ._small_loops import step_of_numbers


class _Steps(Backend):
    """Makes Python code of steps on a few numbers."""

    def improved(self, graph: Graph, run: Run, compile_graph: Callable[[], Run]) -> Run:
        return step_of_numbers(graph, run)


jit_steps = jit_by(BACKENDS.preferred(), BACKENDS.with_another(_Steps()))
