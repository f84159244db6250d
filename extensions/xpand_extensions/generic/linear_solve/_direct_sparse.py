"""Factors of sparse matrices, which the host computes and caches: NumPy's implementation, called from any library."""

from xpand import array_namespace
from xpand.extend import Array, DType, Namespace, checks
from xpand_extensions.jit import ShapeDtype, pure_callback
from xpand_extensions.linear_solve import _factors as facades
from xpand_extensions.linear_solve._factors import Factors


def factor_sparse(
    values: Array, pattern: tuple[Array, ...], /, *, format: str, size: int, kind: str = "general"
) -> Factors:
    xp = array_namespace(values, *pattern)
    batch = tuple(values.shape[:-1])
    real = _real_dtype(xp, values)
    declared = tuple(ShapeDtype(batch, dtype) for dtype in (real, xp.int32))

    def host(values: Array, *pattern: Array) -> tuple[Array, ...]:
        factor = facades.factor_sparse.native(values)
        return tuple(factor(values, pattern, format=format, size=size, kind=kind))

    arrays = (values, *[_leading(x, len(batch)) for x in pattern])
    return tuple(pure_callback(host, declared, *arrays, vmap_method="broadcast_all"))


def solve_sparse(
    values: Array,
    pattern: tuple[Array, ...],
    b: Array,
    /,
    *,
    format: str,
    size: int,
    kind: str = "general",
    transposed: bool = False,
) -> Array:
    batch = checks.broadcast(tuple(values.shape[:-1]), tuple(b.shape[:-2]))
    declared = ShapeDtype((*batch, size, b.shape[-1]), b.dtype)

    def host(values: Array, b: Array, *pattern: Array) -> Array:
        solve = facades.solve_sparse.native(values)
        return solve(values, pattern, b, format=format, size=size, kind=kind, transposed=transposed)

    # Each array gets all batch axes, so that the axis of a mapped call comes first.
    arrays = [_leading(values, len(batch)), _leading(b, len(batch), 2), *[_leading(x, len(batch)) for x in pattern]]
    return pure_callback(host, declared, *arrays, vmap_method="expand_dims")


def _leading(x: Array, count: int, last: int = 1) -> Array:
    """Give an array so many axes before its last ones."""
    xp = array_namespace(x)
    return xp.reshape(x, (1,) * (count + last - x.ndim) + tuple(x.shape))


def _real_dtype(xp: Namespace, x: Array) -> DType:
    if not xp.isdtype(x.dtype, "complex floating"):
        return x.dtype
    return xp.float64 if float(xp.finfo(x.dtype).eps) < 1e-10 else xp.float32
