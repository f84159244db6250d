"""Products of matrices, with the values of NumPy's BLAS.

Small products are computed in registers, if a comparison shows that NumPy adds sequentially. Others are calls of
NumPy's inner loop, with operands in the same memory order as in NumPy.
"""

import math
from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any, Final, NamedTuple

import numpy as np
from llvmlite import ir

from .....tracing._graph import Equation, Variable
from ._emit import Emitter
from ._matrices import call_matrices, matrix_loop, sample, stacked
from ._scalars import type_of
from ._shares import shared
from ._ufuncs import fused, is_same
from ._values import SMALL, Buffer, Index, Node, Order, Place, Shape, Small, all_are, constant

PRODUCTS: Final = frozenset({"matmul", "vecdot"})
LARGEST: Final = 16
"""The maximum numbers of columns, and of terms in each sum, of a product in registers."""
LANES: Final = 8
"""Elements of a row that are computed together."""
UNROLLED: Final = 128
"""The maximum number of instructions of a product without a loop over its rows."""


class Axes(NamedTuple):
    """The axes of a product of matrices of `m` by `k` and `k` by `n`."""

    batch: Shape
    m: int
    k: int
    n: int


def _axes(equation: Equation) -> Axes:
    a, b = (x.shape for x in equation.inputs)
    if equation.op.name == "vecdot":
        return Axes(np.broadcast_shapes(a[:-1], b[:-1]), 1, a[-1], 1)
    a, b = (1, *a) if len(a) == 1 else a, (*b, 1) if len(b) == 1 else b
    return Axes(np.broadcast_shapes(a[:-2], b[:-2]), a[-2], a[-1], b[-1])


def _is_chain(equation: Equation) -> bool:
    dtype, axes = np.dtype(equation.outputs[0].dtype), _axes(equation)
    is_small = max(axes.k, axes.n) <= LARGEST and axes.m <= LARGEST**2
    return equation.op.name == "matmul" and is_small and dtype.char in "fd" and is_chain(dtype.char, *axes[1:])


def product_order(equation: Equation, orders: Sequence[Order]) -> Order | str:
    x, y, out = *equation.inputs, equation.outputs[0]
    if not isinstance(x, Variable) or not isinstance(y, Variable):
        return "arguments"
    if not x.dtype == y.dtype == out.dtype:
        return "data types"
    if not all(each.aval.size for each in (x, y, out)):
        return "empty array"
    if equation.op.name == "vecdot" and equation.params["axis"] not in (-1, None):
        return "axis"
    if _is_chain(equation):
        return Order.DENSE
    if not all(Order.DENSE in order or Order.COLUMNS in order for order in orders):
        return "order of the elements in memory"
    return Order.DENSE if _loop(equation) is not None else "no inner loop of NumPy"


def depends_on_order(equation: Equation) -> bool:
    """Return whether the code of a product requires a memory order of the operands."""
    return not _is_chain(equation)


def may_be_symmetric(equation: Equation, orders: Sequence[Order]) -> bool:
    """Return whether two operands may be a matrix and its transpose. NumPy multiplies these differently."""
    _, m, k, n = _axes(equation)
    is_same = any(all_are(each, orders) for each in (Order.DENSE, Order.COLUMNS))
    dtype = np.dtype(equation.outputs[0].dtype)
    return m == n > 1 and not is_same and dtype.kind in "fc" and not _is_regular(dtype.char, m, k)


def _loop(equation: Equation) -> Any:
    _, m, k, n = _axes(equation)
    shapes = ((k,), (k,)) if equation.op.name == "vecdot" else ((m, k), (k, n))
    return matrix_loop(equation.op.name, np.dtype(equation.outputs[0].dtype).char, shapes)


def multiplied(emitter: Emitter, equation: Equation, given: Sequence[Any]) -> list[Node]:
    """Multiply matrices, vectors, or stacks of these."""
    if _is_chain(equation):
        return [_in_registers(emitter, equation, given)]
    orders, out = emitter.orders[id(equation)], equation.outputs[0]
    a, b = (_matrix(emitter, x, order) for x, order in zip(given, orders))
    found = emitter.result(out.shape, np.dtype(out.dtype))
    batch, m, k, n = _axes(equation)
    if equation.op.name == "vecdot":
        stacks = [stacked(a, 1, batch), stacked(b, 1, batch), found]
    else:
        result = found.viewed(lambda x: x.reshape(*batch, m, n))
        stacks = [stacked(_with_axis(x, shape), 2, batch) for x, shape in ((a, (m, k)), (b, (k, n)))] + [result]
    call_matrices(emitter, equation.op.name, _loop(equation), stacks, batch)
    return [found]


def _matrix(emitter: Emitter, node: Node, order: Order) -> Buffer:
    """Return a matrix in memory, in the same order as in NumPy."""
    if Order.DENSE in order:
        return emitter.dense(node)
    return emitter.dense(emitter.viewed(node, np.matrix_transpose)).viewed(np.matrix_transpose)


# In registers


@cache
def is_chain(code: str, m: int, k: int, n: int) -> bool:
    """Return whether NumPy sums products from the first to the last by fused multiply-add.

    This must be true for all memory orders of the operands.
    """
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=(6, *shape)).astype(code) for shape in ((m, k), (k, n)))
    a[1:3] *= rng.integers(-1, 2, (m, k))
    b[2:4] *= rng.integers(-1, 2, (k, n))
    expected = _fused_sums(a, b)
    orders = [(x, np.swapaxes(np.swapaxes(x, -1, -2).copy(), -1, -2)) for x in (a, b)]
    if not all(is_same(np.matmul(x, y), expected) for x, y in product(*orders)):
        return False
    return m != n or all(is_same(x @ x.mT, _fused_sums(x, x.mT)) for each in orders[0] for x in each)


def _fused_sums(a: Any, b: Any) -> Any:
    total = np.zeros((*a.shape[:-1], b.shape[-1]), a.dtype)
    for i in range(a.shape[-1]):
        total = fused(a[..., :, i, None], b[..., i, None, :], total)
    return total


@cache
def _is_regular(code: str, m: int, k: int) -> bool:
    """Return whether NumPy multiplies a matrix and its transpose like any two matrices."""
    if m * k > 1_000_000:
        return False
    x = sample((m, k), code, 0)
    return all(is_same(each @ each.T, each @ each.T.copy("K")) for each in (x, np.asfortranarray(x)))


def _in_registers(emitter: Emitter, equation: Equation, given: Sequence[Any]) -> Node:
    out, (batch, m, k, n) = equation.outputs[0], _axes(equation)
    dtype = np.dtype(out.dtype)
    if not batch:
        a, b = (
            _with_axis(x if isinstance(x, Small) else emitter.in_memory(x), shape)
            for x, shape in zip(given, ((m, k), (k, n)))
        )
        if out.aval.size <= SMALL:
            rows = _rows(emitter, a, b, range(m))
            return Small(out.shape, dtype, [value for row in rows for value in _elements(emitter, row)])
        found = emitter.result(out.shape, dtype)
        _store_product(emitter, a, b, _with_axis(found, (m, n)))
        return found
    found = emitter.result(out.shape, dtype)
    result = found.viewed(lambda x: x.reshape(*batch, m, n))
    stacks = [
        stacked(_with_axis(emitter.in_memory(x), shape), 2, batch) for x, shape in zip(given, ((m, k), (k, n)))
    ] + [result]

    def of_each(place: Place) -> None:
        x, y, target = (emitter.part(each, place) for each in stacks)
        _store_product(emitter, x, y, target)

    with shared(emitter, batch, found.size * k) as part:
        emitter.nest(batch, of_each, part=part)
    return found


def _with_axis(node: Any, shape: Shape) -> Any:
    """Add the axis of length 1 that makes a vector a matrix."""
    if len(node.shape) > 1:
        return node
    return Small(shape, node.dtype, node.values) if isinstance(node, Small) else node.viewed(lambda x: x.reshape(shape))


def _store_product(emitter: Emitter, a: Node, b: Node, target: Buffer) -> None:
    (m, k), n = a.shape, b.shape[1]
    size = target.dtype.itemsize

    def store(i: Index, row: Sequence[Any]) -> None:
        for start, vector in zip(range(0, n, LANES), row):
            address = emitter.address(target, [i, Index(constant(start), start, start + 1)])
            emitter.b.store(vector, address, align=size)

    if isinstance(a, Small) or m * k * math.ceil(n / LANES) <= UNROLLED:
        for i, row in enumerate(_rows(emitter, a, b, range(m))):
            store(Index(constant(i), i, i + 1), row)
    else:
        columns = _vectors(emitter, b)
        emitter.loop(0, m, lambda i: store(i, _row(emitter, a, columns, i)))


def _rows(emitter: Emitter, a: Node, b: Node, numbers: range) -> list[list[Any]]:
    columns = _vectors(emitter, b)
    return [_row(emitter, a, columns, Index(constant(i), i, i + 1)) for i in numbers]


def _row(emitter: Emitter, a: Node, columns: Sequence[Sequence[Any]], i: Index) -> list[Any]:
    """Return a row of a product, in vectors: weighted sums of the rows of the second matrix."""
    b, found = emitter.b, list[Any]()
    factors = [emitter.element(a, (i, Index(constant(j), j, j + 1))) for j in range(a.shape[1])]
    for vectors in zip(*columns):
        kind = vectors[0].type
        total: Any = ir.Constant(kind, [0.0] * kind.count)
        for factor, vector in zip(factors, vectors):
            first = b.insert_element(ir.Constant(kind, ir.Undefined), factor, ir.Constant(ir.IntType(32), 0))
            lanes = ir.Constant(ir.VectorType(ir.IntType(32), kind.count), [0] * kind.count)
            spread = b.shuffle_vector(first, first, lanes)
            total = b.call(_fused_multiply_add(emitter.module, kind), [spread, vector, total])
        found.append(total)
    return found


def _vectors(emitter: Emitter, node: Node) -> list[list[Any]]:
    """Return the rows of a matrix in vectors of up to `LANES` elements."""
    b, (m, n), found = emitter.b, node.shape, list[list[Any]]()
    for i in range(m):
        row = list[Any]()
        for start in range(0, n, LANES):
            kind = ir.VectorType(type_of(node.dtype), min(LANES, n - start))
            positions = [(Index(constant(i), i, i + 1), Index(constant(j), j, j + 1)) for j in range(start, n)]
            if isinstance(node, Buffer) and node.strides[1] == 1:
                address = emitter.address(node, positions[0])
                row.append(b.load(address, align=node.dtype.itemsize, typ=kind))
                continue
            vector: Any = ir.Constant(kind, ir.Undefined)
            for j, place in enumerate(positions[: kind.count]):
                vector = b.insert_element(vector, emitter.element(node, place), ir.Constant(ir.IntType(32), j))
            row.append(vector)
        found.append(row)
    return found


def _elements(emitter: Emitter, row: Sequence[Any]) -> list[Any]:
    return [
        emitter.b.extract_element(vector, ir.Constant(ir.IntType(32), i))
        for vector in row
        for i in range(vector.type.count)
    ]


def _fused_multiply_add(module: ir.Module, kind: ir.VectorType) -> ir.Function:
    name = f"llvm.fma.v{kind.count}{'f32' if isinstance(kind.element, ir.FloatType) else 'f64'}"
    found = module.globals.get(name)
    return ir.Function(module, ir.FunctionType(kind, [kind] * 3), name) if found is None else found
