"""The traced namespace over NumPy: the standard, and NumPy's names beyond it."""

import sys
from ast import literal_eval
from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any

import numpy as np

from xpand_extensions.tracing._functions import FUNCTIONS, parsed

from ._advice import ADVICE
from ._compat import numpy_name, numpy_namespace, replace_numpy
from ._functions import apply_entry, entry_of
from ._library import ProtocolNamespace
from ._special import Special
from ._table import NO_VALUE, Entry, find


class Namespace(ProtocolNamespace):
    """The namespace of traced arrays over NumPy. Code written for NumPy finds NumPy's names in it.

    In `array_namespace` of array-api-compat, it has the name of NumPy's namespace and equals it (`_compat.py`).
    """

    advice = ADVICE
    holder_of_objects = np.ndarray
    own_class = np.ndarray
    _own_name: str
    where: Callable[..., Any]

    def __init__(self, base: Any) -> None:
        """Build every function of the standard over NumPy's namespace `base`."""
        super().__init__(base)
        standard: Any = self.where
        self.where = _with_positions(standard, self.nonzero)

    @property
    def __name__(self) -> str:
        return numpy_name(sys._getframe(1)) or self._own_name

    @__name__.setter
    def __name__(self, name: str) -> None:
        self._own_name = name

    def __eq__(self, other: object) -> bool:
        return self is other or (other is not None and other is numpy_namespace(sys._getframe(1)))

    def __hash__(self) -> int:
        namespace = numpy_namespace(sys._getframe(1))
        return object.__hash__(self) if namespace is None else hash(namespace)

    @cached_property
    def special(self) -> Special:
        """The special functions, under SciPy's names. SciPy looks for them here."""
        return Special(self)

    def beyond_standard(self, name: str, part: str = "") -> Any:
        """Return an object of NumPy; functions accept traced arrays."""
        path = f"{part}.{name}" if part else name
        value = None if name.startswith("_") else find(path)
        if value is None:
            return super().beyond_standard(name, part)
        entry = entry_of(getattr(value, "__wrapped__", value))  # `collecting_traced` wraps conversions
        if entry is not None:
            return _applying(self, entry)
        return _wrapping(self, value) if callable(value) and not isinstance(value, type) else value

    def with_options(
        self, name: str, arrays: tuple[Any, ...], params: dict[str, Any], rest: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        """Call a function of the standard with options that only NumPy has, such as `out=None`, or by position.

        Raises:
            TypeError: Traced arrays do not support an option.
        """
        given = {key: x for key, x in options.items() if x is not None and x is not NO_VALUE}
        signature = parsed(FUNCTIONS[name])
        defaults, optional = signature.static, {}
        if signature.is_sequence:
            arrays = arrays if signature.is_variadic else (arrays,)
        else:
            count = len(signature.arrays)
            optional = {key: x for key, x in zip(signature.extra, arrays[count:]) if x is not None}
            arrays = arrays[:count]
        if rest:  # after the other arguments by position
            by_position = [part.strip() for part in signature.header.partition("*")[0].split(",")]
            rest = (*[params.pop(key) for key in by_position if key in params], *rest)
        params = optional | {
            key: x for key, x in params.items() if (text := defaults[key]) is None or x != literal_eval(text)
        }
        entry = entry_of(find(name)) if given or rest else None
        if entry is not None:
            return apply_entry(self, entry, (*arrays, *rest), params | given)
        if given or rest:
            option = repr(next(iter(given))) if given else "by position"
            raise TypeError(f"{name}: takes no option {option} for traced arrays")
        function: Any = self
        for part in name.split("."):
            function = getattr(function, part)
        return function(*arrays, **params)


def _with_positions(where: Callable[..., Any], nonzero: Callable[[Any], Any]) -> Callable[..., Any]:
    """Let `where` return the positions of true elements if there are no arrays to choose from."""

    @wraps(where)
    def where_or_nonzero(condition: Any, /, *arrays: Any) -> Any:
        return where(condition, *arrays) if arrays else nonzero(condition)

    return where_or_nonzero


def _applying(namespace: Namespace, entry: Entry) -> Callable[..., Any]:
    """Make the function that applies an entry of the table."""

    def apply(*args: Any, **kwargs: Any) -> Any:
        return apply_entry(namespace, entry, args, kwargs)

    return apply


def _wrapping(namespace: Namespace, function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function of NumPy return traced arrays also for constants, so that code can write traced values to them."""

    @wraps(function)
    def wrapping(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        return namespace.wrap(result) if type(result) is np.ndarray and result.dtype.kind in "biufc" else result

    return wrapping


def array_namespace_of(self: Any, *, api_version: str | None = None) -> Any:
    """Return the namespace of a traced array: its method `__array_namespace__`."""
    replace_numpy(sys._getframe(1))
    return self._namespace
