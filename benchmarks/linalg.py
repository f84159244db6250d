"""Products, factorizations and functions of matrices compared with each library's best calls and opt_einsum."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np
import opt_einsum
import scipy.linalg

from xpand_extensions import linalg

from ._measure import Budget, Call, Row
from .namespaces import libraries

EINSUM: Final = Budget(ratio=1.0)
"""For five operands: not slower than opt_einsum."""
BUDGET: Final = Budget(ratio=1.1, extra=10e-6)
"""A call checks its arguments, which takes a few of its many microseconds."""

FORMULA: Final = "ab,bc,cd,de,ef->af"
BATCHED: Final = "zab,zbc,zcd,zde,z->ae"

SMALL: Final[dict[str, Any]] = {"sizes": (4,), "stack": 2}
"""The sizes with which the tests run every row."""


def rows(sizes: tuple[int, ...] = (10, 100, 400), stack: int = 50) -> Iterator[Row]:
    for library in libraries():
        xp = library.xp
        random = np.random.default_rng(0)
        for size in sizes:
            chain = [xp.asarray(random.normal(size=(size, size + k))[:, :size]) for k in range(5)]
            yield _einsum(f"{library.name}, matrices of {size}", library.name, FORMULA, chain)
        size = sizes[0]
        batch = [xp.asarray(random.normal(size=(stack, size, size))) for _ in range(4)]
        batch.append(xp.asarray(random.normal(size=stack)))
        yield _einsum(f"{library.name}, stacks of {stack} of {size}", library.name, BATCHED, batch)
    for library in libraries():
        recipes = RECIPES[library.name]()
        random = np.random.default_rng(0)
        for size in sizes[1:] or sizes:
            a = random.normal(size=(size, size))
            positive = a @ a.T + size * np.eye(size)
            arguments = {
                "triangular_solve": (np.tril(positive), a),
                "lu_factor": (a,),
                "lstsq": (a[:, : size // 2], a[:, -1]),
                "expm": (a / size,),
                "logm": (positive / size,),
                "logm unsymmetric": (scipy.linalg.expm(a / np.sqrt(size)),),
                "schur": (a,),
                "sqrtm": (positive,),
                "solve_sylvester": (positive, a.T @ a, a),
                "tridiagonal_solve": (a[0], positive[0] + size, a[1], a),
                "pivoted_qr": (a,),
                "toeplitz": (a[0], a[1]),
                "matvec": (a, a[0]),
                "kron": (a[:10, :10], a[:20, :20]),
            }
            for topic, values in arguments.items():
                name = topic.partition(" ")[0]
                if name not in recipes:
                    continue
                arrays = [library.xp.asarray(np.ascontiguousarray(x)) for x in values]
                references = {key: Call(f, *arrays) for key, f in recipes[name].items()}
                ours = Call(getattr(linalg, name), *arrays)
                reason = REASONS.get((library.name, topic), "")
                yield Row(topic, f"{library.name}, matrices of {size}", ours, references, BUDGET, reason)


REASONS: Final[dict[tuple[str, str], str]] = {
    (
        "jax",
        "expm",
    ): "the highest degree is used for every norm; JAX chooses a degree, scales too little and loses digits",
    ("numpy", "lu_factor"): "the permutation is computed from LAPACK's exchanges, one by one",
    ("torch", "lu_factor"): "the permutation is computed from LAPACK's exchanges, one by one",
    ("numpy", "lstsq"): "residuals for every rank, and a check for NaN and infinities",
    ("torch", "lstsq"): "residuals for every rank, and a check for NaN and infinities",
    ("jax", "lstsq"): "residuals for every rank, and a check for NaN and infinities",
}
"""Why a function is over its budget: (library, function)."""


def _einsum(name: str, library: str, subscripts: str, arrays: list[Any]) -> Row:
    references = {"opt_einsum.contract": Call(opt_einsum.contract, subscripts, *arrays)}
    return Row("einsum of five operands", name, Call(linalg.einsum, subscripts, *arrays), references, EINSUM)


def _numpy() -> Mapping[str, Mapping[str, Callable[..., Any]]]:
    return {
        "triangular_solve": {
            "scipy.linalg.solve_triangular": lambda a, b: scipy.linalg.solve_triangular(
                a, b, lower=True, check_finite=False
            )
        },
        "lu_factor": {"scipy.linalg.lu_factor": lambda a: scipy.linalg.lu_factor(a, check_finite=False)},
        "lstsq": {"np.linalg.lstsq": np.linalg.lstsq},
        "expm": {"scipy.linalg.expm": scipy.linalg.expm},
        "logm": {"scipy.linalg.logm": scipy.linalg.logm},
        "schur": {"scipy.linalg.schur": lambda a: scipy.linalg.schur(a, output="complex", check_finite=False)},
        "sqrtm": {"scipy.linalg.sqrtm": scipy.linalg.sqrtm},
        "solve_sylvester": {"scipy.linalg.solve_sylvester": scipy.linalg.solve_sylvester},
        "tridiagonal_solve": {"scipy.linalg.solve_banded": _solve_banded},
        "pivoted_qr": {
            "scipy.linalg.qr": lambda a: scipy.linalg.qr(a, mode="economic", pivoting=True, check_finite=False)
        },
        "toeplitz": {"scipy.linalg.toeplitz": scipy.linalg.toeplitz},
        "matvec": {"np.matmul": np.matmul},
        "kron": {"np.kron": np.kron},
    }


def _solve_banded(dl: Any, d: Any, du: Any, b: Any) -> Any:
    bands = np.stack([np.roll(du, 1), d, np.roll(dl, -1)])
    return scipy.linalg.solve_banded((1, 1), bands, b, check_finite=False)


def _torch() -> Mapping[str, Mapping[str, Callable[..., Any]]]:
    import torch

    def gelsd(a: Any, b: Any) -> Any:
        return torch.linalg.lstsq(a, b[:, None], driver="gelsd")

    return {
        "triangular_solve": {"solve_triangular": lambda a, b: torch.linalg.solve_triangular(a, b, upper=False)},
        "lu_factor": {"lu_factor": torch.linalg.lu_factor},
        "lstsq": {"lstsq, by gelsd": gelsd},
        "expm": {"matrix_exp": torch.linalg.matrix_exp},
        "matvec": {"torch.mv": torch.mv},
        "kron": {"torch.kron": torch.kron},
    }


def _jax() -> Mapping[str, Mapping[str, Callable[..., Any]]]:
    import jax
    import jax.numpy as jnp
    import jax.scipy.linalg as jsl

    solve = jax.jit(lambda a, b: jsl.solve_triangular(a, b, lower=True))
    return {
        "triangular_solve": {"solve_triangular, jitted": solve},
        "lu_factor": {"lax.linalg.lu, jitted": jax.jit(jax.lax.linalg.lu)},
        "lstsq": {"jnp.linalg.lstsq, jitted": jax.jit(jnp.linalg.lstsq)},
        "expm": {"jax.scipy.linalg.expm, jitted": jax.jit(jsl.expm)},
        "schur": {"jax.scipy.linalg.schur, jitted": jax.jit(lambda a: jsl.schur(a, output="complex"))},
        "sqrtm": {"jax.scipy.linalg.sqrtm, jitted": jax.jit(jsl.sqrtm)},
        "tridiagonal_solve": {"jax.lax.linalg.tridiagonal_solve, jitted": jax.jit(jax.lax.linalg.tridiagonal_solve)},
        "pivoted_qr": {"jax.scipy.linalg.qr, jitted": jax.jit(lambda a: jsl.qr(a, mode="economic", pivoting=True))},
        "toeplitz": {"jax.scipy.linalg.toeplitz, jitted": jax.jit(jsl.toeplitz)},
        "matvec": {"jnp.matmul, jitted": jax.jit(jnp.matmul)},
        "kron": {"jnp.kron, jitted": jax.jit(jnp.kron)},
    }


RECIPES: Final[Mapping[str, Callable[[], Mapping[str, Mapping[str, Callable[..., Any]]]]]] = {
    "numpy": _numpy,
    "torch": _torch,
    "jax": _jax,
}
