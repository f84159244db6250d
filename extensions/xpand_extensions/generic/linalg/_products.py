"""Sums of products with the standard alone: each is a product of matrices or of broadcast arrays."""

from collections.abc import Callable, Sequence

from xpand import array_namespace
from xpand.extend import LibraryArray as Array, Namespace
from xpand_extensions import linalg
from xpand_extensions.linalg._plan import Pair, Plan, Product, Shape, Single, plan_of, product_of

from ..._dtypes import plain_sum

Axes = tuple[Sequence[int], Sequence[int]]


def einsum(subscripts: str, /, *operands: Array, optimize: bool | str = True) -> Array:
    plan = plan_of(subscripts, tuple([tuple(x.shape) for x in operands]), optimize)
    return execute(plan, operands, _pair)


def execute(
    plan: Plan,
    operands: Sequence[Array],
    pair: Callable[[Pair, Array, Array], Array],
    single: Callable[[Single, Array], Array] | None = None,
) -> Array:
    """Run the steps of an einsum, with a library's function for pairs, and optionally one for single operands."""
    single = single or _single
    if plan.is_pair:
        return pair(plan.pairs[0], *operands)
    current = [x if step is None else single(step, x) for step, x in zip(plan.singles, operands)]
    for step in plan.pairs:
        x2, x1 = current.pop(step.second), current.pop(step.first)
        current.append(pair(step, x1, x2))
    return current[0]


def _single(step: Single, x: Array) -> Array:
    """Take diagonals of one operand, sum over the axes that the result lacks, and order the others."""
    xp = array_namespace(x)
    if step.shape is not None:
        x = xp.reshape(x, step.shape)
    labels = step.labels
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first, second = labels.index(label), labels.rindex(label)
            x = linalg.diagonal.native(x)(x, axis1=first, axis2=second)
            labels = labels[:first] + labels[first + 1 : second] + labels[second + 1 :] + label
    summed = tuple(axis for axis, label in enumerate(labels) if label not in step.remaining)
    if summed:
        x = plain_sum(xp, x, axis=summed)
        labels = "".join(label for label in labels if label in step.remaining)
    return x if labels == step.remaining else xp.permute_dims(x, tuple(labels.index(label) for label in step.remaining))


def _pair(step: Pair, x1: Array, x2: Array) -> Array:
    return product(array_namespace(x1), step.product, x1, x2)


def dot_general(x1: Array, x2: Array, /, *, axes: Axes, batch_axes: Axes = ((), ())) -> Array:
    return product(array_namespace(x1), product_of(tuple(x1.shape), tuple(x2.shape), axes, batch_axes), x1, x2)


def product(xp: Namespace, step: Product, x1: Array, x2: Array) -> Array:
    """Multiply two arrays as planned."""
    x1 = _arranged(xp, x1, step.orders[0], step.shapes[0])
    x2 = _arranged(xp, x2, step.orders[1], step.shapes[1])
    if not step.is_summed:
        return xp.multiply(x1, x2)
    x = _arranged(xp, xp.matmul(x1, x2), None, step.shape)
    return x if step.order is None else xp.permute_dims(x, step.order)


def _arranged(xp: Namespace, x: Array, order: Shape | None, shape: Shape | None) -> Array:
    x = x if order is None else xp.permute_dims(x, order)
    return x if shape is None else xp.reshape(x, shape)


def matvec(a: Array, x: Array, /) -> Array:
    xp = array_namespace(a)
    if x.ndim == 1:
        return xp.matmul(a, x)
    if a.ndim == 2:
        return xp.matmul(x, xp.matrix_transpose(a))
    return xp.matmul(a, x[..., None])[..., 0]


def kron(a: Array, b: Array, /) -> Array:
    xp = array_namespace(a)
    ndim = max(a.ndim, b.ndim)
    sizes1 = [1] * (ndim - a.ndim) + list(a.shape)
    sizes2 = [1] * (ndim - b.ndim) + list(b.shape)
    a = xp.reshape(a, tuple(size for m in sizes1 for size in (m, 1)))
    b = xp.reshape(b, tuple(size for n in sizes2 for size in (1, n)))
    return xp.reshape(xp.multiply(a, b), tuple(m * n for m, n in zip(sizes1, sizes2)))


def diagonal(x: Array, /, *, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Array:
    xp = array_namespace(x)
    x = xp.moveaxis(x, (axis1, axis2), (-2, -1))
    if hasattr(xp, "linalg"):
        return xp.linalg.diagonal(x, offset=offset)
    rows, columns = x.shape[-2:]
    size = min(rows + min(offset, 0), columns - max(offset, 0))
    # In the flat array, one row plus one element separates diagonal elements.
    x = xp.reshape(x, (*x.shape[:-2], rows * columns))
    start = offset if offset >= 0 else -offset * columns
    return x[..., start : start + (size - 1) * (columns + 1) + 1 : columns + 1] if size > 0 else x[..., :0]
