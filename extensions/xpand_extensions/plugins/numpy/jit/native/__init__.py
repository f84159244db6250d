"""Machine code for NumPy programs: loops, branches and elementwise operations, compiled by LLVM.

The values are NumPy's: its arithmetic in its order, and its own inner loops where it computes functions. Programs
release the GIL.
"""

from collections.abc import Callable, Hashable, Sequence
from importlib.util import find_spec
from typing import Any, ClassVar, Final

from .....tracing._backend import Backend
from .....tracing._graph import Equation, Graph, graphs_within
from ..blocks import Blocks

LEAST: Final = 2
"""Operations that are compiled together, at least."""
MOST: Final = 2000
"""Operations that are compiled together, at most: LLVM's time grows faster than their number."""


class Native(Backend):
    """Compiles operations on real numbers, integers and booleans."""

    name: ClassVar[str] = "native"
    priority: ClassVar[int] = -1
    needs: ClassVar[str] = "llvmlite on an x86-64 machine: pip install 'xpand[native]'"

    def is_available(self) -> bool:
        if find_spec("llvmlite") is None:
            return False
        from ._program import is_supported

        return is_supported()

    def accepts(self, equation: Equation) -> bool:
        from ._support import support_of

        part = Graph(equation.op.namespace, _variables(equation), {}, [equation], [])
        return not support_of(part).reasons

    def left(self, graph: Graph) -> dict[int, str]:
        from ._support import left

        return left(graph)

    def lower(self, graph: Graph) -> Callable[..., Sequence[Any]] | None:
        from ._equations import VIEWS
        from ._program import Program
        from ._support import FLOW

        names = [equation.op.name for equation in graph.equations]
        is_small = FLOW.isdisjoint(names) and len([name for name in names if name not in VIEWS]) < LEAST
        return None if is_small or _count(graph) > MOST else Program(graph).function()

    signature = staticmethod(Blocks.signature)


def _count(graph: Graph) -> int:
    """Count the operations of a graph and of the bodies in it."""
    within = (inner for equation in graph.equations for _, inner in graphs_within(equation.params))
    return len(graph.equations) + sum(map(_count, within))


def _variables(equation: Equation) -> list[Any]:
    return list(dict.fromkeys(x for x in equation.inputs if hasattr(x, "aval")))


BACKEND: Final = Native()
