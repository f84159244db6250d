"""Rules of functions that create arrays. In a graph that is being recorded, they are operations."""

import inspect
import math
from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final

from .._core import Aval
from ._derived import sizes_of


def _like_one(name: str, shape_of: Callable[..., tuple[int, ...]], smallest: dict[str, Any]) -> Callable[..., Any]:
    """Make the shape rule. To find the data type, call the function for as few elements as possible."""

    def rule(namespace: Any, *, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = SIGNATURES[name].bind(*args, **kwargs)
        given.apply_defaults()
        arguments = given.arguments
        device = arguments["device"]
        dtype = arguments["dtype"]
        if dtype is None:
            small = {**arguments, **smallest}
            small.update((name, x(arguments[name])) for name, x in smallest.items() if callable(x))
            one = inspect.BoundArguments(SIGNATURES[name], small)
            dtype = attrgetter(name)(namespace.base)(*one.args, **one.kwargs).dtype
        if device is None:
            device = namespace.base.__array_namespace_info__().default_device()
        return Aval(
            shape_of(**{key: x for key, x in arguments.items() if key not in ("dtype", "device")}), dtype, device
        )

    return rule


def _one(x: Any) -> Any:
    """Return 1 in the class of `x`, or None."""
    return None if x is None else type(x)(1)


def _arange(start: Any, stop: Any, step: Any) -> tuple[int, ...]:
    start, stop = (0, start) if stop is None else (start, stop)
    return (max(0, math.ceil((stop - start) / step)),)


def _signature(parameters: str) -> inspect.Signature:
    scope: dict[str, Any] = {}
    exec(f"def f({parameters}, dtype=None, device=None): ...", scope)
    return inspect.signature(scope["f"])


SIGNATURES: Final[dict[str, inspect.Signature]] = {
    name: _signature(parameters)
    for name, parameters in {
        "arange": "start, /, stop=None, step=1, *",
        "empty": "shape, *",
        "eye": "n_rows, n_cols=None, /, *, k=0",
        "fft.fftfreq": "n, /, *, d=1.0",
        "fft.rfftfreq": "n, /, *, d=1.0",
        "full": "shape, fill_value, *",
        "linspace": "start, stop, /, num, *, endpoint=True",
        "ones": "shape, *",
        "zeros": "shape, *",
    }.items()
}

SHAPES: Final[dict[str, Any]] = {
    "arange": _like_one("arange", _arange, dict.fromkeys(("start", "stop", "step"), _one)),
    "empty": _like_one("empty", sizes_of, {"shape": ()}),
    "eye": _like_one("eye", lambda n_rows, n_cols, k: (n_rows, n_rows if n_cols is None else n_cols), {"n_rows": 1}),
    "fft.fftfreq": _like_one("fft.fftfreq", lambda n, d: (n,), {"n": 1}),
    "fft.rfftfreq": _like_one("fft.rfftfreq", lambda n, d: (n // 2 + 1,), {"n": 1}),
    "full": _like_one("full", lambda shape, fill_value: sizes_of(shape), {"shape": ()}),
    "linspace": _like_one("linspace", lambda start, stop, num, endpoint: (num,), {"num": 1}),
    "ones": _like_one("ones", sizes_of, {"shape": ()}),
    "zeros": _like_one("zeros", sizes_of, {"shape": ()}),
}

CONSTANT: Final[dict[str, str]] = dict.fromkeys(SHAPES, "it takes no array")
