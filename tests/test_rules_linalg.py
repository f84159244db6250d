"""Rules of linear algebra: derivatives in both modes, batches and shapes, against JAX's."""

from typing import Any

import numpy as np
import pytest

from tests.cases import Case
from tests.traced import traced_forward, traced_grad, traced_second, traced_stage, traced_vmap
from xpand import UnsupportedError, array_namespace
from xpand_extensions import linalg
from xpand_extensions.autodiff import grad, jvp
from xpand_extensions.tracing import traced_namespace
from xpand_extensions.tracing._core import Aval
from xpand_extensions.tracing._staging import stage
from xpand_extensions.vmap import vmap

TRACED = [traced_stage, traced_vmap, traced_forward, traced_grad, traced_second]
RNG = np.random.default_rng(0)
SINGULAR = np.asarray([[1.0, 2.0, 3.0, 0.0], [2.0, 4.0, 6.5, 1.0], [0.5, 1.0, 0.0, -1.0], [3.0, 6.0, 2.0, 4.0]])
INF = float("inf")


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


def positive(*shape: int) -> np.ndarray:
    x = normal(*shape)
    return np.asarray(x @ x.mT + np.eye(shape[-1]))


def of(name: str, **options: Any) -> Any:
    return lambda *arrays: getattr(array_namespace(*arrays).linalg, name)(*arrays, **options)


def part(name: str, *places: int, **options: Any) -> Any:
    """Take some of several results."""
    return lambda x: tuple(of(name, **options)(x)[i] for i in places)


def hermitian(function: Any) -> Any:
    """Make a function of complex positive definite matrices one of real and imaginary parts of any."""

    def of_parts(a: Any, b: Any) -> Any:
        xp = array_namespace(a)
        x = a + 1j * b
        return function(xp.matmul(x, xp.conj(xp.matrix_transpose(x))))

    return of_parts


def of_complex(function: Any) -> Any:
    return lambda a, b: function(a + 1j * b)


def invariant(name: str, **options: Any) -> Any:
    """Make of factors what doesn't depend on the factor of each vector, which libraries choose in their own ways."""

    def of_factors(*arrays: Any) -> Any:
        xp = array_namespace(*arrays)
        return tuple(
            xp.real(x) if i == 1 and name == "svd" else xp.abs(x) for i, x in enumerate(of(name, **options)(*arrays))
        )

    return of_factors


def case(function: Any, *arrays: np.ndarray, **options: Any) -> Case:
    return Case(function, arrays, differentiable=tuple(range(len(arrays))), **options)


CASES = {
    "cholesky": case(of("cholesky"), positive(2, 3, 3)),
    "cholesky, upper": case(of("cholesky", upper=True), positive(2, 3, 3)),
    "cholesky, complex": case(hermitian(of("cholesky")), normal(2, 2), normal(2, 2)),
    "cholesky, complex and upper": case(hermitian(of("cholesky", upper=True)), normal(2, 2), normal(2, 2)),
    **{f"det {n}": case(of("det"), normal(2, n, n)) for n in (1, 2, 3, 4)},
    "det, complex": case(of_complex(of("det")), normal(4, 4), normal(4, 4)),
    "slogdet": case(of("slogdet"), normal(2, 3, 3)),
    "slogdet, complex": case(of_complex(of("slogdet")), normal(3, 3), normal(3, 3)),
    "inv": case(of("inv"), normal(2, 3, 3)),
    "inv, complex": case(of_complex(of("inv")), normal(2, 2), normal(2, 2)),
    **{f"matrix_power {n}": case(lambda x, n=n: of_power(x, n), normal(3, 3)) for n in (-2, 0, 1, 5)},
    "pinv, tall": case(of("pinv"), normal(2, 4, 2)),
    "pinv, wide": case(of("pinv"), normal(2, 3)),
    "pinv, complex": case(of_complex(of("pinv")), normal(3, 2), normal(3, 2)),
    "pinv, equal singular values": case(of("pinv"), 2.0 * np.eye(3, 2)),
    "solve": case(of("solve"), normal(2, 3, 3), normal(2, 3, 2)),
    "solve, vector": case(of("solve"), normal(3, 3), normal(3)),
    "solve, vector for a stack": case(of("solve"), normal(2, 3, 3), normal(3)),
    "solve, broadcast": case(of("solve"), normal(3, 3), normal(2, 3, 1)),
    "solve, complex": case(lambda a, b: of("solve")(a + 1j * b, b), normal(2, 2), normal(2, 2)),
    "diagonal": case(of("diagonal"), normal(2, 3, 4)),
    "diagonal, above": case(of("diagonal", offset=2), normal(3, 4)),
    "diagonal, below": case(of("diagonal", offset=-1), normal(4, 2)),
    "diagonal, outside": case(lambda x: (of("diagonal", offset=5)(x), x), normal(3, 2)),
    "trace": case(of("trace"), normal(2, 3, 4)),
    "trace, above": case(of("trace", offset=1), normal(3, 3)),
    "eigh": case(of("eigh"), positive(2, 3, 3)),
    "eigh, complex": case(hermitian(invariant("eigh")), normal(3, 3), normal(3, 3)),
    "eigvalsh": case(of("eigvalsh"), positive(2, 3, 3)),
    "eigvals": Case(of("eigvals"), (normal(2, 3, 3),)),
    "qr": case(of("qr"), normal(2, 3, 3)),
    "qr, tall": case(of("qr"), normal(4, 2)),
    "qr, wide": case(of("qr"), normal(2, 4)),
    "qr, complex": case(of_complex(of("qr")), normal(3, 2), normal(3, 2)),
    "qr, complete": case(of("qr", mode="complete"), normal(2, 3)),
    "svd": case(of("svd"), normal(2, 3, 3)),
    "svd, tall": case(of("svd", full_matrices=False), normal(4, 2)),
    "svd, wide": case(of("svd", full_matrices=False), normal(2, 4)),
    "svd, complex": case(of_complex(invariant("svd", full_matrices=False)), normal(3, 2), normal(3, 2)),
    "svdvals": case(of("svdvals"), normal(2, 3, 2)),
    **{f"vector_norm {p}": case(of("vector_norm", ord=p), normal(3)) for p in (2, 1, 0, 3, 2.5, -1, INF, -INF)},
    "vector_norm, complex": case(of_complex(of("vector_norm", axis=0)), normal(3, 2), normal(3, 2)),
    "vector_norm, complex, 3": case(of_complex(of("vector_norm", ord=3)), normal(3), normal(3)),
    "vector_norm, axes": case(of("vector_norm", axis=(0, -1), keepdims=True), normal(2, 3, 2)),
    **{
        f"matrix_norm {p}": case(of("matrix_norm", ord=p), normal(3, 2))
        for p in ("fro", "nuc", 1, -1, 2, -2, INF, -INF)
    },
    "matrix_norm, keepdims": case(of("matrix_norm", ord="nuc", keepdims=True), normal(2, 3, 2)),
}


def of_power(x: Any, n: int) -> Any:
    return array_namespace(x).linalg.matrix_power(x, n)


@pytest.mark.parametrize("transformation", TRACED, ids=lambda transformation: transformation.__name__)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_derivatives(case: Case, transformation: Any) -> None:
    transformation(case)
