"""NumPy programs compiled by XLA: the graph is translated to JAX, and `jax.jit` compiles it for the host.

JAX computes with 64-bit types in a call, also if its configuration turns them off.
"""

from collections.abc import Callable, Hashable, Sequence
from importlib.util import find_spec
from typing import Any, ClassVar, Final

import numpy as np

import xpand

from ....tracing._backend import Backend
from ....tracing._graph import Equation, Graph, Variable, graphs_within
from ....tracing._translate import translated
from .blocks import NumPyBlocks

SMALL: Final = 16_384
"""Results of up to this number of bytes are copied, which is faster than reusing their memory."""
_HOST_ONLY: Final = frozenset({"pure_callback"})


class XLA(Backend):
    """Compiles all operations that JAX has."""

    name: ClassVar[str] = "xla"
    priority: ClassVar[int] = -1
    needs: ClassVar[str] = "JAX: pip install 'xpand[jax]'"

    def is_available(self) -> bool:
        return find_spec("jax") is not None

    def accepts(self, equation: Equation) -> bool:
        return not self._reason(equation)

    def left(self, graph: Graph) -> dict[int, str]:
        found = {id(equation): self._reason(equation) for equation in graph.equations}
        return {number: reason for number, reason in found.items() if reason}

    def _reason(self, equation: Equation) -> str:
        """Return the reason why an operation is not compiled."""
        if equation.op.name in _HOST_ONLY or equation.effects:
            return "it calls a function of the host"
        for _, inner in graphs_within(equation.params):
            for each in inner.equations:
                reason = self._reason(each)
                if reason:
                    return f"{each.op.name}: {reason}"
        inputs = dict.fromkeys(x for x in equation.inputs if isinstance(x, Variable))
        try:
            _on_jax(Graph(equation.op.namespace, list(inputs), {}, [equation], []))
        except TypeError as error:  # an operation or data type that JAX lacks, or a function with custom rules
            return str(error).removeprefix("graph: ").partition(";")[0]
        return ""

    def lower(self, graph: Graph) -> Callable[..., Sequence[Any]]:
        import jax

        given = Graph(graph.namespace, [*graph.inputs, *graph.constants], {}, graph.equations, graph.outputs)
        on_jax, host = _on_jax(given), jax.local_devices(backend="cpu")[0]

        # Copies cost nothing, and ensure that no result is an argument or another result.
        def copied(*arrays: Any) -> list[Any]:
            return [jax.numpy.array(x, copy=True) for x in on_jax.run(*arrays)]

        program = jax.jit(copied, in_shardings=jax.sharding.SingleDeviceSharding(host))

        def call(*arrays: Any) -> list[Any]:
            with jax.enable_x64(True):
                # JAX may read the memory of arguments until the results are ready, also after the call has returned.
                return [_of_numpy(x.block_until_ready()) for x in program(*arrays)]

        return call

    @staticmethod
    def signature(leaves: Sequence[Any]) -> Hashable:
        return NumPyBlocks.signature(leaves)


BACKEND: Final = XLA()


def _on_jax(graph: Graph) -> Graph:
    import jax

    with jax.enable_x64(True):
        return translated(graph, xpand.namespace("jax"))


class _Memory:
    """The memory of an otherwise unused JAX array, as a writeable array."""

    __slots__ = ("__array_interface__", "_array")

    def __init__(self, x: Any) -> None:
        self._array = np.asarray(x)
        described = self._array.__array_interface__
        self.__array_interface__ = {**described, "data": (described["data"][0], False)}


def _of_numpy(x: Any) -> Any:
    if x.nbytes <= SMALL:
        return np.array(x)[()]
    return np.asarray(_Memory(x))
