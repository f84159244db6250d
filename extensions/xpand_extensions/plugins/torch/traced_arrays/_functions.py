"""PyTorch's functions as operations."""

import functools
import sys
from typing import Any, Final

import torch
from torch.utils.checkpoint import CheckpointFunction

from xpand.torch import _private as private
from xpand_extensions.tracing._core import TracedArray, TracedError, bare, bind
from xpand_extensions.tracing._views import check_writable, linked, write

from ._calls import Call, flattened
from ._rules import element, operation
from .known import apply_known


def called(namespace: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """Call a function of PyTorch with traced arrays among its arguments, or in their lists and dictionaries."""
    name = getattr(function, "__name__", "")
    if name in _WRITES or (name.endswith("_") and not name.endswith("__")):
        return _written_by(function, args, kwargs)
    code = getattr(function, "__code__", None)
    inplace = None if code is None else _names_if_inplace(code)
    if inplace is not None:
        bound = dict(zip(inplace, args)) | kwargs
        is_written = bound.pop("inplace", False)
        result = _result(namespace, function, (), bound)
        return _written_to(next(iter(bound.values())), result, name) if is_written else result
    if kwargs.get("out") is not None:
        kwargs = dict(kwargs)
        out = kwargs.pop("out")
        result = apply_known(namespace, function, args, kwargs)
        return _written_to(
            out, _result(namespace, function, args, kwargs) if result is NotImplemented else result, name
        )
    return _result(namespace, function, args, kwargs)


_WRITES: Final = frozenset(
    ["__setitem__"]
    + [f"__i{name}__" for name in ("add", "and", "floordiv", "lshift", "matmul", "mod", "mul", "or", "pow")]
    + [f"__i{name}__" for name in ("rshift", "sub", "truediv", "xor")]
)
"""Operators that write into their first argument."""


@functools.cache
def _names_if_inplace(code: Any) -> tuple[str, ...] | None:
    """Return the names of the parameters of a function written in Python, if `inplace` is one."""
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return names if "inplace" in names else None


def _result(namespace: Any, function: Any, args: Any, kwargs: Any) -> Any:
    leaves, structure = flattened(args, kwargs)
    traced, positions = [], []
    for i, x in enumerate(leaves):
        if isinstance(x, TracedArray):
            leaves[i] = x = bare(x)
            if isinstance(x, TracedArray):
                leaves[i] = None
                traced.append(x)
                positions.append(i)
    call = Call(function, leaves, structure, positions)
    tensors: Any = bind(operation(namespace), traced, {"call": call}) if traced else call()
    results = [namespace.wrap(x) for x in tensors]
    view = VIEWS.get(call.name)
    if view is not None and len(traced) == 1 and isinstance(args[0], TracedArray):
        linked(results[0], args[0], element(namespace), {"call": call}, view)
    return call.packed(results)


def _viewed(x: torch.Tensor, *, call: Call) -> torch.Tensor:
    return call(x)[0]


def _reinterpreted(x: torch.Tensor, *, call: Call) -> torch.Tensor:
    raise TracedError(
        f"writing into an array that shares memory with a result of torch's {call.name}, which has another data type; "
        "copy the result first with `x.clone()`"
    )


VIEWS: Final = {
    **dict.fromkeys(("as_strided", "atleast_1d", "atleast_2d", "atleast_3d", "unfold"), _viewed),
    **dict.fromkeys(("view", "view_as_complex", "view_as_real"), _reinterpreted),
}
"""Functions of one array whose result may share its memory, and how to compute the result to find out."""


def _on_copy(method: Any) -> Any:
    @functools.wraps(method)
    def on_copy(x: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        return method(x.clone(), *args, **kwargs)

    return on_copy


def _written_by(method: Any, args: Any, kwargs: Any) -> Any:
    """Apply a method or an operator that writes into its array."""
    if not args:  # functions of `torch.nn.init` pass their arguments by name
        first = next(iter(kwargs))
        args, kwargs = (kwargs[first],), {key: x for key, x in kwargs.items() if key != first}
    if not isinstance(args[0], TracedArray):
        # Python takes a TypeError in `b += x` for an operator that is missing, and tries `b = b + x`.
        expected = _references_of_one_name(method.__name__ == "pow_")
        raise _other_names(method) if _references(args) > expected else _not_traced(method.__name__)
    target, name = args[0], method.__name__
    namespace = type(target)._namespace
    result = NotImplemented
    if name not in _OWN_MEANING:
        result = apply_known(namespace, getattr(torch.Tensor, name[:-1], None), args, kwargs)
    if result is NotImplemented or (result.dtype, result.shape) != (target.dtype, target.shape):
        result = _result(namespace, _on_copy(method), args, kwargs)
    return _write(target, result)


_OWN_MEANING: Final = frozenset({"bernoulli_", "squeeze_", "swapaxes_", "swapdims_", "t_", "transpose_", "unsqueeze_"})
"""Methods that mean something else than those without the underscore, or give their array another shape."""


def _written_to(out: Any, result: Any, name: str) -> Any:
    """Write the results of a function into arrays."""
    if isinstance(out, (tuple, list)):
        for target, x in zip(out, result):
            _written_to(target, x, name)
        return out
    _check_traced(out, name)
    if out.shape != result.shape:
        raise TracedError(
            f"torch.{name}: `out=` has the shape {tuple(out.shape)}, and the result {tuple(result.shape)}; make it "
            "with the shape of the result"
        )
    return _write(out, result if result.dtype is out.dtype else type(out)._namespace.astype(result, out.dtype))


def _check_traced(target: Any, name: str) -> None:
    if not isinstance(target, TracedArray):
        raise _not_traced(name)


def _not_traced(name: str) -> TracedError:
    return TracedError(
        f"torch.{name}: an array that `out=` or a method such as `add_` writes to is not traced, so it can't hold "
        "traced elements; make it with `torch.zeros_like(x)` of a traced x"
    )


def _other_names(method: Any) -> ValueError:
    return ValueError(
        f"torch.{method.__name__}, or an operator such as `b += x`: the tensor is not traced, so it can't hold traced "
        "elements, and its other names and views would keep the old ones; write `b = b + x`, or make b with "
        "`torch.zeros_like(x)` of a traced x"
    )


def _references(args: Any) -> int:
    """Count the references to the first argument of a call, and the tensors that share its memory."""
    return sys.getrefcount(args[0]) + private.count_uses(args[0].untyped_storage())


@functools.cache
def _references_of_one_name(is_power: bool) -> int:
    """Count the references to a tensor that only one name refers to, in an operator that writes to it.

    PyTorch's operator for powers is written in Python, and the others in C.
    """
    counts = []

    class Operand:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            counts.append(_references(args))

    def write() -> None:
        tensor: Any = torch.zeros(1)
        if is_power:
            tensor **= Operand()
        else:
            tensor += Operand()

    write()
    return counts[0]


def _write(target: Any, value: Any) -> Any:
    if target._view is not None:
        check_writable(target)
    write(target, value)
    return target


def traced_apply() -> None:
    """Make a user's `torch.autograd.Function` one operation on traced arrays, with its own derivative.

    PyTorch's compiled code would not see that the arrays are traced.
    """
    native: Any = torch.autograd.Function.apply.__func__
    if hasattr(native, "takes_traced_arrays"):
        return

    @functools.wraps(native)
    def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
        traced = next((x for x in args if isinstance(x, TracedArray)), None)
        if traced is None:
            return native(cls, *args, **kwargs)
        if cls is CheckpointFunction:
            raise TracedError(
                "torch.utils.checkpoint: the array is traced; use `autodiff.checkpoint` of `xpand_extensions`"
            )
        function = functools.partial(native, cls)
        function.__name__ = cls.__name__  # type: ignore[attr-defined]
        return called(type(traced)._namespace, function, args, kwargs)

    apply.takes_traced_arrays = True  # type: ignore[attr-defined]
    torch.autograd.Function.apply = classmethod(apply)
