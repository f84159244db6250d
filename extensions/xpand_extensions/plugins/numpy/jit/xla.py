"""NumPy programs compiled by XLA: the graph is translated for JAX and compiled by `jax.jit`, for the host's processor.

JAX computes with 64-bit types within a call, also if its configuration turns them off.
"""

from collections.abc import Callable, Hashable, Sequence
from importlib.util import find_spec
from typing import Any, ClassVar, Final

import numpy as np

import xpand

from ....tracing._backend import Backend
from ....tracing._branches import given_to
from ....tracing._graph import Equation, Graph, Variable, graphs_within
from ....tracing._translate import translated
from .blocks import Blocks

SMALL: Final = 16_384
"""Results of up to so many bytes are copied, which is faster than reusing their memory."""
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
        """Return why an operation is not compiled."""
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
        except TypeError as error:  # an operation or a data type that JAX lacks, or a function with rules of its own
            return str(error).removeprefix("graph: ").partition(";")[0]
        return ""

    def lower(self, graph: Graph) -> Callable[..., Sequence[Any]]:
        import jax

        given = Graph(graph.namespace, [*graph.inputs, *graph.constants], {}, graph.equations, graph.outputs)
        on_jax, host = _on_jax(given), jax.local_devices(backend="cpu")[0]

        # Copies cost nothing, and ensure that no result is an argument or another result.
        def copied(*arrays: Any) -> list[Any]:
            return [jax.numpy.array(x, copy=True) for x in evaluated(on_jax, *arrays)]

        program = jax.jit(copied, in_shardings=jax.sharding.SingleDeviceSharding(host))

        def call(*arrays: Any) -> list[Any]:
            with jax.enable_x64(True):
                # JAX may read the memory of arguments after the call has returned, until the results are ready.
                return [_of_numpy(x.block_until_ready()) for x in program(*arrays)]

        return call

    @staticmethod
    def signature(leaves: Sequence[Any]) -> Hashable:
        return Blocks.signature(leaves)


BACKEND: Final = XLA()


def _on_jax(graph: Graph) -> Graph:
    import jax

    with jax.enable_x64(True):
        return translated(graph, xpand.namespace("jax"))


def evaluated(graph: Graph, *arrays: Any) -> tuple[Any, ...]:
    """Evaluate a graph; loops and branches are those of `control_flow`, which are JAX's for traced arrays of JAX."""
    values = {**graph.constants, **dict(zip([*graph.inputs, *graph.constants], arrays))}
    read = lambda x: values[x] if isinstance(x, Variable) else x
    for equation in graph.equations:
        function = _FLOW.get(equation.op.name, equation.op.function)
        found = function(*map(read, equation.inputs), **equation.params)
        values.update(zip(equation.outputs, [found] if equation.op.result is None else found, strict=True))
    return tuple(map(read, graph.outputs))


def _scan(*args: Any, body: Any, constants: int, carry: int, length: int) -> tuple[Any, ...]:
    from ....control_flow import scan

    fixed, init, xs = args[:constants], args[constants : constants + carry], args[constants + carry :]

    def step(carried: tuple[Any, ...], row: tuple[Any, ...]) -> tuple[Any, Any]:
        found = evaluated(body.graph, *fixed, *carried, *row)
        return found[:carry], found[carry:]

    last, ys = scan(step, init, xs, length=length)
    return *last, *ys


def _while(*args: Any, test: Any, body: Any, tested: int, constants: int, limit: int | None) -> tuple[Any, ...]:
    from ....control_flow import while_loop

    of_test, of_body, init = args[:tested], args[tested : tested + constants], args[tested + constants :]
    condition = lambda carry: evaluated(test.graph, *of_test, *carry)[0]
    step = lambda carry: evaluated(body.graph, *of_body, *carry)
    found: tuple[Any, ...] = while_loop(condition, step, init, max_iter=limit)
    return found


def _switch(index: Any, *args: Any, bodies: Any, counts: Any, skips: bool) -> Any:
    from ....control_flow import switch

    branches = [
        lambda *x, i=i, body=body: evaluated(body.graph, *given_to(i, counts, x)) for i, body in enumerate(bodies)
    ]
    xp = xpand.array_namespace(index)
    return switch(xp.astype(index, xp.int32), branches, *args)


def _checkpoint(*args: Any, body: Any, policy: Any = None) -> tuple[Any, ...]:
    return evaluated(body.graph, *args)


_FLOW: Final[dict[str, Callable[..., Any]]] = {
    "checkpoint": _checkpoint,
    "cond": _switch,
    "scan": _scan,
    "while_loop": _while,
}


class _Memory:
    """The memory of an array of JAX that nothing else uses, as an array that may be written to."""

    __slots__ = ("__array_interface__", "_array")

    def __init__(self, x: Any) -> None:
        self._array = np.asarray(x)
        described = self._array.__array_interface__
        self.__array_interface__ = {**described, "data": (described["data"][0], False)}


def _of_numpy(x: Any) -> Any:
    if x.nbytes <= SMALL:
        return np.array(x)[()]
    return np.asarray(_Memory(x))
