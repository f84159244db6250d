"""PyTorch programs compiled by TorchInductor, through the public `torch.compile`.

A group of operations is a straight-line function of PyTorch's calls. PyTorch's own loops and branches run step by step,
with compiled bodies.
"""

import operator
import os
import shutil
import sys
import warnings
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import Any, ClassVar, Final

import torch

from xpand import UnsupportedError
from xpand.torch import _private as private

from ....tracing._backend import Backend, Direct
from ....tracing._compile import Step, program, step_of
from ....tracing._creation import CREATION
from ....tracing._facades import FacadeOp
from ....tracing._functions import FUNCTIONS
from ....tracing._graph import Equation, Graph, Variable, graphs_within
from ....tracing._keys import ARRAY
from . import _direct, _tensors

LEAST: Final = 8
"""A group of fewer operations on small arrays takes as long as its call."""
_LARGE: Final = 4096
_OPERATIONS: Final = frozenset((*FUNCTIONS, *CREATION, "astype", "getitem", "setitem"))
_CAPABILITIES: Final = frozenset({"indexing", "padding", "scatter", "special", "windows"})
"""The capabilities whose operations `torch.compile` can trace."""

# By default, TorchInductor computes a value again wherever it is used, if this takes up to 30 operations. The gradient
# of thirty operations then takes a minute to compile.
_OPTIONS: Final = {"realize_opcount_threshold": 8}


class Inductor(Backend):
    """Compiles the operations of the standard, and those of some facades."""

    name: ClassVar[str] = "inductor"
    priority: ClassVar[int] = -1
    warns: ClassVar[bool] = False
    needs: ClassVar[str] = "a C++ compiler: install g++, or name yours in the environment variable CXX"

    def is_available(self) -> bool:
        default = {"darwin": "clang++", "win32": "cl"}.get(sys.platform, "g++")
        return shutil.which(os.environ.get("CXX") or default) is not None

    def accepts(self, equation: Equation) -> bool:
        return not self._reason(equation)

    def left(self, graph: Graph) -> dict[int, str]:
        reasons = {id(equation): self._reason(equation) for equation in graph.equations}
        return {number: reason for number, reason in reasons.items() if reason}

    def _reason(self, equation: Equation) -> str:
        """Return the reason why an operation is not compiled."""
        op = equation.op
        if any(graphs_within(equation.params)):
            return "PyTorch's functions run its steps, with compiled bodies"
        if op.name == "remainder" and op.namespace.is_floating(equation.outputs[0].dtype):
            return "TorchInductor rounds remainders"
        is_known = op.name in _OPERATIONS or (op.name == "torch_call" and _direct.direct(equation) is not None)
        if isinstance(op, FacadeOp):
            is_known = op.operation.is_own and op.operation.capability in _CAPABILITIES
        return "" if is_known else "torch.compile can't trace it"

    def direct(self, equation: Equation) -> Direct | None:
        key = equation.params.get("key", ())
        if equation.op.name == "getitem" and not any(part is ARRAY for part in key):
            # torch.compile can't trace `itemgetter`.
            return Direct(operator.getitem, [*equation.inputs, key[0] if len(key) == 1 else key], {})
        call = _direct.direct(equation)
        return None if call is None else _direct.with_floats(call)

    def takes(self, arrays: Sequence[Any], graph: Graph | None = None) -> bool:
        if graph is None:
            return _tensors.are_plain(arrays)
        # PyTorch records what it calls for `.backward()`, which can't see the rules of other operations.
        is_recorded = _tensors.require_gradients((*arrays, *graph.constants.values()))
        return not is_recorded or all(map(self.accepts, graph.equations))

    def lower(self, graph: Graph) -> Callable[..., Any] | None:
        largest = max([x.aval.size for equation in graph.equations for x in equation.outputs])
        if len(graph.equations) < (2 if largest > _LARGE else LEAST):
            return None
        open_graph = Graph(graph.namespace, [*graph.inputs, *graph.constants], {}, graph.equations, graph.outputs)
        filled = [_filling(x, value) for x, value in graph.constants.items() if _is_uniform(value)]
        function = program(open_graph, [*filled, *(step_of(equation, self) for equation in graph.equations)])
        layout = _layout_of(graph)
        made: dict[Hashable, Callable[..., Any]] = {}

        def run(*arrays: Any) -> Any:
            key = layout(*arrays)
            compiled = made.get(key)
            if compiled is None:
                compiled = made.setdefault(key, _compiled(function, arrays))
            return compiled(*arrays)

        return run

    @staticmethod
    def signature(leaves: Sequence[Any]) -> Hashable:
        # TorchInductor writes these settings into its code; the guards of `torch.compile` would check them.
        threads, precision = torch.get_num_threads(), torch.get_float32_matmul_precision()
        return threads, precision, torch.are_deterministic_algorithms_enabled(), _tensors.signature(leaves)


BACKEND: Final = Inductor()

_LOCK: Final = RLock()
"""Held while compiling: `torch.compile` works in one thread at a time."""


def _is_uniform(x: Any) -> bool:
    """Return whether all elements of a constant are the same number. TorchInductor need not read it."""
    if not 0 < x.numel() <= _LARGE or not (x.dtype.is_floating_point or x.dtype in (torch.int32, torch.int64)):
        return False
    is_uniform = bool(torch.all(x == x.flatten()[0]))
    return is_uniform and not bool(torch.any(torch.signbit(x) & (x == 0)))


def _filling(variable: Variable, x: Any) -> Step:
    """Return the step that makes a constant of one number, in place of the argument."""
    options = {"dtype": x.dtype, "device": x.device}
    return Step(torch.full, [tuple(x.shape), x.flatten()[0].item()], options, [variable], False)


def _layout_of(graph: Graph) -> Callable[..., Hashable]:
    """Make a function that returns all that differs between arrays of one type and matters to compiled code.

    The key of the program determines whether gradients are required, and constants do not change.
    """
    isdtype, parts = graph.namespace.base.isdtype, []
    for i, x in enumerate(graph.inputs):
        parts += [f"x{i}.stride(), "] if x.shape else []
        parts += [f"x{i}.is_neg(), "] if isdtype(x.dtype, ("real floating", "complex floating")) else []
        parts += [f"x{i}.is_conj(), "] if isdtype(x.dtype, "complex floating") else []
    names = "".join(f"x{i}, " for i in range(len(graph.inputs)))
    layout: Callable[..., Hashable] = eval(f"lambda {names}*constants: ({''.join(parts)})")
    return layout


def _compiled(function: Callable[..., Any], arrays: Sequence[Any]) -> Callable[..., Any]:
    if any(x.is_neg() or x.is_conj() for x in arrays):  # compiled code reads the memory directly
        inner = _compiled(function, [_resolved(x) for x in arrays])
        return lambda *arrays: inner(*[_resolved(x) for x in arrays])
    compiler = private.lookup_backend()("inductor")
    try:
        with _LOCK, _own_warnings():
            return _without_guards(function, arrays, compiler)
    except Exception as error:
        reason = " ".join(str(error).split()[:60])
        raise UnsupportedError(
            "jit: compiler='inductor' could not compile the program; without compiler=, PyTorch's own functions "
            f"compute it. TorchInductor says: {reason}"
        ) from error


def _resolved(x: Any) -> Any:
    return x.resolve_neg().resolve_conj()


def _without_guards(
    function: Callable[..., Any], arrays: Sequence[Any], compiler: Callable[..., Callable[..., Any]]
) -> Callable[..., Any]:
    """Compile a function, and return the compiled graph alone.

    A call of a function from `torch.compile` takes 20 to 75 µs more, to check what the program's key says already.
    """
    calls: list[tuple[Callable[..., Any], Sequence[Any], Sequence[Any]]] = []

    def backend(module: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        run = compiler(module, inputs, config_patches=_OPTIONS)

        def first(*arguments: Any) -> Any:
            results = run(*arguments)
            calls.append((run, arguments, results))
            return results

        return first

    compiled = torch.compile(function, fullgraph=True, dynamic=False, backend=backend)
    # Distinct objects: the order of the graph's inputs is known by their identity.
    examples = [x.detach().requires_grad_(x.requires_grad) for x in arrays]
    results = compiled(*examples)
    if len(calls) != 1:
        return compiled
    run, inputs, outputs = calls[0]
    order = [_position(x, examples) for x in inputs]
    which = [_position(x, outputs) for x in results]
    if None in order or None in which:  # such as results that are arguments
        return compiled
    if which == list(range(len(outputs))):
        return run if order == list(range(len(examples))) else lambda *arrays: run(*[arrays[i] for i in order])

    def reordered(*arrays: Any) -> Any:
        results = run(*[arrays[i] for i in order])
        return [results[i] for i in which]

    return reordered


def _position(x: Any, among: Sequence[Any]) -> Any:
    return next((i for i, y in enumerate(among) if y is x), None)


@contextmanager
def _own_warnings() -> Iterator[None]:
    """Hide TorchInductor's warnings about complex operations, for which it calls PyTorch's kernels, and about its own
    use of deprecated functions.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Torchinductor does not support code generation for complex")
        warnings.filterwarnings("ignore", "`torch._prims_common.check` is deprecated", FutureWarning)
        yield
