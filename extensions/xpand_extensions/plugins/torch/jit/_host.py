"""Host functions on PyTorch: operations of graphs, without derivatives."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import torch

from xpand import UnsupportedError, is_concrete
from xpand.extend import LibraryArray as Array
from xpand.torch import _private as private
from xpand_extensions._dispatch import forwards_to
from xpand_extensions.jit._host import of_shapes, pure_callback as facade

from .._operators import Program, numbered, program_operation, run_program
from ..autodiff._levels import Arrays, Lanes, Rule, call


class _Host(NamedTuple):
    """A function of NumPy arrays, and the way that it is called."""

    name: str
    """The function of xpand that calls it, for errors."""
    function: Callable[..., tuple[Any, ...]]
    """The function."""
    results: tuple[tuple[tuple[int, ...], Any], ...]
    """The shapes and data types of its results."""
    vmap_method: str = "sequential"
    """How it is called under vmap: the option of `pure_callback`."""


@forwards_to(facade)
def pure_callback(function: Any, result_shape_dtypes: Any, /, *args: Array, vmap_method: str) -> Arrays:
    return host_call("pure_callback", function, result_shape_dtypes, args, vmap_method)


def io_callback(
    function: Callable[..., Any], result_shape_dtypes: Any, /, *args: Array, ordered: bool = False, **kwargs: Array
) -> Arrays:
    return host_call("io_callback", function, result_shape_dtypes, args)


def host_call(
    name: str, function: Callable[..., Any], types: Any, arrays: Arrays, vmap_method: str = "sequential"
) -> Arrays:
    """Call a function of NumPy arrays for the function `name`: all but `pure_callback` have side effects."""
    results = tuple([(tuple(each.shape), each.dtype) for each in types])
    if torch.compiler.is_dynamo_compiling():
        raise UnsupportedError(
            f"{name}: torch.compile cannot trace it; use `xpand_extensions.jit.jit`, or `torch.library.custom_op`"
        )
    return call(_rule(_Host(name, function, results, vmap_method)), arrays)


def _rule(host: _Host) -> Rule:
    def run(*arrays: Array) -> Arrays:
        if not private.count_modes() and all(map(is_concrete, arrays)):
            return _called(host, arrays)
        number = numbered(Program(partial(_called, host), host.results))
        if host.name == "pure_callback":
            return tuple(run_program(list(arrays), number))
        if not _HAS_EFFECTS:
            raise UnsupportedError(
                f"{host.name}: PyTorch {torch.__version__} cannot compile it; install PyTorch 2.13 or later"
            )
        return tuple(_run_effect(list(arrays), number))

    def batches(lanes: Lanes, mapped: Sequence[bool], *arrays: Array) -> tuple[Arrays, Sequence[bool]]:
        given, function = list(arrays), host.function
        if host.vmap_method == "sequential":
            function = _sequential(host, mapped, lanes.size)
        else:
            given = [x if has_axis else x[None] for x, has_axis in zip(arrays, mapped)]
        if host.vmap_method == "broadcast_all":
            given = [x.expand(lanes.size, *x.shape[1:]) for x in given]
        results = tuple([((lanes.size, *shape), dtype) for shape, dtype in host.results])
        found = call(_rule(host._replace(function=function, results=results)), tuple(given))
        return found, [True] * len(found)

    no_derivative = partial(_no_derivative, host.name)
    return Rule(run, lambda *arrays: (call(_rule(host), arrays), ()), no_derivative, no_derivative, batches=batches)


def _no_derivative(name: str, *args: Any) -> Any:
    raise TypeError(
        f"{name}: the function has no derivative; make the arguments constants with `autodiff.stop_gradient`, or give "
        "it a derivative with `autodiff.custom_jvp` or `custom_vjp`"
    )


def _called(host: _Host, arrays: Sequence[Array]) -> Arrays:
    device = arrays[0].device
    found = host.function(*[x.detach().cpu().resolve_conj().resolve_neg().numpy() for x in arrays])
    of_shapes(found, [shape for shape, _ in host.results])
    # Copy the results, because the function may return an argument or store a result. Graphs assume C order.
    laid_out = [np.asarray(x, order="C") for x in found]
    return tuple([torch.tensor(x, dtype=dtype, device=device) for x, (_, dtype) in zip(laid_out, host.results)])


def _sequential(host: _Host, mapped: Sequence[bool], size: int) -> Callable[..., Any]:
    def each(*arrays: Any) -> tuple[Any, ...]:
        if not size:
            return tuple(np.zeros((0, *shape)) for shape, _ in host.results)
        rows = [host.function(*[x[i] if has_axis else x for x, has_axis in zip(arrays, mapped)]) for i in range(size)]
        return tuple(np.stack(column) for column in zip(*rows))

    return each


# Without the tag, PyTorch would run it while it traces, and only then, if all arguments are constants.
_run_effect: Final = program_operation("host_effect", tags=(torch.Tag.nondeterministic_seeded,))
# The effect prevents compilers from removing calls or changing their order. TorchInductor of PyTorch 2.11 fails on it.
_HAS_EFFECTS: Final = torch.__version__ >= "2.13"  # PyTorch compares versions, not strings
if _HAS_EFFECTS:
    _run_effect.register_effect(torch.library.EffectType.ORDERED)
