"""Rules of the factorisations of direct solvers: they act on each matrix of a stack, so a batch is one more axis."""

from typing import Any, Final

from ..._bounds import index_dtype
from ._derived import Axes
from .products import device_of, is_complex

_FACTORS: Final = {
    "factor_lu": ("matrix", "permutation"),
    "factor_cholesky": ("matrix",),
    "factor_qr": ("matrix", "matrix"),
    "factor_triangular": ("matrix",),
}


_RESULTS: Final = {
    "factor_lu": "...[nn],...[n]",
    "factor_cholesky": "...[nn]",
    "factor_qr": "...[nn],...[nn]",
    "factor_triangular": "...[nn]",
}


def _dtypes(namespace: Any, avals: Any, params: Any) -> Any:
    """Return the data types of the factors, of a condition number and of a status."""
    a, base = avals[0], namespace.base
    real = a.dtype
    if is_complex(namespace, a):
        real = base.float64 if float(base.finfo(a.dtype).eps) < 1e-10 else base.float32
    return {"matrix": a.dtype, "permutation": index_dtype(base, device_of(a)), "condition": real, "status": base.int32}


def _direct(name: str) -> Axes:
    def dtype(namespace: Any, avals: Any, params: Any) -> Any:
        of = _dtypes(namespace, avals, params)
        return tuple([of[each] for each in (*_FACTORS[name], "condition", "status")])

    return Axes(f"...[nn]->{_RESULTS[name]},...,...", dtype=dtype)


AXES: Final[dict[str, Axes]] = {f"linear_solve.{name}": _direct(name) for name in _FACTORS}
