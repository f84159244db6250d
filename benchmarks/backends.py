"""The backends of docs/examples compared with those of the packages: TensorLy, POT and pyhf."""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from ._measure import Budget, Call, Row
from .namespaces import libraries

SMALL: Final[dict[str, Any]] = {"sizes": (3, 4)}
"""The sizes with which the tests run every row."""

BUDGET: Final = Budget(ratio=1.1)
NAMES: Final = {"numpy": "numpy", "torch": "pytorch", "jax": "jax"}
"""The packages' names of the libraries that they support."""
REASONS: Final = {
    "TensorLy": "creation functions accept a device and lists of arrays, the package's own do not",
    "pyhf": "einsum is planned and computed by matrix products, which is faster for larger arrays",
}

EXAMPLES: Final = Path(__file__).parents[1] / "docs" / "examples"


def rows(sizes: tuple[int, ...] = (8, 200)) -> Iterator[Row]:
    sys.path.insert(0, str(EXAMPLES))
    try:
        cases = {name: importlib.import_module(module) for name, module in MODULES.items()}
    finally:
        sys.path.remove(str(EXAMPLES))
    for name, ours in cases.items():
        for size in sizes:
            for library in libraries():
                if library.name in NAMES:
                    task, mine, own = CASES[name](ours, library, size)
                    yield Row(f"{name}: {task}", library.name, mine, {f"{name}'s": own}, BUDGET, REASONS.get(name, ""))


def _tensorly(ours: Any, library: Any, size: int) -> tuple[str, Call, Call]:
    import tensorly

    mine = ours.backend(library.xp)
    tensorly.set_backend(NAMES[library.name])
    own = tensorly.backend.current_backend()
    tensorly.set_backend("numpy")
    x = library.xp.asarray(np.random.default_rng(0).normal(size=(size, 6, 5)))

    def decompose(backend: Any) -> Any:
        with tensorly.backend_context(backend):
            return tensorly.decomposition.parafac(x, rank=2, n_iter_max=1, init="svd", tol=0)

    return f"a step of parafac, {size} × 6 × 5", Call(decompose, mine), Call(decompose, own)


def _pot(ours: Any, library: Any, size: int) -> tuple[str, Call, Call]:
    import ot

    registered = ot.backend.get_available_backend_implementations()
    own = list(registered)
    mine = [ours.backend(library.xp), *own]
    weights = library.xp.asarray(np.full(size, 1.0 / size))
    costs = library.xp.asarray(np.random.default_rng(0).uniform(size=(size, size)))

    def plan(implementations: list[type]) -> Any:
        registered[:] = implementations
        try:
            return ot.bregman.sinkhorn_knopp(weights, weights, costs, 1.0, numItermax=10, stopThr=0, warn=False)
        finally:
            registered[:] = own

    return f"ten steps of sinkhorn_knopp, {size} × {size}", Call(plan, mine), Call(plan, own)


def _pyhf(ours: Any, library: Any, size: int) -> tuple[str, Call, Call]:
    import pyhf

    pyhf.set_backend(NAMES[library.name])
    theirs, _ = pyhf.get_backend()
    # The same name for both: when the name changes, pyhf computes the parts of all models again, and empties caches.
    mine = _likelihood(pyhf, ours.Backend(library.xp, name="compared"), size)
    theirs.name = "compared"
    own = _likelihood(pyhf, theirs, size)
    pyhf.set_backend("numpy")
    return f"the likelihood of {size} bins", Call(mine), Call(own)


def _likelihood(pyhf: Any, backend: Any, size: int) -> Callable[[], Any]:
    bins = np.linspace(5.0, 9.0, size)
    pyhf.set_backend(backend)
    signal, background, errors = (bins / 10).tolist(), bins.tolist(), (bins / 20).tolist()
    model = pyhf.simplemodels.uncorrelated_background(signal, background, errors, validate=False)
    backend, optimizer = pyhf.get_backend()
    parameters = backend.astensor(model.config.suggested_init())
    data = backend.astensor([*background, *model.config.auxdata])

    def compute() -> Any:
        if pyhf.get_backend()[0] is not backend:  # takes longer than the likelihood
            pyhf.set_backend(backend, optimizer)
        return model.logpdf(parameters, data)

    return compute


MODULES: Final = {
    "TensorLy": "backends.for_tensorly",
    "POT": "backends.for_pot",
    "pyhf": "backends.for_pyhf",
}
CASES: Final[dict[str, Callable[..., tuple[str, Call, Call]]]] = {"TensorLy": _tensorly, "POT": _pot, "pyhf": _pyhf}
