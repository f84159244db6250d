"""HIPS autograd's names on xpand: NumPy and SciPy themselves in place of its wrappers, xpand's transformations in place
of its tracing. Its checks of derivatives, its operators (`grad`, `jacobian`, …) and its tests stay as they are.

A plug-in of pytest: `-p tests.clients.autograd_names`, with the source of autograd at `XPAND_AUTOGRAD`.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np
import scipy
import scipy.integrate
import scipy.linalg
import scipy.signal
import scipy.special
import scipy.stats

from xpand import trees
from xpand_extensions import autodiff, convert
from xpand_extensions.jit import jit
from xpand_extensions.tracing import TracedArray

COLLECTING: Final = os.environ.get("XPAND_COLLECTING") == "1"
"""Whether functions such as `np.array` collect traced numbers."""


def _context() -> AbstractContextManager[Any]:
    return convert.collecting_traced() if COLLECTING else nullcontext()


def _collecting(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        with _context():
            return function(*args)

    return call


# Vectors: trees of arrays and numbers


class VectorSpace:
    """The shapes and data types of a tree, and operations on such trees."""

    def __init__(self, value: Any) -> None:
        leaves, self.structure = trees.flatten(value)
        if not all(_is_floating(x) for x in leaves):
            raise TypeError(f"Can't find vector space for value {value}")
        self.kinds = [(np.shape(x), _dtype(x)) for x in leaves]
        self.shape = self.kinds[0][0] if len(self.kinds) == 1 else ()
        self.iscomplex = any(dtype.kind == "c" for _, dtype in self.kinds)
        self.size = sum(int(np.prod(shape)) * (1 + (dtype.kind == "c")) for shape, dtype in self.kinds)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VectorSpace) and (self.structure, self.kinds) == (other.structure, other.kinds)

    def __repr__(self) -> str:
        return f"VectorSpace({self.structure}, {self.kinds})"

    def make(self, leaf: Callable[[Any, Any], Any]) -> Any:
        """Make a tree from a function of shape and data type."""
        return trees.unflatten(self.structure, [leaf(shape, dtype) for shape, dtype in self.kinds])

    def zeros(self) -> Any:
        return self.make(np.zeros)

    def ones(self) -> Any:
        return self.make(lambda shape, dtype: np.full(shape, 1 + 1j if dtype.kind == "c" else 1, dtype))

    def randn(self) -> Any:
        def draw(shape: Any, dtype: Any) -> Any:
            values = np.random.randn(*shape)
            if dtype.kind == "c":
                values = values + 1j * np.random.randn(*shape)
            return np.asarray(values).astype(dtype)

        return self.make(draw)

    def standard_basis(self) -> Iterator[Any]:
        for i, (shape, dtype) in enumerate(self.kinds):
            for index in np.ndindex(*shape):
                for unit in (1.0, 1.0j) if dtype.kind == "c" else (1.0,):
                    leaves = [np.zeros(*kind) for kind in self.kinds]
                    leaves[i][index] = unit
                    yield trees.unflatten(self.structure, leaves)

    def add(self, x: Any, y: Any) -> Any:
        return trees.map(lambda a, b: a + b, x, y)

    mut_add = add

    def scalar_mul(self, x: Any, factor: Any) -> Any:
        return trees.map(lambda a: a * factor, x)

    def inner_prod(self, x: Any, y: Any) -> Any:
        return sum(np.sum(np.real(np.conj(a) * b)) for a, b in zip(trees.leaves(x), trees.leaves(y)))

    def covector(self, x: Any) -> Any:
        return trees.map(np.conj, x)


def _dtype(x: Any) -> Any:
    return x.dtype if hasattr(x, "dtype") else np.result_type(x)


def _is_floating(x: Any) -> bool:
    return isinstance(x, (float, complex, np.ndarray, np.generic, TracedArray)) and _dtype(x).kind in "fc"


# Derivatives


def make_vjp(function: Callable[[Any], Any], x: Any) -> tuple[Callable[[Any], Any], Any]:
    with _context():
        value, pullback = autodiff.vjp(function, x)

    def of_first(cotangent: Any) -> Any:
        return pullback(_like(value, cotangent))[0]

    return of_first, value


def make_jvp(function: Callable[[Any], Any], x: Any) -> Callable[[Any], tuple[Any, Any]]:
    return _collecting(lambda tangent: autodiff.jvp(function, (x,), (_like(x, tangent),)))


def _like(value: Any, vector: Any) -> Any:
    """Give a vector the data types of a value: autograd takes numbers of Python for arrays of any data type."""
    return trees.map(lambda a, b: b if _dtype(a) == _dtype(b) else b + np.zeros_like(a), value, vector)


def _jacobian(function: Callable[[Any], Any], x: Any) -> Any:
    """Compute the Jacobian matrix. Autograd's own passes an iterator to its `np.stack`; NumPy's wants a list."""
    pullback, value = make_vjp(function, x)
    space = VectorSpace(value)
    return np.reshape(np.stack([pullback(row) for row in space.standard_basis()]), space.shape + np.shape(x))


class Primitive:
    """A function with the derivatives that `defvjp` and `defjvp` define."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.__name__ = function, getattr(function, "__name__", "")
        self.vjps: dict[int, Any] = {}
        self.jvps: dict[int, Any] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        differentiable = [i for i, x in enumerate(args) if not isinstance(x, bool) and _is_floating(x)]
        rules = self.jvps or self.vjps
        if not rules or not differentiable:
            return self.function(*args, **kwargs)

        def complete(values: Sequence[Any]) -> list[Any]:
            by_index = dict(zip(differentiable, values))
            return [by_index.get(i, x) for i, x in enumerate(args)]

        def function(*values: Any) -> Any:
            return self.function(*complete(values), **kwargs)

        def slope(values: Any, tangents: Any) -> Any:
            out, all_args = function(*values), complete(values)
            terms = [
                self._jvp(i)(t, out, *all_args, **kwargs) for i, t in zip(differentiable, tangents) if i in self.jvps
            ]
            return out, sum(terms[1:], terms[0])

        def back(residuals: Any, cotangent: Any) -> tuple[Any, ...]:
            out, values = residuals
            makers = [self.vjps.get(i) for i in differentiable]
            return tuple(
                np.zeros_like(x) if make is None else make(out, *complete(values), **kwargs)(cotangent)
                for make, x in zip(makers, values)
            )

        values = [args[i] for i in differentiable]
        if self.jvps:
            custom = autodiff.custom_jvp(function)
            custom.defjvp(slope)
            return custom(*values)
        reverse = autodiff.custom_vjp(function)
        reverse.defvjp(lambda *values: ((out := function(*values)), (out, values)), back)
        return reverse(*values)

    def _jvp(self, i: int) -> Callable[..., Any]:
        if self.jvps[i] != "same":
            return self.jvps[i]  # type: ignore[no-any-return]
        return lambda g, out, *args, **kwargs: self.function(*args[:i], g, *args[i + 1 :], **kwargs)

    def defgrad(self, maker: Callable[..., Any], argnum: int = 0) -> None:
        self.vjps[argnum] = maker

    def defvjp(self, vjp: Callable[..., Any], argnum: int = 0) -> None:
        self.vjps[argnum] = lambda out, *args, **kwargs: lambda g: vjp(g, out, None, None, *args, **kwargs)

    def defvjp_is_zero(self, argnums: Sequence[int] = (0,)) -> None:
        self.vjps |= dict.fromkeys(argnums)


def defvjp(primitive: Primitive, *makers: Any, argnums: Any = None) -> None:
    primitive.vjps |= dict(zip(count() if argnums is None else argnums, makers))


def defjvp(primitive: Primitive, *rules: Any, argnums: Any = None) -> None:
    primitive.jvps |= dict(zip(count() if argnums is None else argnums, rules))


def defvjp_argnum(primitive: Primitive, maker: Callable[..., Any]) -> None:
    def of(argnum: int) -> Callable[..., Any]:
        return lambda out, *args, **kwargs: maker(argnum, out, args, kwargs)

    primitive.vjps |= {argnum: of(argnum) for argnum in range(8)}


def const_graph(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    return jit(partial(function, *args, **kwargs))


# Modules


def _module(name: str, **names: Any) -> ModuleType:
    module = sys.modules[name] = ModuleType(name)
    vars(module).update(names)
    return module


def install(source: Path) -> None:
    """Put the modules in the place of autograd's."""
    package = _module("autograd", __path__=[str(source / "autograd")])
    of_core = {"make_vjp": make_vjp, "make_jvp": make_jvp, "vspace": VectorSpace, "primitive": Primitive}
    builtins = {"dict": dict, "isinstance": isinstance, "list": list, "tuple": tuple, "type": type}
    rules = {"defvjp": defvjp, "defjvp": defjvp, "defvjp_argnum": defvjp_argnum, "VSpace": VectorSpace}
    _module("autograd.core", **of_core, **rules, primitive_vjps={})
    _module("autograd.extend", primitive=Primitive, vspace=VectorSpace, **rules)
    _module("autograd.tracer", primitive=Primitive, isbox=lambda x: isinstance(x, TracedArray))
    _module("autograd.builtins", **builtins)
    wrapped = {"numpy": np, "numpy.random": np.random, "numpy.linalg": np.linalg, "numpy.fft": np.fft, "scipy": scipy}
    for part in ("integrate", "linalg", "signal", "special", "stats"):
        wrapped[f"scipy.{part}"] = getattr(scipy, part)
    wrapped["scipy.stats.multivariate_normal"] = scipy.stats.multivariate_normal  # type: ignore[assignment]
    sys.modules.update({f"autograd.{name}": module for name, module in wrapped.items()})
    package.numpy, package.scipy = np, scipy  # type: ignore[attr-defined]
    import autograd.differential_operators as operators
    from autograd.wrap_util import unary_to_nary

    operators.jacobian = unary_to_nary(_jacobian)
    public = {name: value for name, value in vars(operators).items() if not name.startswith("_")}
    vars(package).update({**public, "checkpoint": autodiff.checkpoint, **builtins, "primitive": Primitive})
    misc = _module("autograd.misc", __path__=[str(source / "autograd" / "misc")], const_graph=const_graph)
    from autograd.misc.flatten import flatten

    misc.flatten = flatten  # type: ignore[attr-defined] # in place of the module of this name


if "XPAND_AUTOGRAD" in os.environ:
    install(Path(os.environ["XPAND_AUTOGRAD"]))
