"""Registration of functions for universal functions of other packages."""

from collections.abc import Callable
from typing import Any, Final

from xpand.extend import describe, import_module

REGISTERED: Final[dict[Any, Callable[..., Any]]] = {}
"""The functions that replace universal functions on traced arrays."""


def register_ufunc(ufunc: Any, function: Callable[..., Any], /) -> None:
    """Give a universal function of NumPy's protocol an implementation for arrays that a transformation traces.

    Transformations over NumPy then take code that calls the universal function, with its methods and options.

    Args:
        ufunc: A `numpy.ufunc` of another package, such as one made by `numpy.frompyfunc`, by numba's `vectorize`, or
            one of `scipy.special` without a derivative.
        function: Takes the operands as traced arrays, and returns an array, or a tuple of arrays for several outputs.
            It may use the functions of their namespace, of NumPy and of xpand, such as `custom_jvp` and
            `pure_callback`. For arrays that are not traced, `ufunc` itself is called.

    Raises:
        TypeError: `ufunc` is no universal function, or `function` is not callable.
        ValueError: `ufunc` is one of NumPy's own, or has another function already: compiled programs contain that one.

    >>> import numpy as np
    >>> from xpand_extensions.autodiff import grad
    >>> from xpand_extensions.extend import register_ufunc
    >>> softplus = np.frompyfunc(lambda x: float(np.log1p(np.exp(x))), 1, 1)
    >>> register_ufunc(softplus, lambda x: np.log1p(np.exp(x)))
    >>> float(grad(softplus)(np.asarray(0.0)))
    0.5
    """
    np: Any = import_module("numpy")
    is_ufunc: bool = isinstance(ufunc, np.ufunc)
    if not is_ufunc:
        raise TypeError(f"register_ufunc: takes a universal function, a `numpy.ufunc`, got {describe(ufunc)}")
    if not callable(function):
        raise TypeError(f"register_ufunc: the function must be callable, got {describe(function)}")
    name = ufunc.__name__
    if getattr(np, name, None) is ufunc:
        raise ValueError(f"register_ufunc: np.{name} is one of NumPy's own; write another function instead")
    if REGISTERED.setdefault(ufunc, function) is not function:
        raise ValueError(f"register_ufunc: {name} has a function already; programs that `jit` compiled contain it")
