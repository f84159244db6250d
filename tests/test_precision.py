"""Precision: the data types of new arrays, on every library, in blocks, threads and tasks, and in what is compiled."""

import ast
import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xpand
import xpand_extensions
from tests.libraries import LIBRARIES, Library, unless
from xpand import UnsupportedError, _arguments, array_namespace, creation, trees
from xpand._precision import PRECISION
from xpand_extensions import (
    histograms,
    indexing,
    linalg,
    optimize,
    random,
    scatter,
    sorting,
    sparse,
    special,
    statistics,
)
from xpand_extensions.autodiff import grad
from xpand_extensions.jit import jit, make_graph
from xpand_extensions.precision import (
    default_dtype,
    get_precision,
    precision,
    set_precision,
    to_complex,
    to_float,
    to_int,
)
from xpand_extensions.vmap import vmap

WRAPPED = [library for library in LIBRARIES if not library.id.startswith("strict")]
NAMES = [library.id for library in WRAPPED]

# New arrays, with the kind of each; `xp` is a namespace.
CREATED: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "zeros": ("real", lambda xp: xp.zeros(3)),
    "zeros by name": ("real", lambda xp: xp.zeros(shape=(2, 0))),
    "ones": ("real", lambda xp: xp.ones((2, 3))),
    "empty": ("real", lambda xp: xp.empty((2,))),
    "eye": ("real", lambda xp: xp.eye(3)),
    "eye, off the diagonal": ("real", lambda xp: xp.eye(3, 2, k=-1)),
    "full of an integer": ("integral", lambda xp: xp.full((3,), 2)),
    "full of a real number": ("real", lambda xp: xp.full((), 2.5)),
    "full of a complex number": ("complex", lambda xp: xp.full((3,), 2j)),
    "full by name": ("real", lambda xp: xp.full((3,), fill_value=1.0)),
    "arange": ("integral", lambda xp: xp.arange(3)),
    "arange of real numbers": ("real", lambda xp: xp.arange(0, 3, 0.5)),
    "arange of nothing": ("real", lambda xp: xp.arange(1.0, 0.0)),
    "arange by name": ("integral", lambda xp: xp.arange(1, stop=7, step=2)),
    "linspace": ("real", lambda xp: xp.linspace(0, 1, 5)),
    "linspace without end": ("real", lambda xp: xp.linspace(0.0, 1.0, num=5, endpoint=False)),
    "linspace of complex numbers": ("complex", lambda xp: xp.linspace(0, 1j, 5)),
    "asarray of an integer": ("integral", lambda xp: xp.asarray(3)),
    "asarray of integers": ("integral", lambda xp: xp.asarray([[1, 2], [3, True]])),
    "asarray of a range": ("integral", lambda xp: xp.asarray(range(3))),
    "asarray of real numbers": ("real", lambda xp: xp.asarray([(1, 2.5), (0, 1)])),
    "asarray of complex numbers": ("complex", lambda xp: xp.asarray([1, 2.0, 3j])),
    "asarray of nothing": ("real", lambda xp: xp.asarray([])),
    "fftfreq": ("real", lambda xp: xp.fft.fftfreq(4)),
    "rfftfreq": ("real", lambda xp: xp.fft.rfftfreq(5, d=0.5)),
}

# Arrays with a fixed data type, regardless of settings.
UNAFFECTED: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "dtype=": ("float64", lambda xp: xp.zeros(3, dtype=xp.float64)),
    "full with dtype=": ("int8", lambda xp: xp.full((3,), 2, dtype=xp.int8)),
    "truth values": ("bool", lambda xp: xp.asarray([True, False])),
    "full of a truth value": ("bool", lambda xp: xp.full((3,), True)),
    "an array": ("float64", lambda xp: xp.asarray(xp.ones(3, dtype=xp.float64))),
    "zeros_like": ("float64", lambda xp: xp.zeros_like(xp.ones(3, dtype=xp.float64))),
    "full_like": ("int8", lambda xp: xp.full_like(xp.ones(3, dtype=xp.int8), 2)),
    "promotion": ("float64", lambda xp: xp.ones(3, dtype=xp.float32) + xp.ones(3, dtype=xp.float64)),
    "a number beside an array": ("float64", lambda xp: xp.ones(3, dtype=xp.float64) * 2.5),
    "sum": ("int64", lambda xp: xp.sum(xp.ones(3, dtype=xp.int64))),
}

EXPECTED = {
    16: {"real": "float16", "complex": "complex64", "integral": "int32"},
    32: {"real": "float32", "complex": "complex64", "integral": "int32"},
    64: {"real": "float64", "complex": "complex128", "integral": "int64"},
}


def name_of(x: Any) -> str:
    return str(x.dtype).rpartition(".")[2]


@pytest.fixture(params=WRAPPED, ids=NAMES)
def wrapped(request: pytest.FixtureRequest) -> Library:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """After every test nothing is set, and the libraries' own switches are what they were."""
    import jax
    import torch

    yield
    assert not PRECISION.active
    assert PRECISION.current() is None
    assert torch.get_default_dtype() == torch.float32
    assert jax.config.jax_enable_x64


@pytest.mark.parametrize("bits", EXPECTED)
@pytest.mark.parametrize(("kind", "make"), CREATED.values(), ids=CREATED)
def test_what_is_created(wrapped: Library, bits: int, kind: str, make: Callable[[Any], Any]) -> None:
    before = make(wrapped.xp)
    with precision(bits):
        made = make(wrapped.xp)
    assert name_of(made) == EXPECTED[bits][kind]
    assert name_of(make(wrapped.xp)) == name_of(before)
    found, wanted = np.asarray(wrapped.to_numpy(made)), np.asarray(wrapped.to_numpy(before))
    assert found.shape == wanted.shape
    if make is not CREATED["empty"][1]:  # which has no values
        np.testing.assert_allclose(found, wanted, rtol=1e-3 if bits == 16 else 1e-6)


@pytest.mark.parametrize(("dtype", "make"), UNAFFECTED.values(), ids=UNAFFECTED)
def test_what_has_a_data_type_keeps_it(wrapped: Library, dtype: str, make: Callable[[Any], Any]) -> None:
    with precision(32):
        assert name_of(make(wrapped.xp)) == dtype


def test_scalars_of_numpy_have_data_types() -> None:
    xp = xpand.namespace("numpy")
    with precision(32):
        assert xp.asarray(np.float64(1.5)).dtype == np.float64
        assert xp.full(3, np.float16(1.5)).dtype == np.float16
        assert xp.arange(np.float64(3)).dtype == np.float64
        assert xp.zeros(3, np.float64).dtype == np.float64  # by position


def test_libraries_as_they_are(library: Library) -> None:
    """With no precision set nothing is changed, nor inside of a block of None."""
    for _, make in CREATED.values():
        own = make(library.xp).dtype
        with precision(16), precision(None):
            assert make(library.xp).dtype == own
    own = library.xp.__array_namespace_info__().default_dtypes()
    with precision(16), precision(None):
        assert library.xp.__array_namespace_info__().default_dtypes() == own


def test_library_not_wrapped() -> None:
    """Its own functions make what they always do; the data type can be asked for."""
    import array_api_strict as strict

    with precision(32):
        assert strict.zeros(3).dtype == strict.float64
        assert strict.zeros(3, dtype=default_dtype(xp=strict)).dtype == strict.float32
        assert creation.iota(3, xp=strict).dtype == strict.int64
    with precision(16), pytest.raises(UnsupportedError, match="float16, which array_api_strict does not have"):
        default_dtype(xp=strict)


@pytest.mark.parametrize("bits", EXPECTED)
def test_default_dtypes(wrapped: Library, bits: int) -> None:
    kinds = {"real": "real floating", "complex": "complex floating", "integral": "integral"}
    indexing = default_dtype("indexing", xp=wrapped.xp)
    with precision(bits):
        info = wrapped.xp.__array_namespace_info__().default_dtypes()
        for short, kind in kinds.items():
            found = default_dtype(kind, xp=wrapped.xp, device=wrapped.device)  # type: ignore[arg-type]
            assert found == info[kind]
            assert str(found).rpartition(".")[2] == EXPECTED[bits][short]
        assert default_dtype("indexing", xp=wrapped.xp) == info["indexing"] == indexing


def test_every_way_to_name_it(wrapped: Library) -> None:
    import jax.numpy as jnp
    import torch

    for real in ("float32", np.float32, np.dtype("float32"), torch.float32, jnp.float32, wrapped.xp.float32):
        with precision(real):
            assert name_of(wrapped.xp.zeros(3)) == "float32"
    for integer in (64, "int64", np.int64, torch.int64, wrapped.xp.int64):
        with precision(32, integer=integer):
            assert name_of(wrapped.xp.arange(3)) == "int64"
            assert name_of(wrapped.xp.zeros(3)) == "float32"
    with precision(64, integer=32):
        assert name_of(wrapped.xp.arange(3)) == "int32"


def test_bfloat16() -> None:
    import torch

    with precision(torch.bfloat16):
        assert get_precision() == 16
        for name in ("torch", "jax"):
            xp = xpand.namespace(name)
            assert name_of(xp.ones(3)) == "bfloat16"
            assert name_of(xp.asarray(1j)) == "complex64"
        for name in ("numpy", "dask"):
            xp = xpand.namespace(name)
            with pytest.raises(UnsupportedError, match=f"gives new arrays bfloat16, which {name} does not have"):
                xp.ones(3)
            assert name_of(xp.arange(3)) == "int32"


def test_device_without_the_data_type() -> None:
    import torch

    device = torch.device("mps")
    with precision(64):
        with pytest.raises(UnsupportedError, match="float64, which torch on the device mps does not have"):
            default_dtype(xp="torch", device=device)
        with pytest.raises(UnsupportedError, match="complex128"):
            xpand.namespace("torch").asarray(1j, device=device)
    with precision(32):
        assert default_dtype(xp="torch", device=device) == torch.float32


@pytest.mark.parametrize("bits", [32, 64])
def test_random_numbers(library: Library, bits: int) -> None:
    """Also of libraries that xpand doesn't wrap."""
    key = random.key(0, xp=library.xp, device=library.device)
    with precision(bits):
        made = [random.uniform(key, (2,)), random.normal(key, (2,)), random.randint(key, (2,), 0, 5)]
        assert [name_of(x) for x in made] == [f"float{bits}", f"float{bits}", f"int{bits}"]
        assert name_of(random.uniform(key, (2,), dtype=library.xp.float32)) == "float32"


def functions_of_indices(library: Library) -> list[Any]:
    x, table = library.asarray(np.asarray([2.0, 1.0, 2.0])), library.asarray(np.eye(3))
    return [
        *sorting.unique(library.asarray(np.asarray([2, 1, 2])), return_inverse=True, size=2),
        indexing.nonzero(x, size=2),
        statistics.nanargmin(x),
        *histograms.histogram(x, 2),
        scatter.segment_sum(x, library.asarray(np.asarray([0, 1, 0])), num_segments=2),
        linalg.lu_factor(table)[1],
        special.gammainc(x, x),
        [] if library.lazy else optimize.root(lambda x: x * x - 2.0, x).x,
    ]


def test_what_computes_with_arrays_is_not_affected(library: Library) -> None:
    """Not in its results, nor in the data types of indices, nor by what it makes on the way."""
    wanted = [x for x in trees.leaves(functions_of_indices(library)) if _arguments.is_array(x)]
    with precision(16):
        found = [x for x in trees.leaves(functions_of_indices(library)) if _arguments.is_array(x)]
    assert len(found) == len(wanted) > 8
    for x, y in zip(found, wanted):
        library.assert_equal(x, library.to_numpy(y), rtol=1e-14)


@pytest.mark.every_run
def test_helpers_name_their_data_types() -> None:
    """No array that a function makes on the way has a data type by default: those are the precision's."""
    creation = {"arange", "empty", "eye", "fftfreq", "full", "linspace", "ones", "rfftfreq", "zeros"}
    wanted = {"arithmetic"}  # where it is the default that is asked for
    unnamed = []
    for path in sorted(Path(xpand_extensions.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
                continue
            names = {keyword.arg for keyword in node.keywords}
            namespace = ast.unparse(node.func.value)
            is_namespace = namespace in {"xp", "base", "host", "namespace"} or namespace.endswith((".xp", ".base"))
            if (
                node.func.attr in creation
                and is_namespace
                and not names & {"dtype", None}
                and not wanted & {path.stem, path.parent.name}
            ):
                unnamed.append(f"{path.name}:{node.lineno}: {ast.unparse(node)}")
    assert not unnamed


def test_get_precision(library: Library) -> None:
    own = library.xp.finfo(library.xp.__array_namespace_info__().default_dtypes()["real floating"]).bits
    assert get_precision(library.xp) == own
    with precision(16):
        assert get_precision() == get_precision(library.xp) == 16
        with precision(64):
            assert get_precision() == 64
        assert get_precision() == 16
    with xpand.use(library.xp):
        assert get_precision() == own


# Blocks


def test_blocks_are_left_after_an_error(wrapped: Library) -> None:
    with suppress(ZeroDivisionError), precision(16):
        with suppress(ZeroDivisionError), precision(64):
            raise ZeroDivisionError
        assert name_of(wrapped.xp.zeros(3)) == "float16"
        raise ZeroDivisionError
    assert not PRECISION.active


def test_decorator(wrapped: Library) -> None:
    @precision(16)
    def make() -> Any:
        return wrapped.xp.zeros(3)

    assert name_of(make()) == name_of(make()) == "float16"


def test_process(wrapped: Library) -> None:
    import torch

    try:
        set_precision(16)
        set_precision(64)
        assert name_of(wrapped.xp.zeros(3)) == "float64"
        assert torch.get_default_dtype() == torch.float64
        assert ThreadPoolExecutor(1).submit(lambda: name_of(wrapped.xp.ones(3))).result() == "float64"
        with precision(32):
            assert name_of(wrapped.xp.zeros(3)) == "float32"
            assert torch.get_default_dtype() == torch.float64  # all threads' own
    finally:
        set_precision(None)


def test_default_of_torch_is_its_own() -> None:
    """PyTorch's own default holds if nothing is set, and is restored."""
    import torch

    torch.set_default_dtype(torch.float64)
    try:
        xp = xpand.namespace("torch")
        assert default_dtype(xp=xp) == xp.zeros(3).dtype == torch.float64
        set_precision(16)
        assert torch.get_default_dtype() == torch.float16
        set_precision(None)
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_threads(wrapped: Library) -> None:
    """Eight threads at once, each of its own precision."""
    barrier = threading.Barrier(8)

    def work(i: int) -> bool:
        bits = (16, 32, 64, None)[i % 4]
        wanted = name_of(wrapped.xp.zeros(1)) if bits is None else EXPECTED[bits]["real"]
        found = set()
        with precision(bits):
            for _ in range(20):
                barrier.wait()
                found.add(name_of(wrapped.xp.zeros(1)))
        return found == {wanted}

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_tasks(wrapped: Library) -> None:
    """Tasks of one thread that take turns, each of its own precision, and leave their blocks in any order."""

    async def work(i: int) -> bool:
        bits = (16, 32, 64)[i % 3]
        found = set()
        with precision(bits):
            for _ in range(1 + i):
                await asyncio.sleep(0)
                found.add(name_of(wrapped.xp.zeros(1)))
                found.add(name_of(await asyncio.to_thread(wrapped.xp.zeros, 1)))
        return found == {EXPECTED[bits]["real"]}

    async def all_of_them() -> list[bool]:
        return await asyncio.gather(*map(work, range(6)))

    assert all(asyncio.run(all_of_them()))


def test_jax_without_wide_types() -> None:
    """JAX's switch is turned in the block and its thread alone, in any order of leaving, and if JAX comes late."""
    code = """
import asyncio, threading, warnings
warnings.simplefilter("error")
from xpand_extensions.precision import precision, set_precision
from xpand import array_namespace

with precision(64):
    with precision(64):
        import jax, jax.numpy as jnp  # no block has seen it
        xp = array_namespace(jnp.ones(1))
        assert jax.config.jax_enable_x64
    assert xp.zeros(1).dtype == jnp.ones(1).dtype == xp.arange(3).astype(float).dtype == "float64"
    seen = []
    thread = threading.Thread(target=lambda: seen.append((jax.config.jax_enable_x64, xp.zeros(1).dtype)))
    thread.start(); thread.join()
    assert seen == [(False, "float32")], seen
assert not jax.config.jax_enable_x64
with precision(64):
    with jax.enable_x64(False):
        with precision(64):
            assert jax.config.jax_enable_x64
        assert not jax.config.jax_enable_x64, "what JAX's own block says holds again"
    assert jax.config.jax_enable_x64
assert not jax.config.jax_enable_x64
assert xp.zeros(1).dtype == "float32" and xp.arange(3).dtype == "int32"
with precision(32, integer=64):
    assert xp.arange(3).dtype == "int64" and xp.zeros(1).dtype == "float32"
with precision(64), precision(32):
    assert xp.zeros(1).dtype == "float32" and jnp.ones(1, dtype="float64").dtype == "float64"

@jax.jit
def of_jax():
    return xp.zeros(3)
for bits, dtype in ((64, "float64"), (16, "float16"), (None, "float32"), (64, "float64")):
    with precision(bits):
        assert of_jax().dtype == dtype
for bits, dtype in ((64, "float64"), (16, "float16"), (64, "float64"), (None, "float32")):
    set_precision(bits)
    assert of_jax().dtype == xp.ones(1).dtype == dtype
    assert jax.config.jax_enable_x64 == (bits == 64)

async def work(i):
    bits, dtype = ((64, "float64"), (16, "float16"))[i % 2]
    with precision(bits):
        for _ in range(6 - i):
            await asyncio.sleep(0)
            assert xp.zeros(1).dtype == dtype
            assert (await asyncio.to_thread(xp.zeros, 1)).dtype == dtype
async def tasks():
    await asyncio.gather(*map(work, range(6)))
asyncio.run(tasks())
assert not jax.config.jax_enable_x64 and of_jax().dtype == "float32"
"""
    environment = {**os.environ, "JAX_ENABLE_X64": "0"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# Compiled programs


def made_inside(x: Any) -> tuple[Any, ...]:
    xp = array_namespace(x)
    return xp.zeros(3), xp.full((2,), 2.5), xp.asarray([1, 2]), xp.linspace(0, 1, 3)


def test_jit(library: Library) -> None:
    """A program compiled under one precision isn't used under another, and is reused under the same."""
    traced = []

    @jit
    def function(x: Any) -> Any:
        traced.append(x)
        return made_inside(x)

    x = library.asarray(np.ones(2), "float32")
    for bits in (None, 16, 64, 16, None, 64):
        with precision(bits):
            assert [y.dtype for y in function(x)] == [y.dtype for y in made_inside(x)]
    assert len(traced) == 3


# PyTorch is below, without TorchInductor; JAX has weak numbers, of the widest types switched on.
@unless(lambda wrapped: wrapped.id in ("torch", "jax"))
def test_number_that_is_traced(wrapped: Library) -> None:
    """A Python number that `jit` is given has the default data type, where there is no array to say another."""
    with xpand.use(wrapped.xp), precision(32):
        assert name_of(jit(lambda x: x + 0)(1.5)) == "float32"
    with xpand.use(wrapped.xp), precision(64):
        assert name_of(jit(lambda x: x + 0)(1.5)) == "float64"


def test_number_that_is_traced_on_torch() -> None:
    import torch

    with xpand.use("torch"), precision(64):
        assert jit(lambda x: x + 0)(1.5).dtype == torch.float64


@pytest.mark.parametrize("name", ["numpy", "jax", "dask"])
def test_block_inside_of_what_is_compiled(name: str) -> None:
    library = next(each for each in LIBRARIES if each.id == name)

    @jit
    def function(x: Any) -> Any:
        with precision(16):
            return array_namespace(x).zeros(3), array_namespace(x).asarray(2.5) * x

    inner, product = function(library.asarray(np.ones(1)))
    assert (name_of(inner), name_of(product)) == ("float16", "float64")


def test_graphs_keep_what_they_were_made_for() -> None:
    with precision(16):
        graph = make_graph(made_inside)(np.ones(2))
    with precision(64):
        results = graph.run(np.ones(2))
    assert [str(y.dtype) for y in results] == [str(y.dtype) for y in graph.outputs]
    assert [str(y.dtype) for y in results] == ["float16", "float16", "int32", "float16"]


def test_torch_compile() -> None:
    """torch.compile compiles anew for another precision, in blocks, for the process and in other threads."""
    import torch

    xp = xpand.namespace("torch")
    compiled = torch.compile(lambda x: xp.zeros(3) + 0 * xp.asarray(1.0), fullgraph=True, backend="eager")
    x = torch.ones(1)
    try:
        for bits in (None, 64, 16, 64, None):
            with precision(bits):
                assert compiled(x).dtype == xp.zeros(3).dtype
                assert ThreadPoolExecutor(1).submit(compiled, x).result().dtype == torch.float32
        set_precision(64)
        assert compiled(x).dtype == torch.float64
        with precision(None):
            assert compiled(x).dtype == torch.float64  # PyTorch's own default, which the process's is
    finally:
        set_precision(None)
    assert compiled(x).dtype == torch.float32


@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_transformations(name: str) -> None:
    """Arrays that a function makes have the precision inside of derivatives and maps too."""
    library = next(each for each in LIBRARIES if each.id == name)
    x = library.asarray(np.asarray([1.0, 2.0]), "float32")

    def function(x: Any) -> Any:
        xp = array_namespace(x)
        return xp.sum(x * xp.linspace(1, 2, 2))

    with precision(32):
        assert name_of(grad(function)(x)) == "float32"
        assert name_of(vmap(function)(library.xp.stack([x, x]))) == "float32"
        assert name_of(function(x)) == "float32"
    with precision(64):
        assert name_of(grad(function)(x)) == "float32"  # that of the argument
        assert name_of(function(x)) == "float64"


# Conversion


def test_to_float(library: Library) -> None:
    double = library.asarray(np.asarray([1.5, 2.5]), "float64")
    integers, truth = library.asarray(np.asarray([1, 2])), library.asarray(np.asarray([True, False]))
    with precision(32):
        found = to_float({"a": double, "b": [integers, truth], "c": 2})
        library.assert_equal(found["a"], np.asarray([1.5, 2.5], np.float32))
        library.assert_equal(found["b"][0], np.asarray([1, 2], np.float32))
        library.assert_equal(found["b"][1], np.asarray([1, 0], np.float32))
        library.assert_equal(found["c"], np.asarray(2, np.float32))
        assert to_float(found["a"]) is found["a"]
    assert to_float(double) is double
    single = library.asarray(np.ones(2), "float32")
    assert to_float(single) is single
    assert to_float(integers).dtype == default_dtype(xp=library.xp)


def test_to_complex(library: Library) -> None:
    double, single = library.asarray(np.ones(2), "float64"), library.asarray(np.ones(2), "float32")
    library.assert_equal(to_complex(double), np.ones(2, np.complex128))
    library.assert_equal(to_complex(single), np.ones(2, np.complex64))
    wide = to_complex(double)
    assert to_complex(wide) is wide
    with precision(32):
        library.assert_equal(to_complex([wide])[0], np.ones(2, np.complex64))
        library.assert_equal(to_complex(double), np.ones(2, np.complex64))
    with precision(64):
        library.assert_equal(to_complex(single), np.ones(2, np.complex128))
    assert to_complex(library.asarray(np.asarray(1))).dtype == default_dtype("complex floating", xp=library.xp)


def test_to_int(library: Library) -> None:
    real = library.asarray(np.asarray([1.5, -1.5, 0.0]))
    small = library.asarray(np.asarray([1, 2]), "int8")
    assert to_int(small) is small
    assert to_int(real).dtype == default_dtype("integral", xp=library.xp)
    with precision(32):
        library.assert_equal(to_int(real), np.asarray([1, -1, 0], np.int32))
        library.assert_equal(to_int([small])[0], np.asarray([1, 2], np.int32))
        library.assert_equal(to_int(library.asarray(np.asarray(True))), np.asarray(1, np.int32))
    with precision(32, integer=64):
        library.assert_equal(to_int(real), np.asarray([1, -1, 0], np.int64))


def test_conversion_of_sparse_containers(library: Library) -> None:
    """The values are converted; positions stay integers."""
    rows, columns = library.asarray(np.asarray([0, 1])), library.asarray(np.asarray([1, 0]))
    matrix = sparse.COO(library.asarray(np.asarray([1.0, 2.0])), (rows, columns), (2, 2))
    with precision(32):
        found = to_float([matrix])[0]
    library.assert_equal(found.todense(), np.asarray([[0, 1], [2, 0]], np.float32))


def test_conversion_is_differentiable() -> None:
    x = np.asarray([1.0, 2.0])
    with precision(32):
        gradient = grad(lambda x: np.sum(1) * array_namespace(x).sum(to_float(x) ** 2))(x)
    np.testing.assert_allclose(gradient, [2.0, 4.0])
    assert gradient.dtype == np.float64


@pytest.mark.parametrize("convert", [to_float, to_int])
def test_complex_numbers_are_not_cut(library: Library, convert: Callable[[Any], Any]) -> None:
    x = library.asarray(np.asarray([1j]))
    with pytest.raises(TypeError, match=rf"{convert.__name__}: takes real, integer and boolean arrays, got .*xp.real"):
        convert([x])


@pytest.mark.parametrize("convert", [to_float, to_complex, to_int])
def test_conversion_of_what_is_no_array(convert: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match=rf"{convert.__name__}: the tree holds str, which is neither an array nor"):
        convert(["a"])


# Bad input


@pytest.mark.parametrize("set_it", [precision, set_precision])
@pytest.mark.parametrize(
    ("real", "error", "message"),
    [
        (8, ValueError, "must have 16, 32 or 64 bits, got 8"),
        (128, ValueError, "must have 16, 32 or 64 bits, got 128"),
        (True, TypeError, "a number of bits, 16, 32 or 64, or a real floating-point data type, got True \\(bool\\)"),
        (32.0, TypeError, r"got 32.0 \(float\)"),
        ("int32", TypeError, r"got 'int32' \(str\)"),
        ("single", TypeError, r"got 'single' \(str\)"),
        (np.complex64, TypeError, "got <class 'numpy.complex64'>"),
        (np.ones(3), TypeError, "real floating-point data type"),
        ([32], TypeError, r"got \[32\] \(list\)"),
    ],
)
def test_bad_precision(set_it: Callable[[Any], Any], real: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{set_it.__name__}: .*{message}"):
        set_it(real)


@pytest.mark.parametrize(
    ("integer", "error", "message"),
    [
        (16, ValueError, "integer must have 32 or 64 bits, got 16"),
        ("uint32", TypeError, "or int32 or int64, got 'uint32'"),
    ],
)
def test_bad_integer(integer: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^precision: {message}|^precision: .*{message}"):
        precision(32, integer=integer)
    with pytest.raises(TypeError, match="precision: integer=32 is set together with a precision of real numbers"):
        precision(None, integer=32)


def test_bad_questions() -> None:
    with pytest.raises(ValueError, match="default_dtype: kind must be one of 'real floating'.*did you mean 'integral'"):
        default_dtype("integra")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="get_precision: xp must be a namespace or a library's name"):
        get_precision(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'nonsense' is no known array library"):
        default_dtype(xp="nonsense")


@pytest.mark.parametrize(
    "make",
    [
        lambda xp: xp.asarray(2**31),
        lambda xp: xp.asarray([[1, -(2**31) - 1]]),
        lambda xp: xp.full((2,), 2**40),
        lambda xp: xp.arange(2**40, 2**40 + 3),
        lambda xp: xp.arange(0, 2**40, step=2**38),
    ],
)
def test_integers_that_do_not_fit(wrapped: Library, make: Callable[[Any], Any]) -> None:
    """Nothing is wrapped silently."""
    with precision(32), pytest.raises(OverflowError, match=r"^precision: -?\d+ does not fit into int32.*`integer=64`"):
        make(wrapped.xp)
    with precision(32, integer=64):
        assert name_of(make(wrapped.xp)) == "int64"


def test_smallest_and_largest_integer(wrapped: Library) -> None:
    with precision(32):
        wrapped.assert_equal(wrapped.xp.asarray([-(2**31), 2**31 - 1]), np.asarray([-(2**31), 2**31 - 1], np.int32))
