"""NumPy's universal functions on traced arrays: types, derivatives, options, methods."""

import warnings
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

from tests.numpy_calls import Call, assert_same, calls, check, check_values, leaves
from xpand_extensions.autodiff import grad, jvp
from xpand_extensions.extend import register_ufunc
from xpand_extensions.extend._ufuncs import REGISTERED
from xpand_extensions.jit import jit
from xpand_extensions.plugins.numpy.traced_arrays.known.reasons import UFUNC_REASONS
from xpand_extensions.plugins.numpy.traced_arrays.known.ufuncs import UFUNCS
from xpand_extensions.vmap import vmap

PUBLIC: Final = {f.__name__: f for f in vars(np).values() if isinstance(f, np.ufunc)}
ELEMENTWISE: Final = {name: f for name, f in PUBLIC.items() if f.signature is None and f in UFUNCS}
BINARY: Final = {name: f for name, f in ELEMENTWISE.items() if f.nin == 2}
REDUCING: Final = {name: f for name, f in BINARY.items() if f.nout == 1 and name != "ldexp"}

X: Final = np.asarray([0.31, 0.62, 0.17])
Y: Final = np.asarray([0.45, 0.21, 0.83])
A: Final = np.asarray([[0.31, 0.62, 0.17], [0.74, 0.28, 0.53]])
B: Final = np.asarray([[0.45, 0.21], [0.83, 0.33], [0.12, 0.91]])
MASK: Final = np.asarray([True, False, True])
NAN: Final = np.asarray([np.nan, 0.4, np.nan])
ROWS: Final = np.asarray([1, 0, 1, 1])


@pytest.fixture(autouse=True)
def _no_warnings_of_values() -> Any:
    with np.errstate(all="ignore"):
        yield


def test_every_universal_function_is_supported_or_has_a_reason() -> None:
    supported = {name for name, f in PUBLIC.items() if f in UFUNCS}
    assert supported | UFUNC_REASONS.keys() == PUBLIC.keys()
    assert not supported & UFUNC_REASONS.keys()


def compare(function: Callable[..., Any], *arrays: Any, tolerance: float = 1e-12) -> None:
    """Compare a program on traced arrays with NumPy: values, data types and errors."""
    try:
        reference = function(*arrays)
    except Exception as error:
        with pytest.raises(type(error) if isinstance(error, (TypeError, ValueError)) else Exception):
            jit(function)(*arrays)
        return
    assert_same(jit(function)(*arrays), reference, tolerance)


DTYPES: Final = ("float64", "float32", "float16", "complex128", "complex64", "int64", "int8", "uint8", "uint64", "bool")
TOLERANCES: Final = {"float16": 2e-3, "float32": 2e-6, "complex64": 2e-6, "int8": 2e-3, "uint8": 2e-3, "bool": 2e-3}


def values(dtype: str) -> Any:
    if dtype == "bool":
        return np.asarray([True, False, True])
    return np.asarray([2, 1, 3] if "int" in dtype else [0.5, 1.25, 2.5], dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_data_types(name: str, dtype: str) -> None:
    ufunc, x = ELEMENTWISE[name], values(dtype)
    y = np.asarray(1, dtype=dtype)
    compare(ufunc if ufunc.nin == 1 else lambda x: ufunc(x, y), x, tolerance=TOLERANCES.get(dtype, 1e-12))


OTHERS: Final = {
    "int": 2,
    "float": 1.5,
    "bool": True,
    "complex": 1 + 2j,
    "np.float32": np.float32(1.5),
    "np.float64": np.float64(1.5),
    "np.int8": np.int8(2),
    "list": [1, 2, 3],
    "row": np.asarray([[1.5], [0.5]]),
    "float32 array": np.asarray([1.5, 0.5, 2.5], dtype=np.float32),
    "0-d": np.asarray(2, dtype=np.int16),
}


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("name", BINARY)
def test_other_operands(name: str, other: str, dtype: str) -> None:
    ufunc, x, y = BINARY[name], values(dtype), OTHERS[other]
    compare(lambda x: ufunc(x, y), x, tolerance=2e-6)
    compare(lambda x: ufunc(y, x), x, tolerance=2e-6)


def test_methods_of_ldexp() -> None:
    """A result can't be the next exponent, so NumPy has the method only for integers."""
    for method in (np.ldexp.reduce, np.ldexp.accumulate, lambda x: np.ldexp.reduceat(x, [0])):
        with pytest.raises(TypeError, match=r"ldexp.*exponent"):
            jit(method)(np.asarray([1, 2, 3]))


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (1, 3)])
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_shapes(name: str, shape: tuple[int, ...]) -> None:
    ufunc = ELEMENTWISE[name]
    x = np.full(shape, 0.5) if "d" in "".join(ufunc.types) else np.full(shape, 2)
    compare(lambda x: ufunc(*[x] * ufunc.nin), x)


def _is_floating(name: str) -> bool:
    return any(t.startswith("d") and t[-1] == "d" for t in PUBLIC[name].types)


@pytest.mark.parametrize("name", [n for n in ELEMENTWISE if _is_floating(n)])
@pytest.mark.parametrize("position", [0, 1])
def test_derivatives(name: str, position: int) -> None:
    ufunc = ELEMENTWISE[name]
    if position >= ufunc.nin or (name == "ldexp" and position):
        return
    shift = {"arccosh": 1.3}.get(name, 0.0)
    x = X + shift if position == 0 else Y + 0.05

    def function(x: Any) -> Any:
        others = [3] if name == "ldexp" else [np.asarray([[0.37], [1.48]])]
        return ufunc(*([x, *others][: ufunc.nin] if position == 0 else [*others, x]))

    check(Call(name, function, x, {}, 1e-11))


@pytest.mark.parametrize("name", [n for n in ELEMENTWISE if _is_floating(n)])
def test_masked_elements_have_no_derivative(name: str) -> None:
    """Where `where` is False, the derivative is 0 also at a point where that of the function is NaN."""
    ufunc = ELEMENTWISE[name]

    def function(x: Any) -> Any:
        outs = tuple([x * 0 for _ in range(ufunc.nout)]) if name != "frexp" else (x * 0, None)
        others = [np.asarray([3, 2, 1])] if name == "ldexp" else [Y]
        if name == "frexp":
            return np.sum(ufunc(x)[0])
        results = ufunc(*[x, *others][: ufunc.nin], out=outs, where=MASK)
        return sum(np.sum(r) for r in leaves(results)) if ufunc.nout > 1 else np.sum(results)

    for special in (np.nan, 0.0, np.inf, -1.0, 1.0, 3.0):
        x = X + (1.3 if name == "arccosh" else 0.0)
        x[1] = special
        gradient = grad(function)(x)
        assert name == "frexp" or gradient[1] == 0.0
        assert np.isfinite(gradient[[0, 2]]).all()


@pytest.mark.parametrize(
    "call",
    [
        *calls(
            {"X": X, "Y": Y, "MASK": MASK, "NAN": NAN, "A": A, "B": B},
            X,
            "np.add(x, Y, dtype=np.complex128)",
            "np.add(x, Y, signature='dd->d')",
            "np.add(x, Y, sig=(None, None, np.float64))",
            "np.add(x, Y, order='C', subok=False)",
            "np.add(x, Y, casting='no')",
            "np.multiply(x, Y, out=x * 1)",
            "np.multiply(x, Y, x * 1)",
            "np.multiply(x, Y, out=(x * 1,))",
            "np.add(x, Y, out=np.stack([x * 1, x * 2]))",
            "np.add(x, 1, out=(x * 1).astype(np.complex128))",
            "np.sqrt(x, out=x * 2, where=MASK)",
            "np.log(x, out=x * 2, where=x > 0.2)",
            "np.hypot(x, Y, out=np.stack([x * 1, x * 2]), where=[[True], [False]])",
            "np.modf(x * 5, out=(x * 1, x * 2))",
            "np.modf(x * 5, x * 1, x * 2)",
            "np.modf(x * 5, out=(None, x * 2))",
            "np.modf(x * 5, out=(x * 1, x * 2), where=MASK)",
            "np.divmod(x * 5, Y)",
            "np.divmod(7.0, x)",
            "np.frexp(x)[0]",
            "np.fmax(x, NAN)",
            "np.fmin(NAN, x)",
            "np.add(x, [x, x])",
            "np.add(x, (1, 2, 3))",
            "np.multiply.outer(x, Y)",
            "np.multiply.outer(Y, x, dtype=np.float64)",
            "np.subtract.outer(A, x)",
            "np.power.outer(x, [1, 2])",
            "np.divmod.outer(x, Y)",
            "np.add.outer(x, 2.0)",
            "np.add.outer(x, Y, out=np.stack([x * 1, x * 2, x * 3]))",
            "np.conjugate(x * 1j)",
            "np.matvec(A, x)",
            "np.vecmat(x, B)",
            "np.vecmat(x * 1j, B)",
            "np.vecdot(x, Y)",
            "np.vecdot(x * 1j, Y)",
            "np.vecdot(A.T, x[:, None], axis=0)",
            "np.vecdot(A, x, keepdims=True)",
            "np.vecdot(A, x, axes=[-1, 0])",
            "np.vecdot(A, x, axes=[-1, 0, ()])",
            "np.matmul(A, x)",
            "np.matmul(x, B)",
            "np.matmul(x[None], B, out=np.stack([x[:2] * 1]))",
        ),
        *calls(
            {"A": A, "B": B},
            A,
            "np.matmul(x, B)",
            "np.matmul(x.T, B, axes=[(1, 0), (0, 1), (1, 0)])",
            "np.matmul(x, B, dtype=np.complex128)",
            "np.matvec(x.T, B[:, 0], axes=[(1, 0), (0,), (0,)])",
        ),
    ],
)
def test_options(call: Call) -> None:
    check(call)


def test_options_of_integers() -> None:
    x = np.asarray([5, -3, 8])
    for function in (
        lambda x: np.gcd(x, 6),
        lambda x: np.lcm(x, np.asarray([[4], [6]])),
        lambda x: np.bitwise_count(x),
        lambda x: np.add(x, 1, dtype=np.float32),
        lambda x: np.add(x, 2.5, out=x * 0, casting="unsafe"),
        lambda x: np.left_shift(x, 2, out=x * 1, where=[True, False, True]),
        lambda x: np.rint(x),
        lambda x: np.ldexp(0.7, x),
        lambda x: np.frexp(x),
        lambda x: np.spacing(x * 1.0),
        lambda x: np.add(x, 2.5, out=x * 0),
        lambda x: np.add(x, x, casting="no", dtype=np.float32),
        lambda x: np.add(x, 1, signature="dd->q"),
        lambda x: np.add(x.astype(np.int8), 1000, dtype=np.int8),
        lambda x: np.multiply(x, [0.5, 1.5, 2.5], dtype=np.float32),
        lambda x: np.isnat(x),
        lambda x: np.add(x, 1, dtype=np.float32, signature="ff->f"),
        lambda x: np.add(x, 1, nothing=1),
        lambda x: np.add(x, 1, axis=0),
        lambda x: np.sin(x, keepdims=True),
        lambda x: np.matmul(x, x, axis=0),
        lambda x: np.matmul(x, x, where=[True, False, True]),
        lambda x: np.add(x, 1, out=np.stack([x, x])[:, :2]),
        lambda x: np.add(x, 1, out=x * 1, where=[1, 0, 1]),
        lambda x: np.add(x, 1, out=x * 1, where=np.asarray([1, 0, 1])),
    ):
        compare(function, x)


# Methods


def apply(ufunc: np.ufunc, method: str, x: Any, *arguments: Any, **options: Any) -> Any:
    """Call a method. For `power` and `arctan2`, NumPy's vector instructions read overwritten numbers."""
    result = getattr(ufunc, method)(x, *arguments, **options)
    if not isinstance(x, np.ndarray) or ufunc not in (np.power, np.arctan2) or result.dtype.kind != "f":
        return result
    one_by_one = np.frompyfunc(lambda a, b: ufunc(np.asarray(a), np.asarray(b)), 2, 1)
    options.pop("dtype", None)
    objects = getattr(one_by_one, method)(x.astype(result.dtype).astype(object), *arguments[:1], **options)
    return np.asarray(objects).astype(result.dtype)[()]


OPTIONS: Final[list[dict[str, Any]]] = [
    {},
    {"axis": None},
    {"axis": 1, "keepdims": True},
    {"axis": (0, 1)},
    {"axis": ()},
    {"axis": -1, "initial": 2},
    {"initial": 2, "where": np.asarray([[True, False, True], [False, False, True]])},
    {"axis": 1, "where": np.asarray([True, False, True])},
    {"axis": 1, "where": np.asarray([True, False, True]), "keepdims": True},
    {"dtype": np.float64},
    {"dtype": np.complex128},
    {"axis": 2},
]


@pytest.mark.parametrize(
    ("name", "dtype", "options"),
    [
        *((name, dtype, options) for name in REDUCING for dtype in ("float64", "int64") for options in OPTIONS),
        *((name, dtype, {}) for name in REDUCING for dtype in ("float32", "int8", "bool", "complex128")),
        *(
            (name, dtype, options)
            for name in ("add", "maximum", "logical_or", "subtract")
            for dtype in ("float32", "int8", "bool", "complex128")
            for options in OPTIONS[1:]
        ),
    ],
    ids=str,
)
def test_reduce(name: str, dtype: str, options: dict[str, Any]) -> None:
    ufunc = REDUCING[name]
    x = np.asarray([[3, 1, 2], [2, 4, 1]]).astype(dtype)
    tolerance = 1e-6 if dtype not in ("int8", "bool") else 5e-3
    compare(lambda x: apply(ufunc, "reduce", x, **options), x, tolerance=tolerance)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (1, 2), ()])
@pytest.mark.parametrize("name", REDUCING)
def test_reduce_few(name: str, shape: tuple[int, ...]) -> None:
    ufunc = REDUCING[name]
    for dtype in ("float64", "int64", "bool"):
        x = np.ones(shape, dtype=dtype)
        compare(lambda x: ufunc.reduce(x), x)
        compare(lambda x: ufunc.reduce(x, initial=1), x)
        compare(lambda x: ufunc.reduce(x, axis=None, initial=None), x)
        compare(lambda x: ufunc.accumulate(x), x)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8", "bool", "complex128"])
@pytest.mark.parametrize("name", REDUCING)
def test_accumulate_and_reduceat(name: str, dtype: str) -> None:
    ufunc = REDUCING[name]
    x = np.asarray([[3, 1, 2, 5, 1], [2, 4, 1, 1, 2]]).astype(dtype)
    for function in (
        lambda x: apply(ufunc, "accumulate", x),
        lambda x: apply(ufunc, "accumulate", x, axis=-1),
        lambda x: apply(ufunc, "accumulate", x, 1, np.float64),
        lambda x: apply(ufunc, "reduceat", x, [0, 1, 1, 0]),
        lambda x: apply(ufunc, "reduceat", x, [0, 2, 4], axis=1),
        lambda x: apply(ufunc, "reduceat", x, [3, 1, 4], axis=1, dtype=np.float64),
        lambda x: apply(ufunc, "reduceat", x, [], axis=1),
        lambda x: apply(ufunc, "reduceat", x, [7]),
        lambda x: apply(ufunc, "accumulate", x, axis=2),
    ):
        compare(function, x, tolerance=1e-6 if dtype not in ("int8", "bool") else 5e-3)


@pytest.mark.parametrize(
    "call",
    calls(
        {"np": np, "A": A, "X": X, "MASK": MASK},
        A,
        *[
            f"np.{name}.{method}"
            for name in (
                *("add", "subtract", "multiply", "divide", "maximum", "minimum", "fmax", "fmin", "hypot", "power"),
                *("logaddexp", "logaddexp2", "arctan2", "float_power", "remainder", "copysign"),
            )
            for method in ("reduce(x)", "accumulate(x, axis=1)", "reduceat(x, [0, 1, 0])")
        ],
        *[
            f"np.{name}.reduce(x, axis=1, where=MASK, initial=0.4)"
            for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "logaddexp", "hypot")
        ],
        *[
            f"np.{name}.reduce(x, axis=1, keepdims=True)"
            for name in ("add", "subtract", "multiply", "divide", "maximum", "hypot", "remainder", "copysign")
        ],
        "np.add.reduce(x, axis=1, where=x > 0.3)",
        "np.add.reduce(x, axis=None, initial=x[0, 0])",
        "np.subtract.reduce(x, axis=0, initial=x[0, 0])",
        "np.add.reduce(x, out=x[0] * 1)",
        "np.add.reduce(x, 0, None, x[0] * 1)",
        "np.add.accumulate(x, axis=1, out=x * 1)",
        "np.add.reduceat(x, [0, 2], axis=1, out=x[:, :2] * 1)",
    ),
)
def test_derivatives_of_methods(call: Call) -> None:
    check(call)


@pytest.mark.parametrize(
    "name", ["add", "multiply", "subtract", "divide", "power", "hypot", "logaddexp", "maximum", "fmin", "arctan2"]
)
def test_derivatives_of_masked_elements_of_reductions(name: str) -> None:
    for special in (0.0, np.nan, np.inf):
        x = np.asarray([0.3, special, 0.7])
        gradient = grad(lambda x: PUBLIC[name].reduce(x, where=MASK, initial=0.4))(x)
        assert gradient[1] == 0.0
        assert np.isfinite(gradient).all()


def at(ufunc: np.ufunc, x: Any, *arguments: Any) -> Any:
    x = x * 1 if x.dtype != np.bool_ else x | False
    ufunc.at(x, *arguments)
    return x


INDICES: Final = {
    "duplicates": ROWS,
    "list": [1, 0, 1],
    "tuple": (ROWS, ROWS),
    "slice": slice(None),
    "integer": 1,
    "mask": np.asarray([True, False]),
    "empty": np.asarray([], dtype=np.int64),
    "mixed": (ROWS, slice(0, 2)),
    "outside": [7],
}


@pytest.mark.parametrize(
    ("name", "dtype", "index"),
    [
        *((n, dtype, "duplicates") for n, f in ELEMENTWISE.items() if f.nout == 1 for dtype in ("float64", "int64")),
        *(
            (name, dtype, index)
            for name in ("add", "multiply", "divide", "maximum", "logical_and", "negative", "sqrt")
            for dtype in ("float64", "int64", "bool", "complex128")
            for index in INDICES
        ),
    ],
)
def test_at(name: str, dtype: str, index: str) -> None:
    ufunc = ELEMENTWISE[name]
    x = np.asarray([[3, 1, 2], [2, 4, 1]]).astype(dtype)
    others = [np.asarray(2).astype(dtype)] if ufunc.nin == 2 else []
    compare(lambda x: at(ufunc, x, INDICES[index], *others), x, tolerance=1e-6)


@pytest.mark.parametrize(
    "name", ["add", "subtract", "multiply", "divide", "maximum", "power", "hypot", "sin", "negative"]
)
def test_derivatives_of_at(name: str) -> None:
    ufunc = PUBLIC[name]
    others = [np.asarray([[0.3], [0.4], [0.5], [0.8]])] if ufunc.nin == 2 else []
    check(Call(name, lambda x: at(ufunc, x, ROWS, *others), A, {}, 1e-12))
    if ufunc.nin == 2:
        check(Call(name, lambda x: at(ufunc, np.sum(x) * A, ROWS, x), A[:1], {}, 1e-12))


def test_at_with_a_traced_index() -> None:
    def histogram(rows: Any, weights: Any) -> Any:
        counts = weights[:2] * 0
        np.add.at(counts, rows, weights)
        return counts

    weights = np.asarray([0.1, 0.2, 0.3, 0.4])
    assert_same(jit(histogram)(ROWS, weights), histogram(ROWS, weights), 1e-15)


def test_at_of_numpys_own_array() -> None:
    def function(x: Any) -> Any:
        counts = np.zeros(2)
        np.add.at(counts, ROWS, x)
        return counts

    with pytest.raises(TypeError, match=r"np\.add\.at.*np\.zeros_like"):
        jit(function)(np.ones(4))


# In place


class Owner:
    """An object with an array."""

    shared: Any

    def __init__(self, array: Any) -> None:
        self.array = array


GLOBAL: Any = None


def local(x: Any) -> Any:
    b = np.zeros(3)
    b += x
    return b


def all_operators(x: Any) -> Any:
    b = np.ones(3)
    b += x
    b = np.full(3, 2.0) * np.ones(3)
    b *= x
    c = np.ones(3)
    c -= x
    d = np.ones(3)
    d /= x
    e = np.full(3, 2.0)
    e **= x
    return b + c + d + e


def loop(x: Any) -> Any:
    b = np.zeros(3)
    for i in range(4):
        b += np.sin(x * i)
    return b


def attribute(x: Any) -> Any:
    owner = Owner(np.ones(3))
    owner.array *= x
    owner.array *= x
    return owner.array


def element(x: Any) -> Any:
    arrays = [np.ones(3), np.ones(3)]
    arrays[1] -= x
    return arrays[1] * arrays[0]


def item(x: Any) -> Any:
    arrays = {"a": np.ones(3)}
    arrays["a"] /= x
    return arrays["a"]


def cell(x: Any) -> Any:
    b = np.ones(3)

    def inner() -> Any:
        return b

    b += x
    return inner()


def other_function(x: Any) -> Any:
    def inner(b: Any) -> Any:
        b += x
        return b

    return inner(np.ones(3))


def global_name(x: Any) -> Any:
    global GLOBAL
    GLOBAL = np.ones(3)
    GLOBAL += x
    result, GLOBAL = GLOBAL, None
    return result


def reshaped(x: Any) -> Any:
    b = np.arange(3.0).reshape(1, 3)
    b += x
    return b


def float32(x: Any) -> Any:
    b = np.ones(3, dtype=np.float32)
    b += x
    return b * 1.0


def broadcast(x: Any) -> Any:
    b = np.ones((2, 3))
    b += x
    return b


def of_shape_0(x: Any) -> Any:
    b = np.zeros(())
    b += x[0]
    return b


@pytest.mark.parametrize(
    "function",
    [
        *(local, all_operators, loop, attribute, element, item, cell, other_function, global_name, reshaped, float32),
        *(broadcast, of_shape_0),
    ],
)
def test_replaced_in_place(function: Callable[[Any], Any]) -> None:
    if function is float32:
        assert_same(jit(function)(X), function(X), 1e-6)
        assert jit(function)(X).dtype == np.float32
        return
    check(Call(function.__name__, function, X, {}, 1e-12))


def alias(x: Any) -> Any:
    b = np.zeros(3)
    a = b
    b += x
    return np.sum(a**2)


def view(x: Any) -> Any:
    b = np.zeros(3)
    a = b[:2]
    b += x
    return np.sum(a**2)


def of_view(x: Any) -> Any:
    b = np.zeros(4)
    a = b[:3]
    a += x
    return np.sum(b**2)


def slices(x: Any) -> Any:
    b = np.zeros(4)
    b[1:] += x
    return np.sum(b**2)


def two_views(x: Any) -> Any:
    b = np.zeros(6).reshape(2, 3)
    a = b.T
    b += x
    return np.sum(a**2)


def argument(x: Any) -> Any:
    def inner(b: Any) -> None:
        b += x

    a = np.zeros(3)
    inner(a)
    return np.sum(a**2)


def in_two_lists(x: Any) -> Any:
    a = [np.zeros(3)]
    b = list(a)
    b[0] += x
    return np.sum(a[0] ** 2)


def in_memory(x: Any) -> Any:
    b = np.zeros(3)
    memory = memoryview(b)
    b += x
    return np.sum(np.asarray(memory) ** 2)


def explicit(x: Any) -> Any:
    b = np.zeros(3)
    np.add(b, x, out=b)
    return np.sum(b**2)


def explicit_position(x: Any) -> Any:
    b = np.zeros(3)
    np.add(b, x, b)
    return np.sum(b**2)


def explicit_other(x: Any) -> Any:
    b = np.zeros(3)
    np.multiply(x, x, out=b)
    return np.sum(b**2)


def explicit_method(x: Any) -> Any:
    b = np.zeros(3)
    b.__iadd__(x)
    return np.sum(b**2)


def explicit_argument(x: Any) -> Any:
    def inner(b: Any) -> Any:
        np.add(b, x, out=b)
        return b

    return np.sum(inner(np.zeros(3)) ** 2)


def explicit_with_mask(x: Any) -> Any:
    b = np.zeros(3)
    np.add(b, x, out=b, where=MASK)
    return np.sum(b**2)


@pytest.mark.parametrize(
    "function",
    [
        *(alias, view, of_view, slices, two_views, argument, in_two_lists, in_memory, explicit, explicit_position),
        *(explicit_other, explicit_method, explicit_argument, explicit_with_mask),
    ],
)
def test_not_replaced_in_place(function: Callable[[Any], Any]) -> None:
    """Another name or view would see the old values: an error says what to write."""
    for transform in (grad, jit):
        with pytest.raises(TypeError, match=r"can't hold values that a transformation traces.*np\.zeros_like"):
            transform(function)(X)


def unused(x: Any) -> Any:
    import operator

    b = np.zeros(3)
    operator.iadd(b, x)
    return np.sum(b**2)


def of_class(x: Any) -> Any:
    Owner.shared = np.zeros(3)
    owner = Owner(None)
    owner.shared += x
    return np.sum(Owner.shared**2)


@pytest.mark.parametrize("function", [unused, of_class])
def test_old_values_are_gone(function: Callable[[Any], Any]) -> None:
    """Where references can't tell that another name sees the array, its next use is an error."""
    with pytest.raises(TypeError, match="not supported for the input types|replaced by"):
        grad(function)(X)


def test_errors_in_place() -> None:
    def bigger(x: Any) -> Any:
        b = np.zeros(3)
        b += x
        return b

    def integers(x: Any) -> Any:
        b = np.zeros(3, dtype=np.int64)
        b += x
        return b

    compare(bigger, A)
    compare(integers, X)


# Other classes


class Meters(np.ndarray):
    """An array with a unit."""


@pytest.mark.parametrize("cls", [np.ma.MaskedArray, np.matrix, Meters])
def test_subclasses(cls: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy discourages matrices
        other = X.view(cls)
    for function in (
        lambda x: np.multiply(x, other),
        lambda x: np.multiply(other, x),
        lambda x: other * x,
        lambda x: x * other,
        lambda x: np.add(x, x, out=other),
        lambda x: np.add.outer(x, other),
    ):
        with pytest.raises(TypeError, match="subclass|mask|matrix|conversion to NumPy|not available for"):
            grad(lambda x, function=function: np.sum(function(x)))(X)


@pytest.mark.parametrize(
    "other",
    [np.asarray([None, "a", 1], dtype=object), np.asarray(["a", "b", "c"]), np.asarray(["2020-01-01"], dtype="M8[D]")],
    ids=lambda x: x.dtype.kind,
)
def test_other_data_types(other: Any) -> None:
    for function in (
        lambda x: np.multiply(x, other),
        lambda x: np.add(other, x),
        lambda x: other + x,
        lambda x: np.add(x, other[0]),
        lambda x: np.add(x, list(other)),
    ):
        for transform in (jit, grad):
            with pytest.raises(TypeError):
                transform(function)(X)


class Duck:
    """An array that acts in NumPy's protocol itself."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return "duck", ufunc, method


def test_other_classes_act() -> None:
    results: list[Any] = []

    def function(x: Any) -> Any:
        results.extend([np.add(x, Duck()), np.add(Duck(), x), np.add.outer(x, Duck()), np.sin(x, out=Duck())])
        return np.sum(x)

    grad(function)(X)
    assert [r[1:] for r in results] == [
        (np.add, "__call__"),
        (np.add, "__call__"),
        (np.add, "outer"),
        (np.sin, "__call__"),
    ]


def test_arrays_of_another_library() -> None:
    torch = pytest.importorskip("torch")
    x = torch.ones(3, dtype=torch.float64)
    with pytest.raises(TypeError):
        grad(lambda v: np.sum(np.add(jit(lambda w: w)(v), vmap(lambda w: np.add(v, w))(x))))(X)


# Unknown functions


def test_unknown_function() -> None:
    ufunc = np.frompyfunc(lambda x: x + 1, 1, 1)
    with pytest.raises(TypeError, match=r"xpand_extensions\.extend\.register_ufunc"):
        grad(lambda x: np.sum(ufunc(x)))(X)


def test_registered_function() -> None:
    ufunc = np.frompyfunc(lambda x, y: float(np.sin(x) * y), 2, 1)
    with pytest.raises(TypeError, match="register_ufunc"):
        jit(ufunc)(X, Y)
    register_ufunc(ufunc, lambda x, y: np.sin(x) * y)
    np.testing.assert_allclose(grad(lambda x: np.sum(ufunc(x, Y)))(X), np.cos(X) * Y)
    np.testing.assert_allclose(grad(lambda y: np.sum(ufunc(2, y)))(Y), np.full(3, np.sin(2)))
    assert_same(jit(lambda x: ufunc.outer(x, Y))(X), np.sin(X)[:, None] * Y, 1e-15)
    assert_same(jit(lambda x: ufunc.reduce(x))(X), np.sin(np.sin(X[0]) * X[1]) * X[2], 1e-15)
    assert_same(jit(lambda x: ufunc.accumulate(x))(X)[-1], np.sin(np.sin(X[0]) * X[1]) * X[2], 1e-15)
    assert_same(jit(lambda x: ufunc(x, Y, out=x * 1, where=MASK))(X), np.where(MASK, np.sin(X) * Y, X), 1e-15)
    assert_same(vmap(lambda x: ufunc(x, Y))(A), np.sin(A) * Y, 1e-15)


def test_registered_function_with_several_outputs() -> None:
    ufunc = np.frompyfunc(lambda x: (float(np.sin(x)), float(np.cos(x))), 1, 2)
    register_ufunc(ufunc, lambda x: (np.sin(x), np.cos(x)))
    assert_same(jit(ufunc)(X), (np.sin(X), np.cos(X)), 1e-15)


def test_registered_function_of_scipy() -> None:
    sc = pytest.importorskip("scipy.special")
    root = np.asarray([0.4, 0.9])
    with pytest.raises(TypeError, match=r"scipy\.special\.kolmogorov.*register_ufunc"):
        grad(lambda x: np.sum(sc.kolmogorov(x)))(root)
    k = np.arange(1, 60)[:, None]
    register_ufunc(sc.kolmogorov, lambda x: 2 * np.add.reduce(-((-1.0) ** k) * np.exp(-2 * k * k * x * x)))
    step = 1e-6
    expected = (sc.kolmogorov(root + step) - sc.kolmogorov(root - step)) / (2 * step)
    try:
        np.testing.assert_allclose(grad(lambda x: np.sum(sc.kolmogorov(x)))(root), expected, rtol=1e-8)
    finally:
        REGISTERED.pop(sc.kolmogorov)


def test_registration_errors() -> None:
    with pytest.raises(TypeError, match=r"register_ufunc: takes a universal function.*got"):
        register_ufunc(np.sum, np.sum)
    with pytest.raises(TypeError, match="register_ufunc: the function must be callable"):
        register_ufunc(np.frompyfunc(abs, 1, 1), None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"np\.sin is one of NumPy's own"):
        register_ufunc(np.sin, np.cos)


def test_a_function_is_registered_once() -> None:
    """Compiled programs contain it, so that another one would not reach them."""
    ufunc, double = np.frompyfunc(lambda x: x * 2.0, 1, 1), lambda x: x * 2.0
    register_ufunc(ufunc, double)
    program = jit(lambda x: np.sum(ufunc(x)))
    assert float(program(X)) == np.sum(X * 2.0)
    register_ufunc(ufunc, double)
    with pytest.raises(ValueError, match="has a function already; programs that `jit` compiled contain it"):
        register_ufunc(ufunc, lambda x: x * 5.0)
    assert float(program(X)) == np.sum(X * 2.0)


def test_dates() -> None:
    with pytest.raises(TypeError):
        jit(np.isnat)(X)


def test_forward_mode_and_batches() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out, tangent = jvp(lambda x: np.add.reduce(np.fmod(np.multiply.outer(x, Y), 0.2)), (X,), (np.ones(3),))
        assert_same(vmap(lambda x: np.add.reduce(x))(A), np.add.reduce(A, axis=1), 1e-15)
    np.testing.assert_allclose(out, np.add.reduce(np.fmod(np.multiply.outer(X, Y), 0.2)))
    np.testing.assert_allclose(tangent, np.full(3, 0) + 3 * Y)


def test_masks_have_values_only() -> None:
    check_values(Call("where", lambda x: np.add(x, 1.0, out=x * 1, where=x > 0.3), X, {}, 1e-15))
