"""Compilation on PyTorch: a graph is traced once for each signature, and compiled by TorchInductor or run by PyTorch.

A call looks up its program by shapes, data types, strides and devices, which takes less than half the time of
torch.compile's guards.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any, Final

import torch

from xpand import trees
from xpand.torch import _private as private
from xpand_extensions.jit._ahead import Lowering
from xpand_extensions.jit._calls import NUMBERS, Make, by_signature, jit_with, lower_with, one_of, traced_with
from xpand_extensions.jit._graph import ShapeDtype

from .._errors import with_errors
from ._host import io_callback, pure_callback
from ._inductor import compiled
from ._trace import Graph, as_tensors, quietly, stand_ins, tracing, without_values

_PLAIN: Final = (torch.Tensor, torch.nn.Parameter)


def _jit(function: Callable[..., Any], donate_argnums: Any, *, by_inductor: bool = True) -> Callable[..., Any]:
    modes, current = private.count_modes, private.current_level
    compile_for = partial(_program, function, by_inductor)
    program = by_signature(function, "shapes, data types or strides", _key, compile_for, _compiling)

    def call(*leaves: Any) -> Any:
        if modes() or current() is not None:
            return function(*leaves)  # an outer trace or transformation: it traces the function itself
        return program(*leaves)

    return call


_JIT: Final[dict[str, Make]] = {"inductor": _jit, "eager": partial(_jit, by_inductor=False)}
jit = jit_with(_jit, one_of(_JIT), lambda: dict.fromkeys(_JIT, ""))


def _program(function: Callable[..., Any], by_inductor: bool, leaves: Sequence[Any]) -> tuple[Callable[..., Any], bool]:
    """Return the program for tensors and numbers like the given ones, and whether to cache it."""
    tensors = as_tensors(leaves)
    is_cached = all(type(x) in _PLAIN for x in tensors)
    run: Callable[..., Any] = function  # not compiled for subclasses of tensors, which may change any operation
    if is_cached:
        run = compiled(function, tensors, by_inductor)
    if all(x is y for x, y in zip(leaves, tensors)):
        return run, is_cached
    return lambda *leaves: run(*as_tensors(leaves)), is_cached


@contextmanager
def _compiling() -> Iterator[None]:
    """Let one thread compile at a time, without the hooks of a checkpoint, which would count the saved tensors."""
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x) if private.are_hooks_set() else None
    with tracing(), hooks or nullcontext():
        yield


def _key(leaves: Sequence[Any]) -> tuple[Any, ...]:
    """Return the signature of a call: everything that the compiled code depends on."""
    try:
        tensors = [
            (x.shape, x.dtype, x.stride(), x.device, x.requires_grad, x.is_neg(), x.is_conj(), type(x)) for x in leaves
        ]
    except AttributeError:
        numbers = [type(x) if type(x) in NUMBERS else None for x in leaves]
        return *numbers, *_key([x for x in leaves if type(x) not in NUMBERS])
    return (
        torch.is_grad_enabled(),
        torch.get_default_dtype(),
        # A default device is a function mode. Read it only if there is one: this takes a microsecond.
        torch.get_default_device() if private.count_function_modes() else None,
        _autocast_dtypes({x.device.type for x in leaves}) if private.is_autocast_active() else None,
        *tensors,
    )


def _autocast_dtypes(devices: Iterable[str]) -> frozenset[Any]:
    return frozenset([(x, torch.get_autocast_dtype(x)) for x in devices if torch.is_autocast_enabled(x)])


make_graph = traced_with(lambda function, leaves: Graph(function, leaves, "make_graph").module)


def _lower(function: Callable[..., Any], leaves: Sequence[Any]) -> Lowering:
    return Lowering(Graph(function, leaves, "lower").module.print_readable(print_output=False))


lower = lower_with(_lower, one_of(dict.fromkeys(_JIT, _lower)))


def eval_shape(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    mode = without_values()
    fakes = stand_ins(mode, args, "eval_shape")
    with tracing(), quietly(), mode:
        result = with_errors("eval_shape", function, *fakes)
    mode.ended = "eval_shape"
    return trees.map(lambda x: ShapeDtype(tuple(x.shape), x.dtype), result)


def named_call(function: Callable[..., Any], /, *, name: str | None = None) -> Callable[..., Any]:
    def named(*args: Any, **kwargs: Any) -> Any:
        with torch.profiler.record_function(name):
            return function(*args, **kwargs)

    return named
