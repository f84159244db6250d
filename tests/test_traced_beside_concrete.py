"""A concrete array next to a traced one: every function finds the namespace that takes both, whichever comes first.

The cases are those of all other test files, and `MORE`, with the arrays that have no cases there. Each array is traced
in turn, and the others are the library's own.
"""

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xpand
from tests.cases import Case, as_tuple, library_of_name
from tests.libraries import Library
from tests.wrong_device import cases, every, failures, modules, more, recorded
from xpand import manipulation, trees
from xpand_extensions import (
    arithmetic,
    control_flow,
    debug,
    histograms,
    indexing,
    linear_solve,
    padding,
    random,
    scatter,
    sparse,
    special,
    statistics,
    windows,
)
from xpand_extensions._dispatch import OPERATIONS, Operation
from xpand_extensions.autodiff import custom_root, vjp
from xpand_extensions.jit import ShapeDtype, io_callback, jit, pure_callback
from xpand_extensions.tracing import TracedError
from xpand_extensions.vmap import vmap

X = np.asarray([0.5, 1.5, 2.5])
INDEX = np.asarray([2, 0, 1])
V = np.asarray(0.25)
KEY = np.asarray([0, 7], dtype=np.uint32)
SPD = np.asarray([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]])
POINTER = np.asarray([0, 1, 2, 3])


def _coo(values: Any, rows: Any, columns: Any) -> Any:
    return sparse.COO(values, (rows, columns), (3, 3))


def _csr(values: Any, indices: Any, indptr: Any) -> Any:
    return sparse.CSR(values, indices, indptr, (3, 3))


MORE: dict[str, tuple[Any, ...]] = {
    "take, fill": (lambda x, i, v: indexing.take(x, i + 1, mode="fill", fill_value=v), X, INDEX, V),
    "take_along_axis, fill": (
        lambda x, i, v: indexing.take_along_axis(x, i + 1, mode="fill", fill_value=v),
        X,
        INDEX,
        V,
    ),
    "gather, fill": (lambda x, i, v: indexing.gather(x, i + 1, mode="fill", fill_value=v), X, INDEX, V),
    "gather_nd, fill": (lambda x, i, v: indexing.gather_nd(x, i[:, None] + 1, mode="fill", fill_value=v), X, INDEX, V),
    "boolean_mask, fill": (lambda x, m, v: indexing.boolean_mask(x, m, size=4, fill_value=v), X, X > 1.0, V),
    "repeat": (lambda x, n: indexing.repeat(x, n, total_repeat_length=4), X, np.asarray([1, 2, 1])),
    "ravel_multi_index": (lambda i, j: indexing.ravel_multi_index((i, j), (3, 3), mode="clip"), INDEX, INDEX),
    "dynamic_slice": (lambda x, i: indexing.dynamic_slice(x, (i,), (2,)), X, np.asarray(1)),
    "put_slice": (lambda x, v, i: indexing.put_slice(x, v, (i,)), X, X[:2], np.asarray(1)),
    "pad_to": (lambda x, v: manipulation.pad_to(x, 5, fill_value=v), X, V),
    "pad, constant": (lambda x, v: padding.pad(x, 1, constant_values=v), X, V),
    "pad, ramp": (lambda x, v: padding.pad(x, 2, mode="linear_ramp", end_values=v), X, V),
    "segment_reduce": (scatter.segment_reduce, X, np.asarray([0, 2, 3])),
    **{
        f"segment_{name}": (lambda x, i, name=name: getattr(scatter, f"segment_{name}")(x, i, num_segments=3), X, INDEX)
        for name in ("max", "mean", "min", "prod", "sum")
    },
    "at.get": (lambda x, i, v: scatter.at(x)[i].get(mode="fill", fill_value=v), X, INDEX, V),
    "at.apply": (lambda x, i: scatter.at(x)[i[:1]].apply(lambda y: 2.0 * y), X, INDEX),
    **{
        f"at.{name}": (lambda x, i, v, name=name: getattr(scatter.at(x)[i], name)(v), X, INDEX, X)
        for name in ("set", "add", "subtract", "multiply", "divide", "min", "max")
    },
    "at, two axes": (lambda x, i, j, v: scatter.at(x)[i, j].add(v), SPD, INDEX, INDEX, X),
    "choice": (lambda key, x, p: random.choice(key, x, (2,), p=p / 4.5), KEY, X, X),
    "choice of a number": (lambda key, p: random.choice(key, 3, (2,), p=p / 4.5), KEY, X),
    "choice without replacement": (lambda key, p: random.choice(key, 3, (2,), False, p / 4.5), KEY, X),
    "uniform": (lambda key, x, y: random.uniform(key, (3,), minval=x, maxval=x + y), KEY, X, X),
    "multivariate_normal": (random.multivariate_normal, KEY, X, SPD),
    "triangular": (lambda key, x, y, z: random.triangular(key, x, x + y, x + y + z), KEY, X, X, X),
    "randint": (lambda key, i, j: random.randint(key, (3,), i, i + j + 2), KEY, INDEX, INDEX),
    "ball": (lambda key, p: random.ball(key, 2, p, (3,)), KEY, np.asarray(2.0)),
    "fold_in": (random.fold_in, KEY, np.asarray(3, dtype=np.uint32)),
    "digitize": (histograms.digitize, X, np.asarray([0.0, 1.0, 3.0])),
    "custom_root": (
        lambda x, y: custom_root(lambda z, y: z**3 - y, x, solve=lambda x, y: _added(y, x) ** 0.5, args=(y,)),
        X,
        X,
    ),
    "pure_callback": (lambda x, y: pure_callback(np.add, ShapeDtype((3,), np.float64), x, y), X, X),
    "io_callback": (lambda x, y: io_callback(np.add, ShapeDtype((3,), np.float64), x, y), X, X),
    "debug.callback": (lambda x, y: (x + y, debug.callback(lambda *given: None, x, y))[0], X, X),
    "bincount": (lambda i, w: histograms.bincount(i, weights=w, length=3), INDEX, X),
    "histogram": (lambda x, b, w: histograms.histogram(x, b, weights=w).hist, X, np.asarray([0.0, 1.0, 3.0]), X),
    "histogramdd": (
        lambda x, b, w: histograms.histogramdd(x, (b, 2), weights=w, range=(None, (0.0, 5.0))).hist,
        SPD[:, :2],
        np.asarray([0.0, 1.0, 5.0]),
        X,
    ),
    "quantile": (statistics.quantile, X, V),
    "gradient": (lambda f, x: statistics.gradient(f, x), X, X),
    "logsumexp": (lambda x, b: special.logsumexp(x, b=b), X, X),
    "window_reduce": (lambda x, v: windows.window_reduce(x, lambda a, b: a + b, v, 2), X, V),
    "divide_no_nan": (arithmetic.divide_no_nan, X, X - 0.5),
    "cond": (lambda p, x, y: control_flow.cond(p > 0.0, _added, lambda x, y: x, x, y), V, X, X),
    "switch": (lambda i, x, y: control_flow.switch(i, (_added, lambda x, y: y), x, y), np.asarray(0), X, X),
    "scan": (lambda c, x: control_flow.scan(lambda c, x: (_added(c, x), c), c, x), V, X),
    "map": (lambda x, y: control_flow.map(lambda xy: _added(*xy), (x, y)), X, X),
    "associative_scan": (
        lambda x, y: control_flow.associative_scan(lambda a, b: (_added(a[0], b[0]), _added(a[1], b[1])), (x, y)),
        X,
        X,
    ),
    "fori_loop": (
        lambda n, x, y: control_flow.fori_loop(0, n, lambda i, c: (_added(*c), c[1]), (x, y)),
        np.asarray(2),
        X,
        X,
    ),
    "while_loop": (
        lambda x, y: control_flow.while_loop(lambda c: c[0][0] < 9.0, lambda c: (_added(*c), c[1]), (x, y)),
        X,
        X,
    ),
    "COO": (lambda v, i, j: _coo(v, i, j).todense(), X, INDEX, INDEX),
    "COO of COO": (lambda v, i, j, w: (_coo(v, i, j) * _coo(w, j, i)).todense(), X, INDEX, INDEX, X),
    "COO + COO": (lambda v, i, j, w: (_coo(v, i, j) + _coo(w, j, i)).todense(), X, INDEX, INDEX, X),
    "COO @ vector": (lambda v, i, j, x: _coo(v, i, j) @ x, X, INDEX, INDEX, X),
    "COO, other values": (lambda v, i, j, w: _coo(v, i, j).with_values(w).todense(), X, INDEX, INDEX, X),
    "CSR": (lambda v, i, p: _csr(v, i, p).todense(), X, INDEX, POINTER),
    "CSR @ matrix": (lambda v, i, p, x: _csr(v, i, p) @ x, X, INDEX, POINTER, SPD),
    "CSR, other values": (lambda v, i, p, w: _csr(v, i, p).with_values(w).todense(), X, INDEX, POINTER, X),
    "CSC": (lambda v, i, p: sparse.CSC(v, i, p, (3, 3)).todense(), X, INDEX, POINTER),
    "solve": (lambda a, b, x: linear_solve.solve(a, b, method="cg", x0=x).x, SPD, X, X),
    "solve, dense": (lambda a, b: linear_solve.solve(a, b).x, SPD, X),
    "solve_triangular": (lambda a, b: linear_solve.solve_triangular(a, b, lower=True), np.tril(SPD), X),
    "factorize": (lambda a, b: linear_solve.factorize(a, method="cholesky").solve(b), SPD, X),
}
"""A function of arrays, and their values."""


def _added(x: Any, y: Any) -> Any:
    """Add by a function of the namespace of the first."""
    return xpand.array_namespace(x).add(x, y)


def _in_turn(case: Case, library: Library) -> None:
    """Trace each array in turn, under each transformation; the results are those of plain arrays."""
    arrays = [library.asarray(x) for x in case.arrays]
    with np.errstate(all="ignore"):
        expected = [np.asarray(x) for x in trees.leaves(as_tuple(case.function(*arrays)))]
        for i, x in enumerate(arrays):
            for name, transform in _transforms(case, i).items():
                found = _of_one(transform, case.function, arrays, i, x)
                for actual, wanted in zip(trees.leaves(found), expected if found is not None else ()):
                    np.testing.assert_allclose(actual, wanted, rtol=1e-9, atol=1e-12, err_msg=f"array {i}, {name}")


def _of_one(transform: Any, function: Any, arrays: list[Any], i: int, x: Any) -> Any:
    """Transform the function of one array; None where also with traced constants a value must be known."""
    try:
        return transform(lambda x: as_tuple(function(*arrays[:i], x, *arrays[i + 1 :])))(x)
    except (TracedError, TypeError, ValueError) as error:
        kind, message = type(error), _message(error)

    def of_constants(x: Any) -> Any:
        given = [xpand.array_namespace(x).wrap(y) for y in arrays]
        return as_tuple(function(*given[:i], x, *given[i + 1 :]))

    with pytest.raises(kind, match=re.escape(message)):
        transform(of_constants)(x)
    return None


def _message(error: BaseException) -> str:
    return str(error).partition(" (at ")[0]


def _transforms(case: Case, i: int) -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    if case.compiles:
        found["jit"] = jit
    if case.maps:
        found["vmap"] = _second_lane
    if case.arrays[i].dtype.kind in "fc":
        found["vjp"] = lambda f: lambda x: vjp(f, x)[0]
    return found


def _second_lane(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: tuple(y[1, ...] for y in trees.leaves(vmap(function)(xpand.array_namespace(x).stack([x, x]))))


def _check(chosen: dict[str, Case], library_name: str = "numpy") -> None:
    library = library_of_name(library_name)
    found = failures(chosen, lambda case: _in_turn(case, library))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("module", modules())
def test_each_array_traced_in_turn(module: str) -> None:
    _check({name: case for name, case in cases(module).items() if len(case.arrays) > 1})


def test_each_array_of_more_functions_traced_in_turn() -> None:
    # `solve_dense` is not called with traced arrays, and may return None.
    _check({name: case for name, case in more().items() if len(case.arrays) > 1 and name != "solve_dense"})


@pytest.mark.parametrize("name", MORE)
def test_optional_arrays_traced_in_turn(name: str) -> None:
    function, *arrays = MORE[name]
    _check({name: Case(function, tuple(arrays))})


@pytest.mark.parametrize("name", [name for name in MORE if name.startswith(("solve", "factorize"))])
def test_solvers_on_a_library_whose_arrays_refuse_others(name: str) -> None:
    function, *arrays = MORE[name]
    _check({name: Case(function, tuple(arrays))}, "strict")


OF_FUNCTIONS = {"autodiff.jvp", "jit.eval_shape", "vmap.pmap", "vmap.ppermute", "vmap.vmap"}
"""Operations that take functions, and other options than arrays; the permutation of `ppermute` must be concrete."""


def test_every_function_of_several_arrays_has_a_case() -> None:
    library = library_of_name("numpy")
    chosen = [case for case in every().values() if len(case.arrays) > 1]
    chosen += [Case(function, tuple(arrays)) for function, *arrays in MORE.values()]
    with recorded() as called, np.errstate(all="ignore"):
        for case in chosen:
            case.function(*(library.asarray(x) for x in case.arrays))
    takes_several = {
        operation.qualified_name
        for operation in OPERATIONS.values()
        if operation.package == "xpand_extensions" and _count_of_arrays(operation) > 1
    }
    assert takes_several - called <= OF_FUNCTIONS, "operations without a case: `MORE` is the place for one"


def _count_of_arrays(operation: Operation[..., Any]) -> int:
    """Count the parameters that may be arrays or trees of arrays: their type is `Any`."""
    others = ("dtype", "device", "shape", "xp")
    parameters = inspect.signature(operation.facade).parameters.values()
    texts = [str(p.annotation) for p in parameters if p.name not in others]
    return sum("Any" in text and "Callable" not in text for text in texts)
