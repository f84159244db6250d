"""Compute derivatives of NumPy, PyTorch and JAX at points where a function has none, or an infinite one.

python -m tests.singular_points      # writes docs/singular_points.json, from which the site makes its table
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import xpand
from xpand_extensions import special, statistics
from xpand_extensions.autodiff import grad
from xpand_extensions.convert import convert

OUTPUT = Path(__file__).parents[1] / "docs" / "singular_points.json"
LIBRARIES = ("numpy", "torch", "jax")
inf, nan = float("inf"), float("nan")


class Probe(NamedTuple):
    """A function at a point. Derivatives of the sum of its results are taken in each element of each argument."""

    call: str
    """The call, with dots in place of the arguments."""
    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def __str__(self) -> str:
        """Write the call."""
        return self.call.replace("…", ", ".join(map(written, self.arguments)))


def written(value: Any) -> str:
    """Write a number, or a list of numbers, in the shortest form."""
    return f"[{', '.join(map(written, value))}]" if isinstance(value, list) else f"{value:g}"


def standard(name: str, *points: Any, **options: Any) -> list[Probe]:
    """Probe a function of the standard at points: tuples of arguments, or single arguments."""

    def function(*args: Any) -> Any:
        xp: Any = xpand.array_namespace(*args)
        for part in name.split("."):
            xp = getattr(xp, part)
        return xp(*args, **options)

    return probes(f"{name}(…{written_options(options)})", function, *points)


def extension(function: Any, *points: Any, **options: Any) -> list[Probe]:
    """Probe a function of the extensions."""
    name = f"{function.__module__.split('.')[1]}.{function.__name__}"
    return probes(f"{name}(…{written_options(options)})", lambda *args: function(*args, **options), *points)


def probes(call: str, function: Any, *points: Any) -> list[Probe]:
    """Make the probes of one function."""
    return [Probe(call, function, point if isinstance(point, tuple) else (point,)) for point in points]


def written_options(options: dict[str, Any]) -> str:
    """Write keywords after arguments."""
    return "".join(f", {name}={value}" for name, value in options.items())


PROBES = [
    *standard("abs", 0.0, -0.0, nan),
    *standard("acos", 1.0),
    *standard("acosh", 1.0, -1.0),
    *standard("asin", 1.0),
    *standard("atan2", (0.0, 0.0), (inf, inf), (1e200, 1e200)),
    *standard("atanh", 1.0),
    *standard("copysign", (0.0, 1.0), (0.0, -1.0), (-inf, 1.0), (nan, 1.0), (nan, -1.0)),
    *standard("divide", (0.0, 0.0), (1.0, 0.0)),
    *standard("floor_divide", (1.0, 0.0)),
    *standard("hypot", (0.0, 0.0), (inf, 1.0), (nan, 1.0)),
    *standard("log", 0.0, -1.0),
    *standard("logaddexp", (-inf, -inf), (inf, inf), (inf, 1.0), (1.0, -inf)),
    *standard("maximum", (1.0, 1.0), (nan, 1.0)),
    *standard("minimum", (1.0, 1.0), (nan, 1.0)),
    *standard("nextafter", (1.0, 1.0)),
    *standard("pow", (0.0, 0.0), (0.0, 1.0), (0.0, -1.0), (0.0, 0.5), (-2.0, 2.0), (0.0, nan), (nan, 0.0), (inf, 0.0)),
    *standard("reciprocal", 0.0),
    *standard("remainder", (4.0, 2.0), (1.0, 0.0), (1.0, inf), (1.0, -inf)),
    *standard("sign", 0.0),
    *standard("sqrt", 0.0, -1.0),
    *probes("clip(…, 0, 1)", lambda x: xpand.array_namespace(x).clip(x, 0.0, 1.0), 0.0, 1.0, nan),
    *probes("(…)**0.5", lambda x: x**0.5, 0.0, -0.0),
    *standard("max", [1.0, 1.0], [1.0, nan]),
    *standard("min", [1.0, 1.0], [1.0, nan]),
    *standard("prod", [0.0, 2.0], [1.0, inf], [0.0, inf]),
    *standard("cumulative_prod", [0.0, 2.0], [2.0, inf], [2.0, nan]),
    *standard("std", [1.0, 1.0]),
    *standard("var", [1.0, inf]),
    *probes("sort(…)[0]", lambda x: xpand.array_namespace(x).sort(x)[0], [1.0, 1.0]),
    *probes(
        "sort(…, descending=True)[0]",
        lambda x: xpand.array_namespace(x).sort(x, descending=True)[0],
        [1.0, 1.0],
    ),
    *standard("linalg.vector_norm", [0.0, 0.0]),
    *standard("linalg.vector_norm", [0.0, 2.0], [nan, 2.0], ord=1),
    *standard("linalg.vector_norm", [0.0, 0.0], ord=3),
    *standard("linalg.vector_norm", [0.0, 0.0], ord=0.5),
    *standard("linalg.vector_norm", [0.0, 0.0], [2.0, -2.0], [nan, 2.0], ord=inf),
    *extension(special.cbrt, 0.0, -0.0, nan),
    *extension(special.entr, 0.0, -1.0),
    *extension(special.erfinv, 1.0),
    *extension(special.gammaln, 0.0, -1.0, 5e-324),
    *extension(special.i0e, 0.0),
    *extension(special.log_ndtr, -inf),
    *extension(special.logit, 0.0, 1.5),
    *extension(special.logsumexp, [1.0, inf], [-inf, -inf]),
    *extension(special.rsqrt, 0.0, -0.0),
    *extension(special.sinc, 0.0),
    *extension(special.xlogy, (0.0, 0.0), (1.0, 0.0)),
    *extension(statistics.cumulative_max, [1.0, 1.0], [1.0, inf], [1.0, nan], [nan, 1.0]),
    *extension(statistics.median, [1.0, inf], [1.0, 1.0], [1.0, nan]),
    *probes("statistics.quantile(…, 0.25)", lambda x: statistics.quantile(x, 0.25), [1.0, inf], [-inf, 1.0]),
    *extension(statistics.nanstd, [1.0, 1.0]),
]


def derivatives(library: str) -> list[list[Any]]:
    """Compute the derivatives of all probes, as one program on libraries that compile."""
    arguments = [tuple(convert(np.asarray(x), library) for x in probe.arguments) for probe in PROBES]

    def all_of(arguments: Any) -> Any:
        found = []
        for probe, args in zip(PROBES, arguments, strict=True):
            total = lambda *xs, probe=probe: xpand.array_namespace(*xs).sum(probe.function(*xs))
            found.append(grad(total, tuple(range(len(args))))(*args))
        return found

    if library == "jax":
        import jax

        found = jax.jit(all_of)(arguments)
    else:
        with np.errstate(all="ignore"):
            found = all_of(arguments)
    return [[convert(x, "numpy").tolist() for x in each] for each in found]


def measured(library: str) -> dict[str, str]:
    """Return the derivatives of each probe on a library, as text."""
    found = derivatives(library)
    return {str(probe): ", ".join(map(written_rounded, each)) for probe, each in zip(PROBES, found, strict=True)}


def written_rounded(value: Any) -> str:
    """Write derivatives with three digits, and zeros without their sign."""
    if isinstance(value, list):
        return f"[{', '.join(map(written_rounded, value))}]"
    return f"{value + 0.0:.3g}"


if __name__ == "__main__":
    import jax

    jax.config.update("jax_enable_x64", True)
    for library in LIBRARIES:
        xpand.namespace(library)
    found = {library: measured(library) for library in LIBRARIES}
    OUTPUT.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
