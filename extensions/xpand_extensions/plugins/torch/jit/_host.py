"""Host functions as a PyTorch operation, which graphs contain unchanged."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from itertools import count
from typing import Any, Final, TypeAlias

import numpy as np
import torch

from xpand import UnsupportedError, is_concrete
from xpand.extend import LibraryArray as Array
from xpand.extend import untraced
from xpand.torch import _private as private
from xpand_extensions.jit._host import of_shapes

from .._plain import has_tangent
from ..autodiff._levels import is_differentiated

_NO_DERIVATIVE: Final = (
    "pure_callback: the function has no derivative; take the arguments as constants with `autodiff.stop_gradient`, or "
    "give it one with `autodiff.custom_jvp` or `custom_vjp`"
)


@cache
def _keys() -> Any:
    """Return the dispatcher's state of a new thread: inside of an operation, it ignores derivatives."""
    with ThreadPoolExecutor(1) as fresh:
        return fresh.submit(private.thread_keys).result()


Results: TypeAlias = "tuple[tuple[tuple[int, ...], Any], ...]"


@dataclass(frozen=True, eq=False)
class _Host:
    """A function of NumPy arrays, the types of its results, and its kind of vmap."""

    function: Callable[..., tuple[Any, ...]]
    results: Results
    vmap_method: str


# An operation takes only tensors and numbers, so functions have numbers. A graph may live as long as the process.
_HOSTS: Final[dict[int, _Host]] = {}
_NUMBERS: Final = count()


def _number(host: _Host) -> int:
    number = next(_NUMBERS)
    _HOSTS[number] = host
    return number


@untraced
def _number_of(results: Results, vmap_method: str, function: Callable[..., Any], *args: Any) -> int:
    return _number(_Host(partial(function, *args), results, vmap_method))


def pure_callback(
    function: Callable[..., Any],
    result_shape_dtypes: Any,
    /,
    *args: Array,
    vmap_method: str = "sequential",
    **kwargs: Array,
) -> Any:
    results = tuple([(tuple(each.shape), each.dtype) for each in result_shape_dtypes])
    if torch.compiler.is_dynamo_compiling():
        if any(map(has_tangent, args)):
            raise TypeError(_NO_DERIVATIVE)
        return _compiled(function, results, args, vmap_method)
    if any(map(is_differentiated, args)):
        raise TypeError(_NO_DERIVATIVE)
    host = _Host(function, results, vmap_method)
    if _is_eager() and private.current_level() is None and all(is_concrete(x) for x in args):
        return _called(host, args)
    # Pulled-back gradients are traced without need.
    return _applied(host, [x.detach() if x.requires_grad else x for x in args])


def io_callback(
    function: Callable[..., Any], result_shape_dtypes: Any, /, *args: Array, ordered: bool = False, **kwargs: Array
) -> Any:
    if torch.compiler.is_dynamo_compiling():
        raise UnsupportedError("io_callback: torch.compile cannot trace it; use `xpand_extensions.jit.jit`")
    if any(map(is_differentiated, args)):
        raise TypeError(_NO_DERIVATIVE.replace("pure_callback", "io_callback"))
    return effect(function, tuple([(tuple(each.shape), each.dtype) for each in result_shape_dtypes]), args)


def effect(function: Callable[..., Any], results: Results, arrays: Sequence[Array]) -> list[Array]:
    """Call a function with side effects, each time the program gets there."""
    if torch.compiler.is_dynamo_compiling():
        raise UnsupportedError("callback: torch.compile cannot trace it; use `xpand_extensions.jit.jit`")
    host = _Host(function, results, "sequential")
    if _is_eager() and private.current_level() is None and all(is_concrete(x) for x in arrays):
        return _called(host, arrays)
    if not (_HAS_EFFECTS or _is_eager()):
        raise UnsupportedError("callback, io_callback: this PyTorch cannot compile them; 2.13 can")
    return _applied(host, [x.detach() for x in arrays], _host_effect)


def _is_eager() -> bool:
    """Tell whether operations run, and aren't recorded."""
    return not private.count_modes()


def _applied(host: _Host, arrays: list[Array], operation: Any = None) -> list[Array]:
    number = _number(host)
    try:
        found: list[Array] = (operation or _host_call)(arrays, number)
        return found
    finally:
        if _is_eager():
            del _HOSTS[number]


def _compiled(function: Any, results: Results, args: Sequence[Array], vmap_method: str) -> list[Array]:
    # The compiled code depends on the identity of this object: otherwise another function with the same code would be
    # taken for it.
    id(function.args[0])
    number = _number_of(results, vmap_method, function.func, *function.args)
    found: list[Array] = _host_call(list(args), number)
    return found


def _called(host: _Host, arrays: Sequence[Array]) -> list[Array]:
    device = arrays[0].device
    given = [x.detach().cpu().resolve_conj().resolve_neg().numpy() for x in arrays]
    with private.with_keys(*_keys()):
        found = host.function(*given)
    of_shapes(found, [shape for shape, _ in host.results])
    # A copy: the function may return its argument, or keep its result. In the layout that `register_fake` promises.
    laid_out = [np.asarray(x, order="C") for x in found]
    return [torch.tensor(x, dtype=dtype, device=device) for x, (_, dtype) in zip(laid_out, host.results)]


def _operation(name: str, **options: Any) -> Any:
    """Define an operation that calls the function with a given number."""

    def run(arrays: list[torch.Tensor], number: int) -> list[torch.Tensor]:
        return _called(_HOSTS[number], arrays)

    def without_values(arrays: list[torch.Tensor], number: int) -> list[torch.Tensor]:
        return [arrays[0].new_empty(shape, dtype=dtype) for shape, dtype in _HOSTS[number].results]

    operation: Any = torch.library.custom_op(f"xpand::{name}", run, mutates_args=(), **options)
    operation.register_fake(without_values)
    operation.register_vmap(partial(_mapped, operation))
    return operation


def _mapped(operation: Any, info: Any, in_dims: Any, arrays: list[torch.Tensor], number: int) -> Any:
    host, size = _HOSTS[number], info.batch_size
    axes = in_dims[0]
    first = [x if axis is None else x.movedim(axis, 0) for x, axis in zip(arrays, axes)]
    mapped = [axis is not None for axis in axes]
    if host.vmap_method == "sequential":
        function = _sequential(host, mapped, size)
    else:
        function = host.function
        first = [x if is_mapped else x[None] for x, is_mapped in zip(first, mapped)]
        if host.vmap_method == "broadcast_all":
            first = [x.expand(size, *x.shape[1:]) for x in first]
    results = tuple(((size, *shape), dtype) for shape, dtype in host.results)
    found = _applied(_Host(function, results, host.vmap_method), first, operation)
    return found, [0] * len(found)


def _sequential(host: _Host, mapped: Sequence[bool], size: int) -> Callable[..., Any]:
    def each(*arrays: Any) -> tuple[Any, ...]:
        if not size:
            return tuple(np.zeros((0, *shape)) for shape, _ in host.results)
        rows = [host.function(*[x[i] if is_mapped else x for x, is_mapped in zip(arrays, mapped)]) for i in range(size)]
        return tuple(np.stack(column) for column in zip(*rows))

    return each


def _no_derivative(ctx: Any, *gradients: Any) -> Any:
    raise TypeError(_NO_DERIVATIVE)


_host_call: Final = _operation("host_call")
_host_call.register_autograd(_no_derivative)

# Without the tag PyTorch would run it once, while it traces, if its arguments are constants.
_host_effect: Final = _operation("host_effect", tags=(torch.Tag.nondeterministic_seeded,))
# So that compilers neither drop it nor change the order of calls. PyTorch 2.11 has no public function for that.
_HAS_EFFECTS: Final = hasattr(_host_effect, "register_effect")
if _HAS_EFFECTS:
    _host_effect.register_effect(torch.library.EffectType.ORDERED)
