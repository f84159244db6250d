"""Creation functions, and functions of data types."""

import inspect
from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final

from xpand import library_name
from xpand._common.creation import with_default
from xpand._namespace import LIBRARIES
from xpand._precision import PRECISION
from xpand.extend import checks

from ._core import CURRENT, EVALUATION, Op, TracedArray, apart, bare, bind
from ._views import linked


def _made(name: str) -> Callable[[Any], Callable[..., Any]]:
    """Make a creation function. While a graph is staged, calls are operations of the graph."""

    def make(namespace: Any) -> Callable[..., Any]:
        found = attrgetter(name)(namespace.base)
        from . import rules
        from .rules.creation import SIGNATURES

        is_wrapped = library_name(namespace.base) in LIBRARIES  # arrays of other libraries are created directly
        op = namespace.operations[name] = Op(
            name, lambda **params: found(*params["args"], **params["kwargs"]), namespace, rules
        )

        def create(*args: Any, **kwargs: Any) -> Any:
            args = tuple([_value(name, x) for x in args])
            trace = CURRENT.get()
            if PRECISION.active and is_wrapped:
                kwargs = with_default(namespace.base, name, args, kwargs)
            if trace is None or trace.namespace is not namespace:
                made = namespace.array_type(EVALUATION, found(*args, **kwargs))
            else:
                made = trace.process(op, (), {"args": args, "kwargs": kwargs})
            made._is_array = True
            return made

        return _declared(name, SIGNATURES[name], create, found.__doc__)

    return make


def _value(name: str, x: Any) -> Any:
    """Return the value of an argument that must be concrete, such as a shape."""
    if isinstance(x, tuple):
        return tuple([_value(name, part) for part in x])
    if not isinstance(x, TracedArray):
        return checks.plain_integer(x)
    found = x._trace.concrete(x, f"an argument of {name}")
    return _value(name, found)


def _declared(
    name: str, signature: inspect.Signature, function: Callable[..., Any], doc: str | None
) -> Callable[..., Any]:
    """Make the function with the standard's signature. It passes keyword-only arguments by name, others by position."""
    parameters = signature.parameters.values()
    by_name = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    given = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    call = ", ".join([*given, *(f"{each}={each}" for each in by_name)])
    last = name.rpartition(".")[2]
    scope: dict[str, Any] = {"function": function}
    exec(f"def {last}{signature}: return function({call})", scope)
    made: Callable[..., Any] = scope[last]
    made.__doc__ = doc
    return made


def _asarray(namespace: Any) -> Callable[..., Any]:
    base = namespace.base

    def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Any:
        if isinstance(obj, (list, tuple)) and _holds_traced(obj):
            parts = [asarray(part, dtype=dtype, device=device) for part in obj]
            return namespace.stack(parts)
        if not _is_traced(obj):
            made = namespace.array_type(EVALUATION, base.asarray(obj, dtype=dtype, device=device, copy=copy))
            made._is_array = True
            return made
        if dtype is None or dtype == obj.dtype:
            if device is not None and device != obj.device:
                obj = obj.to_device(device)
            if not copy:
                return obj
            return (
                namespace.positive(obj) if namespace.isdtype(obj.dtype, "numeric") else namespace.astype(obj, obj.dtype)
            )
        return namespace.astype(obj, dtype, **({} if device is None else {"device": device}))

    return asarray


def _holds_traced(obj: Any) -> bool:
    return isinstance(obj, TracedArray) or (isinstance(obj, (list, tuple)) and any(map(_holds_traced, obj)))


def _like(name: str) -> Callable[[Any], Callable[..., Any]]:
    def make(namespace: Any) -> Callable[..., Any]:
        def create(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
            dtype = x.dtype if dtype is None else dtype
            device = getattr(x, "device", None) if device is None else device
            return getattr(namespace, name)(tuple(x.shape), dtype=dtype, device=device)

        create.__name__ = create.__qualname__ = f"{name}_like"
        return create

    return make


def _full(namespace: Any) -> Callable[..., Any]:
    make = _made("full")(namespace)

    def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
        if isinstance(fill_value, TracedArray) and bare(fill_value) is fill_value:
            x = fill_value if dtype is None else namespace.astype(fill_value, dtype)
            return apart(namespace.broadcast_to(x, shape))
        return make(shape, bare(fill_value), dtype=dtype, device=device)

    return full


def _full_like(namespace: Any) -> Callable[..., Any]:
    def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
        dtype = x.dtype if dtype is None else dtype
        device = getattr(x, "device", None) if device is None else device
        return namespace.full(tuple(x.shape), fill_value, dtype=dtype, device=device)

    return full_like


def _linspace(namespace: Any) -> Callable[..., Any]:
    make = _made("linspace")(namespace)

    def linspace(
        start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: Any = None, endpoint: bool = True
    ) -> Any:
        traced = [x for x in (start, stop) if _is_traced(x) and bare(x) is x]
        if not traced:
            return make(start, stop, num, dtype=dtype, device=device, endpoint=endpoint)
        found = traced[0].dtype if dtype is None else dtype
        steps = namespace.linspace(0.0, 1.0, num, dtype=found, device=device, endpoint=endpoint)
        return start * (1 - steps) + stop * steps

    return linspace


def _astype(namespace: Any) -> Callable[..., Any]:
    base = namespace.base
    from . import rules

    op = namespace.operations["astype"] = Op("astype", base.astype, namespace, rules)

    def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
        params = {"dtype": dtype, "copy": copy}
        if device is not None:
            params["device"] = device
        found = namespace.wrap(bind(op, (x,), params))
        return found if copy else linked(found, x, op, params)

    op.function = lambda x, dtype, **params: base.astype(x, dtype, **params)
    return astype


def _from_dlpack(namespace: Any) -> Callable[..., Any]:
    def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
        given = {} if device is None else {"device": device}
        return namespace.array_type(EVALUATION, namespace.base.from_dlpack(bare(x), copy=copy, **given))

    return from_dlpack


def _on_dtypes(name: str) -> Callable[[Any], Callable[..., Any]]:
    """Make a function of data types, or of arrays for their data types."""

    def make(namespace: Any) -> Callable[..., Any]:
        found = getattr(namespace.base, name)

        functions: dict[str, Callable[..., Any]] = {
            "can_cast": lambda from_, to, /: found(_dtype(from_), to),
            "result_type": lambda *arrays_and_dtypes: found(*map(_dtype, arrays_and_dtypes)),
        }
        of_dtypes = functions.get(name, lambda type, /: found(_dtype(type)))
        of_dtypes.__name__, of_dtypes.__doc__ = name, found.__doc__
        return of_dtypes

    return make


def _dtype(x: Any) -> Any:
    return x.dtype if _is_traced(x) else x


def _is_traced(x: Any) -> bool:
    return isinstance(x, TracedArray)


def _as_it_is(name: str) -> Callable[[Any], Callable[..., Any]]:
    return lambda namespace: getattr(namespace.base, name)


CREATION: Final[dict[str, Callable[[Any], Callable[..., Any]]]] = {
    **{name: _made(name) for name in ("arange", "empty", "eye", "ones", "zeros", "fft.fftfreq", "fft.rfftfreq")},
    **{f"{name}_like": _like(name) for name in ("empty", "ones", "zeros")},
    "full": _full,
    "full_like": _full_like,
    "linspace": _linspace,
    "asarray": _asarray,
    "astype": _astype,
    "from_dlpack": _from_dlpack,
    **{name: _on_dtypes(name) for name in ("can_cast", "finfo", "iinfo", "result_type")},
    **{name: _as_it_is(name) for name in ("broadcast_shapes", "isdtype")},
}
