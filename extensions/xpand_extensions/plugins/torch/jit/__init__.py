"""Compiling on PyTorch: TorchInductor, of a graph that is traced once for each signature.

A call costs a look-up by shapes, data types, strides and devices, and what is compiled: less than half of what the
guards of torch.compile cost.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

import torch

from xpand import trees
from xpand._typing import Array
from xpand.torch import _private as private
from xpand_extensions.jit._ahead import Lowering
from xpand_extensions.jit._calls import Compiled
from xpand_extensions.jit._graph import ShapeDtype

from ._host import io_callback as io_callback
from ._host import pure_callback as pure_callback
from ._trace import Graph, as_tensors, asking_no_values, quietly, stand_ins, tracing, without_values

_PLAIN: Final = (torch.Tensor, torch.nn.Parameter)


def jit(
    function: Callable[..., Any],
    /,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] = (),
) -> Callable[..., Any]:
    signatures: Compiled[Any] = Compiled(function, "shapes, data types or strides")
    modes, current = private.count_modes, private.current_level

    def call(*leaves: Any) -> Any:
        if modes() or current() is not None:
            return function(*leaves)  # traced or transformed from outside: this is part of what is traced
        try:
            key = _key(leaves)
        except AttributeError:  # a number
            leaves = tuple(as_tensors(leaves))
            key = _key(leaves)
        found = signatures.get(key)
        if found is None:
            if not all(type(x) in _PLAIN for x in leaves):
                return function(*leaves)  # a subclass does with each operation what it does
            with tracing(), _apart_from_hooks():
                found = signatures.get(key)  # of another thread, which came first
                if found is None:
                    from ._inductor import compiled  # takes seconds to import, which only compiling should wait for

                    found = signatures.add(key, compiled(function, leaves))
        run, structure = found
        arrays = run(*leaves)
        return arrays[0] if structure is None else trees.unflatten(structure, arrays)

    return call


def _apart_from_hooks() -> AbstractContextManager[Any]:
    """Show no hooks what is saved for derivatives: checkpoints count it."""
    if not private.are_hooks_set():
        return nullcontext()
    unchanged: AbstractContextManager[Any] = torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x)
    return unchanged


def _key(leaves: Sequence[Array]) -> tuple[Any, ...]:
    """Return what the compiled code depends on."""
    return (
        torch.is_grad_enabled(),
        torch.get_default_dtype(),
        # A default device is a mode of functions; to ask for it takes a microsecond, which most calls needn't.
        torch.get_default_device() if private.count_function_modes() else None,
        *[(x.shape, x.dtype, x.stride(), x.device, x.requires_grad, x.is_neg(), x.is_conj(), type(x)) for x in leaves],
    )


def make_graph(
    function: Callable[..., Any],
    /,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
) -> Callable[..., Any]:
    return lambda *leaves: Graph(function, leaves, "make_graph").module


def lower(
    function: Callable[..., Any],
    /,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
) -> Callable[..., Any]:
    return lambda *leaves: Lowering(Graph(function, leaves, "lower").module.print_readable(print_output=False))


def eval_shape(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    mode = without_values()
    fakes = stand_ins(mode, args, "eval_shape")
    with tracing(), quietly(), mode:
        result = asking_no_values("eval_shape", function, *fakes)
    mode.ended = "eval_shape"
    return trees.map(lambda x: ShapeDtype(tuple(x.shape), x.dtype), result)


def named_call(function: Callable[..., Any], /, *, name: str | None = None) -> Callable[..., Any]:
    def named(*args: Any, **kwargs: Any) -> Any:
        with torch.profiler.record_function(name):
            return function(*args, **kwargs)

    return named
