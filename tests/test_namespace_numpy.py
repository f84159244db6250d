"""The NumPy namespace: the corrections, clause by clause, exactness, inputs left alone, subclasses, bad input."""

import math
import pickle
import warnings
from fractions import Fraction
from math import inf, nan

import array_api_compat.numpy as compat
import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

import xpand.numpy as xp

FLOATS = (np.float16, np.float32, np.float64, np.longdouble)
SIZES = (1, 4, 33, 40_000)  # a list is searched, a ufunc is, and more than a block


def same(result, expected) -> None:
    """Equal values, NaNs in the same places, the same signs of zero, the same data type."""
    result, expected = np.asarray(result), np.asarray(expected)
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)
    for part in ("real", "imag"):
        a, b = getattr(result, part), getattr(expected, part)
        if a.dtype.kind == "f":
            number = ~np.isnan(a)
            np.testing.assert_array_equal(np.signbit(a[number]), np.signbit(b[number]))


def read_only(values, dtype=None):
    x = np.asarray(values, dtype=dtype)
    x.flags.writeable = False
    return x


# floor_divide: "If x1_i is +infinity and x2_i is a positive (i.e., greater than 0) finite number, the result is
# +infinity" and the five clauses after it; the last of all is what NumPy has right already.
INFINITE_QUOTIENTS = [
    (inf, 2.0, inf),
    (inf, -2.0, -inf),
    (-inf, 2.0, -inf),
    (-inf, -2.0, inf),
    (3.0, inf, 0.0),
    (3.0, -inf, -0.0),
    (-3.0, inf, -0.0),
    (-3.0, -inf, 0.0),
    (inf, inf, nan),
    (nan, 2.0, nan),
    (2.0, nan, nan),
]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", SIZES)
def test_floor_divide_at_infinity(dtype, size) -> None:
    for x1, x2, expected in INFINITE_QUOTIENTS:
        with np.errstate(invalid="warn" if not math.isnan(expected) else "ignore"):
            same(
                xp.floor_divide(read_only([x1] * size, dtype), read_only([x2] * size, dtype)),
                np.full(size, expected, dtype),
            )
            same(xp.floor_divide(read_only([x1] * size, dtype), x2), np.full(size, expected, dtype))
            same(xp.floor_divide(x1, read_only([x2] * size, dtype)), np.full(size, expected, dtype))
    mixed = read_only([inf, -7.0, 7.0], dtype), read_only([2.0, inf, 2.0], dtype)
    same(xp.floor_divide(*mixed), np.asarray([inf, -0.0, 3.0], dtype))
    same(xp.floor_divide(dtype(inf), dtype(-2.0)), dtype(-inf))
    table = xp.floor_divide(read_only([[5.0], [-1.0]], dtype), read_only([2.0, -inf], dtype))
    same(table, np.asarray([[2.0, -0.0], [-1.0, 0.0]], dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floor_divide_is_exact(dtype) -> None:
    rng = np.random.default_rng(0)
    limit = 2 ** (np.finfo(dtype).nmant - 1)  # above, NumPy's own algorithm rounds
    for scale in (1.0, 0.1, 1e3):
        x1 = (rng.integers(-300, 300, 2000) * scale).astype(dtype)
        x2 = (rng.integers(1, 40, 2000) * rng.choice([-0.1, 0.3, 1.0], 2000)).astype(dtype)
        result = xp.floor_divide(x1, x2)
        exact = [math.floor(Fraction(float(a)) / Fraction(float(b))) for a, b in zip(x1, x2, strict=True)]
        checked = [(r, e) for r, e in zip(result.tolist(), exact, strict=True) if abs(e) < limit]
        assert len(checked) > 500
        assert all(r == e for r, e in checked)
    assert xp.floor_divide(np.full(50, 1.0), 0.1)[0] == 9.0
    assert xp.floor_divide(np.full(50, -1e-300), 1e300)[0] == -1.0


@given(st.data(), st.sampled_from([np.float32, np.float64, np.int8, np.uint64]))
def test_floor_divide_of_finite_numbers_is_numpys(data, dtype) -> None:
    small = {"elements": {"min_value": -1000, "max_value": 1000}} if np.dtype(dtype).kind == "f" else {}
    shape = data.draw(st.sampled_from([(), (3,), (40,), (5, 20)]))
    x1, x2 = (data.draw(hnp.arrays(dtype, shape, **small)) for _ in range(2))
    with np.errstate(all="ignore"):
        same(xp.floor_divide(x1, x2), np.floor_divide(x1, x2))


def test_floor_divide_warns_as_numpy() -> None:
    for size in SIZES:
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            xp.floor_divide(np.ones(size), np.zeros(size))
        with pytest.warns(RuntimeWarning, match="invalid"):
            xp.floor_divide(np.zeros(size), np.zeros(size))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            xp.floor_divide(np.full(size, inf), np.full(size, 2.0))


def test_floor_divide_keywords_of_the_ufunc() -> None:
    x1, x2 = np.asarray([inf, 7.0, -7.0]), np.asarray([2.0, 2.0, inf])
    out = np.full(3, 9.0)
    assert xp.floor_divide(x1, x2, out=out) is out
    same(out, np.asarray([inf, 3.0, -0.0]))
    out = np.full(3, 9.0)
    xp.floor_divide(x1, x2, out=out, where=np.asarray([False, True, True]))
    same(out, np.asarray([9.0, 3.0, -0.0]))
    same(xp.floor_divide(x1[1:2], x2[1:2], dtype=np.float32), np.asarray([3.0], np.float32))


def test_floor_divide_of_unusual_operands() -> None:
    masked = np.ma.array([7.0, 9.0], mask=[False, True])
    result = xp.floor_divide(masked, 2.0)
    assert isinstance(result, np.ma.MaskedArray)
    assert result.tolist() == [3.0, None]
    same(xp.floor_divide(np.ones((0, 3)), np.ones((0, 3))), np.ones((0, 3)))
    strided = np.arange(1e5)[::2]
    same(xp.floor_divide(strided, 3.0), np.floor_divide(strided, 3.0))
    same(xp.floor_divide(np.ones((300, 1)), np.full(300, 0.3)), np.full((300, 300), 3.0))


# expm1 and tanh: the clauses that NumPy misses, and a neighbour of each that it has right.
COMPLEX_CASES = {
    "expm1": [
        (complex(-0.0, 0.0), complex(0.0, 0.0)),
        (complex(inf, 0.0), complex(inf, 0.0)),
        (complex(-inf, inf), complex(-1.0, 0.0)),
        (complex(inf, inf), complex(inf, nan)),
        (complex(-inf, nan), complex(-1.0, 0.0)),
        (complex(inf, nan), complex(inf, nan)),
        (complex(nan, 0.0), complex(nan, 0.0)),
        (complex(1.0, inf), complex(nan, nan)),
    ],
    "tanh": [
        (complex(inf, 1.0), complex(1.0, 0.0)),
        (complex(inf, 2.0), complex(1.0, 0.0)),
        (complex(inf, nan), complex(1.0, 0.0)),
        (complex(nan, 0.0), complex(nan, 0.0)),
        (complex(0.0, inf), complex(0.0, nan)),
    ],
}


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("name", "x", "expected"), [(n, *case) for n, cases in COMPLEX_CASES.items() for case in cases]
)
def test_complex_special_values(name, x, expected, size, dtype) -> None:
    values = np.full(size, 0.5 + 0.25j, dtype)
    values[-1] = x
    values.flags.writeable = False
    result = getattr(xp, name)(values)
    np.testing.assert_array_equal(result[-1], dtype(expected))
    same(result[-1].real, dtype(expected).real)
    if x.imag >= 0 and not math.isnan(x.real):
        assert math.isnan(expected.imag) or np.signbit(result[-1].imag) == np.signbit(expected.imag)
    same(result[:-1], getattr(np, name)(values[:-1]))
    same(getattr(xp, name)(dtype(x)).real, dtype(expected).real)


@pytest.mark.parametrize("name", ["expm1", "tanh"])
def test_complex_functions_elsewhere(name) -> None:
    native, function = getattr(np, name), getattr(xp, name)
    for x in (0.5, np.float32(0.5), [0.5, 1.0], np.arange(3), np.asarray([1e308 + 1e308j, 1j]), 1j, np.ones((2, 0))):
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(function(x), native(x))
    masked = np.ma.array([1j, 2j], mask=[True, False])
    assert function(masked).mask.tolist() == [True, False]
    out = np.zeros(2, np.complex128)
    assert function(np.asarray([inf + 0j, 1j]), out=out) is out
    np.testing.assert_allclose(out[1], native(1j))


INTEGERS = (np.int8, np.uint8, np.int16, np.uint32, np.int64, np.uint64)


@given(st.data(), st.sampled_from(INTEGERS), st.sampled_from(INTEGERS))
def test_clip_of_integers_is_exact(data, dtype, bound_dtype) -> None:
    x = data.draw(hnp.arrays(dtype, 5))
    beyond = st.one_of(st.none(), st.integers(-(2**70), 2**70), hnp.arrays(bound_dtype, 5))
    low, high = data.draw(beyond), data.draw(beyond)
    result = xp.clip(x, low, high)
    assert result.dtype == dtype
    limits = np.iinfo(dtype)

    def bound(value, i):
        value = int(value[i]) if isinstance(value, np.ndarray) else value
        return None if value is None else min(max(value, int(limits.min)), int(limits.max))

    for i, value in enumerate(x.tolist()):
        expected = value if low is None else max(value, bound(low, i))
        expected = expected if high is None else min(expected, bound(high, i))
        assert result[i] == expected


def test_clip_by_floats_keeps_the_integer_type() -> None:
    x = read_only([-5, 0, 5], np.int64)
    same(xp.clip(x, -2.0, 3.0), np.asarray([-2, 0, 3]))
    same(xp.clip(x, -inf, inf), x)
    same(xp.clip(x, np.asarray([-1e30, 0.0, 1e30]), None), np.asarray([-5, 0, 2**63 - 1]))
    same(xp.clip(x, None, np.float64(2**63)), x)
    same(xp.clip(x, [-1, -2, -3], None), np.asarray([-1, 0, 5]))


@pytest.mark.parametrize("dtype", FLOATS)
def test_clip_of_floats(dtype) -> None:
    x = read_only([-1.0, 0.5, nan, inf], dtype)
    same(xp.clip(x, 0, 1.0), np.asarray([0.0, 0.5, nan, 1.0], dtype))
    same(xp.clip(x, np.float64(0.0), read_only([2.0] * 4)), np.asarray([0.0, 0.5, nan, 2.0], dtype))
    same(xp.clip(x, None, None), x)
    assert xp.clip(x) is not x
    same(xp.clip(x[:, None], read_only([0.0, 0.6], dtype), None)[1], np.asarray([0.5, 0.6], dtype))
    same(xp.clip(x[1], 0.6), dtype(0.6))


def test_clip_leaves_its_bounds_alone() -> None:
    # array_api_compat 1.16 writes the limits of x's type into them.
    low = np.asarray([-1000, 0], np.int64)
    xp.clip(np.asarray([1, 2], np.int8), low, None)
    assert low.tolist() == [-1000, 0]


def test_clip_into_out() -> None:
    x = np.asarray([1.0, 5.0])
    out = np.empty(2)
    assert xp.clip(x, 2.0, out=out) is out
    same(out, np.asarray([2.0, 5.0]))
    assert xp.clip(x, out=out) is out
    same(out, x)
    with pytest.raises(ValueError, match="clip: out must have the data type of x, float64, got float32"):
        xp.clip(x, 2.0, out=np.empty(2, np.float32))


@pytest.mark.parametrize("dtype", [*FLOATS, np.complex64, np.complex128])
def test_finfo(dtype) -> None:
    native = np.finfo(dtype)
    for what in (dtype, np.dtype(dtype), np.ones(2, dtype), dtype(1)):
        info = xp.finfo(what)
        for name in ("eps", "max", "min", "smallest_normal"):
            assert getattr(info, name) == getattr(native, name)
            # "finfo object with eps: float": NumPy has scalars of the type, which promote.
            assert isinstance(getattr(info, name), float) or dtype is np.longdouble
        assert (info.bits, info.dtype, info.tiny, info.resolution) == (
            native.bits,
            native.dtype,
            native.tiny,
            native.resolution,
        )
    assert str(info) == str(native)
    assert repr(info) == repr(native)
    assert pickle.loads(pickle.dumps(info)).eps == info.eps
    with pytest.raises(AttributeError):
        _ = info.nonsense


def test_iinfo() -> None:
    for what in (np.uint8, np.dtype("uint8"), "uint8", np.ones(2, np.uint8), np.uint8(1)):
        info = xp.iinfo(what)
        assert (info.min, info.max, info.bits, info.dtype) == (0, 255, 8, np.uint8)
    with pytest.raises(ValueError, match="[Ii]nvalid integer"):
        xp.iinfo(np.float32)
    with pytest.raises(ValueError, match="not inexact|not compatible"):  # up to NumPy 2.4, and after
        xp.finfo(np.ones(2, np.int64))


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint16, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_sort_and_argsort(dtype, axis) -> None:
    x = read_only(np.random.default_rng(0).integers(0, 9, (40, 50)).astype(dtype))
    for descending in (False, True):
        order = xp.argsort(x, axis=axis, descending=descending)
        values = xp.sort(x, axis=axis, descending=descending)
        same(values, np.take_along_axis(x, order, axis))
        # An independent reference: Python's stable sort, line by line.
        lines = np.moveaxis(x, axis, -1).tolist()
        expected = [sorted(range(len(line)), key=line.__getitem__, reverse=descending) for line in lines]
        np.testing.assert_array_equal(np.moveaxis(order, axis, -1), expected)
    same(xp.sort(x, axis=axis, stable=False), np.sort(x, axis))


def test_sort_is_stable_where_it_can_be_told() -> None:
    zeros = np.asarray([0.0, -0.0, 1.0, -0.0])
    same(xp.sort(zeros), np.asarray([0.0, -0.0, -0.0, 1.0]))
    # "stable: If True, the returned array must maintain the relative order of x values which compare as equal."
    same(xp.sort(zeros, descending=True), np.asarray([1.0, 0.0, -0.0, -0.0]))


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_cumulative(name) -> None:
    function, native, start = getattr(xp, name), getattr(np, name.replace("ulative_", "")), int(name.endswith("prod"))
    x = read_only([[1, 2, 3], [4, 5, 6]], np.int8)
    for axis in (0, 1, -1):
        same(function(x, axis=axis), native(x, axis))
        result = function(x, axis=axis, include_initial=True, dtype=np.float32)
        assert result.shape == tuple(n + (i == axis % 2) for i, n in enumerate(x.shape))
        same(np.take(result, 0, axis), np.full(x.shape[1 - axis % 2], start, np.float32))
        same(np.delete(result, 0, axis), native(x, axis, np.float32))
    same(function(x[0]), native(x[0]))
    same(function(np.ones(0), include_initial=True), np.full(1, float(start)))
    with pytest.raises(ValueError, match=f"{name}: x has 2 dimensions.*axis=0"):
        function(x)
    with pytest.raises(np.exceptions.AxisError):
        function(x, axis=2)


def test_unique() -> None:
    x = read_only([[2.0, nan, 1.0], [nan, 2.0, -0.0]])
    values, indices, inverse, counts = xp.unique_all(x)
    np.testing.assert_array_equal(values, [-0.0, 1.0, 2.0, nan, nan])
    np.testing.assert_array_equal(counts, [1, 1, 2, 1, 1])
    np.testing.assert_array_equal(x.ravel()[indices], values)
    np.testing.assert_array_equal(values[inverse], x)
    for result in (xp.unique_values(x), xp.unique_counts(x).values, xp.unique_inverse(x).values):
        np.testing.assert_array_equal(result, values)
    np.testing.assert_array_equal(xp.unique_counts(x).counts, counts)
    np.testing.assert_array_equal(xp.unique_inverse(x).inverse_indices, inverse)
    assert isinstance(xp.unique_all(x), xp.UniqueAllResult)
    assert xp.unique_inverse(np.asarray(3)).inverse_indices.shape == ()


def test_counting_and_taking() -> None:
    x = read_only([[0, 1], [2, 0]])
    assert isinstance(xp.count_nonzero(x), np.ndarray)
    assert xp.count_nonzero(x) == 2
    assert xp.count_nonzero(x, axis=0, keepdims=True).tolist() == [[1, 1]]
    assert xp.count_nonzero(x, keepdims=True).tolist() == [[2]]
    assert xp.take_along_axis(x, np.asarray([[1], [0]])).tolist() == [[1], [2]]
    assert xp.diff(x, prepend=None, append=x[:, :1]).tolist() == [[1, -1], [-2, 2]]


def test_asarray_and_astype() -> None:
    x = read_only([1.0, 2.0])
    assert xp.asarray(x) is x
    assert xp.asarray(x, copy=False) is x
    assert not np.shares_memory(xp.asarray(x, copy=True), x)
    with pytest.raises(ValueError, match="copy"):
        xp.asarray([1.0], copy=False)
    assert xp.asarray(np.ma.array([1], mask=[True]), subok=True).mask.tolist() == [True]
    assert xp.asarray(1.0, ndmin=2).shape == (1, 1)
    assert xp.astype(x, np.float64, copy=False) is x
    assert not np.shares_memory(xp.astype(x, np.float64), x)
    same(xp.astype(np.float64(1.5), np.int8), np.int8(1))


@pytest.mark.parametrize(
    "call",
    [
        lambda device: xp.asarray([1.0], device=device),
        lambda device: xp.astype(np.ones(1), np.float32, device=device),
        lambda device: xp.zeros(3, device=device),
        lambda device: xp.arange(3, device=device),
        lambda device: xp.linspace(0, 1, 3, device=device),
        lambda device: xp.fft.fftfreq(3, device=device),
        lambda device: xp.fft.rfftfreq(3, device=device),
    ],
)
def test_devices(call) -> None:
    assert isinstance(call("cpu"), np.ndarray)
    with pytest.raises(ValueError, match="gpu"):
        call("gpu")


def test_linalg_returns() -> None:
    x = read_only([[2.0, 1.0], [1.0, 3.0]])
    q, r = xp.linalg.qr(x)
    np.testing.assert_allclose(q @ r, x)
    for name, fields in {
        "qr": ("Q", "R"),
        "svd": ("U", "S", "Vh"),
        "eigh": ("eigenvalues", "eigenvectors"),
        "eig": ("eigenvalues", "eigenvectors"),
        "slogdet": ("sign", "logabsdet"),
    }.items():
        assert getattr(xp.linalg, name)(x)._fields == fields
    assert isinstance(xp.linalg.trace(x), np.ndarray)
    # "the returned array must have the complex floating-point data type": whatever the values.
    for dtype, expected in ((np.float32, np.complex64), (np.float64, np.complex128), (np.complex64, np.complex64)):
        values, vectors = xp.linalg.eig(x.astype(dtype))
        assert values.dtype == vectors.dtype == xp.linalg.eigvals(x.astype(dtype)).dtype == expected
    np.testing.assert_allclose(xp.linalg.cholesky(x, upper=True).T, np.linalg.cholesky(x))


def test_linalg_solve_and_rank() -> None:
    stack = read_only(np.random.default_rng(0).normal(size=(3, 2, 2)))
    vector = read_only([1.0, 2.0])
    # Only a right-hand side of one dimension is a vector; a stack of shape (2, 2) is a matrix.
    np.testing.assert_allclose(
        stack @ xp.linalg.solve(stack, vector)[..., None], np.broadcast_to(vector[:, None], (3, 2, 1))
    )
    matrix = read_only(np.ones((2, 2)))
    np.testing.assert_allclose(stack @ xp.linalg.solve(stack, matrix), np.broadcast_to(matrix, (3, 2, 2)))
    assert xp.linalg.matrix_rank(np.diag([1.0, 1e-3, 1e-20])) == 2
    assert xp.linalg.matrix_rank(np.diag([1.0, 1e-3, 1e-20]), rtol=1e-2) == 1
    assert xp.linalg.matrix_rank(np.ones((0, 3))) == 0
    np.testing.assert_allclose(xp.linalg.pinv(np.diag([1.0, 1e-3]), rtol=1e-2), np.diag([1.0, 0.0]))
    with pytest.raises(np.linalg.LinAlgError, match=r"matrix_rank: x has 1 dimension"):
        xp.linalg.matrix_rank(vector)
    with pytest.raises(ValueError, match="dimension"):
        xp.linalg.cross(vector, np.ones(4))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fft_keeps_the_precision(dtype) -> None:
    x = read_only(np.random.default_rng(0).normal(size=(4, 6)), dtype)
    z = np.result_type(dtype, np.complex64)
    for name in ("fft", "ifft", "fftn", "ifftn", "rfft", "rfftn", "ihfft"):
        assert getattr(xp.fft, name)(x).dtype == z, name
    for name in ("irfft", "irfftn", "hfft"):
        assert getattr(xp.fft, name)(x.astype(z)).dtype == dtype, name
    assert xp.fft.fftfreq(4, dtype=dtype).dtype == xp.fft.rfftfreq(4, dtype=dtype).dtype == dtype
    np.testing.assert_allclose(xp.fft.irfftn(xp.fft.rfftn(x)), x, atol=1e-5)


def test_submodules_are_ours() -> None:
    import xpand.numpy.fft
    import xpand.numpy.linalg
    from xpand.numpy import fft, linalg

    assert fft is xp.fft is xpand.numpy.fft
    assert linalg is xp.linalg is xpand.numpy.linalg
    assert linalg.__name__ == "xpand.numpy.linalg"


@pytest.mark.parametrize("part", ["", "linalg", "fft"])
def test_superset_of_compat(part) -> None:
    ours, theirs = (getattr(n, part) if part else n for n in (xp, compat))
    assert set(theirs.__all__) <= set(ours.__all__) == set(dir(ours))
    assert all(hasattr(ours, name) for name in ours.__all__)


def test_memmaps(tmp_path) -> None:
    x = np.memmap(tmp_path / "x", np.float64, "w+", shape=3)
    x[:] = [inf, 2.0, -3.0]
    np.testing.assert_array_equal(xp.floor_divide(x, 2.0), [inf, 1.0, -2.0])
    np.testing.assert_array_equal(xp.clip(x, 0.0, 5.0), [5.0, 2.0, 0.0])
    np.testing.assert_array_equal(xp.sort(x, descending=True), [inf, 2.0, -3.0])


@pytest.mark.parametrize("size", [1, 100])
@pytest.mark.parametrize("divisor", [3, 2.5, np.asarray([2.5]), np.timedelta64(3, "s")])
def test_durations_are_divided_as_numpy_divides_them(size, divisor) -> None:
    x = np.full(size, 10, "m8[s]")
    same(xp.floor_divide(x, divisor), np.floor_divide(x, divisor))


def test_objects_are_divided_by_their_own_operator() -> None:
    class Seven:
        def __floordiv__(self, other):
            return 7

    assert xp.floor_divide(np.asarray([Seven()], object), 2)[0] == 7
    assert xp.floor_divide(np.asarray([10**400], object), np.asarray([10]))[0] == 10**399


@pytest.mark.parametrize("code", "?bhilqBHILQefdgFDG")
def test_stack_of_scalars_is_numpys(code: str) -> None:
    scalars = [np.dtype(code).type(x) for x in (1, 0, 1)]
    for arrays in (scalars, tuple(scalars), scalars[:1], [*scalars, np.asarray(scalars[0])]):
        found = xp.stack(arrays)
        expected = np.stack(arrays)
        np.testing.assert_array_equal(found, expected, strict=True)
        assert found.flags.writeable


def test_stack_promotes_and_refuses_as_numpy() -> None:
    one, two = np.float32(1.5), np.int64(2)
    assert xp.stack([one, two]).dtype == np.float64
    np.testing.assert_array_equal(xp.stack([one, one], axis=-1), [1.5, 1.5])
    np.testing.assert_array_equal(xp.stack([np.eye(2), np.eye(2)], axis=1), np.stack([np.eye(2), np.eye(2)], axis=1))
    for wrong in ([], [np.ones(2), one], (each for each in (one, one))):
        with pytest.raises((TypeError, ValueError)):
            xp.stack(wrong)
    with pytest.raises(np.exceptions.AxisError):
        xp.stack([one, one], axis=1)


@pytest.mark.parametrize("dtype", ["float64", "complex64", "int8", "bool", ">f8", "object"])
def test_stack_of_vectors_as_by_numpy(dtype: str) -> None:
    vectors = [np.arange(4).astype(dtype), np.asarray([1, 0, 2, 5]).astype(dtype)[::-1], np.zeros(8).astype(dtype)[::2]]
    for arrays in (
        vectors,
        tuple(vectors[:1]),
        [x[:0] for x in vectors],
        [vectors[0], np.ones(4, "float32")],
        vectors * 4,
    ):
        for axis in (0, 1, -1):
            found, wanted = xp.stack(arrays, axis=axis), np.stack(arrays, axis=axis)
            assert (found.dtype, found.shape, found.flags.c_contiguous) == (wanted.dtype, wanted.shape, True)
            np.testing.assert_array_equal(found, wanted)
    for wrong in ([], [vectors[0], vectors[0][:2]], [vectors[0], vectors[0].reshape(2, 2)]):
        with pytest.raises(ValueError, match=r"need at least one array|same shape"):
            xp.stack(wrong, axis=1)


@pytest.mark.parametrize("size", [1, 15, 16, 17, 40])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_log1p_of_small_complex_numbers(dtype: str, size: int) -> None:
    """Few numbers are corrected one by one, many as arrays; the reference adds exactly."""
    rng = np.random.default_rng(size)
    b = rng.uniform(-1.0, 1.0, size) * 10.0 ** rng.integers(-12, 1, size)
    a = np.where(rng.random(size) < 0.5, -b * b / 2, 10.0 ** rng.uniform(-25, 1, size))
    z = (a + 1j * b).astype(dtype)
    for x in (z, z[::-1], np.asfortranarray(np.stack([z, 2 * z])), z[0], np.asarray(z[0])):
        values = np.ravel(x).astype(complex).tolist()
        squares = [2 * Fraction(v.real) + Fraction(v.real) ** 2 + Fraction(v.imag) ** 2 for v in values]
        expected = [complex(math.log1p(s) / 2, math.atan2(v.imag, 1 + v.real)) for s, v in zip(squares, values)]
        result = xp.log1p(x)
        assert type(result) is type(np.log1p(x))
        assert result.dtype == dtype
        rtol = 1e-12 if dtype == "complex128" else 1e-6
        np.testing.assert_allclose(np.ravel(result).real, np.real(expected), rtol=rtol, atol=0)
        np.testing.assert_allclose(np.ravel(result).imag, np.imag(expected), rtol=rtol, atol=0)
