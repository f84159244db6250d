"""PyTorch's own calls for operations of graphs, without the checks and conversions of `xpand.torch`.

The namespace's function runs once, on zeros of the same data types and shapes. If it calls one function of PyTorch,
with its own arrays and static arguments, programs call this function. A function that looks at values makes more
calls, and stays.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

import torch
from torch.overrides import TorchFunctionMode

from ...._transforms import replaced
from ....tracing._backend import Direct
from ....tracing._core import Aval
from ....tracing._functions import FUNCTIONS
from ....tracing._graph import Equation, Variable
from ....tracing.rules import ELEMENTWISE
from ..traced_arrays._calls import Call

MOST: Final = 4096
"""Operations on arrays of more elements are not run for this. For these, the checks do not matter."""
_NAMES: Final = frozenset((*FUNCTIONS, "astype"))
_PLAIN: Final = (torch.float32, torch.float64)
_METADATA: Final = frozenset({"__get__", "dim", "is_complex", "is_floating_point", "ndimension", "numel", "size"})
"""Functions of PyTorch that return what the data type and the shape determine, if the result is not a tensor."""
_OF_NUMBERS: Final = frozenset(
    getattr(torch, name)
    for name in (
        *("add", "div", "divide", "mul", "multiply", "sub", "subtract", "where"),
        *("eq", "ge", "greater", "greater_equal", "gt", "le", "less", "less_equal", "lt", "ne", "not_equal"),
    )
)
"""Functions that PyTorch calls in 60 % of the time with a tensor without axes in place of a Python number."""


def direct(equation: Equation) -> Direct | None:
    """Return the one call of PyTorch's that an operation consists of; None if there are several, or this is unknown."""
    op = equation.op
    if op.name == "torch_call":
        return _of_user(equation)
    if op.result is not None or op.name not in _NAMES:
        return None
    is_elementwise = op.name in ELEMENTWISE
    arrays = [x.aval for x in (*equation.inputs, *equation.outputs) if isinstance(x, Variable)]
    if not is_elementwise and any(math.prod(x.shape) > MOST for x in arrays):
        return None
    examples = [_example(x.aval, is_elementwise) if isinstance(x, Variable) else x for x in equation.inputs]
    recorder = _Recorder()
    with suppress(Exception), recorder:  # an operation that fails is left to the program, which may not reach it
        return recorder.only_call(op.function(*examples, **equation.params), examples, equation.inputs)
    return None


def _of_user(equation: Equation) -> Direct | None:
    """Return the user's own call of a function of PyTorch, if it returns one tensor."""
    call = equation.params["call"]
    if type(call) is not Call or type(call.structure) is not tuple or call.result is None or call.result[0] is not None:
        return None
    leaves = replaced(call.leaves, call.positions, equation.inputs)
    count = len(leaves) - len(call.structure)
    params = dict(zip(call.structure, leaves[count:]))
    if any(isinstance(x, Variable) for x in params.values()):
        return None
    return Direct(call.function, leaves[:count], params)


def with_tensors(call: Direct) -> Direct:
    """Replace Python numbers by tensors, which PyTorch reads sooner, if this does not change the result."""
    dtype = _common_dtype(call)
    return call if dtype not in _PLAIN else _with_numbers(call, lambda x: _tensor(x, dtype))


def with_floats(call: Direct) -> Direct:
    """Replace integers by floats, if this does not change the result.

    TorchInductor replaces `x * 0` by 0, also where x is NaN, but not `x * 0.0`.
    """
    dtype = _common_dtype(call)
    return call if dtype is None or not (dtype.is_floating_point or dtype.is_complex) else _with_numbers(call, float)


def _common_dtype(call: Direct) -> torch.dtype | None:
    dtypes = {x.dtype for x in call.inputs if isinstance(x, (Variable, torch.Tensor)) and x.dtype != torch.bool}
    return dtypes.pop() if len(dtypes) == 1 else None


def _with_numbers(call: Direct, convert: Callable[[float], Any]) -> Direct:
    if call.function not in _OF_NUMBERS or call.params:
        return call
    return call._replace(inputs=[convert(x) if _is_exact(x) else x for x in call.inputs])


def has_out(call: Direct, out: Aval) -> bool:
    """Return whether the function of an elementwise operation writes its result to an argument `out`."""
    examples = [_example(x.aval, True) if isinstance(x, Variable) else x for x in call.inputs]
    with suppress(Exception):
        call.function(*examples, **call.params, out=_example(out, True))
        return True
    return False


def _is_exact(x: Any) -> bool:
    """Return whether a number is converted to a data type in the same way as an operand and as a tensor."""
    return type(x) is float or (type(x) is int and abs(x) < 2**24)


def _tensor(x: float, dtype: torch.dtype) -> torch.Tensor:
    # On the CPU also for other devices: they get it as a number, as they get the number itself.
    return torch.tensor(x, dtype=torch.float64, device="cpu").to(dtype)


def _example(aval: Aval, is_elementwise: bool) -> torch.Tensor:
    shape = tuple([min(size, 2) for size in aval.shape]) if is_elementwise else aval.shape
    return torch.zeros(shape, dtype=aval.dtype, device=aval.device)


class _Recorder(TorchFunctionMode):  # type: ignore[misc]  # PyTorch has no types for it
    """Records the calls of PyTorch's functions."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, tuple[Any, ...], dict[str, Any], Any]] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) or getattr(func, "__name__", "") not in _METADATA:
            self.calls.append((func, args, kwargs or {}, result))
        return result

    def only_call(self, result: Any, examples: Sequence[Any], inputs: Sequence[Any]) -> Direct | None:
        """Return the last call with the operation's inputs in place of its arrays, if the others make constants."""
        *constants, (func, args, kwargs, last) = self.calls
        if last is not result or any(func is not torch.scalar_tensor for func, *_ in constants):
            return None
        known = {id(x): (x, y) for x, y in zip(examples, inputs) if isinstance(x, torch.Tensor)}
        known |= {id(x): (x, x) for *_, x in constants}

        def input_of(x: Any) -> Any:
            if type(x) in (tuple, list):
                return type(x)(map(input_of, x))
            return known[id(x)][1] if isinstance(x, torch.Tensor) else x  # raises for other tensors

        params = {name: value for name, value in kwargs.items() if value is not None}
        if any(isinstance(x, torch.Tensor) for x in _leaves(params)):
            return None
        return Direct(func, [input_of(x) for x in args], params)


def _leaves(x: Any) -> Iterator[Any]:
    if isinstance(x, dict):
        x = x.values()
    elif not isinstance(x, (tuple, list)):
        yield x
        return
    for part in x:
        yield from _leaves(part)
