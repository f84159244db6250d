"""Solve every system of the bank by every suitable method, in both precisions, on a library: `make test-bank`.

    python -m tests.whole_bank [--library jax] [--methods cg gmres] [--precisions float32] [--parts dense sparse]

The tests use a sample of the bank. Errors are printed when they occur, and counts for each library at the end. Dask
plans all steps that it is given, so systems are solved as one batch with few steps. These need not suffice, but the
claims of the result must be true. JAX's compiled programs are stored in `JAX_COMPILATION_CACHE_DIR`.
"""

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from tests import conftest  # noqa: F401  (before JAX is imported: it says how that compiles)
from tests.bank import (
    ALL_METHODS,
    DEFINITE,
    DTYPES,
    all_unsolvable,
    check,
    check_unsolved,
    methods_of,
    solved,
    solved_together,
)
from tests.libraries import LIBRARIES, Library
from tests.systems import SYSTEMS, UNSOLVABLE, LinearSystem, Unsolvable
from xpand_extensions.jit import jit
from xpand_extensions.linear_solve import SolveResult, Status, solve
from xpand_extensions.progress import tracked
from xpand_extensions.vmap import vmap

COMPILED_SIZES: Final = (0, 1, 4, 12, 32, 64, 144)
"""Sizes to which systems are enlarged for JAX, which takes seconds to compile each size."""
LAZY_STEPS: Final = 14
"""The number of steps for Dask, which takes half a second to plan each step."""
DENSE_ONLY: Final = ("qr", "lstsq", "cholesky")

Outcome = tuple[str, bool | Exception]
"""The name of a system, and whether it has converged, or the error."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the selected parts; return 1 if there are errors."""
    options = _parse(arguments)
    warnings.simplefilter("error")
    totals, is_wrong = [], False
    for library in [library for library in LIBRARIES if options.library in ("all", library.id)]:
        start, total = time.perf_counter(), Counter[str]()
        for part in options.parts:
            for precision in options.precisions:
                for method in options.methods:
                    total += _counted(f"{library} {part} {precision} {method}", PARTS[part](library, method, precision))
                    if library.id.startswith("jax"):
                        sys.modules["jax"].clear_caches()  # the caches grow to gigabytes
        is_wrong |= bool(total["wrong"])
        totals.append(f"{library}, all: {_described(total)}, {time.perf_counter() - start:.0f} s")
    say("\n".join(totals))
    return int(is_wrong)


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.whole_bank", description=__doc__.splitlines()[0])
    parser.add_argument("--library", default="all", choices=["all", *[library.id for library in LIBRARIES]])
    parser.add_argument("--methods", nargs="+", default=ALL_METHODS, choices=ALL_METHODS)
    parser.add_argument("--precisions", nargs="+", default=list(DTYPES), choices=list(DTYPES))
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=list(PARTS))
    return parser.parse_args(arguments)


def _counted(title: str, outcomes: Iterator[Outcome]) -> Counter[str]:
    start, counts = time.perf_counter(), Counter[str]()
    with tracked(title, progress=True) as report:
        assert report is not None, "it is shown"
        for name, outcome in outcomes:
            counts["systems"] += 1
            report(counts["systems"])
            if isinstance(outcome, Exception):
                counts["wrong"] += 1
                say(f"WRONG {title}, {name}: {type(outcome).__name__}: {str(outcome)[:500]}")
            else:
                counts["converged"] += outcome
    if counts:
        say(f"{title}: {_described(counts)}, {time.perf_counter() - start:.1f} s")
    return counts


def _described(counts: Counter[str]) -> str:
    return f"{counts['systems']} systems, {counts['converged']} converged, {counts['wrong']} wrong"


def _outcome(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    try:
        return call(*args, **kwargs)
    except Exception as error:  # report every error
        return error


# Systems with a solution


def _dense(library: Library, method: str, precision: str) -> Iterator[Outcome]:
    systems = [system for system in SYSTEMS if method in methods_of(system)]
    return (
        _together(library, systems, method, precision) if library.lazy else _each(library, systems, method, precision)
    )


def _sparse(library: Library, method: str, precision: str) -> Iterator[Outcome]:
    systems = [] if method in DENSE_ONLY or library.lazy else [system for system in SYSTEMS if system.is_sparse]
    systems = [system for system in systems if method in methods_of(system)]
    return _each(library, systems, method, precision, is_sparse=True)


def _each(
    library: Library, systems: list[LinearSystem], method: str, precision: str, *, is_sparse: bool = False
) -> Iterator[Outcome]:
    sizes = COMPILED_SIZES if library.id.startswith("jax") else ()

    def converged(system: LinearSystem) -> bool:
        return bool(solved(library, system, method, precision, is_sparse=is_sparse, sizes=sizes).converged)

    for system in systems:
        yield str(system), _outcome(converged, system)


def _together(library: Library, systems: list[LinearSystem], method: str, precision: str) -> Iterator[Outcome]:
    def converged(system: LinearSystem, result: SolveResult) -> bool:
        check(system, result, method, precision, is_bounded=True)
        return bool(result.converged)

    kinds: dict[tuple[bool, bool], list[LinearSystem]] = {}
    for system in systems:
        kinds.setdefault((system.is_square, system.is_complex), []).append(system)
    for group in kinds.values():
        found = _outcome(solved_together, library, group, method, precision, steps=LAZY_STEPS)
        if isinstance(found, Exception):
            found = [found] * len(group)
        for system, result in zip(group, found):
            yield str(system), result if isinstance(result, Exception) else _outcome(converged, system, result)


# Systems without a solution


def _unsolvable(library: Library, method: str, precision: str) -> Iterator[Outcome]:
    """Solve each system, unless it would be compiled or planned, and all together: as a batch, by `jit` and `vmap`."""
    if method not in DEFINITE:
        return
    steps = LAZY_STEPS if library.lazy else None

    def status(a: Any, b: Any) -> Any:
        return solve(a, b, axis=-1, method=method, max_steps=steps, throw=False).status

    def right(system: Unsolvable, code: int) -> bool:
        check_unsolved(system, method, code)
        return code == int(Status.CONVERGED)

    if library.id != "jax" and not library.lazy:
        for system in UNSOLVABLE:
            sides = [library.asarray(x.astype(precision)) for x in (system.matrix, system.b)]
            code = _outcome(lambda sides=sides: int(_quiet(library, status, *sides)))
            yield str(system), code if isinstance(code, Exception) else _outcome(right, system, code)
    sides = [library.asarray(x.astype(precision)) for x in all_unsolvable()]
    for way, function in (("batch", status), ("jit and vmap", jit(vmap(status)))):
        codes = _outcome(lambda function=function: _quiet(library, function, *sides).tolist())
        if isinstance(codes, Exception):
            yield way, codes
            continue
        for system, code in zip(UNSOLVABLE, codes):
            yield f"{system}, by {way}", _outcome(right, system, code)


def _quiet(library: Library, function: Callable[..., Any], *args: Any) -> np.ndarray:
    """Compute without NumPy's warnings of infinities, which xpand's namespace would suppress."""
    with np.errstate(all="ignore"):
        return library.to_numpy(function(*args))


PARTS: Final[dict[str, Callable[[Library, str, str], Iterator[Outcome]]]] = {
    "dense": _dense,
    "sparse": _sparse,
    "unsolvable": _unsolvable,
}

if __name__ == "__main__":
    sys.exit(main())
