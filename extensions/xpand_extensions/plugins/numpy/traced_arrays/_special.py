"""The part `special` of the traced namespace over NumPy: SciPy's special functions."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from xpand_extensions._optional import import_optional
from xpand_extensions.special import polygamma, zeta

from ._arguments import floating
from ._ufunc_calls import call


class Special:
    """The universal functions of `scipy.special`, for numbers and arrays. SciPy looks for them in a namespace."""

    def __init__(self, namespace: Any) -> None:
        self._namespace = namespace

    def __getattr__(self, name: str) -> Callable[..., Any]:
        own: Callable[..., Any] | None = _FUNCTIONS.get(name)
        if own is not None:
            return partial(own, self._namespace)
        if name.startswith("_"):
            raise AttributeError(name)
        function = getattr(import_optional("scipy.special", "xp.special"), name, None)
        from .known.special import unwrapped  # imports SciPy

        function = unwrapped(function)
        if not isinstance(function, np.ufunc):
            raise AttributeError(
                f"traced.numpy.special has no {name!r}; it has the universal functions of `scipy.special`", name=name
            )
        return partial(_apply, self._namespace, function)


def _polygamma(xp: Any, n: Any, x: Any) -> Any:
    return polygamma(n, floating(xp, x))


def _zeta(xp: Any, x: Any, q: Any = None) -> Any:
    x, q = floating(xp, x), floating(xp, 1.0 if q is None else q)
    return zeta(x, q)


_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {"polygamma": _polygamma, "zeta": _zeta}
"""Functions of SciPy that are no universal functions."""


def _apply(namespace: Any, ufunc: np.ufunc, /, *args: Any, **options: Any) -> Any:
    return call(namespace, ufunc, args, **options)
