"""PyTorch's functions as operations."""

import functools
from typing import Any, Final

import torch

from xpand_extensions.tracing._core import TracedArray, TracedError, bare, bind
from xpand_extensions.tracing._views import check_writable, write

from ._calls import Call, flattened
from ._rules import operation


def called(namespace: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """Call a function of PyTorch with traced arrays among its arguments, or in their lists and dictionaries."""
    name = getattr(function, "__name__", "")
    if name in _WRITES or (name.endswith("_") and not name.endswith("__")):
        return _written(args[0], _on_copy(function), args, kwargs)
    code = getattr(function, "__code__", None)
    inplace = None if code is None else _names_if_inplace(code)
    if inplace is not None:
        bound = dict(zip(inplace, args)) | kwargs
        args = ()
        if bound.pop("inplace", False):
            return _written(next(iter(bound.values())), function, (), bound)
        kwargs = bound
    elif kwargs.get("out") is not None:
        kwargs = dict(kwargs)
        return _written(kwargs.pop("out"), function, args, kwargs)
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
    given, positions = [], []
    for i, x in enumerate(leaves):
        if isinstance(x, TracedArray):
            leaves[i] = x = bare(x)
            if isinstance(x, TracedArray):
                leaves[i] = None
                given.append(x)
                positions.append(i)
    call = Call(function, leaves, structure, positions)
    found: Any = bind(operation(namespace), given, {"call": call}) if given else call()
    return call.packed([namespace.wrap(x) for x in found])


def _on_copy(method: Any) -> Any:
    @functools.wraps(method)
    def on_copy(x: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        return method(x.clone(), *args, **kwargs)

    return on_copy


def _written(target: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """Write the result of a function into an array."""
    if not isinstance(target, TracedArray):
        raise TracedError(
            f"torch.{function.__name__}: an array that `out=` or a method such as `add_` writes to is not traced, so "
            "it can't hold traced elements; make it with `torch.zeros_like(x)` of a traced x"
        )
    found = _result(type(target)._namespace, function, args, kwargs)
    if target._view is not None:
        check_writable(target)
    write(target, found)
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
        function = functools.partial(native, cls)
        function.__name__ = cls.__name__  # type: ignore[attr-defined]
        return called(type(traced)._namespace, function, args, kwargs)

    apply.takes_traced_arrays = True  # type: ignore[attr-defined]
    torch.autograd.Function.apply = classmethod(apply)
