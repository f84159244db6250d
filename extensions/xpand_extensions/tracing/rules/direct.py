"""Rules of factorizations of direct solvers. They act on each matrix of a stack, so a batch is one more axis."""

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
_AXES: Final = {"matrix": "...[nn]", "permutation": "...[n]", "condition": "...", "status": "..."}


def _direct(*results: str) -> Axes:
    """Describe the results of a factorization: factors, a condition number and a status."""

    def dtype(namespace: Any, avals: Any, params: Any) -> Any:
        a, base = avals[0], namespace.base
        real = a.dtype
        if is_complex(namespace, a):
            real = base.float64 if float(base.finfo(a.dtype).eps) < 1e-10 else base.float32
        index = index_dtype(base, device_of(a))
        of = {"matrix": a.dtype, "permutation": index, "condition": real, "status": base.int32}
        return tuple([of[each] for each in results])

    return Axes(f"...[nn]->{','.join(_AXES[each] for each in results)}", dtype=dtype)


AXES: Final[dict[str, Axes]] = {
    f"linear_solve.{name}": _direct(*factors, "condition", "status") for name, factors in _FACTORS.items()
}
