"""NumPy's inner loops for whole matrices, and SciPy's BLAS, as addresses for compiled code."""

import math
import re
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, Final

import numpy as np

from .....tracing._graph import Equation, Variable
from ._emit import Emitter
from ._flags import clear_flags, fail_if_invalid, keep_flags
from ._shares import shared
from ._ufuncs import Loop, call_loop, is_same, untested_loop_of
from ._values import Buffer, Index, Node, Order, Shape, constant

# NumPy's LAPACK has no public addresses, so use the loops that `np.linalg` calls. SciPy's LAPACK is another build, with
# other bits.
_LAPACK: Final = getattr(np.linalg, "_umath_linalg", None)
LARGEST: Final = 32
"""The maximum size of matrices that threads share."""
CALLED: Final = 2000
"""The number of additions that take the time of a call for one group of matrices."""
_SAMPLE: Final = 5
"""The maximum size of arrays for tests of loops."""


def _loops_of_matrices() -> dict[str, tuple[Any, Callable[..., Any]]]:
    """Return NumPy's functions of matrices: the ufunc with the loops, and the public function."""
    public: dict[str, Callable[..., Any]] = {
        "cholesky_lo": np.linalg.cholesky,
        "cholesky_up": partial(np.linalg.cholesky, upper=True),
        "det": np.linalg.det,
        "eigh_lo": np.linalg.eigh,
        "eigvalsh_lo": np.linalg.eigvalsh,
        "inv": np.linalg.inv,
        "slogdet": np.linalg.slogdet,
        "solve": np.linalg.solve,
        "solve1": np.linalg.solve,
    }
    found = {name: (getattr(_LAPACK, name, None), function) for name, function in public.items()}
    return {**found, "matmul": (np.matmul, np.matmul), "vecdot": (np.vecdot, np.vecdot)}


_FUNCTIONS: Final = _loops_of_matrices()


def _axes_of(ufunc: np.ufunc) -> list[list[str]]:
    """Return the names of the axes of each array of a ufunc of matrices."""
    return [re.findall(r"\w+", part) for part in re.findall(r"\(([^)]*)\)", ufunc.signature or "")]


def matrix_loop(name: str, code: str, shapes: tuple[Shape, ...]) -> Loop | None:
    """Return the inner loop for arrays of these shapes, or None if no loop has the values of the function."""
    return _matrix_loop(name, code, tuple(tuple(min(n, _SAMPLE) for n in shape) for shape in shapes))


@cache
def _matrix_loop(name: str, code: str, shapes: tuple[Shape, ...]) -> Loop | None:
    ufunc, public = _FUNCTIONS[name]
    if not isinstance(ufunc, np.ufunc) or ufunc.nin != len(shapes) or len(_axes_of(ufunc)) != ufunc.nargs:
        return None
    types = [each for each in ufunc.types if each.startswith(f"{code * ufunc.nin}->")]
    loop = untested_loop_of(ufunc, types[0]) if types else None
    if loop is None:
        return None
    arrays = [sample(shape, code, seed) for seed, shape in enumerate(shapes)]
    if name.startswith("cholesky"):
        arrays = [arrays[0] @ arrays[0].mT.conj() + np.eye(len(arrays[0]))]
    results = public(*arrays)
    expected = [np.asarray(x) for x in (results if isinstance(results, tuple) else (results,))]
    return loop if all(map(is_same, _called(ufunc, loop, arrays, expected), expected)) else None


def sample(shape: Shape, code: str, seed: int) -> Any:
    """Return random numbers of a data type."""
    re, im = np.random.default_rng(seed).normal(size=(2, *shape)) * 4
    return (re + 1j * im).astype(code) if np.dtype(code).kind == "c" else re.astype(code)


def _called(ufunc: np.ufunc, loop: Loop, arrays: Sequence[Any], like: Sequence[Any]) -> list[Any]:
    results = [np.empty_like(x) for x in like]
    given = [*arrays, *results]
    call_loop(loop, given, *_geometry(ufunc, [(x.shape, x.strides) for x in given]))
    return results


def _geometry(ufunc: np.ufunc, arrays: Sequence[tuple[Shape, Shape]]) -> tuple[list[int], list[int]]:
    """Return the sizes and strides for the call of an inner loop on one group of matrices."""
    sizes: dict[str, int] = {}
    strides = [0] * len(arrays)
    for axes, (shape, steps) in zip(_axes_of(ufunc), arrays, strict=True):
        sizes.update(zip(axes, shape, strict=True))
        strides += steps
    return [1, *sizes.values()], strides


def call_matrices(emitter: Emitter, name: str, loop: Loop, arrays: Sequence[Buffer], batch: Shape) -> None:
    """Call an inner loop for each group of matrices of stacks: arguments first, then results."""
    ufunc = _FUNCTIONS[name][0]
    cores = [(x.shape[len(batch) :], x.strides[len(batch) :]) for x in arrays]
    steps = [(shape, tuple(step * x.dtype.itemsize for step in strides)) for (shape, strides), x in zip(cores, arrays)]
    sizes, strides = _geometry(ufunc, steps)

    def of_each(place: tuple[Index, ...]) -> None:
        first = Index(constant(0), 0, 1)
        pointers = [emitter.address(x, (*place, *[first] * (len(x.shape) - len(place)))) for x in arrays]
        emitter.call(loop, pointers, sizes, strides)

    longest = max((n for shape, _ in cores for n in shape), default=1)
    # The library uses threads for larger matrices, so programs call it from one thread.
    work = math.prod(batch) * (CALLED + longest**3) if longest <= LARGEST else 0
    with shared(emitter, batch, work) as part:
        emitter.nest(batch, of_each, part=part)


def stacked(x: Buffer, count: int, batch: Shape) -> Buffer:
    """Broadcast a stack of arrays with `count` axes."""
    core = x.shape[len(x.shape) - count :]
    return x.viewed(lambda x: np.broadcast_to(x, (*batch, *core)))


# Systems of linear equations and factors

SYSTEMS: Final = tuple(f"linalg.{name}" for name in ("cholesky", "det", "eigh", "eigvalsh", "inv", "slogdet", "solve"))


def system_order(equation: Equation, orders: Sequence[Order]) -> Order | str:
    if not all(isinstance(x, Variable) and x.aval.size for x in equation.inputs):
        return "arguments"
    if not all(np.dtype(x.dtype).char in "fdFD" for x in (*equation.inputs, *equation.outputs)):
        return "data type"
    return Order.DENSE if _system_loop(equation) is not None else "no inner loop of NumPy"


def _name_of(equation: Equation) -> str:
    name = equation.op.name.removeprefix("linalg.")
    if name == "cholesky":
        return "cholesky_up" if equation.params["upper"] else "cholesky_lo"
    if name in ("eigh", "eigvalsh"):
        return f"{name}_lo"
    return "solve1" if name == "solve" and len(equation.inputs[1].shape) == 1 else name


def _system_loop(equation: Equation) -> Loop | None:
    # NumPy computes in double precision.
    name = _name_of(equation)
    shapes = tuple(x.shape[-2:] for x in equation.inputs)
    return matrix_loop(name, _double(np.result_type(*[x.dtype for x in equation.inputs])).char, shapes)


def _double(dtype: Any) -> np.dtype[Any]:
    return np.dtype(np.complex128 if np.dtype(dtype).kind == "c" else np.float64)


def solved(emitter: Emitter, equation: Equation, given: Sequence[Any]) -> list[Node]:
    """Factorize matrices, or solve systems of equations. If this fails, NumPy repeats the program and raises."""
    name, loop = _name_of(equation), _system_loop(equation)
    assert loop is not None
    counts = list(map(len, _axes_of(_FUNCTIONS[name][0])))
    first = equation.outputs[0].shape
    batch = first[: len(first) - counts[len(given)]]
    wide = _double(np.result_type(*[x.dtype for x in given]))
    arrays = [emitter.in_memory(emitter.cast(x, wide)) for x in given]
    results = [emitter.result(x.shape, _double(x.dtype), number) for number, x in enumerate(equation.outputs)]
    keep_flags(emitter)
    clear_flags(emitter)
    stacks = [stacked(x, count, batch) for x, count in zip((*arrays, *results), counts, strict=True)]
    call_matrices(emitter, name, loop, stacks, batch)
    if name not in ("det", "slogdet"):
        fail_if_invalid(emitter)
    return [emitter.cast(x, np.dtype(out.dtype)) for x, out in zip(results, equation.outputs)]
