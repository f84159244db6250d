"""Special functions compared with each library's own, and the generic versions compared with SciPy's."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from xpand_extensions import special
from xpand_extensions.generic import special as generic

from ._measure import Budget, Call, Row
from .namespaces import libraries

NATIVE: Final = Budget(ratio=1.05)
GENERIC: Final = Budget(ratio=10.0)

SIZES: Final = (1_000, 100_000, 10_000_000)
SMALL: Final[dict[str, tuple[int, ...]]] = {"sizes": (30,)}
"""The sizes with which the tests run every row."""


class Function(NamedTuple):
    """The arguments and references of a function."""

    ranges: tuple[tuple[float, float], ...]
    """The interval of each argument's values."""
    recipes: Mapping[str, str]
    """For each library, the name of the best native function, for `_recipe`."""
    reasons: Mapping[str, str] = {}
    """Why a library's row is over the budget."""


def _scipy(name: str) -> dict[str, str]:
    """Return the recipes of a function with the same name in all three libraries."""
    return {"numpy": f"scipy.{name}", "torch": f"torch.special.{name}", "jax": f"jax.scipy.special.{name}"}


DOOR: Final = "to find the implementation and check the types takes 0.3 µs, for two arguments 0.7 to 2"

LARGE_GENERIC: Final = "without the blocks that the plug-ins use: every operation writes a new array of 80 MB"
SMALL_GENERIC: Final = "about eighty operations of at least 1 µs each"

# Similar functions have similar costs, so these represent all.
FUNCTIONS: Final[dict[str, Function]] = {
    "erf": Function(((-4.0, 4.0),), _scipy("erf")),
    "erfinv": Function(
        ((-0.99, 0.99),),
        _scipy("erfinv"),
        {"jax": "JAX's is off by 40 ulps in float32 and by 3e5 in float64; ours by 4"},
    ),
    "log_ndtr": Function(((-4.0, 4.0),), _scipy("log_ndtr"), {"jax": "JAX's is off by 3e8 ulps; ours by 9"}),
    "softplus": Function(
        ((-9.0, 9.0),), {"numpy": "softplus", "torch": "torch.nn.functional.softplus", "jax": "jax.nn.softplus"}
    ),
    "xlogy": Function(((0.0, 4.0), (0.1, 4.0)), _scipy("xlogy")),
    "exp2": Function(
        ((-9.0, 9.0),),
        {"numpy": "numpy.exp2", "torch": "torch.special.exp2", "jax": "jax.numpy.exp2"},
        {"jax": "JAX's is off by 600 ulps; ours by 2"},
    ),
    "gammaln": Function(
        ((0.01, 20.0),),
        _scipy("gammaln"),
        {"numpy": "SciPy's is off by 1e8 ulps near 1 and 2, ours by 10", "jax": "JAX's by 3e9, ours by 4"},
    ),
    "digamma": Function(
        ((0.01, 20.0),),
        _scipy("digamma"),
        {"torch": "PyTorch's is off by 1e3 ulps near the zero, ours by 5", "jax": "JAX's by 3e3, ours by 5"},
    ),
    "i1": Function(
        ((-20.0, 20.0),),
        _scipy("i1"),
        {"numpy": "infinities, overflow and the sign of zeros are corrected", "torch": "the same"},
    ),
    "zeta": Function(((1.1, 10.0), (0.1, 10.0)), _scipy("zeta")),
    "gammainc": Function(
        ((0.1, 20.0), (0.1, 20.0)),
        _scipy("gammainc"),
        {"torch": "PyTorch's is off by 2e6 ulps, ours by 40", "jax": "JAX's is off by 4e4 ulps, ours by 40"},
    ),
}
IN_GENERIC: Final = {name: name for name in ("erf", "erfinv", "log_ndtr", "gammaln", "digamma", "zeta", "gammainc")}
"""The generic functions to measure on NumPy's arrays, and SciPy's names for them."""


def rows(sizes: tuple[int, ...] = SIZES) -> Iterator[Row]:
    for library in libraries():
        for name, function in FUNCTIONS.items():
            for size in sizes:
                arrays = [library.xp.asarray(x) for x in _samples(function, size)]
                recipe = {function.recipes[library.name]: Call(_recipe(function.recipes[library.name]), *arrays)}
                reason = function.reasons.get(library.name, DOOR if size <= 1_000 else "")
                label = f"{library.name}, {name} of {size:,}"
                yield Row("special functions", label, Call(getattr(special, name), *arrays), recipe, NATIVE, reason)
    for name, of_scipy in IN_GENERIC.items():
        for size in sizes:
            arrays = _samples(FUNCTIONS[name], size)
            recipe = {f"scipy.{of_scipy}": Call(_recipe(f"scipy.{of_scipy}"), *arrays)}
            ours = Call(getattr(generic, name), *arrays)
            reason = SMALL_GENERIC if size <= 1_000 else LARGE_GENERIC
            yield Row(
                "special functions in terms of the standard", f"{name} of {size:,}", ours, recipe, GENERIC, reason
            )


def _samples(function: Function, size: int) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [random.uniform(low, high, size) for low, high in function.ranges]


def _recipe(name: str) -> Callable[..., Any]:
    """Find a native function. Functions of JAX are compiled."""
    if name in _OWN:
        return _OWN[name]
    package, _, path = name.partition(".")
    if package == "scipy":
        import scipy.special as found
    elif package == "torch":
        import torch as found
    elif package == "jax":
        import jax
        import jax.scipy.special

        found = jax
    else:
        found = np
    for part in path.split("."):
        found = getattr(found, part)
    return jax.jit(found) if package == "jax" else found


def _softplus(x: np.ndarray) -> np.ndarray:
    return np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0.0)


_OWN: Final[dict[str, Callable[..., Any]]] = {"softplus": _softplus}
