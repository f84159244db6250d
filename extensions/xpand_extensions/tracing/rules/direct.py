"""Rules of the factorisations of direct solvers: they act on each matrix of a stack, so a batch is one more axis."""

from collections.abc import Callable
from typing import Any, Final

from ..._bounds import index_dtype
from ..._dispatch import OPERATIONS
from .._core import Aval
from .linalg import matrices
from .products import device_of, is_complex

_FACTORS: Final = {
    "factor_lu": ("matrix", "permutation"),
    "factor_cholesky": ("matrix",),
    "factor_qr": ("matrix", "matrix"),
    "factor_triangular": ("matrix",),
}


def _lanes(name: str) -> Callable[..., Any]:
    def rule(xp: Any, mapped: dict[str, bool], a: Any, **options: Any) -> Any:
        return OPERATIONS[f"xpand_extensions.linear_solve.{name}"].facade(a, **options)

    return rule


def _shape(name: str) -> Callable[..., Any]:
    """Make the rule for shapes: factors like the matrices, then a condition number and a status for each."""

    def rule(namespace: Any, a: Any, **options: Any) -> Any:
        stack, _, _ = matrices(name, a, square=True)
        base, device = namespace.base, device_of(a)
        real = a.dtype
        if is_complex(namespace, a):
            real = base.float64 if float(base.finfo(a.dtype).eps) < 1e-10 else base.float32
        of = {"matrix": a, "permutation": Aval(a.shape[:-1], index_dtype(base, device), device)}
        found = [of[each] for each in _FACTORS[name]]
        return (*found, Aval(stack, real, device), Aval(stack, base.int32, device))

    return rule


BATCHING: Final[dict[str, Any]] = {f"linear_solve.{name}": _lanes(name) for name in _FACTORS}
SHAPES: Final[dict[str, Any]] = {f"linear_solve.{name}": _shape(name) for name in _FACTORS}
