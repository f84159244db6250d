"""Runs programs on libraries that xpand doesn't wrap, and records which of them work.

To run them again and write the table of the docs: python -m tests.conforming
"""

import importlib.metadata
import importlib.util
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
    bits,
    control_flow,
    convert,
    convolution,
    histograms,
    indexing,
    interpolation,
    jit,
    linalg,
    linear_solve,
    named,
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
from xpand_extensions.devices import device_count

TABLE: Final = Path(__file__).parents[1] / "docs" / "conforming.json"
RTOL: Final = 1e-5
"""ONNX Runtime computes some functions of float64 in float32."""


@dataclass(frozen=True)
class Conforming:
    """A library that follows the standard, or a part of it."""

    name: str
    asarray: Callable[[np.ndarray], Any]
    to_numpy: Callable[[Any], np.ndarray] = np.asarray
    package: str = ""
    """The name of the installed package, if it is not the library's name."""

    @property
    def version(self) -> str:
        """The installed version."""
        return importlib.metadata.version(self.package or self.name)

    def __str__(self) -> str:
        """Name the library in test ids."""
        return self.name


def libraries() -> list[Conforming]:
    """List the libraries that need no device."""
    import array_api_strict
    import cubed.array_api
    import marray
    import mlx.core
    import ndonnx
    import sparse as pydata_sparse

    array_api_strict.set_array_api_strict_flags(api_version="2025.12")
    masked = marray.masked_namespace(np)
    return [
        Conforming("array-api-strict", array_api_strict.asarray),
        Conforming("marray", masked.asarray, lambda x: np.asarray(x.data)),
        Conforming("sparse", pydata_sparse.asarray, lambda x: x.todense() if hasattr(x, "todense") else np.asarray(x)),
        Conforming("ndonnx", ndonnx.asarray, lambda x: x.unwrap_numpy()),
        Conforming("cubed", cubed.array_api.asarray, lambda x: x.compute()),
        Conforming("mlx", lambda x: mlx.core.array(x, getattr(mlx.core, str(x.dtype)))),
    ]


def on_devices() -> list[Conforming]:
    """List CuPy and dpnp if they are installed and find a device."""
    found = []
    if importlib.util.find_spec("cupy") is not None and device_count("cupy", "gpu"):
        import cupy

        found.append(Conforming("cupy", cupy.asarray, cupy.asnumpy, next(iter(_packages("cupy")))))
    if importlib.util.find_spec("dpnp") is not None:
        import dpctl
        import dpnp

        if dpctl.get_devices():
            found.append(Conforming("dpnp", dpnp.asarray, dpnp.asnumpy))
    return found


def _packages(module: str) -> list[str]:
    return importlib.metadata.packages_distributions()[module]


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
    "autodiff.vjp": lambda a: autodiff.vjp(lambda x: _of(x).exp(x / 4.0), a(X))[1](a(X))[0],
    "autodiff.hessian": lambda a: autodiff.hessian(_energy)(a(X)),
    "vmap.vmap": lambda a: vmap.vmap(_energy)(a(M)),
    "vmap.vmap of a gradient": lambda a: vmap.vmap(autodiff.grad(_energy))(a(M)),
    "jit.jit": lambda a: jit.jit(_energy)(a(X)),
    "jit.jit of a gradient": lambda a: jit.jit(autodiff.grad(_energy))(a(X)),
    "control_flow.cond": lambda a: control_flow.cond(_of(a(X)).any(a(X) > 3.0), lambda x: 2.0 * x, lambda x: x, a(X)),
    "control_flow.scan": lambda a: control_flow.scan(lambda c, x: (c + x, c * x), a(np.asarray(1.0)), a(X))[1],
    "control_flow.while_loop": lambda a: control_flow.while_loop(
        lambda x: x < 9.0, lambda x: 2.0 * x, a(np.asarray(1.0))
    ),
    "scatter.segment_sum": lambda a: scatter.segment_sum(a(X), a(IDS), num_segments=4),
    "scatter.segment_max": lambda a: scatter.segment_max(a(X), a(IDS), num_segments=3),
    "scatter.segment_mean": lambda a: scatter.segment_mean(a(M), a(IDS), num_segments=3),
    "scatter.at": lambda a: scatter.at(a(X))[a(IDS)].add(a(X)),
    "indexing.gather": lambda a: indexing.gather(a(X), a(IDS)[:, None]),
    "indexing.take_along_axis": lambda a: indexing.take_along_axis(a(M), a(IDS)[:, None], axis=1),
    "sorting.top_k": lambda a: sorting.top_k(a(X), 2)[0],
    "sorting.searchsorted": lambda a: sorting.searchsorted(a(np.sort(X)), a(X + 0.25)),
    "statistics.quantile": lambda a: statistics.quantile(a(X), 0.3),
    "statistics.cov": lambda a: statistics.cov(a(M)),
    "statistics.nanmean": lambda a: statistics.nanmean(a(np.where(X < 0.0, np.nan, X))),
    "histograms.histogram": lambda a: histograms.histogram(a(X), 3, range=(-2.0, 4.0))[0],
    "interpolation.interp": lambda a: interpolation.interp(a(X), a(np.asarray([-2.0, 0.0, 5.0])), a(IDS[:3] * 1.0)),
    "convolution.convolve": lambda a: convolution.convolve(a(X), a(X[:2]), mode="same"),
    "padding.pad": lambda a: padding.pad(a(X), ((1, 2),)),
    "special.gammaln": lambda a: special.gammaln(a(X + 2.0)),
    "special.erf": lambda a: special.erf(a(X)),
    "special.logsumexp": lambda a: special.logsumexp(a(X)),
    "linalg.einsum": lambda a: linalg.einsum("ij,j->i", a(M), a(X)),
    "linalg.lu_solve": lambda a: linalg.lu_solve(*linalg.lu_factor(a(M)), a(X)),
    "linear_solve.solve": lambda a: linear_solve.solve(a(M), a(X), method="cg", rtol=1e-10).x,
    "sparse.matmul": lambda a: sparse.matmul(sparse.COO(a(X), (a(IDS), a(np.asarray([0, 1, 2, 3]))), (3, 4)), a(X)),
    # One variable, one step, and the method with the fewest operations: NDONNX starts ONNX Runtime for each one.
    "optimize.minimize": lambda a: (
        optimize.minimize(lambda x: _of(x).sum((x - 1.0) ** 2), a(X[:1] + 1.0), method="bfgs").x
    ),
    "named.dot": lambda a: named.dot(named.named(a(M), ("i", "j")), named.named(a(X), "j"), axis="j").array,
    "bits.population_count": lambda a: bits.population_count(a(IDS)),
    "convert.to_numpy": lambda a: a(convert.to_numpy(a(X))),
    "random.uniform": lambda a: random.uniform(a(np.asarray([0, 7], dtype=np.uint32)), (4,)),
    "random.normal": lambda a: random.normal(a(np.asarray([0, 7], dtype=np.uint32)), (4,)),
    "windows.window_sum": lambda a: windows.window_sum(a(X), 2),
}


def outcome(library: Conforming, program: str) -> str:
    """Run a program on a library; return "works", or what the library lacks."""
    run = PROGRAMS[program]
    expected = np.asarray(run(np.asarray))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings of libraries about inexact results
            found = np.asarray(library.to_numpy(run(library.asarray)))
    except Exception as error:
        missing = re.search(r"has no attribute '(\w+)'", str(error))
        unexpected = re.search(r"(\w+)\(\) got an unexpected keyword argument '(\w+)'", str(error))
        if missing:
            return f"no `{missing[1]}`"
        if unexpected:
            return f"`{unexpected[1]}` without `{unexpected[2]}`"
        return rejected(str(error)) or type(error).__name__
    return "works" if np.allclose(found, expected, rtol=RTOL, atol=RTOL) else "another value"


def rejected(message: str) -> str:
    """Name the function and the keyword that MLX does not know. Its errors list the signatures and the arguments."""
    pattern = r"(\w+)\(\): incompatible function arguments(.*)Invoked with types:.*kwargs = {(.*)}"
    found = re.match(pattern, message, re.DOTALL)
    if not found:
        return ""
    name, signatures, given = found.groups()
    unknown = [keyword for keyword in re.findall(r"(\w+):", given) if f"{keyword}:" not in signatures]
    return f"`{name}` without `{unknown[0]}`" if unknown else ""


def measured() -> dict[str, Any]:
    """Run every program on every library."""
    found = libraries() + on_devices()
    return {
        "versions": {library.name: library.version for library in found},
        "programs": {program: {library.name: outcome(library, program) for library in found} for program in PROGRAMS},
    }


if __name__ == "__main__":
    TABLE.write_text(json.dumps(measured(), indent=2) + "\n")
