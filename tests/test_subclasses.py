"""Subclasses of NumPy's arrays: masked arrays, matrices, arrays with units. Their own results, or an error."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xpand
from xpand import UnsupportedError
from xpand_extensions import autodiff, control_flow, linear_solve, optimize, scatter, sparse, special
from xpand_extensions.jit import jit, lower, make_graph
from xpand_extensions.tracing import TracedError
from xpand_extensions.vmap import vmap

VALUES = np.asarray([0.25, 0.5, 0.125, 0.75, 0.375])


class Metres(np.ndarray):
    """An array with a unit, which sums and products of its own keep."""

    unit: str

    def __array_finalize__(self, x: Any) -> None:
        self.unit = getattr(x, "unit", "m")


ARRAYS: dict[str, Any] = {
    "masked": np.ma.masked_array(VALUES, [False, False, True, False, False]),
    "unit": VALUES.view(Metres),
}


@pytest.fixture(params=ARRAYS)
def x(request: pytest.FixtureRequest) -> Any:
    return ARRAYS[request.param]


def _same(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    assert getattr(found, "unit", None) == getattr(expected, "unit", None)
    np.testing.assert_array_equal(np.ma.getmaskarray(found), np.ma.getmaskarray(expected))
    np.testing.assert_array_equal(np.ma.filled(found, 0.0), np.ma.filled(expected, 0.0))


def _long_loop(x: Any) -> Any:
    return control_flow.fori_loop(0, 3000, lambda _, y: y * 0.999, x)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "argument": lambda x: x,
    "sum": lambda x: xpand.array_namespace(x).sum(x * x),
    "elements": lambda x: xpand.array_namespace(x).sqrt(x) + 2.0 * x,
    "long loop": _long_loop,
    "branch": lambda x: control_flow.cond(x[0] > 0.0, lambda y: y * 2.0, lambda y: y, x),
    "large": lambda x: xpand.array_namespace(x).exp(x[:, None] * xpand.array_namespace(x).ones((1, 20000))) * 2.0,
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("compiler", [None, "numpy", "native", "xla"])
def test_compiled_functions_are_left_to_numpy(x: Any, compiler: str | None, name: str) -> None:
    if compiler in ("native", "xla"):
        pytest.importorskip("llvmlite" if compiler == "native" else "jax")
    program = jit(PROGRAMS[name], compiler=compiler)
    expected = PROGRAMS[name](x)
    for _ in range(3):  # later calls may be compiled
        _same(program(x), expected)
    plain = program(VALUES)  # programs for plain arrays and others are separate
    assert type(plain) in (np.ndarray, np.float64)
    _same(program(x), expected)


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_matrices_have_operators_of_their_own() -> None:
    x = np.asmatrix([[1.0, 2.0], [3.0, 4.0]])
    _same(jit(lambda x: x * x)(x), x * x)


def _refused(x: Any) -> str:
    return r"numpy\.ma\.MaskedArray; fill" if isinstance(x, np.ma.MaskedArray) else r"Metres; convert .*numpy\.asarray"


def _total(x: Any) -> Any:
    return xpand.array_namespace(x).sum(x * x)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "grad": autodiff.grad(_total),
    "vjp": lambda x: autodiff.vjp(_total, x),
    "jvp": lambda x: autodiff.jvp(_total, (x,), (x,)),
    "jvp, tangent": lambda x: autodiff.jvp(_total, (VALUES,), (x,)),
    "linearize": lambda x: autodiff.linearize(_total, x),
    "hessian": autodiff.hessian(_total),
    "vmap": vmap(lambda x: x * 2.0),
    "make_graph": lambda x: make_graph(_total)(x),
    "lower": lambda x: lower(_total)(x),
    "scan": lambda x: control_flow.scan(lambda c, r: (c + r, c), 0.0, xs=x),
    "map": lambda x: control_flow.map(lambda r: r * 2.0, x),
    "captured by grad": lambda x: autodiff.grad(lambda y: _total(y * x))(VALUES),
    "captured by jit": lambda x: jit(lambda y: x + y)(VALUES),
    "captured by jit, returned": lambda x: jit(lambda y: (y * 2.0, x))(VALUES),
    "captured by a loop": lambda x: jit(
        lambda y: control_flow.fori_loop(0, 3, lambda _, c: xpand.array_namespace(y).add(c, x), y)
    )(VALUES),
    "segment_sum": lambda x: scatter.segment_sum(x, np.zeros(5, np.int64), num_segments=1),
    "at": lambda x: scatter.at(x)[0].set(1.0),
    "values of at": lambda x: scatter.at(VALUES)[1:].set(x[1:]),
    "scatter": lambda x: scatter.scatter(VALUES, np.arange(5), x),
    "sparse": lambda x: sparse.from_dense(x.reshape(1, -1)),
    "solve": lambda x: linear_solve.solve(np.eye(5), x),
    "minimize": lambda x: optimize.minimize(_total, x),
}


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")  # NumPy's, for fill values
@pytest.mark.parametrize("name", REFUSED)
def test_other_functions_refuse_them(x: Any, name: str) -> None:
    is_first = name == "captured by jit" and isinstance(x, np.ma.MaskedArray)  # its operator converts the operand
    error, message = (TracedError, "conversion to NumPy") if is_first else (UnsupportedError, _refused(x))
    with pytest.raises(error, match=message):
        REFUSED[name](x)


def test_memory_maps_are_plain_arrays(tmp_path: Any) -> None:
    x = np.memmap(tmp_path / "x", np.float64, "w+", shape=(5,))
    x[:] = VALUES
    np.testing.assert_array_equal(autodiff.grad(_total)(x), 2.0 * VALUES)
    np.testing.assert_array_equal(scatter.segment_sum(x, np.zeros(5, np.int64), num_segments=1), [VALUES.sum()])


@pytest.mark.parametrize("name", sorted(special.__all__))
def test_special_functions_have_masks_or_refuse(x: Any, name: str) -> None:
    function = getattr(special, name)
    for args in [("x",), ("x", "x"), ("x", "x", "x"), (2, "x"), ("x", 2)]:
        try:
            expected = function(*[VALUES if each == "x" else each for each in args])
        except (TypeError, ValueError):  # it takes other arguments
            continue
        try:
            found = function(*[x if each == "x" else each for each in args])
        except UnsupportedError:
            continue
        assert type(found) is type(x)
        if np.shape(found) == VALUES.shape and name not in ("softmax", "log_softmax"):
            np.testing.assert_array_equal(np.ma.getmaskarray(found), np.ma.getmaskarray(x))
            np.testing.assert_array_equal(np.ma.filled(found, 0.0), np.ma.filled(found * 0.0 + expected, 0.0))
