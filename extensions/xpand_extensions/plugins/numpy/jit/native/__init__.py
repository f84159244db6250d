"""Machine code for NumPy programs: loops, branches and elementwise operations, compiled by LLVM.

The values are NumPy's: its arithmetic in its order, and its own inner loops where it computes functions. Programs
release the GIL.
"""

from collections.abc import Callable, Hashable, Sequence
from importlib.util import find_spec
from typing import Any, ClassVar, Final

from .....tracing._backend import Backend
from .....tracing._graph import Equation, Graph
from ..blocks import Blocks

LEAST: Final = 2
"""Operations that are compiled together, at least."""


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

    def chosen(self, graph: Graph) -> Callable[[Equation], bool]:
        from ._support import chosen

        reasons = chosen(graph)
        return lambda equation: id(equation) not in reasons

    def lower(self, graph: Graph) -> Callable[..., Sequence[Any]] | None:
        from ._equations import VIEWS
        from ._program import Program
        from ._support import FLOW

        names = [equation.op.name for equation in graph.equations]
        if FLOW.isdisjoint(names) and len([name for name in names if name not in VIEWS]) < LEAST:
            return None
        return Program(graph)

    signature = staticmethod(Blocks.signature)


def _variables(equation: Equation) -> list[Any]:
    return list(dict.fromkeys(x for x in equation.inputs if hasattr(x, "aval")))


BACKEND: Final = Native()
