"""Machine code for NumPy programs: loops, branches and elementwise operations, compiled by LLVM.

Values equal NumPy's: the same arithmetic in the same order, and NumPy's inner loops for functions. Programs release the
GIL.
"""

from collections.abc import Callable, Hashable, Sequence
from importlib.util import find_spec
from platform import machine
from time import perf_counter
from typing import Any, ClassVar, Final

from .....tracing._backend import QUIET, Backend, Run, attempted
from .....tracing._forward import without_warnings
from .....tracing._graph import Equation, Graph, Variable, graphs_within
from .....tracing._simplify import simplified
from .. import _small_loops
from ..blocks import NumPyBlocks

LEAST: Final = 2
"""The minimum number of operations that are compiled together."""
LOOPS: Final = _small_loops.LOOPS
"""Programs with these operations are compiled by default, if all of them can be compiled as a whole. They gain most."""
STEP, NUMBERS_STEP = 1e-6, 5e-8
"""The minimum time of an operation in seconds, by NumPy and in loops on a few numbers."""
MOST: Final = 2000
"""The maximum number of operations that are compiled together. LLVM's time grows faster than their number."""


def needs_on(processor: str) -> str:
    """Return the requirement on a kind of processor."""
    if processor.lower() in ("x86_64", "amd64"):
        return "llvmlite: pip install 'xpand[native]'"
    return (
        f"a processor of the kind x86-64, and this one is {processor or 'unknown'}; NumPy runs the program by default"
    )


class Native(Backend):
    """Compiles operations on real and complex numbers, integers and booleans."""

    name: ClassVar[str] = "native"
    priority: ClassVar[int] = -1
    needs: ClassVar[str] = needs_on(machine())

    def is_available(self) -> bool:
        if find_spec("llvmlite") is None:
            return False
        from ._program import is_supported

        return is_supported()

    def accepts(self, equation: Equation) -> bool:
        from ._support import support_of

        variables = list(dict.fromkeys(x for x in equation.inputs if isinstance(x, Variable)))
        part = Graph(equation.op.namespace, variables, {}, [equation], [])
        return not support_of(part).reasons

    def improved(self, graph: Graph, run: Run, compile_graph: Callable[[], Run]) -> Run:
        if all(equation.op.name not in LOOPS for equation in graph.equations):
            return run
        graph = simplified(graph)
        compile_planned = lambda: compile_graph() if self.plan(graph) else run
        compile_later = lambda: attempted(graph, str(self), compile_planned, lambda: run)
        return _Waiting(run, compile_later, _at_least(graph), _seconds(graph))

    def plan(self, graph: Graph) -> dict[int, str]:
        loops = [equation for equation in graph.equations if equation.op.name in LOOPS]
        if not loops or _count(graph) > MOST or not self.is_available():
            return {}
        wait, left = _seconds(graph), self.left(graph)
        first = _at_least(graph) >= wait
        when = "native code at the first call" if first else f"native code once calls have taken {wait:.2f} s"
        return {} if any(id(each) in left for each in loops) else {id(each): when for each in loops}

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

    signature = staticmethod(NumPyBlocks.signature)


class _Waiting:
    """A NumPy program that becomes native code when its calls have taken long enough."""

    def __init__(self, run: Run, compile_graph: Callable[[], Run], at_least: float, wait: float) -> None:
        self._run, self._compile, self._at_least, self._wait = run, compile_graph, at_least, wait
        self._spent: float | None = 0.0

    def __call__(self, *arrays: Any) -> Any:
        if self._spent is None:
            return self._run(*arrays)
        if self._spent + self._at_least >= self._wait:
            self._spent = None
            self._run = self._compile()
            return self._run(*arrays)
        start = perf_counter()
        found = self._run(*arrays)
        self._spent += perf_counter() - start
        return found

    def quiet(self, *arrays: Any) -> Any:
        """Run the program without warnings."""
        found = getattr(self._run, QUIET, None) if self._spent is None else None
        if found is not None:
            return found(*arrays)
        with without_warnings():
            return self(*arrays)


def _count(graph: Graph) -> int:
    """Count the operations of a graph and its bodies."""
    within = (inner for equation in graph.equations for _, inner in graphs_within(equation.params))
    return len(graph.equations) + sum(map(_count, within))


def _seconds(graph: Graph) -> float:
    """Estimate the seconds to compile a graph."""
    return 0.05 + 0.001 * _count(graph)


def _at_least(graph: Graph, step: float = STEP) -> float:
    """Estimate the seconds of a call without native code. Loops of unknown length count as one step."""
    seconds = len(graph.equations) * step
    for equation in graph.equations:
        inner = NUMBERS_STEP if _small_loops.accepts(equation) else step
        length = equation.params.get("length", 1) if equation.op.name in LOOPS else 1
        seconds += length * sum(_at_least(each, inner) for _, each in graphs_within(equation.params))
    return seconds


BACKEND: Final = Native()
