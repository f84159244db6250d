"""`jit(function, compiler="native")` on NumPy: bounds, statistics, gather and scatter, with NumPy's bits."""

import math
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xpand
from tests.test_native import assert_same_bits, native, programs, reasons, samples
from xpand_extensions import control_flow, random, scatter
from xpand_extensions.autodiff import grad
from xpand_extensions.jit import jit, make_graph
from xpand_extensions.plugins.numpy.jit.native import _program
from xpand_extensions.plugins.numpy.jit.native._program import Program
from xpand_extensions.tracing._simplify import simplified
from xpand_extensions.vmap import vmap

of = xpand.array_namespace


def check(f: Callable[..., Any], *arrays: Any, left: frozenset[str] = frozenset()) -> None:
    """Compare a program with NumPy's; all of its operations are compiled, but for those `left` to NumPy."""
    assert reasons(f, *arrays).keys() <= left
    with np.errstate(all="ignore"):
        assert_same_bits(*(program(*arrays) for program in programs(f)))


SHAPES = [(2, 3), (3, 1, 50)]


@pytest.mark.parametrize("dtype", ["float64", "float32", "uint8"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_bounds(dtype: str, shape: tuple[int, ...]) -> None:
    def f(x: Any, low: Any, high: Any) -> list[Any]:
        xp, y = of(x), x + x
        found = [xp.clip(y, low, high), xp.clip(y, low[0, ...], high), xp.clip(y, 2, 5)]
        return [*found, *([xp.clip(y, None, 1.0), xp.clip(y, -1.0)] if x.dtype.kind == "f" else [])]

    x, low, high = (samples(dtype, int(np.prod(shape)), seed).reshape(shape) for seed in range(3))
    check(f, x, low, high)


TYPES = [("float64", (2, 3)), ("float32", (30, 30)), ("bool", (3, 1, 50)), ("uint8", (3, 50)), ("int8", (3, 50))]


@pytest.mark.parametrize(("dtype", "shape"), [*TYPES, ("uint64", (3, 50)), ("int64", (3, 50))])
def test_reductions_of_booleans_and_positions(dtype: str, shape: tuple[int, ...]) -> None:
    def f(x: Any) -> list[Any]:
        xp = of(x)
        y = xp.where(x == x, x, x)
        found = [reduce(y, axis=axis) for reduce in (xp.any, xp.all) for axis in (None, 0, -1, (0, -1))]
        found += [reduce(y, axis=axis) for reduce in (xp.argmax, xp.argmin) for axis in (None, 0, -1)]
        return [*found, xp.argmax(y, axis=0, keepdims=True), xp.any(y, axis=-1, keepdims=True)]

    check(f, samples(dtype, int(np.prod(shape)), 4).reshape(shape))
    check(f, np.zeros(shape, dtype))
    if dtype not in ("bool", "float64", "float32"):  # large numbers of both halves of the range, of which none repeats
        check(f, np.random.default_rng(2).permutation(150).reshape(shape).astype(dtype) << np.iinfo(dtype).bits - 8)


@pytest.mark.parametrize(("dtype", "shape"), [("float64", (2, 3)), ("float64", (300, 30)), ("float32", (3, 1, 50))])
def test_statistics(dtype: str, shape: tuple[int, ...]) -> None:
    def f(x: Any) -> list[Any]:
        xp, y = of(x), x * 1.5
        axes = (None, 0, -1, (0, 1))
        found = [xp.mean(y, axis=axis, keepdims=axis == 0) for axis in axes]
        found += [xp.var(y, axis=axis) for axis in axes]
        return [*found, xp.std(y, axis=-1, correction=1.0, keepdims=True)]

    check(f, np.random.default_rng(0).normal(size=shape).astype(dtype))
    check(f, samples(dtype, int(np.prod(shape)), 5).reshape(shape))


def test_means_of_nothing_warn() -> None:
    with pytest.warns(RuntimeWarning, match="Degrees of freedom"), np.errstate(invalid="ignore"):
        native(lambda x: of(x).var(x * 2.0 + 1.0, correction=3))(np.ones(3))


@pytest.mark.parametrize("shape", [(2, 3), (6, 40)], ids=str)
def test_operations_made_of_others(shape: tuple[int, ...]) -> None:
    def f(x: Any) -> list[Any]:
        xp, y = of(x), x * 1.5 + 1.0
        found = [xp.diff(y), xp.diff(y, axis=0), xp.tile(y, (2, 1)), xp.tile(y, (2, 1, 3)), xp.repeat(y, 3)]
        found += [xp.repeat(y, 2, axis=0), xp.linalg.outer(y[0, :], y[:, 0]), *xp.unstack(y, axis=1)]
        return [each + 1.0 for each in found]

    check(f, np.random.default_rng(0).normal(size=shape))


# Gather and scatter

ROWS, COLUMNS = np.asarray([0, 2, -1, 2]), np.asarray([1, -2, 0, 0], np.int32)
PAIRS = np.asarray([[0, 1], [2, 0]])
ALONG = np.asarray([[0, 1], [2, 3], [-1, 0]])


@pytest.mark.parametrize(("dtype", "width"), [("float64", 2), ("int16", 400), ("bool", 3)])
def test_gather(dtype: str, width: int) -> None:
    def f(x: Any, i: Any, j: Any, pairs: Any, along: Any) -> list[Any]:
        xp, y = of(x), of(x).where(x == x, x, x)
        found = [y[i], y[i, j % 2], y[pairs, ...], y[i, :] == y[i], xp.take(y, i, axis=0), xp.take(y, j % 2, axis=1)]
        found += [xp.take(y, pairs, axis=0), xp.take_along_axis(y, along % 2, axis=1), xp.take(y[:, 0], j)]
        return [xp.where(each == each, each, each) for each in found]

    x = samples(dtype, 3 * width, 6).reshape(3, width)
    check(f, x, ROWS, COLUMNS, PAIRS, ALONG)
    program = jit(f, compiler="numpy")
    assert all(each.flags.c_contiguous for each in program(x, ROWS, COLUMNS, PAIRS, ALONG))


@pytest.mark.parametrize("shapes", [((4, 1), (1, 3)), ((4, 1), (3,)), ((1,), (3,)), ((4, 3), (1, 3))], ids=str)
def test_gather_and_scatter_at_indices_that_broadcast(shapes: tuple[tuple[int, ...], ...]) -> None:
    def f(x: Any, i: Any, j: Any) -> list[Any]:
        y, z = x * 2.0, x + 1.0
        z[i, j] = 7.0
        return [y[i, j], z]

    # Other valid indices follow in memory, so that no check of bounds notices a read beyond the arrays.
    i, j = (
        np.resize(cycle, 200)[: math.prod(shape)].reshape(shape) for cycle, shape in zip(([2, 0, 1], [1, 0]), shapes)
    )
    check(f, samples("float64", 12, 2).reshape(3, 4), i, j, left=frozenset({"getitem", "setitem"}))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_gather_along_axes_that_broadcast(axis: int) -> None:
    def f(x: Any, i: Any) -> Any:
        xp = of(x)
        return xp.take_along_axis(x * 2.0, i, axis=axis) + xp.take_along_axis(x[:1, :1, :1] * 3.0, i * 0, axis=axis)

    x = samples("float64", 60, 3).reshape(3, 4, 5)
    for shape in ((3, 1, 1), (1, 4, 1), (1, 1, 5), (1, 1, 1), (3, 4, 5)):
        # Other valid indices follow in memory, so that no check of bounds notices a read beyond the array.
        indices = np.resize([0, 2, 1, 1], 200)[: math.prod(shape)].reshape(shape)
        check(f, x, indices)


@pytest.mark.parametrize(("dtype", "width"), [("float64", 1), ("float64", 3), ("float32", 200), ("int64", 3)])
def test_scatter(dtype: str, width: int) -> None:
    def f(x: Any, i: Any, j: Any) -> list[Any]:
        y = x + x
        z = y + 0
        z[i] = y[j] * 2
        z[i, j % width] = y[i, 0]
        z[j] = z[0, :]
        found = [z, scatter.at(y)[i].add(y[j] * 3), scatter.at(y)[i].set(y[j], mode="drop")]
        found += [scatter.at(y)[i + 2].add(y[j], mode="drop"), scatter.at(y[:, 0])[i].add(y[j, 0])]
        found += [scatter.segment_sum(y[j], i % 3, num_segments=4), scatter.segment_sum(y[j, 0], i, num_segments=2)]
        return found

    x = (np.random.default_rng(7).normal(size=(3, width)) * 100).astype(dtype)
    check(f, x, ROWS, COLUMNS, left=frozenset({"getitem", "reshape"}))


@pytest.mark.parametrize("index", [3, -4], ids=str)
def test_indices_out_of_bounds_raise(index: int) -> None:
    i = np.asarray([0, index])
    for f in (lambda x, i: x[i] * 2.0 + 1.0, lambda x, i: of(x).take(x * 2.0, i, axis=0)):
        with pytest.raises(IndexError, match=f"index {index} is out of bounds for axis 0 with size 3"):
            native(f)(np.ones((3, 9)), i)


def test_derivatives_of_gather() -> None:
    def f(x: Any, i: Any) -> Any:
        xp = of(x)
        return xp.sum(x[i] ** 2) + xp.sum(xp.take(x, i % 2, axis=1) ** 2) + xp.mean(xp.max(x, axis=0)) + xp.var(x)

    x = np.random.default_rng(8).normal(size=(3, 40))
    views = frozenset({"add", "moveaxis", "reshape", "getitem"})  # the gradient by columns is transposed
    check(grad(f), x, ROWS, left=views)
    check(vmap(grad(f), in_axes=(0, None)), np.stack([x, x * 2.0]), ROWS, left=views)


# Loops


def newton(a: Any) -> Any:
    xp = of(a)
    step = lambda carry: (0.5 * (carry[0] + a / carry[0]), carry[1] + 1)
    return control_flow.while_loop(lambda carry: xp.abs(carry[0] ** 2 - a) > 1e-12 * a, step, (a, xp.asarray(0)))


def test_lanes_that_stop_at_different_steps() -> None:
    a = 10.0 ** np.random.default_rng(9).uniform(-8.0, 8.0, 100)
    check(vmap(newton), a)
    check(vmap(newton), np.ones(100))


def test_loops_without_a_step_return_their_first_values_in_their_order() -> None:
    def f(x: Any, count: Any) -> Any:
        xp = of(x)
        first = xp.flip(xp.broadcast_to(x, (7, 40)), axis=1)
        last = control_flow.while_loop(lambda c: c[1] < count, lambda c: (c[0] * 0.5 + x, c[1] + 1), (first, 0 * count))
        return xp.sum(last[0] * 1.5), xp.sum(last[0])

    x = np.random.default_rng(10).normal(size=40)
    for count in (0, 1, 3):
        check(f, x, np.asarray(count), left=frozenset({"broadcast_to", "flip"}))


# Objects on disk


def test_objects_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program reads what one has written; a file that isn't as it was written is compiled anew."""
    monkeypatch.setenv("XPAND_CACHE_DIR", str(tmp_path))
    optimized: list[Any] = []
    optimize = _program._optimize
    monkeypatch.setattr(_program, "_optimize", lambda *args: optimized.append(args) or optimize(*args))
    x = np.linspace(0.1, 1.0, 50)
    f = lambda x: of(x).sum(of(x).exp(-x) * x + 1.0)

    def run() -> int:
        """Run a new program, and return how often one was compiled."""
        assert_same_bits(native(f)(x), f(x))
        return len(optimized)

    assert run() == 1
    (path,) = (tmp_path / "native").iterdir()
    assert run() == 1
    written = path.read_bytes()
    other = native(lambda x: x * 3.0 - x)
    other(x)
    (foreign,) = (each for each in (tmp_path / "native").iterdir() if each != path)
    for number, content in enumerate((b"", written[:-9], written[:50] + b"!" + written[51:], foreign.read_bytes())):
        path.write_bytes(content)
        assert run() == 3 + number
        assert path.read_bytes() == written
    assert run() == 6


def test_a_folder_that_cannot_be_written_to_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XPAND_CACHE_DIR", str(tmp_path / "file"))
    assert_same_bits(native(lambda x: x * 2.0 + 1.0)(np.ones(3)), np.full(3, 3.0))


def test_the_home_folder_may_be_abbreviated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("XPAND_CACHE_DIR", "~/programs")
    native(lambda x: x * 2.0 + 1.5)(np.ones(3))
    assert [path.suffix for path in (tmp_path / "programs" / "native").iterdir()] == [".o"]


def test_files_have_the_usual_permissions(tmp_path: Path) -> None:
    """Several people may share the folder."""
    (tmp_path / "plain").write_bytes(b"")
    _program.write(tmp_path / "native" / "some.o", b"code")
    assert (tmp_path / "native" / "some.o").stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert _program.read(tmp_path / "native" / "some.o") == b"code"


@pytest.mark.parametrize("fails", ["replace", "write_bytes"])
def test_no_temporary_file_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str) -> None:
    """On Windows, a file that another process has open can't be replaced. A disk may be full."""

    def fail(path: Path, *_: Any) -> None:
        path.touch()
        raise PermissionError("in use")

    monkeypatch.setattr(Path, fails, fail)
    _program.write(tmp_path / "native" / "some.o", b"code")
    assert list((tmp_path / "native").iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "some.o")
    assert _program.read(tmp_path / "some.o") is None
    _program.write(tmp_path / "some.o", b"code")
    assert _program.read(tmp_path / "some.o") == b"code"


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="this system does not tell the memory of a process")
def test_compilations_leave_no_memory() -> None:
    text = Program(simplified(make_graph(lambda x: of(x).sum(x * 2.0 + 1.0) * x)(np.ones(20)))).text
    pages = lambda: int(Path("/proc/self/statm").read_text().split()[1])
    grown = []
    for _ in range(4):  # a leak shows in each round, and what the process does besides in some
        before = pages()
        for _ in range(40):
            _program._engine(text)
        grown.append((pages() - before) * os.sysconf("SC_PAGE_SIZE"))
    assert min(grown) < 40 * 40_000


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "uint8"])
@pytest.mark.parametrize("shape", [(9,), (9, 3), (9, 2, 5)], ids=str)
def test_reductions_by_segments(dtype: str, shape: tuple[int, ...]) -> None:
    def f(x: Any, ids: Any) -> list[Any]:
        xp, y = of(x), x + x
        reduce = (scatter.segment_sum, scatter.segment_prod, scatter.segment_min, scatter.segment_max)
        found = [each(y, ids, num_segments=4) for each in reduce]
        found += [each(y, ids + 1, num_segments=3, mode="drop") for each in reduce]
        table = x[:4, ...] + x[:4, ...]
        places = scatter.at(table)[ids]
        large = xp.tile(table, (10, *(1 for _ in shape[1:])))  # too large for a copy in a wider data type
        found.append(scatter.at(large)[ids * 7].add(x))
        return [*found, places.add(x), places.multiply(x), places.min(x), places.max(x)]

    ids = np.asarray([0, 2, 2, 0, 2, 0, 0, 2, 3])
    for seed in range(3):
        check(f, samples(dtype, int(np.prod(shape)), seed).reshape(shape), ids, left=frozenset({"reshape"}))
    check(f, np.ones(shape, dtype), ids + 1, left=frozenset({"reshape"}))


@pytest.mark.parametrize("dtype", ["float64", "complex128", "int32"])
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_segments_along_any_axis(dtype: str, axis: int) -> None:
    def f(x: Any, ids: Any) -> list[Any]:
        y = x + x
        reduce = (scatter.segment_sum, scatter.segment_prod)
        if x.dtype.kind != "c":
            reduce = (*reduce, scatter.segment_min, scatter.segment_max)
        return [each(y, ids, num_segments=4, axis=axis) + 1 for each in reduce]

    x, ids = np.random.default_rng(axis + 1).normal(size=(4, 5, 3)) * 9.0, np.asarray([0, 2, 2, 0, 3])
    given = x.astype(dtype), ids[: x.shape[axis]]
    assert_same_bits(native(f)(*given), f(*given))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_positions_of_the_largest_elements_with_nan(dtype: str, axis: int | None) -> None:
    """The first NaN is found, also if others follow it."""

    def f(x: Any) -> list[Any]:
        xp = of(x)
        return [each(x * 1.0, axis=axis) + 1 for each in (xp.argmax, xp.argmin)]

    x = np.random.default_rng(0).normal(size=(6, 7)).astype(dtype)
    for count in (1, 2, 9, 42):
        x.ravel()[np.random.default_rng(count).permutation(x.size)[:count]] = np.nan
        with np.errstate(invalid="ignore"):  # otherwise NumPy repeats the program
            assert_same_bits(native(f)(x), f(x))


@pytest.mark.parametrize("source", ["complex128", "complex64", "float64", "int32"])
@pytest.mark.parametrize("target", ["float64", "float32", "int64", "bool"])
def test_writes_of_another_data_type(source: str, target: str) -> None:
    """NumPy converts values, and warns where imaginary parts are lost."""

    def f(x: Any, value: Any, i: Any) -> list[Any]:
        whole, part, row = x[...], x[...], x[...]
        whole, part, row = (of(x).concat([each, each], axis=0) for each in (whole, part, row))
        whole[:2, ...] = value
        part[i, ...] = value[0]
        row[1, 1] = value[1]
        return [whole, part, row]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x, value = np.ones((2, 2), target), (np.asarray([2.0, 3.0]) + 1j).astype(source)
    loses = np.dtype(source).kind == "c" and target != "bool"
    given = x, value, np.asarray(1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        expected = f(*given)
        found = native(f)(*given)
    assert_same_bits(found, expected)
    told = [each for each in caught if issubclass(each.category, np.exceptions.ComplexWarning)]
    assert len(told) == (6 if loses else 0)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8", "uint8", "bool"])
@pytest.mark.parametrize("shape", [(7,), (3, 50), (2, 3, 4)], ids=str)
def test_cumulative_sums(dtype: str, shape: tuple[int, ...]) -> None:
    def f(x: Any) -> list[Any]:
        xp = of(x)
        y = xp.where(x == x, x, x)
        axes = {0, len(shape) - 1}
        found = [xp.cumulative_sum(y, axis=axis, include_initial=axis > 0) for axis in axes]
        return [*found, *(xp.cumulative_prod(y, axis=axis, include_initial=axis == 0) for axis in axes)]

    check(f, np.random.default_rng(1).integers(-3, 3, shape).astype(dtype))
    check(f, (np.random.default_rng(2).normal(size=shape) * 50).astype(dtype))
    check(f, samples(dtype, int(np.prod(shape)), 5).reshape(shape))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("shape", [(7,), (3, 500), (2, 3, 4)], ids=str)
def test_norms_of_vectors(dtype: str, shape: tuple[int, ...]) -> None:
    def f(x: Any) -> list[Any]:
        xp, y = of(x), x * 1.5
        norm, orders = xp.linalg.vector_norm, (1, 2, math.inf)
        found = [
            norm(y, axis=axis, keepdims=keeps, ord=ord) for ord in orders for axis, keeps in ((0, True), (-1, False))
        ]
        return [*found, norm(y), norm(y, keepdims=True)]

    check(f, np.random.default_rng(1).normal(size=shape).astype(dtype))
    check(f, samples(dtype, int(np.prod(shape)), 5).reshape(shape))


@pytest.mark.parametrize("source", ["float64", "float32"])
def test_casts_to_integers(source: str) -> None:
    def f(x: Any) -> list[Any]:
        xp = of(x)
        return [xp.astype(x * 1.5, getattr(xp, name)) for name in ("int8", "int16", "int32", "int64")]

    large = np.asarray([3e9, -3e9, 1e19, -1e19, 40000.0, -129.0, np.nan, np.inf, -np.inf], source)
    for x in (samples(source, 5, 0), np.concatenate([samples(source, 100, 1), large])):
        with np.errstate(all="ignore"):
            assert_same_bits(native(f)(x), jit(f, compiler="numpy")(x))
    with pytest.warns(RuntimeWarning, match="invalid value encountered in cast"):
        native(f)(large)
    found = reasons(f, large)
    assert not found, found


def test_random_numbers() -> None:
    def f(key: Any) -> list[Any]:
        keys = random.split(key, 2)
        folded = random.fold_in(keys[0, ...], 5)
        found = [random.bits(folded, (7,)), random.uniform(folded, (3, 50)), random.normal(folded, (3,))]
        found += [random.uniform(key, (), dtype=of(key).float32, minval=-1.0), random.bernoulli(key, 0.3, (20,))]
        return [*found, random.normal(keys[1, ...], (300,)), random.randint(key, (9,), -3, 1000)]

    check(f, random.key(0))
    check(f, random.key(12345))


def test_walks_of_random_steps() -> None:
    def f(key: Any) -> Any:
        def step(carry: Any, _: Any) -> Any:
            keys = random.split(carry[0], 2)
            x = carry[1] + random.normal(keys[0, ...], (3,))
            return (keys[1, ...], x), x * random.uniform(keys[0, ...])

        return control_flow.scan(step, (key, of(key).zeros(3)), None, length=30)[1]

    check(f, random.key(3))
    keys = random.split(random.key(4), (3,))
    assert_same_bits(native(vmap(f))(keys), jit(vmap(f), compiler="numpy")(keys))
