"""A test for each row of docs/coverage/haliax.toml, on every library, against NumPy on the wrapped arrays."""

import importlib
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xpand
from tests.coverage import table, unfinished
from tests.libraries import Library
from xpand_extensions import autodiff, jit, named as hax
from xpand_extensions.named import Axis, NamedArray

TABLE = table("haliax")

Row = Callable[[Library], None]
CASES: dict[str, Row] = {}
OF_SEVERAL: dict[str, Row] = {}
"""Tests of functions of several arrays of which one is traced and the others are constants."""

A = np.asarray([[0.5, -1.5, 2.0, 0.25], [3.0, -0.25, 0.75, 1.0], [-0.5, 0.125, 6.0, -2.0]])
INTEGERS = np.asarray([[3, 7, 5, 1], [2, 9, 0, 4], [8, 6, 10, 12]])
BOOLEANS = A > 0.3
COMPLEX = A + 1j * (A > 0)
WITH_NAN = np.where(np.abs(A) == 0.25, np.nan, A)
INFINITE = np.asarray([[np.inf, -np.inf], [np.nan, -0.0]])
SQUARE = A[:, :3]
AB = ("a", "b")


def of(library: Library, values: Any, names: Any = AB) -> NamedArray:
    return hax.named(library.asarray(values), names)


def check(library: Library, found: NamedArray, names: tuple[str, ...], expected: Any) -> None:
    """Check the axes, the library, the kind of data type and the values of a result."""
    expected = np.asarray(expected)
    assert found.names == names
    assert xpand.array_namespace(found.array) is library.xp
    values = np.asarray(library.to_numpy(found.array))
    integers = values.dtype.kind in "iu" and expected.dtype.kind in "iu"
    assert integers or values.dtype == expected.dtype
    assert values.shape == expected.shape
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-12)


def row(*rows: str) -> Callable[[Row], Row]:
    """Enter a test under the names of rows."""

    def enter(test: Row) -> Row:
        CASES.update(dict.fromkeys(rows, test))
        return test

    return enter


def compared(
    name: str,
    names: tuple[str, ...],
    expected: Any,
    *operands: Any,
    function: Any = None,
    axes: Any = AB,
    **options: Any,
) -> None:
    """Enter the row of a function of named arrays. Operands are arrays with `axes`, pairs with names, or numbers."""

    def given(library: Library) -> list[Any]:
        return [
            of(library, *x) if _is_pair(x) else of(library, x, axes) if isinstance(x, np.ndarray) else x
            for x in operands
        ]

    def call(*operands: Any) -> Any:
        called = function
        if called is None:
            called = getattr(hax, name.rpartition(".")[2]) if "." not in name else getattr(NamedArray, name[11:])
        return called(*operands, **options)

    def test(library: Library) -> None:
        checked(library, call(*given(library)))

    def test_traced(library: Library) -> None:
        arrays = given(library)
        for i, x in enumerate(arrays):
            if isinstance(x, NamedArray):
                of_one = lambda x, i=i: call(*arrays[:i], x, *arrays[i + 1 :])
                checked(library, jit.jit(of_one)(x))

    def checked(library: Library, found: Any) -> None:
        if isinstance(expected, (tuple, list)):
            assert len(found) == len(expected)
            for each, values in zip(found, expected):
                check(library, each, names, values)
        else:
            check(library, found, names, expected)

    CASES[name] = test
    if sum(isinstance(x, np.ndarray) or _is_pair(x) for x in operands) > 1:
        OF_SEVERAL[name] = test_traced


def _is_pair(x: Any) -> bool:
    return isinstance(x, tuple) and isinstance(x[0], np.ndarray)


# --- elementwise functions -------------------------------------------------------------------------------------------

UNARY = {
    "abs absolute arctan arcsinh around cbrt ceil copy cos cosh deg2rad degrees exp exp2 expm1 fabs floor i0 negative "
    "positive rad2deg radians reciprocal rint round sign sin sinc sinh square tan tanh trunc": A,
    "arccos arcsin arctanh": A / 8.0,
    "arccosh": np.abs(A) + 1.0,
    "log log10 log1p log2 sqrt": np.abs(A),
    "bitwise_count bitwise_invert bitwise_not invert": INTEGERS,
    "logical_not": BOOLEANS,
    "isfinite isinf isnan isneginf isposinf signbit": INFINITE,
    "angle conj conjugate imag iscomplex isreal real": COMPLEX,
}
for given_names, values in UNARY.items():
    for each in given_names.split():
        compared(each, AB, getattr(np, each)(values), values)
compared("fix", AB, np.trunc(A), A)
compared("rsqrt", AB, 1.0 / np.sqrt(np.abs(A)), np.abs(A))
compared("frexp", AB, np.frexp(A), A)

BINARY = {
    "add arctan2 divide equal floor_divide fmax fmin fmod greater greater_equal hypot less less_equal logaddexp "
    "logaddexp2 maximum minimum mod multiply nextafter not_equal remainder subtract true_divide": (A, A[1]),
    "divmod": (A, A[1]),
    "power float_power": (np.abs(A), A[1]),
    "bitwise_and bitwise_or bitwise_xor": (INTEGERS, INTEGERS[1]),
    "bitwise_left_shift bitwise_right_shift left_shift right_shift": (INTEGERS, INTEGERS[1] % 3),
    "logical_and logical_or logical_xor": (BOOLEANS, BOOLEANS[1]),
}
for given_names, (first, second) in BINARY.items():
    for each in given_names.split():
        # The second array has one of the axes, and the first has both in the other order.
        results = getattr(np, each)(first, second)
        transposed = tuple(x.T for x in results) if isinstance(results, tuple) else results.T
        compared(each, ("b", "a"), transposed, (first.T, ("b", "a")), (second, "b"))

for each in ("conj", "conjugate", "copy"):
    compared(f"NamedArray.{each}", AB, getattr(np, each)(COMPLEX), COMPLEX)
compared("NamedArray.round", AB, np.round(A, 1), A, 1)
compared("NamedArray.astype", AB, A.astype("float32"), A, function=lambda x: x.astype("float32"))
compared("NamedArray.real", AB, COMPLEX.real, COMPLEX, function=lambda x: x.real)
compared("NamedArray.imag", AB, COMPLEX.imag, COMPLEX, function=lambda x: x.imag)
for each in ("clip", "NamedArray.clip"):
    compared(each, AB, np.clip(A, A[1] - 2.0, 1.5), A, (A[1] - 2.0, "b"), 1.5)
compared("isclose", AB, np.isclose(A, A[1]), A, (A[1], "b"))


@row("where")
def where(library: Library) -> None:
    x = of(library, A)
    check(library, hax.where(x > 0.0, x, 0.0), AB, np.maximum(A, 0.0))
    found = hax.where(of(library, A[0] > 0.3, "b"), fill_value=-1, new_axis=Axis("n", 3))
    check(library, found[0], ("n",), [0, 2, -1])


@row("allclose", "array_equal", "array_equiv")
def comparisons(library: Library) -> None:
    x, y = of(library, A), of(library, A.T, ("b", "a"))
    for function in (hax.allclose, hax.array_equiv):
        assert bool(function(x, y))
        assert not bool(function(x, y + 1.0))
    assert bool(hax.array_equal(x, of(library, A)))
    assert not bool(hax.array_equal(x, x + 1.0))


@row("ndim", "NamedArray.ndim")
def number_of_axes(library: Library) -> None:
    assert hax.ndim(of(library, A)) == of(library, A).ndim == 2


@row("NamedArray.operators (+ - * / // % ** @ & | ^ << >> ~ < <= == != >= >)")
def operators(library: Library) -> None:
    x, n, t = of(library, A), of(library, INTEGERS), of(library, BOOLEANS)
    for found, expected in (
        (x + 1.0 - x * 2.0, A + 1.0 - A * 2.0),
        (2.0 / x // 0.5 % 3.0, 2.0 / A // 0.5 % 3.0),
        (abs(x) ** 2.0, A**2),
        ((x < 0.5) & (x <= 2.0) | (x == 3.0) ^ ~t, (A < 0.5) & (A <= 2.0) | (A == 3.0) ^ ~BOOLEANS),
        ((x != 0.5) & (x >= 0.0) & (x > 0.1), (A != 0.5) & (A >= 0.0) & (A > 0.1)),
        (n << 2 >> 1, INTEGERS << 2 >> 1),
    ):
        check(library, found, AB, expected)
    check(library, x @ of(library, A[0], "b"), ("a",), A @ A[0])


# --- reductions, along axes ------------------------------------------------------------------------------------------

REDUCED = {
    "all any": BOOLEANS,
    "amax amin argmax argmin max mean min prod product ptp std sum var": A,
    "nanargmax nanargmin nanmax nanmean nanmin nanprod nanstd nansum nanvar": WITH_NAN,
}
for given_names, values in REDUCED.items():
    for each in given_names.split():
        reduced = getattr(np, "prod" if each == "product" else each)(values, axis=1)
        if each != "product":
            compared(each, ("a",), reduced, values, "b")
        if not each.startswith(("nan", "a")) or each in ("all", "any", "argmax", "argmin"):
            compared(f"NamedArray.{each}", ("a",), reduced, values, "b")

for prefix in ("", "NamedArray."):
    for each in ("cumsum", "cumprod", "sort", "argsort"):
        compared(prefix + each, AB, getattr(np, each)(A, axis=0), A, "a")
for each in ("nancumsum", "nancumprod"):
    compared(each, AB, getattr(np, each)(WITH_NAN, axis=0), WITH_NAN, "a")

compared("top_k", ("a", "best"), (-np.sort(-A)[:, :2], np.argsort(-A)[:, :2]), A, "b", 2, "best")
compared("packbits", AB, np.packbits(BOOLEANS, axis=1), BOOLEANS, "b")
BYTES = np.asarray([[3, 200]], dtype=np.uint8)
compared("unpackbits", AB, np.unpackbits(BYTES, axis=1), BYTES, "b")
compared("bincount", ("n",), np.bincount(INTEGERS.ravel() % 3, minlength=4), INTEGERS % 3, Axis("n", 4))
compared("searchsorted", AB, np.searchsorted(np.sort(A[0]), A), (np.sort(A[0]), "q"), A)
compared("nonzero", ("n",), np.nonzero(A > 1.0), A > 1.0, size=Axis("n", 3))
compared(
    "pad", AB, np.pad(A, ((1, 0), (0, 2)), constant_values=7.0), A, {"a": (1, 0), "b": (0, 2)}, constant_values=7.0
)
for each in ("trace", "NamedArray.trace"):
    compared(each, (), np.trace(SQUARE), SQUARE, "a", "b")
compared("tril", AB, np.tril(A, 1), A, "a", "b", 1)
compared("triu", AB, np.triu(A, 1), A, "a", "b", 1)

# --- products and shapes ---------------------------------------------------------------------------------------------

OTHER = A.T[:, :2] + 1.0
for each in ("dot", "NamedArray.dot"):
    compared(each, ("a", "c"), A @ OTHER, A, (OTHER, ("b", "c")), axis="b")
compared("einsum", ("c", "a"), (A @ OTHER).T, "i j, j k -> k i", A, (OTHER, ("b", "c")))

COUNTED = np.arange(24.0).reshape(2, 3, 4)
ABC = ("a", "b", "c")
for prefix in ("", "NamedArray."):
    compared(prefix + "rearrange", ("c", "a", "b"), COUNTED.transpose(2, 0, 1), COUNTED, ("c", ...), axes=ABC)
    for each in ("flatten", "ravel"):
        compared(prefix + each, ("n",), COUNTED.ravel(), COUNTED, "n", axes=ABC)
    compared(prefix + "flatten_axes", ("n", "c"), COUNTED.reshape(6, 4), COUNTED, ("a", "b"), "n", axes=ABC)
    compared(
        prefix + "unflatten_axis",
        (*ABC[:2], "d", "e"),
        COUNTED.reshape(2, 3, 2, 2),
        COUNTED,
        "c",
        {"d": 2, "e": 2},
        axes=ABC,
    )
    compared(prefix + "unbind", ("a", "c"), list(COUNTED.transpose(1, 0, 2)), COUNTED, "b", axes=ABC)
    halves = [Axis("d", 2), Axis("d", 2)]
    compared(prefix + "split", ("a", "b", "d"), [COUNTED[..., :2], COUNTED[..., 2:]], COUNTED, "c", halves, axes=ABC)
    repeated = np.broadcast_to(A[0], (3, 4))
    compared(prefix + "broadcast_to", AB, repeated, (A[0], "b"), {"a": 3, "b": 4})
    compared(prefix + "broadcast_axis", ("b", "a"), repeated.T, (A[0], "b"), {"a": 3})
    compared(prefix + "slice", ("a", "d"), A[:, 1:3], A, "b", "d", start=1, length=2)
    changed = A.copy()
    changed[:, 1:3] = SQUARE[:, :2]
    compared(prefix + "updated_slice", AB, changed, A, {"b": 1}, SQUARE[:, :2])
    compared(prefix + "take", ("a", "n"), A[:, [2, 0]], A, "b", (np.asarray([2, 0]), "n"))
compared("NamedArray.rename", ("c", "b"), A, A, {"a": "c"})
compared("index", ("b",), A[1, 1:3], A, {"a": 1, "b": slice(1, 3)})
compared(
    "concatenate", AB, np.concatenate([A, A]), A, (A.T, ("b", "a")), function=lambda x, y: hax.concatenate("a", [x, y])
)
compared("stack", ("s", *AB), np.stack([A, A]), A, (A.T, ("b", "a")), function=lambda x, y: hax.stack("s", [x, y]))


@row("NamedArray.__getitem__ (index by dict, by pairs, by dslice)", "dslice", "dblock", "ds")
def selections(library: Library) -> None:
    x = of(library, A)
    check(library, x[{"a": 1, "b": slice(1, 3)}], ("b",), A[1, 1:3])
    check(library, x["a", 1, "b", slice(1, 3)], ("b",), A[1, 1:3])
    for part in (hax.dslice(1, 2), hax.ds(1, 2)):
        check(library, x["b", part], AB, A[:, 1:3])
    check(library, x["b", hax.dblock(1, 2)], AB, A[:, 2:4])
    check(library, x["b", of(library, np.asarray([3, 0, 2]), "a")], ("a",), A[[0, 1, 2], [3, 0, 2]])


UPDATES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "set": lambda x: 0 * x + 2.0,
    "add": lambda x: x + 2.0,
    "multiply": lambda x: x * 2.0,
    "mul": lambda x: x * 2.0,
    "divide": lambda x: x / 2.0,
    "power": lambda x: x**2.0,
    "min": lambda x: np.minimum(x, 2.0),
    "max": lambda x: np.maximum(x, 2.0),
}
for each, update in UPDATES.items():
    updated = A.copy()
    updated[:, 2] = update(A[:, 2])
    method = lambda x, each=each: getattr(x.at[{"b": 2}], each)(2.0)
    compared(f"NamedArray.at.{each}", AB, updated, A, function=method)
applied = A.copy()
applied[:, 2] = -A[:, 2]
compared("NamedArray.at.apply", AB, applied, A, function=lambda x: x.at[{"b": 2}].apply(lambda part: -part))
compared("NamedArray.at.get", ("a",), A[:, 2], A, function=lambda x: x.at[{"b": 2}].get())
CASES["NamedArray.at"] = CASES["NamedArray.at.add"]

# --- creation --------------------------------------------------------------------------------------------------------


def created(name: str, names: tuple[str, ...], expected: Any, *arguments: Any, **options: Any) -> None:
    def test(library: Library) -> None:
        found = getattr(hax, name)(*arguments, **options, dtype="float64", xp=library.xp, device=library.device)
        check(library, found, names, expected)

    CASES[name] = test


created("zeros", AB, np.zeros((2, 3)), {"a": 2, "b": 3})
created("ones", AB, np.ones((2, 3)), (Axis("a", 2), Axis("b", 3)))
created("full", AB, np.full((2, 3), 7.0), {"a": 2, "b": 3}, 7.0)
created("arange", ("a",), np.arange(1.0, 9.0, 2.0), Axis("a", 4), start=1, step=2)
created("linspace", ("a",), np.linspace(0.1, 0.7, 5), Axis("a", 5), start=0.1, stop=0.7)
created("logspace", ("a",), np.logspace(0.0, 2.0, 5), Axis("a", 5), start=0.0, stop=2.0)
created("geomspace", ("a",), np.geomspace(1.0, 7.0, 5), Axis("a", 5), start=1.0, stop=7.0)
compared("zeros_like", AB, np.zeros_like(A), A)
compared("ones_like", AB, np.ones_like(A), A)
compared("full_like", AB, np.full_like(A, 7.0), A, 7.0)

# --- polynomials -----------------------------------------------------------------------------------------------------

P, Q = np.asarray([2.0, -3.0, 1.0]), np.asarray([1.0, -0.5])
D = (hax.poly.DEFAULT_POLY_AXIS_NAME,)
X = np.linspace(-1.0, 1.0, 6)

compared("poly", D, np.poly(P), (P, D))
for each in ("polyadd", "polysub", "polymul"):
    compared(each, D, getattr(np, each)(P, Q), (P, D), (Q, D))
compared("polydiv", D, np.polydiv(P, Q), (P, D), (Q, D))
compared("polyint", D, np.polyint(P), (P, D))
compared("polyder", D, np.polyder(P), (P, D))
compared("polyval", ("x",), np.polyval(P, X), (P, D), (X, "x"))
compared("polyfit", ("x",), np.polyfit(X, X**2 - X, 2), (X, "x"), (X**2 - X, "x"), 2)
compared("vander", ("x", "n"), np.vander(X, 3), (X, "x"), Axis("n", 3))


@row("roots")
def roots(library: Library) -> None:
    found = np.sort(np.real(library.to_numpy(hax.roots(of(library, P, D)).array)))
    np.testing.assert_allclose(found, [0.5, 1.0], rtol=1e-9)


@row("trim_zeros")
def trimmed(library: Library) -> None:
    if not library.lazy:  # the size of the result needs values
        check(library, hax.trim_zeros(of(library, np.asarray([0.0, 1.0, 0.0]), D)), D, [1.0])


@row("poly.DEFAULT_POLY_AXIS_NAME")
def default_axis_of_polynomials(library: Library) -> None:
    assert hax.polyadd(library.asarray(P), library.asarray(Q)).names == (hax.poly.DEFAULT_POLY_AXIS_NAME,)


# --- Fourier transforms ----------------------------------------------------------------------------------------------


def fourier(name: str, values: np.ndarray, *arguments: Any) -> None:
    expected = getattr(np.fft, name)(values)
    compared(f"fft.{name}", ("t",), expected, (values, "t"), "t", function=getattr(hax.fft, name))


for each in ("fft", "ifft", "irfft", "hfft"):
    fourier(each, COMPLEX[0])  # the standard's `fft` takes complex numbers
for each in ("rfft", "ihfft", "fftshift", "ifftshift"):
    fourier(each, A[0])


@row("fft.fftfreq", "fft.rfftfreq")
def frequencies(library: Library) -> None:
    np.testing.assert_allclose(hax.fft.fftfreq(Axis("t", 4), 0.5).array, np.fft.fftfreq(4, 0.5))
    np.testing.assert_allclose(hax.fft.rfftfreq(Axis("t", 4), 0.5).array, np.fft.rfftfreq(4, 0.5))


# --- axes, arrays as objects, references, trees ----------------------------------------------------------------------


@row("Axis", "make_axes", "axis_name", "AxisSelector", "AxisSpec", "AxisSelection")
def axes(library: Library) -> None:
    assert hax.make_axes(a=3, b=4) == (Axis("a", 3), Axis("b", 4)) == of(library, A).axes
    assert hax.axis_name((Axis("a", 3), "b")) == AB
    for annotation in (hax.AxisSelector, hax.AxisSpec, hax.AxisSelection):
        assert "Axis" in str(annotation)


@row("concat_axes", "union_axes", "intersect_axes", "eliminate_axes", "without_axes", "selects_axis")
def algebra(library: Library) -> None:
    a, b = of(library, A).axes
    assert hax.concat_axes((a,), b) == (a, b)
    assert hax.union_axes((a, b), (b,)) == (a, b)
    assert hax.intersect_axes((a, b), "b") == (b,)
    assert hax.eliminate_axes((a, b), "a") == (b,)
    assert hax.without_axes((a, b), ("a", "c")) == (b,)
    assert hax.selects_axis(("a", "b"), b)
    assert not hax.selects_axis(("a",), b)


@row("is_axis_compatible")
def compatible(library: Library) -> None:
    a, b = of(library, A).axes
    assert hax.is_axis_compatible("a", a)
    assert not hax.is_axis_compatible(a, b)


@row("named", "NamedArray", "NamedArray.array", "NamedArray.axes", "NamedArray.shape", "NamedArray.dtype")
def constructed(library: Library) -> None:
    array = library.asarray(A)
    for x in (hax.named(array, AB), NamedArray(array, (Axis("a", 3), "b"))):
        assert x.array is array
        assert (x.axes, x.shape) == ((Axis("a", 3), Axis("b", 4)), {"a": 3, "b": 4})
        assert x.dtype == array.dtype


@row("NamedArray.size", "NamedArray.nbytes")
def sizes(library: Library) -> None:
    assert (of(library, A).size, of(library, A).nbytes) == (12, 96)


@row(
    "NamedArray.has_axis",
    "NamedArray.axis_size",
    "NamedArray.resolve_axis",
    "NamedArray.axis_indices",
    "NamedArray.matches_axes",
)
def questions(library: Library) -> None:
    x = of(library, A)
    assert x.has_axis("a")
    assert not x.has_axis("c")
    assert x.matches_axes(NamedArray["a", "b"])
    assert not x.matches_axes(NamedArray["b", "a"])
    assert (x.axis_size("b"), x.resolve_axis("b"), x.axis_indices("b")) == (4, Axis("b", 4), 1)


@row("NamedArray.item", "NamedArray.scalar", "NamedArray.tolist", "NamedArray.tobytes")
def values_out(library: Library) -> None:
    one = of(library, 2.5, ())
    assert one.item() == float(one.scalar()) == 2.5
    assert of(library, A).tolist() == A.tolist()
    assert of(library, A).tobytes() == A.tobytes()


@row("NamedArray.tree_flatten", "NamedArray.tree_unflatten")
def nodes(library: Library) -> None:
    children, names = of(library, A).tree_flatten()
    check(library, NamedArray.tree_unflatten(names, children), AB, A)


@row("tree.map", "tree.scan_aware_map", "tree.flatten", "tree.unflatten", "tree.leaves", "tree.structure")
def trees_of_named_arrays(library: Library) -> None:
    tree = {"x": of(library, A), "y": [1.0]}
    for mapped in (hax.tree.map, hax.tree.scan_aware_map):
        assert mapped(lambda leaf: leaf.names if isinstance(leaf, NamedArray) else leaf, tree)["x"] == AB
    leaves, structure = hax.tree.flatten(tree)
    assert leaves[0] is hax.tree.leaves(tree)[0] is tree["x"]
    assert hax.tree.structure(tree) == structure
    assert hax.tree.unflatten(structure, leaves)["x"] is tree["x"]


@row(
    "NamedRef",
    "NamedRef.axes",
    "NamedRef.shape",
    "NamedRef.named_shape",
    "NamedRef.ndim",
    "NamedRef.dtype",
    "NamedRef.value",
    "NamedRef.unsliced",
    "NamedRef.resolve_axis",
    "NamedRef.slice",
    "new_ref",
    "swap",
    "freeze",
)
def references(library: Library) -> None:
    ref = hax.new_ref(of(library, A))
    assert (ref.axes, ref.shape, ref.named_shape, ref.ndim) == (of(library, A).axes, *[{"a": 3, "b": 4}] * 2, 2)
    assert (ref.dtype, ref.resolve_axis("b")) == (of(library, A).dtype, Axis("b", 4))
    view = ref.slice({"a": 1})
    view["b", 0] = 7.0
    check(library, view.value(), ("b",), [7.0, *A[1, 1:]])
    check(library, hax.swap(ref, {"a": 1, "b": 0}, 3.0), (), 7.0)
    check(library, view.unsliced().value(), AB, A)
    check(library, hax.freeze(ref), AB, A)
    with pytest.raises(RuntimeError, match="frozen"):
        ref.value()


@row("NamedRef.unsafe_buffer_pointer")
def pointer(library: Library) -> None:
    if library.id in ("numpy", "torch", "jax"):  # the others have no memory of their own
        assert hax.new_ref(of(library, A)).unsafe_buffer_pointer() > 0


# --- shardings: on one device nothing is split; tests/test_named_sharding.py has several ------------------------------


@row("axis_mapping", "physical_axis_name", "physical_axis_size", "round_axis_for_partitioning", "sharding_for_axis")
def mappings(library: Library) -> None:
    axis = of(library, A).axes[0]
    assert hax.physical_axis_name(axis) is None
    with hax.axis_mapping({"a": "data"}):
        assert hax.physical_axis_name(axis) == "data"
        assert hax.physical_axis_size(axis) == 1
        assert hax.round_axis_for_partitioning(axis) == axis
    assert hax.sharding_for_axis(axis, {"a": "data"}) is None


@row("shard", "shard_with_axis_mapping", "auto_sharded")
def sharded(library: Library) -> None:
    x = of(library, A)
    mapping = {"a": "data"}
    with hax.axis_mapping(mapping):
        check(library, hax.auto_sharded(x), AB, A)
    check(library, hax.shard(x, mapping), AB, A)
    check(library, hax.shard_with_axis_mapping(x, mapping), AB, A)


@row("named_jit", "fsdp")
def compiled(library: Library) -> None:
    x, mapping = of(library, A), {"a": "data"}
    with jit.disable_jit():  # tests/test_named_sharding.py compiles
        check(library, hax.named_jit(lambda x: 2.0 * x, mapping)(x), AB, 2.0 * A)
        check(library, hax.fsdp(lambda x: 2.0 * x, mapping, mapping)(x), AB, 2.0 * A)


@row("tree_checkpoint_name")
def checkpoint_names(library: Library) -> None:
    def loss(x: NamedArray) -> Any:
        return hax.sin(hax.tree_checkpoint_name(x * x, "squares")).sum()

    check(library, hax.grad(autodiff.checkpoint(loss))(of(library, A)), AB, 2.0 * A * np.cos(A * A))


# --- the tests -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_row(library: Library, name: str) -> None:
    CASES[name](library)


@pytest.mark.parametrize("name", OF_SEVERAL)
def test_traced_arrays_meet_constants(eager_library: Library, name: str) -> None:
    OF_SEVERAL[name](eager_library)


def test_traced_masks_and_numbers_meet_constants(eager_library: Library) -> None:
    counted, length = of(eager_library, INTEGERS % 3), Axis("n", 4)
    weighted = np.bincount((INTEGERS % 3).ravel(), (INTEGERS % 3 + 1.0).ravel(), 4)
    weights = of(eager_library, INTEGERS % 3 + 1.0)
    x, mask, one = of(eager_library, A), of(eager_library, BOOLEANS), eager_library.asarray(1.0)
    for function, argument, names, expected in (
        (lambda mask: hax.sum(x, "b", where=mask), mask, ("a",), np.where(BOOLEANS, A, 0.0).sum(1)),
        (lambda mask: hax.mean(x, where=mask), mask, (), A.mean(where=BOOLEANS)),
        (lambda mask: hax.max(x, "b", where=mask), mask, ("a",), A.max(1, where=BOOLEANS, initial=-np.inf)),
        (lambda mask: hax.where(mask, x, 0.0), mask, AB, np.where(BOOLEANS, A, 0.0)),
        (lambda mask: hax.where(mask, 0.0, x), mask, AB, np.where(BOOLEANS, 0.0, A)),
        (lambda weights: hax.bincount(counted, length, weights=weights), weights, ("n",), weighted),
        (lambda weights: hax.bincount(counted, length, weights=weights.array), weights, ("n",), weighted),
        (lambda one: x + one, one, AB, A + 1.0),
        (lambda one: one - x, one, AB, 1.0 - A),
        (lambda one: hax.full_like(x, one), one, AB, np.ones_like(A)),
        (lambda one: hax.clip(x, -one, one), one, AB, np.clip(A, -1.0, 1.0)),
        (lambda one: x.at["a", 0].set(one), one, AB, np.concatenate([0.0 * A[:1] + 1.0, A[1:]])),
    ):
        check(eager_library, jit.jit(function)(argument), names, expected)


def test_every_row_is_tested_or_open() -> None:
    assert set(CASES) | unfinished("haliax") == set(TABLE)
    assert not set(CASES) & unfinished("haliax")
    assert len(TABLE) == 316


def test_what_the_table_names_exists() -> None:
    for name in CASES:
        package, _, function = TABLE[name]["xpand"].rpartition(".")
        assert function in importlib.import_module(f"xpand_extensions.{package}").__all__, name
        owner, _, method = name.partition(" ")[0].partition(".")
        if owner in ("NamedArray", "NamedRef") and method and not method.startswith(("at.", "operators")):
            assert hasattr(getattr(hax, owner), method), name


def test_arguments_can_be_given_by_name() -> None:
    positional = []
    for name in TABLE:
        function: Any = hax
        for part in name.split("."):
            function = getattr(function, part, None)
        if inspect.isfunction(function) and name != "einsum":  # whose keywords are names of axes
            kinds = [parameter.kind for parameter in inspect.signature(function).parameters.values()]
            positional += [name] if inspect.Parameter.POSITIONAL_ONLY in kinds else []
    assert not positional
    x = hax.named(a=A, axis=AB)
    assert hax.add(x1=x, x2=hax.abs(a=x)).names == AB
    assert x.var("a", None, 1).shape == {"b": 4}
