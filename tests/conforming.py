"""Libraries that xpand doesn't wrap, each as it is, and programs that are run on them: what works is measured.

To measure again, and write the table of the docs: python -m tests.conforming
"""

import importlib.metadata
import json
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

import xpand
from xpand_extensions import (
    autodiff,
    control_flow,
    histograms,
    indexing,
    interpolation,
    jit,
    linalg,
    linear_solve,
    optimize,
    padding,
    random,
    scatter,
    sorting,
    sparse,
    special,
    statistics,
    vmap,
    windows,
)

TABLE: Final = Path(__file__).parents[1] / "docs" / "conforming.json"
RTOL: Final = 1e-5
"""ONNX Runtime computes some functions of float64 in float32."""


@dataclass(frozen=True)
class Conforming:
    """A library that follows the standard, or part of it."""

    name: str
    asarray: Callable[[np.ndarray], Any]
    to_numpy: Callable[[Any], np.ndarray]

    @property
    def version(self) -> str:
        """The version that is installed."""
        return importlib.metadata.version(self.name)

    def __str__(self) -> str:
        """Name the library in test ids."""
        return self.name


def libraries() -> list[Conforming]:
    """Import the libraries."""
    import cubed.array_api
    import marray
    import ndonnx
    import sparse as pydata_sparse

    masked = marray.masked_namespace(np)
    return [
        Conforming("marray", masked.asarray, lambda x: np.asarray(x.data)),
        Conforming("sparse", pydata_sparse.asarray, lambda x: x.todense() if hasattr(x, "todense") else np.asarray(x)),
        Conforming("ndonnx", ndonnx.asarray, lambda x: x.unwrap_numpy()),
        Conforming("cubed", cubed.array_api.asarray, lambda x: x.compute()),
    ]


def _of(x: Any) -> Any:
    return xpand.array_namespace(x)


def _energy(x: Any) -> Any:
    xp = _of(x)
    return xp.sum(xp.sin(x) * x / 3.0)


X: Final = np.asarray([0.5, -1.5, 2.0, 4.0])
M: Final = np.asarray([[4.0, 1.0, 0.0, 0.0], [1.0, 5.0, 1.0, 0.0], [0.0, 1.0, 6.0, 1.0], [0.0, 0.0, 1.0, 7.0]])
IDS: Final = np.asarray([0, 2, 0, 1])

PROGRAMS: Final[dict[str, Callable[[Callable[[np.ndarray], Any]], Any]]] = {
    "autodiff.grad": lambda a: autodiff.grad(_energy)(a(X)),
    "autodiff.jvp": lambda a: autodiff.jvp(_energy, (a(X),), (a(X),))[1],
    "autodiff.hessian": lambda a: autodiff.hessian(_energy)(a(X)),
    "vmap.vmap": lambda a: vmap.vmap(_energy)(a(M)),
    "jit.jit": lambda a: jit.jit(_energy)(a(X)),
    "control_flow.scan": lambda a: control_flow.scan(lambda c, x: (c + x, c * x), a(np.asarray(1.0)), a(X))[1],
    "control_flow.while_loop": lambda a: control_flow.while_loop(
        lambda x: x < 9.0, lambda x: 2.0 * x, a(np.asarray(1.0))
    ),
    "scatter.segment_sum": lambda a: scatter.segment_sum(a(X), a(IDS), num_segments=4),
    "scatter.segment_max": lambda a: scatter.segment_max(a(X), a(IDS), num_segments=3),
    "scatter.at": lambda a: scatter.at(a(X))[a(IDS)].add(a(X)),
    "indexing.gather": lambda a: indexing.gather(a(X), a(IDS)[:, None]),
    "sorting.top_k": lambda a: sorting.top_k(a(X), 2)[0],
    "statistics.quantile": lambda a: statistics.quantile(a(X), 0.3),
    "histograms.histogram": lambda a: histograms.histogram(a(X), 3, range=(-2.0, 4.0))[0],
    "interpolation.interp": lambda a: interpolation.interp(a(X), a(np.asarray([-2.0, 0.0, 5.0])), a(IDS[:3] * 1.0)),
    "padding.pad": lambda a: padding.pad(a(X), ((1, 2),)),
    "special.gammaln": lambda a: special.gammaln(a(X + 2.0)),
    "special.erf": lambda a: special.erf(a(X)),
    "special.logsumexp": lambda a: special.logsumexp(a(X)),
    "linalg.einsum": lambda a: linalg.einsum("ij,j->i", a(M), a(X)),
    "linear_solve.solve": lambda a: linear_solve.solve(a(M), a(X), method="cg", rtol=1e-10).x,
    "sparse.matmul": lambda a: sparse.matmul(sparse.COO(a(X), (a(IDS), a(np.asarray([0, 1, 2, 3]))), (3, 4)), a(X)),
    # One variable, and one step: NDONNX starts ONNX Runtime for every operation.
    "optimize.minimize": lambda a: optimize.minimize(lambda x: _of(x).sum((x - 1.0) ** 2), a(X[:1] + 1.0)).x,
    "random.uniform": lambda a: random.uniform(a(np.asarray([0, 7], dtype=np.uint32)), (4,)),
    "windows.window_sum": lambda a: windows.window_sum(a(X), 2),
}


def outcome(library: Conforming, program: str) -> str:
    """Run a program on a library: "works", or what it lacks."""
    run = PROGRAMS[program]
    expected = np.asarray(run(np.asarray))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a library's own, of what it can't do exactly
            found = np.asarray(library.to_numpy(run(library.asarray)))
    except Exception as error:
        missing = re.search(r"has no attribute '(\w+)'", str(error))
        unexpected = re.search(r"(\w+)\(\) got an unexpected keyword argument '(\w+)'", str(error))
        if missing:
            return f"no `{missing[1]}`"
        return f"`{unexpected[1]}` without `{unexpected[2]}`" if unexpected else type(error).__name__
    return "works" if np.allclose(found, expected, rtol=RTOL, atol=RTOL) else "another value"


def measured() -> dict[str, Any]:
    """Run every program on every library."""
    found = libraries()
    return {
        "versions": {library.name: library.version for library in found},
        "programs": {program: {library.name: outcome(library, program) for library in found} for program in PROGRAMS},
    }


if __name__ == "__main__":
    TABLE.write_text(json.dumps(measured(), indent=2) + "\n")
