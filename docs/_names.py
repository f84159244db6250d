"""Names of other libraries and their replacements in xpand: found in the modules, or stated in `coverage/*.toml`."""

import importlib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any, Final

import array_api_strict
from _tables import reference, table

COVERAGE: Final = Path(__file__).parent / "coverage"

_ARRAYS: Final = (
    *("xpand.comparison", "xpand.creation", "xpand.elementwise", "xpand.manipulation", "xpand.polynomial"),
    *("xpand.sampled", "xpand.sets"),
    *("arithmetic", "bits", "histograms", "indexing", "interpolation", "linalg", "padding", "sorting", "special"),
    *("statistics", "vmap", "convolution"),
)
_SYSTEMS: Final = ("linalg", "linear_solve")

PAIRS: Final[Mapping[str, Mapping[str, Sequence[str]]]] = {
    "numpy": {
        "numpy": _ARRAYS,
        "numpy.lib.stride_tricks": ("windows",),
        "numpy.linalg": _SYSTEMS,
        "scipy.integrate": ("xpand.sampled",),
        "scipy.linalg": _SYSTEMS,
        "scipy.optimize": ("optimize",),
        "scipy.signal": ("convolution",),
        "scipy.sparse": ("sparse",),
        "scipy.spatial.distance": ("linalg",),
        "scipy.special": ("special",),
        "scipy.stats": ("statistics",),
    },
    "jax": {
        "jax.nn": ("special", "xpand.creation"),
        "jax.numpy": _ARRAYS,
        "jax.lax": (*_ARRAYS, "control_flow"),
        "jax.numpy.linalg": _SYSTEMS,
        "jax.ops": ("scatter",),
        "jax.random": ("random",),
        "jax.scipy.linalg": _SYSTEMS,
        "jax.scipy.special": ("special",),
        "jax.scipy.optimize": ("optimize",),
        "jax.tree": ("xpand.trees",),
    },
    "torch": {
        "torch": (*_ARRAYS, "xpand.comparison"),
        "torch.func": ("autodiff", "vmap"),
        "torch.linalg": _SYSTEMS,
        "torch.nn.functional": ("interpolation", "padding", "special", "xpand.creation"),
        "torch.special": ("special",),
    },
}
"""Which modules of xpand have functions of the names and the meaning of those of another library's modules."""


def same_names(library: str) -> Iterator[tuple[str, str]]:
    """Find the functions that have the same name in both: pairs such as ("scipy.special.erf", "special.erf")."""
    for there, modules in PAIRS[library].items():
        theirs = importlib.import_module(there)
        for name in modules:
            module = importlib.import_module(name if name.startswith("xpand.") else f"xpand_extensions.{name}")
            for function in module.__all__:
                ours = getattr(module, function)
                if isinstance(ours, FunctionType) and hasattr(theirs, function):
                    yield f"{there}.{function}", f"{name}.{function}"


def standard_names(library: str) -> list[str]:
    """Name the functions of a library that the standard has under the same name."""
    theirs = importlib.import_module({"jax": "jax.numpy"}.get(library, library))
    names = [name for name in array_api_strict.__all__ if isinstance(getattr(array_api_strict, name), FunctionType)]
    return sorted(name for name in names if not name.startswith("_") and hasattr(theirs, name))


def stated(library: str) -> dict[str, Any]:
    """Read what is stated of the names that are different."""
    return tomllib.loads((COVERAGE / f"{library}.toml").read_text(encoding="utf-8"))


def standard(library: str) -> str:
    """List the functions of the standard that have the library's own names."""
    return ", ".join(f"`{name}`" for name in standard_names(library)) + ".\n"


def renamed(library: str) -> str:
    """Show the names that are different."""
    rows = ([f"`{name}`", reference(row["xpand"]), row.get("differs", "")] for name, row in stated(library).items())
    return _wide(table(["there", "here", "what differs"], rows))


def beyond(library: str) -> str:
    """Show, for the modules of a library, the functions of xpand with the same names."""
    different = stated(library) if library != "jax" else {}
    found: dict[tuple[str, str], list[str]] = {}
    for there, here in same_names(library):
        if there not in different:
            (theirs, _, name), (ours, _, _) = there.rpartition("."), here.rpartition(".")
            found.setdefault((theirs, ours), []).append(f"`{name}`")
    rows = ([f"`{theirs}`", _module(ours), ", ".join(names)] for (theirs, ours), names in found.items())
    return _wide(table(["there", "here", "names"], rows))


def _module(name: str) -> str:
    return f"[`{name}`](../reference/{name.removeprefix('xpand.')}.md)"


def _wide(text: str) -> str:
    return f'<div class="coverage" markdown>\n\n{text}\n</div>\n'
