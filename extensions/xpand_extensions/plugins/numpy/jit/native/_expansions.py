"""Operations that are compiled as several other operations with the same values."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import product
from typing import Any, Final

import numpy as np

from .....tracing._compile import compiled
from .....tracing._core import Aval, Op
from .....tracing._facades import FacadeOp
from .....tracing._graph import Equation, Graph, Variable
from .....tracing._simplify import simplified
from .....tracing._staging import stage
from ._matrices import sample
from ._ufuncs import is_same

LARGEST_SAMPLE: Final = 1 << 20
"""The maximum number of products to compute for the comparison of two NumPy functions."""


def _count(x: Any, axis: Any) -> int:
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    return math.prod(x.shape[i] for i in axes)


def _quotient(xp: Any, total: Any, count: float) -> Any:
    """Divide like NumPy's mean, which divides sums in single precision by a 64-bit integer."""
    dtype = xp.complex128 if _is_complex(total) else xp.float64
    return xp.astype(xp.divide(xp.astype(total, dtype), float(count)), total.dtype)


def _is_complex(x: Any) -> bool:
    return np.dtype(x.dtype).kind == "c"


def _mean(xp: Any, x: Any, *, axis: Any, keepdims: bool) -> Any:
    count = _count(x, axis)
    if not count or not xp.isdtype(x.dtype, ("real floating", "complex floating")):
        return None
    return _quotient(xp, xp.sum(x, axis=axis, keepdims=keepdims), count)


def _var(xp: Any, x: Any, *, axis: Any, keepdims: bool, correction: float) -> Any:
    count = _count(x, axis)
    if count <= correction or not xp.isdtype(x.dtype, ("real floating", "complex floating")):
        return None
    distance = xp.subtract(x, _mean(xp, x, axis=axis, keepdims=True))
    if _is_complex(x):
        squares = xp.add(*[xp.square(part(distance)) for part in (xp.real, xp.imag)])
    else:
        squares = xp.square(distance)
    return _quotient(xp, xp.sum(squares, axis=axis, keepdims=keepdims), count - correction)


def _std(xp: Any, x: Any, **params: Any) -> Any:
    found = _var(xp, x, **params)
    return None if found is None else xp.sqrt(found)


def _unstack(xp: Any, x: Any, *, axis: int) -> Any:
    before = (slice(None),) * (axis % x.ndim)
    return tuple(x[(*before, i)] for i in range(x.shape[axis]))


def _clip(xp: Any, x: Any, least: Any, most: Any) -> Any:
    """Limit numbers on one side. A bound with another data type is left to the library."""
    if (least is None) == (most is None):
        return None
    bound = most if least is None else least
    if getattr(bound, "dtype", x.dtype) != x.dtype or (type(bound) is int and not xp.isdtype(x.dtype, "real floating")):
        return None
    return xp.minimum(x, bound) if least is None else xp.maximum(x, bound)


def _norm(xp: Any, x: Any, *, axis: Any, keepdims: bool, ord: float) -> Any:
    """Compute norms of the flattened array, like NumPy."""
    is_floating = xp.isdtype(x.dtype, ("real floating", "complex floating"))
    if ord not in (1, 2, math.inf) or not is_floating or isinstance(axis, (tuple, list)):
        return None
    row, along = (xp.reshape(x, (-1,)), 0) if axis is None else (x, axis)
    keeps = keepdims and axis is not None
    if ord == 2:
        square = xp.real(xp.multiply(xp.conj(row), row)) if _is_complex(x) else xp.multiply(row, row)
        found = xp.sqrt(xp.sum(square, axis=along, keepdims=keeps))
    else:
        found = (xp.sum if ord == 1 else xp.max)(xp.abs(row), axis=along, keepdims=keeps)
    return xp.reshape(found, (1,) * x.ndim) if keepdims and axis is None else found


def _tensordot(xp: Any, x: Any, y: Any, *, axes: Any) -> Any:
    """Multiply matrices, if NumPy's values don't depend on the memory order of the operands."""
    if isinstance(axes, int):
        pairs = list(range(x.ndim - axes, x.ndim)), list(range(axes))
    else:
        pairs = [i % x.ndim for i in axes[0]], [i % y.ndim for i in axes[1]]
    free = [[i for i in range(each.ndim) if i not in along] for each, along in zip((x, y), pairs)]
    orders = (*free[0], *pairs[0]), (*pairs[1], *free[1])
    lengths = [tuple(each.shape[i] for i in along) for each, along in zip((x, y), free)]
    (m, n), k = map(math.prod, lengths), math.prod(x.shape[i] for i in pairs[0])
    is_floating = xp.isdtype(x.dtype, ("real floating", "complex floating"))
    if x.dtype != y.dtype or not is_floating or not _is_product(x.dtype.char, m, k, n):
        return None
    left, right = (xp.permute_dims(each, order) for each, order in zip((x, y), orders))
    return xp.reshape(xp.matmul(xp.reshape(left, (m, k)), xp.reshape(right, (k, n))), (*lengths[0], *lengths[1]))


@lru_cache(maxsize=1024)
def _is_product(code: str, m: int, k: int, n: int) -> bool:
    """Return whether `np.dot`, which `np.tensordot` calls, equals `np.matmul` for matrices of a size."""
    if not 0 < m * k * n <= LARGEST_SAMPLE:
        return False
    a, b = (sample(shape, code, seed) for seed, shape in enumerate(((m, k), (k, n))))
    pairs = product(*((x, np.asfortranarray(x)) for x in (a, b)))
    return all(is_same(np.dot(x, y), np.matmul(x, y)) for x, y in pairs)


def _lower(shape: tuple[int, ...], k: int) -> Any:
    rows, columns = shape[-2:]
    return np.tri(rows, columns, k, dtype=bool)


_EXPANSIONS: Final[dict[str, Callable[..., Any]]] = {
    "clip": _clip,
    "linalg.outer": lambda xp, x, y: xp.multiply(x[:, None], y[None, :]),
    "linalg.vector_norm": _norm,
    "mean": _mean,
    "std": _std,
    "tensordot": _tensordot,
    "tril": lambda xp, x, k: None if xp.isdtype(x.dtype, "bool") else xp.where(_lower(x.shape, k), x, 0),
    "triu": lambda xp, x, k: None if xp.isdtype(x.dtype, "bool") else xp.where(_lower(x.shape, k - 1), 0, x),
    "unstack": _unstack,
    "var": _var,
}
_DECOMPOSED: Final = frozenset({"diff", "repeat", "safe_values", "tile"})
"""Operations whose decomposition has the same values."""
_RANDOM: Final = frozenset(
    f"random.{name}" for name in ("bernoulli", "bits", "fold_in", "normal", "randint", "split", "uniform")
)
"""Operations that are decomposed if a comparison shows the library's values."""
_MOST_NUMBERS: Final = 1 << 14
"""The maximum number of random numbers in a compiled call. The library makes more numbers block by block."""


def expanded(equation: Equation) -> Graph | None:
    """Return an operation as a graph of other operations on its array inputs, or None."""
    name = equation.op.name
    if name == "checkpoint":
        body: Graph = equation.params["body"].graph
        return body if all(isinstance(x, Variable) for x in equation.inputs) else None
    if name not in _EXPANSIONS and name not in _DECOMPOSED and name not in _RANDOM:
        return None
    inputs = tuple((x.shape, x.dtype) if isinstance(x, Variable) else x for x in equation.inputs)
    try:
        return _expanded(equation.op, inputs, tuple(map(type, inputs)), tuple(sorted(equation.params.items())))
    except TypeError:  # a parameter has no hash
        return None


@lru_cache(maxsize=1024)
def _expanded(op: Op, inputs: Sequence[Any], types: Sequence[type], params: Sequence[tuple[str, Any]]) -> Graph | None:
    expand = _EXPANSIONS.get(op.name)
    is_known = True

    def function(*arrays: Any) -> tuple[tuple[Any, ...], tuple[()]]:
        nonlocal is_known
        given = iter(arrays)
        filled = [next(given) if isinstance(x, tuple) else x for x in inputs]
        found = op.decompose(filled, dict(params)) if expand is None else expand(op.namespace, *filled, **dict(params))
        is_known = found is not None
        return (found if isinstance(found, tuple) else (found,)) if is_known else (), ()

    graph, _ = stage(op.namespace, "jit", function, [Aval(x[0], x[1], None) for x in inputs if isinstance(x, tuple)])
    graph = simplified(graph)
    is_known = is_known and (op.name not in _RANDOM or _gives_same(op, inputs, dict(params), graph))
    return graph if is_known else None


def _gives_same(op: Op, inputs: Sequence[Any], params: dict[str, Any], graph: Graph) -> bool:
    """Compare the library's random numbers for some keys with the numbers of a graph."""
    if (
        not isinstance(op, FacadeOp)
        or inputs != (((2,), np.dtype(np.uint32)),)
        or sum(x.aval.size for x in graph.outputs) > _MOST_NUMBERS
    ):
        return False
    program, keys = compiled(graph), np.random.default_rng(0).integers(0, 2**32, (3, 2), np.uint32)
    return all(is_same(np.asarray(op.evaluate(key, **params)), np.asarray(program(key)[0])) for key in keys)
