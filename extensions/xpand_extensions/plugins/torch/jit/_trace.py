"""Trace a function of tensors to a graph of ATen operations, by calling it with tensors without values.

torch.compile reads bytecode, and supports neither optree's trees nor most code of transformations. Here Python runs the
function, its derivatives and its maps as usual, and the graph contains the ATen operations.
"""

import logging
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import get_ident
from typing import Any, Final, TypeAlias

import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from xpand import namespace, trees
from xpand.extend import LibraryArray as Array, default_dtype
from xpand.torch import _private as private
from xpand_extensions.jit._calls import Flattened

from .._errors import with_errors
from ._simplify import simplify

Arrays: TypeAlias = "tuple[Array, ...]"

_FAKES: Final = logging.getLogger(private.FAKE_LOGGER)
_ATEN: Final = torch.ops.aten
_OPERATION: Final = type(_ATEN.zeros.default)
_ZERO: Final = _ATEN._efficientzerotensor.default
"""The operation that makes a zero of forward mode, which has no memory."""
_LAID_OUT: Final = _ATEN._new_zeros_with_same_feature_meta.default


class WithoutValues(private.FakeTensorMode):  # type: ignore[misc]
    """The mode of tensors without values, which must not be used after its transformation has finished."""

    supports_higher_order_operators = True
    """Without this, PyTorch finds no rules for operators such as `torch.cond` in a subclass of its mode."""

    ended: str | None = None
    """The name of the finished transformation: a tensor of this mode that is used afterwards has leaked."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Apply an operation to tensors of this mode."""
        # Skip operators of functions, and PyTorch's query of a device, where an exception would end the process.
        if isinstance(func, _OPERATION) and func is not torch.ops.prim.device.default:
            if self.ended is not None:
                raise _leaked(func, self.ended)
            for x in trees.leaves((args, kwargs)):
                if (
                    isinstance(x, private.FakeTensor) and x.fake_mode is not self
                ):  # compiled code would read freed memory
                    raise _leaked(func, getattr(x.fake_mode, "ended", None) or "jit")
            func = _ATEN.zeros.default if func is _ZERO else func
        return super().__torch_dispatch__(func, types, args, kwargs)


def _leaked(func: Any, transformation: str) -> Exception:
    from xpand_extensions.tracing._core import leaked  # imported only for an error

    return leaked(func.name(), transformation)


@contextmanager
def tracing() -> Iterator[None]:
    """Let one thread trace or compile at a time: torch.fx and TorchInductor have global state, as has torch.compile."""
    with private.compile_lock():
        yield


@contextmanager
def quietly() -> Iterator[None]:
    """Prevent PyTorch from logging errors of user functions with their tracebacks, since they are also raised."""
    thread = get_ident()
    keep = lambda record: record.thread != thread
    _FAKES.addFilter(keep)
    try:
        yield
    finally:
        _FAKES.removeFilter(keep)


def graph_of(function: Callable[..., Arrays], arrays: Sequence[Array]) -> Any:
    """Trace a function at tensors to a graph of PyTorch's operations.

    PyTorch's zeros without memory become ordinary ones: compiled code would read their memory. Unused nodes are
    removed: they may contain tensors without values, which must not be used after tracing has finished.
    """
    module = make_fx(compiled_may_be_called(function))(*arrays)
    for node in module.graph.nodes:
        if node.target is _ZERO:
            node.target = _ATEN.zeros.default
        elif node.target is _ATEN.copy_.default and node.args[0].target is _LAID_OUT:
            # Forward mode copies a tangent to the memory layout of its tensor, whose elements may share memory.
            node.target, node.args, node.kwargs = _ATEN.clone.default, (node.args[1],), {}
    simplify(module)
    return module


def compiled_may_be_called(function: Callable[..., Arrays]) -> Callable[..., Arrays]:
    """Hide from a function that torch.fx traces it: otherwise functions compiled by torch.compile would raise."""

    def traced(*xs: Array) -> Arrays:
        with private.fx_tracing_hidden():
            return function(*xs)

    return traced


class Graph:
    """The graph of a function for given arguments, and the structure of its result."""

    __slots__ = ("mode", "module", "structure")

    def __init__(self, function: Callable[..., Any], leaves: Sequence[Any], name: str = "jit") -> None:
        """Trace the function for the transformation `name`; `leaves` are tensors, numbers, or specs of tensors."""
        flat = Flattened(function)
        self.mode = without_values()
        fakes = stand_ins(self.mode, leaves, name)
        with tracing(), quietly(), self.mode:
            self.module = with_errors(name, graph_of, flat, fakes)
        self.structure: Any = flat.structure

    def constants(self) -> list[Array]:
        """List the captured tensors of the function."""
        named = [node.target for node in self.module.graph.nodes if node.op == "get_attr"]
        found = [operator.attrgetter(name)(self.module) for name in named]
        return [x for x in found if isinstance(x, torch.Tensor)]


def without_values() -> WithoutValues:
    """Make a mode of tensors without values. Other tensors are constants in it."""
    # `torch.while_loop` needs symbolic shapes; all other shapes are concrete.
    symbols = ShapeEnv(allow_scalar_outputs=False, allow_dynamic_output_shape_ops=False)
    return WithoutValues(allow_non_fake_inputs=True, shape_env=symbols, static_shapes=True)


def stand_ins(mode: WithoutValues, leaves: Sequence[Any], name: str = "jit") -> list[Array]:
    """Make tensors without values."""
    seen: set[int] = set()
    with mode:
        return [_stand_in(mode, x, seen) for x in as_tensors(leaves, name)]


def _stand_in(mode: WithoutValues, x: Any, seen: set[int]) -> Array:
    if not isinstance(x, torch.Tensor):
        return torch.empty(tuple(x.shape), dtype=x.dtype)
    if id(x) in seen:  # the compiled code must not assume that two arguments are always the same tensor
        return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device)
    seen.add(id(x))
    if private.is_view(x):  # forward mode would give tangents the memory layout of the view's base
        return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device, requires_grad=x.requires_grad)
    return mode.from_tensor(x)


def as_tensors(leaves: Sequence[Any], name: str = "jit") -> list[Any]:
    """Convert numbers to tensors of the widest precision among the other leaves, so that they widen no other leaf."""
    arrays = [x for x in leaves if hasattr(x, "dtype")]
    if len(arrays) == len(leaves):
        return list(leaves)
    floating = [x.dtype.to_real() for x in arrays if x.dtype.is_floating_point or x.dtype.is_complex]
    real = max(floating, key=lambda dtype: torch.finfo(dtype).bits) if floating else default_dtype(namespace("torch"))
    device = next((x.device for x in arrays if hasattr(x, "device")), None)
    dtypes = {bool: torch.bool, int: torch.int64, float: real, complex: real.to_complex()}
    return [x if hasattr(x, "dtype") else _as_tensor(name, x, dtypes[type(x)], device) for x in leaves]


def _as_tensor(name: str, x: Any, dtype: Any, device: Any) -> Array:
    if type(x) is int and not -(2**63) <= x < 2**63:
        raise OverflowError(
            f"{name}: the number {x} is too large for {dtype}, in which it would be traced; pass a tensor with a "
            "wider data type, or declare it static"
        )
    return torch.tensor(x, dtype=dtype, device=device)
