"""Arrays of each library become arrays of each other: the same values, shared memory where that can be, or an error."""

import gc
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import array_api_strict as strict
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import given, settings, strategies as st
from jax.experimental import sparse as jax_sparse

import xpand
from tests import conversions
from tests.libraries import LIBRARIES, Library, unless
from xpand_extensions import autodiff, jit, random, sparse, vmap
from xpand_extensions._dispatch import OPERATIONS
from xpand_extensions.convert import _arrays, convert, exported, imported, pointer, to_bytes, to_numpy

pytestmark = pytest.mark.filterwarnings("ignore:Sparse [BC]S[RC] tensor support is in beta")

DTYPES = [
    "bool",
    *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
    "float32",
    "float64",
    "complex64",
    "complex128",
]
SHAPES = [(2, 3), (), (0, 3), (1,)]
PAIRS = list(itertools.product(LIBRARIES, LIBRARIES))
OTHERS = [(source, target) for source, target in PAIRS if source.xp is not target.xp]
SHARING = ("numpy", "torch", "jax", "strict", "strict-device1")
ids = lambda pair: f"{pair[0].id}-{pair[1].id}"


def named(name: str) -> Library:
    return next(library for library in LIBRARIES if library.id == name)


def values_of(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    x = np.random.default_rng(0).integers(0, 2 if dtype == "bool" else 100, shape)
    return np.asarray(x * (1 - 2j) if dtype.startswith("complex") else x).astype(dtype)


def aligned(shape: tuple[int, ...], dtype: Any = np.float64) -> np.ndarray:
    """Make an array whose memory begins where JAX wants it: at a multiple of 64 bytes."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + 64, dtype=np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size].view(dtype).reshape(shape)


def address(x: Any) -> int:
    """Say where the memory of an array is, by the library's own means."""
    if isinstance(x, np.ndarray):
        return x.ctypes.data
    if isinstance(x, torch.Tensor):
        return x.data_ptr()
    if isinstance(x, jax.Array):
        return x.unsafe_buffer_pointer()
    return x._array.ctypes.data


def device_in(target: Library) -> Any:
    """Say where to convert to: of array-api-strict, which has two devices, one of them in any case."""
    return target.expected_device if target.id.startswith("strict") else None


# Values


@pytest.mark.parametrize("pair", PAIRS, ids=ids)
def test_every_data_type_and_shape(pair: tuple[Library, Library]) -> None:
    source, target = pair
    for dtype, shape in [*((dtype, (2, 3)) for dtype in DTYPES), *(("float64", shape) for shape in SHAPES)]:
        expected = values_of(dtype, shape)
        x = source.asarray(expected)
        for copy in (None, True):
            made = convert(x, target.xp, device=device_in(target), copy=copy)
            target.assert_equal(made, expected)
        source.assert_equal(x, expected)
        assert x.dtype == source.asarray(expected).dtype


LAYOUTS = {
    "contiguous": np.arange(24.0).reshape(4, 6),
    "axes reversed": np.arange(24.0).reshape(4, 6).T,
    "every other": np.arange(24.0).reshape(4, 6)[:, ::2],
    "negative strides": np.arange(24.0).reshape(4, 6)[::-1, ::-2],
    "strides of zero": np.broadcast_to(np.arange(6.0), (4, 6)),
    "strides of zero, writeable": np.lib.stride_tricks.as_strided(np.arange(6.0), (4, 6), (0, 8), writeable=True),
    "big-endian": np.arange(6.0).astype(">f8"),
    "big-endian complex": (np.arange(6.0) * 1j).astype(">c8"),
    "field of a record": np.ones(4, dtype=[("a", "i1"), ("b", "f8")])["b"],
    "between words": np.frombuffer(bytearray(range(8 * 4 + 1)), dtype=np.uint8)[1:].view(np.int64),
    "numpy scalar": np.float32(1.5),
}


@pytest.mark.parametrize("target", LIBRARIES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_of_numpy(layout: str, target: Library) -> None:
    x = LAYOUTS[layout]
    native = np.asarray(x).astype(x.dtype.newbyteorder("="))
    for copy in (None, True):
        made = convert(x, target.xp, device=device_in(target), copy=copy)
        if target.id != "numpy":  # whose array is returned as it is
            target.assert_equal(made, native)
    np.testing.assert_array_equal(x, native)


@pytest.mark.parametrize("copy", [None, True])
def test_negative_strides_of_a_library_over_numpy(copy: bool | None) -> None:
    """PyTorch's own function would end the process."""
    strict = next(library for library in LIBRARIES if library.id == "strict")
    x = strict.asarray([[1.0, 2.0], [3.0, 4.0]])[::-1, ::-1]
    np.testing.assert_array_equal(convert(x, "torch", copy=copy), [[4.0, 3.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match="negative strides"):
        convert(x, "torch", copy=False)


@pytest.mark.parametrize("target", [library for library in LIBRARIES if library.id != "torch"], ids=str)
def test_layouts_of_torch(target: Library) -> None:
    x = torch.arange(24.0).reshape(4, 6)
    c = torch.complex(x, x + 1)
    for view in (x.T, x[:, ::2], x[0].expand(4, 6), x[1:, 1:], c.conj(), c.conj().imag, c.mH):
        expected = view.resolve_conj().resolve_neg().numpy()
        target.assert_equal(convert(view, target.xp, device=device_in(target)), expected)


@pytest.mark.parametrize("name", ["torch", "jax", "array_api_strict", "dask"])
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_any_view_goes_there_and_back(name: str, data: st.DataObject) -> None:
    x = np.arange(60).reshape(3, 4, 5)
    for axis in range(3):
        step = data.draw(st.sampled_from([-3, -2, -1, 1, 2]))
        x = np.moveaxis(np.moveaxis(x, axis, 0)[data.draw(st.integers(0, 2)) :: step], 0, axis)
    x = np.transpose(x, data.draw(st.permutations(range(3))))
    there = convert(x, name)
    np.testing.assert_array_equal(to_numpy(there), x)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_short_types(dtype: str) -> None:
    numbers = [0.0, -1.5, 2.0, float("inf") if dtype != "float8_e4m3fn" else 8.0]
    made = {
        "numpy": np.asarray(numbers).astype(getattr(ml_dtypes, dtype, dtype)),
        "torch": torch.tensor(numbers).to(getattr(torch, dtype)),
        "jax": jnp.asarray(numbers).astype(dtype),
    }
    for source, target in itertools.permutations(made, 2):
        x = convert(made[source], target)
        assert x.dtype == made[target].dtype
        assert [float(each) for each in x] == numbers
        assert [float(each) for each in convert(made[source][::2], target)] == numbers[::2]
    for x in made.values():
        with pytest.raises(TypeError, match=f"array_api_strict has no data type {dtype}"):
            convert(x, "array_api_strict")
    assert [float(each) for each in to_numpy(convert(made["jax"], "dask"))] == numbers


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
def test_types_that_other_libraries_have_not() -> None:
    for x in (np.asarray(["a"]), np.asarray([None]), np.zeros(2, "M8[s]"), np.zeros(2, [("a", "i4")])):
        with pytest.raises(TypeError, match="convert: the standard has no data type"):
            convert(x, "torch")
    for target in ("torch", "jax"):
        with pytest.raises(TypeError, match=f"has no data type {np.dtype(np.longdouble).name}"):
            convert(np.zeros(2, np.longdouble), target)
    with pytest.raises(TypeError, match="NumPy has no data type complex32"):
        convert(torch.zeros(2, dtype=torch.complex32), "numpy")
    with pytest.raises(TypeError, match="PyTorch has no data type int4"):
        convert(jnp.zeros(2, dtype=jnp.int4), "torch")
    masked = np.ma.masked_array([1.0, 2.0], mask=[True, False])
    with pytest.raises(TypeError, match="no masks; use `x.filled"):
        convert(masked, "torch")
    assert convert(np.ma.masked_array([1.0, 2.0]), "torch").tolist() == [1.0, 2.0]


def test_gradients_of_integers_in_jax_are_no_numbers() -> None:
    gradients = jax.grad(lambda x: 1.0 * x, allow_int=True)(3), np.zeros((), jax.dtypes.float0)
    _arrays._paths.clear()  # the ways of a type are remembered, and these are of NumPy's
    for x in gradients:
        for target in ("numpy", "torch", "array_api_strict"):
            with pytest.raises(TypeError, match="the standard has no data type void"):
                convert(x, target)
        assert convert(x, "jax") is x
    assert convert(np.ones(1), "torch").tolist() == [1.0]


def test_jax_without_64_bit_types_narrows_nothing() -> None:
    with jax.enable_x64(False):
        for x in (np.ones(2), torch.ones(2, dtype=torch.int64), np.ones(2, np.complex128), np.ones(2, np.uint64)):
            with pytest.raises(TypeError, match=r"JAX without 64-bit types has no data type .*jax_enable_x64"):
                convert(x, "jax")
        assert convert(np.ones(2, np.complex64), "jax").dtype == np.complex64


# Memory


@pytest.mark.parametrize("pair", OTHERS, ids=ids)
@unless(lambda pair: {x.id for x in pair} - {"numpy", "torch", "jax", "strict"})
def test_memory_is_shared_where_both_can(pair: tuple[Library, Library]) -> None:
    source, target = pair
    for dtype in DTYPES:
        x = aligned((4, 8), dtype)
        x = x if source.id == "numpy" else convert(x, source.xp, copy=False)
        for copy in (None, False):
            made = convert(x, target.xp, copy=copy)
            assert address(made) == address(x), dtype
        assert address(convert(x, target.xp, copy=True)) != address(x), dtype


def test_what_is_written_shows_where_memory_is_shared() -> None:
    x = np.zeros(3)
    y = convert(x, "torch")
    y[1] = 5.0
    assert x[1] == 5.0
    z = convert(y, "numpy", copy=True)
    z[0] = 1.0
    assert y[0] == 0.0


@pytest.mark.parametrize("pair", PAIRS, ids=ids)
def test_a_copy_is_a_copy(pair: tuple[Library, Library]) -> None:
    source, target = pair
    x = source.asarray(np.arange(3.0))
    made = convert(x, target.xp, device=device_in(target), copy=True)
    assert made is not x
    if source.id in SHARING and target.id in SHARING:
        assert address(made) != address(x)
    target.assert_equal(made, np.arange(3.0))


def test_read_only_memory_is_never_written_into(library: Library) -> None:
    x = aligned((3,))
    x.flags.writeable = False
    made = convert(x, library.xp)
    if library.id == "torch":
        made[0] = 1.0
    elif library.id == "jax":
        assert address(made) == address(x)  # which JAX doesn't write into either
    elif library.id.startswith("strict"):
        assert not made._array.flags.writeable or address(made) != address(x)
    assert x[0] == 0.0


@pytest.mark.parametrize(
    ("x", "target", "message"),
    [
        (np.broadcast_to(np.ones(1), 3), "torch", "the memory is read-only"),
        (np.ones(3)[::-1], "torch", "the strides are negative"),
        (np.ones(3, dtype=">f8"), "torch", "the bytes are in the other order"),
        (LAYOUTS["field of a record"], "torch", "not multiples of the size"),
        (np.ones(3, dtype=">f8"), "jax", "the bytes are in the other order"),
        (aligned((9,))[1:], "jax", "multiple of 64 bytes"),
        (aligned((9,))[::2], "jax", "without gaps"),
        (np.broadcast_to(np.ones(1), 3), "array_api_strict", "the memory is read-only"),
        (np.ones(3), "dask", "Dask copies arrays"),
        (torch.ones(8)[::2], "jax", "JAX does not take the memory"),
        (torch.ones(3, dtype=torch.complex64).conj(), "numpy", "conjugated or negated"),
        (torch.ones(3, dtype=torch.complex64).conj(), "jax", "conjugated or negated"),
    ],
    ids=str,
)
def test_what_takes_a_copy_raises_where_none_may_be(x: Any, target: str, message: str) -> None:
    with pytest.raises(ValueError, match=rf"convert: copy=False, but .*{message}.*omit `copy`"):
        convert(x, target, copy=False)
    np.testing.assert_array_equal(to_numpy(convert(x, target)), to_numpy(x))


@pytest.mark.parametrize("pair", OTHERS, ids=ids)
def test_without_a_copy_memory_is_shared_or_it_raises(pair: tuple[Library, Library]) -> None:
    source, target = pair
    for shape in SHAPES:
        x = source.asarray(np.ones(shape))
        try:
            made = convert(x, target.xp, copy=False)
        except ValueError:
            copied = convert(x, target.xp)
            if source.id in SHARING and target.id in SHARING and 0 not in shape:
                assert address(copied) != address(x)
        else:
            assert address(made) == address(x) or 0 in shape


SHARDED = """
import os

import jax, numpy as np
from xpand_extensions.convert import convert, pointer

def raises(message, function, *args, **options):
    try:
        function(*args, **options)
    except ValueError as error:
        assert message in str(error)
    else:
        raise AssertionError

mesh = jax.make_mesh((2,), ("x",))
x = jax.device_put(np.arange(4.0, dtype=np.float32), jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x")))
assert len(x.devices()) == 2
for target in ("numpy", "array_api_strict"):
    assert [float(each) for each in convert(x, target)] == [0.0, 1.0, 2.0, 3.0]
    raises("copy=False, but", convert, x, target, copy=False)
raises("spread over several devices", pointer, x)
y = convert(np.ones(2, np.float32), "jax", device=jax.devices()[1])
assert y.devices() == {jax.devices()[1]}
os._exit(0)  # as JAX of several devices ends by itself, its threads may abort the process on a busy machine
"""


def test_arrays_over_several_devices() -> None:
    environment = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    subprocess.run([sys.executable, "-c", SHARDED], env=environment, check=True)


def test_a_lazy_array_is_computed_because_it_is_asked_for() -> None:
    computed = []
    x = named("dask").asarray(np.arange(4.0)).map_blocks(lambda block: (computed.append(1), block)[1], dtype=float)
    computed.clear()
    lazy = convert(x, "dask")
    assert lazy is x
    assert not computed
    np.testing.assert_array_equal(to_numpy(x), np.arange(4.0))
    assert computed
    with pytest.raises(ValueError, match="copy=False, but the values of a Dask array are computed"):
        convert(x, "torch", copy=False)
    made = convert(np.ones((5, 7)), "dask")
    assert made.chunks == ((5,), (7,))


def test_memory_lives_as_long_as_an_array_over_it() -> None:
    found = []
    for source, target in itertools.permutations(("numpy", "torch", "jax", "strict"), 2):
        xp = named(source).xp
        found.append([convert(convert(np.full(1000, float(i)), xp, copy=True), named(target).xp) for i in range(5)])
    gc.collect()
    for made in found:
        assert [float(x[999]) for x in made] == list(range(5))


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
def test_within_a_library_nothing_happens(library: Library) -> None:
    x = library.asarray([1.0, 2.0])
    name = xpand.library_name(library.xp)
    for copy in (None, False):
        assert convert(x, library.xp, copy=copy) is x
        assert convert(x, name, copy=copy) is x
    assert convert(x, name, copy=True) is not x


def test_to_a_device() -> None:
    x = np.arange(3.0)
    made = convert(x, strict, device=strict.Device("device1"))
    assert made.device == strict.Device("device1")
    assert convert(made, strict, device="device1") is made
    back = convert(made, strict, device=strict.Device("CPU_DEVICE"))
    assert back.device == strict.Device("CPU_DEVICE")
    with pytest.raises(ValueError, match="copy=False"):
        convert(made, strict, device="CPU_DEVICE", copy=False)
    assert convert(x, "torch", device="meta").is_meta
    assert convert(x, "torch", device="cpu").tolist() == [0.0, 1.0, 2.0]
    for target in ("numpy", "torch", "jax", "dask", "array_api_strict"):
        with pytest.raises(ValueError, match="quantum"):
            convert(x, target, device="quantum")


def test_the_tables_of_the_docs() -> None:
    assert json.loads(conversions.OUTPUT.read_text(encoding="utf-8")) == conversions.measured()


# Derivatives and tracing


def test_a_gradient_is_not_lost() -> None:
    x = torch.ones(3, requires_grad=True)
    for target in ("numpy", "jax", "dask", strict):
        for tensor in (x, 2 * x):
            with pytest.raises(TypeError, match=r"requires a gradient.*x\.detach\(\)"):
                convert(tensor, target)
        assert to_numpy(convert(x.detach(), target)).tolist() == [1.0, 1.0, 1.0]
    assert convert(x, "torch") is x
    with pytest.raises(TypeError, match="requires a gradient"):
        to_numpy({"x": x})


MESSAGE = "convert: .*is traced by a transformation.*the arguments or results of the transformed function"


@pytest.mark.parametrize("transform", [jax.jit, jax.grad, jax.vmap, jax.hessian], ids=lambda f: f.__name__)
@pytest.mark.parametrize("target", ["numpy", "torch", "dask"])
def test_arrays_that_jax_traces_raise(target: str, transform: Any) -> None:
    x = jnp.ones(()) if transform in (jax.grad, jax.hessian) else jnp.ones(3)
    with pytest.raises(TypeError, match=MESSAGE):
        transform(lambda x: convert(x, target))(x)


@pytest.mark.parametrize("transform", [torch.func.grad, torch.func.vmap], ids=["grad", "vmap"])
@pytest.mark.parametrize("target", ["numpy", "jax"])
def test_arrays_that_torch_traces_raise(target: str, transform: Any) -> None:
    x = torch.ones(3) if transform is torch.func.vmap else torch.ones(())
    with pytest.raises(TypeError, match="convert: .*(requires a gradient|is traced by a transformation)"):
        transform(lambda x: convert(x, target))(x)


def test_arrays_without_values_raise() -> None:
    with pytest.raises(TypeError, match=MESSAGE):
        convert(torch.ones(3, device="meta"), "numpy")


def squares(y: Any) -> Any:
    return xpand.array_namespace(y).sum(y * y)


TRACED: dict[str, Callable[[Callable[[Any], Any], Any], Any]] = {
    "grad": lambda f, x: autodiff.grad(lambda x: squares(f(x)))(x),
    "jvp": lambda f, x: autodiff.jvp(f, (x,), (x,)),
    "vjp": lambda f, x: autodiff.vjp(f, x),
    "linearize": lambda f, x: autodiff.linearize(f, x),
    "jacfwd": lambda f, x: autodiff.jacfwd(f)(x),
    "hessian": lambda f, x: autodiff.hessian(lambda x: squares(f(x)))(x),
    "vmap": lambda f, x: vmap.vmap(f)(x),
    "jit": lambda f, x: jit.jit(f)(x),
    "grad of jit": lambda f, x: autodiff.grad(lambda x: squares(jit.jit(f)(x)))(x),
    "jit of grad": lambda f, x: jit.jit(autodiff.grad(lambda x: squares(f(x))))(x),
}


OTHER = {"numpy": "torch", "torch": "jax", "jax": "numpy", "strict": "numpy", "dask": "numpy"}


def converted(xp: Any, x: Any) -> Any:
    return convert(x, xp)


def through(way: Callable[[Any], Any], xp: Any, x: Any) -> Any:
    """Take an array out of its library, and if that should succeed, whatever came of it back again."""
    found = way(x)
    return convert(found, xp) if hasattr(found, "dtype") and hasattr(found, "__dlpack__") else x


@pytest.mark.parametrize("name", OTHER)
@pytest.mark.parametrize("transform", TRACED.values(), ids=TRACED)
def test_traced_arrays_go_to_no_other_library(name: str, transform: Any) -> None:
    """By no transformation, to no library, there and back again: nothing is detached in silence."""
    library = named(name)
    x = library.asarray([1.0, 2.0])
    ways: list[Callable[[Any], Any]] = [to_bytes, pointer, lambda x: convert({"a": [x]}, OTHER[name])]
    ways += [partial(converted, each.xp) for each in LIBRARIES if each.xp is not library.xp]
    for way in ways:
        with pytest.raises(TypeError, match=r"(convert: .*(traced|requires a gradient|traces)|pointer: not available)"):
            transform(partial(through, way, library.xp), x)


@pytest.mark.parametrize(
    ("name", "other"), [*(each for each in OTHER.items() if each[0] != "dask"), ("torch", "torch")]
)
def test_derivatives_through_another_library(name: str, other: str) -> None:
    """As the page about conversion has it: by `pure_callback`, with the other library's own derivative."""

    def inner(x: Any) -> Any:
        return xpand.array_namespace(x).sin(x) * x

    def value(x: Any) -> Any:
        return to_numpy(inner(convert(x, other)))

    def pulled(x: Any, cotangent: Any) -> Any:
        return to_numpy(autodiff.vjp(inner, convert(x, other))[1](convert(cotangent, other))[0])

    @autodiff.custom_vjp
    def call(x: Any) -> Any:
        return jit.pure_callback(value, jit.ShapeDtype(x.shape, x.dtype), x)

    call.defvjp(
        lambda x: (call(x), x),
        lambda x, ct: (jit.pure_callback(pulled, jit.ShapeDtype(x.shape, x.dtype), x, ct),),
    )
    library = named(name)
    values = np.asarray([1.0, 2.0])
    x = library.asarray(values)
    f, slope = np.sin(values) * values, np.cos(values) * values + np.sin(values)
    library.assert_equal(call(x), f, rtol=1e-15)
    gradient = autodiff.grad(lambda x: squares(call(x)))
    for function in (gradient, gradient, vmap.vmap(gradient)):  # the second call is a direct one
        library.assert_equal(function(x), 2 * f * slope, rtol=1e-14)
    library.assert_equal(jit.jit(gradient)(x), 2 * f * slope, rtol=1e-14)
    with pytest.raises((TypeError, ValueError), match="callback"):  # it has no derivative
        autodiff.grad(lambda x: squares(gradient(x)))(x)


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
def test_derivatives_go_through_a_conversion_to_the_same_library(library: Library) -> None:
    def function(x: Any) -> Any:
        xp = xpand.array_namespace(x)
        for to in (library.xp, xp, xpand.library_name(library.xp)):
            x = convert(x, to)
        y = convert({"x": x}, library.xp, copy=True)["x"]
        return xp.sum(y * y)

    x = library.asarray([1.0, 2.0])
    library.assert_equal(autodiff.grad(function)(x), np.asarray([2.0, 4.0]))
    if library.id != "torch":  # whose compiler takes seconds; see below
        library.assert_equal(jit.jit(function)(x), np.asarray(5.0))
    library.assert_equal(vmap.vmap(function)(library.asarray([[1.0, 2.0], [0.0, 3.0]])), np.asarray([5.0, 9.0]))


def test_constants_of_a_transformation_can_be_converted() -> None:
    """Numbers in a traced namespace have values nevertheless."""
    found = []

    def function(x: Any) -> Any:
        xp = xpand.array_namespace(x)
        found.append(convert(xp.asarray([3.0, 4.0]), "torch"))
        return xp.sum(x)

    autodiff.grad(function)(np.ones(2))
    assert found[0].tolist() == [3.0, 4.0]


@pytest.mark.parametrize("name", ["numpy", "strict", "dask", "jax", "torch"])
def test_constants_for_a_transformation_can_be_converted(name: str) -> None:
    """Into the namespace of the arrays at hand, whatever that is: it takes the library's own arrays as constants."""
    library = named(name)

    def function(x: Any) -> Any:
        xp = xpand.array_namespace(x)
        for constant in (torch.tensor([2.0, 3.0], dtype=torch.float64), np.asarray([2.0, 3.0])):
            x = x * convert(constant, xp)
        return xp.sum(x)

    library.assert_equal(autodiff.grad(function)(library.asarray([1.0, 1.0])), np.asarray([4.0, 9.0]))


@pytest.mark.parametrize("target", ["numpy", "jax", "dask", "torch"])
@pytest.mark.parametrize("transform", [autodiff.grad, vmap.vmap], ids=["grad", "vmap"])
def test_tensors_from_outside_of_what_is_traced_can_be_converted(transform: Any, target: str) -> None:
    outside = torch.tensor([3.0, 4.0], dtype=torch.float64)
    found = []

    def function(x: Any) -> Any:
        found.append(convert(outside, target))
        return torch.sum(x)

    transform(function)(torch.ones(3, 2) if transform is vmap.vmap else torch.ones(2))
    assert xpand.library_name(xpand.array_namespace(found[0])) == target
    np.testing.assert_array_equal(to_numpy(convert(found[0], "numpy")), [3.0, 4.0])


def test_a_version_registered_later_counts() -> None:
    x = np.asarray([1.0, 2.0])
    assert convert(x, "sparse").nnz == 2
    operation = OPERATIONS["xpand_extensions.convert.imported"]
    try:

        @imported.register("sparse")
        def _(x: Any, /, *, copy: Any = None, xp: Any = None) -> Any:
            return "another"

        assert convert(x, "sparse") == "another"
    finally:
        del operation.registered["sparse"]
        operation.forget()
    assert convert(x, "sparse").nnz == 2


def test_torch_compile_sees_nothing_of_a_conversion_to_itself() -> None:
    torch.compiler.reset()
    _arrays._paths.clear()  # the first conversion may be there
    compiled = torch.compile(lambda x: convert(x, "torch") * 2, fullgraph=True, backend="eager")
    assert compiled(torch.ones(2)).tolist() == [2.0, 2.0]


# Trees, sparse arrays, keys, strangers


def test_trees() -> None:
    tree = {"a": [np.ones(2), torch.zeros(1)], "b": (3.0, "name", None, jnp.ones(()))}
    made = convert(tree, "jax")
    assert isinstance(made["a"][0], jax.Array)
    assert isinstance(made["a"][1], jax.Array)
    assert made["b"][:3] == (3.0, "name", None)
    assert made["b"][3] is tree["b"][3]
    assert convert([], "jax") == []
    assert convert({"x": None}, "jax") == {"x": None}


DENSE = np.asarray([[0.0, 3.0, 0.0], [1.0, 0.0, 2.0]])


@pytest.mark.parametrize("pair", PAIRS, ids=ids)
@pytest.mark.parametrize("format", ["coo", "csr", "csc"])
def test_containers(format: str, pair: tuple[Library, Library]) -> None:
    source, target = pair
    made = getattr(scipy.sparse, f"{format}_array")(DENSE)
    parts = (made.coords,) if format == "coo" else (made.indices, made.indptr)
    pattern = [tuple(source.asarray(x) for x in part) if format == "coo" else source.asarray(part) for part in parts]
    cls = {"coo": sparse.COO, "csr": sparse.CSR, "csc": sparse.CSC}[format]
    a = cls(source.asarray(made.data), *pattern, DENSE.shape, is_sorted=True, is_unique=True)
    found = convert({"a": a}, target.xp, device=device_in(target))["a"]
    assert type(found) is cls
    assert found.is_sorted
    assert found.is_unique
    target.assert_equal(sparse.todense(found), DENSE)
    for part, expected in zip(found.pattern, made.coords if format == "coo" else (made.indices, made.indptr)):
        target.assert_equal(part, expected)
    if source is target:
        assert found is a


def test_a_plan_is_left_behind() -> None:
    made = scipy.sparse.csr_array(DENSE)
    a = sparse.from_native(made).prepared()
    found = convert(a, "jax")
    assert found.plan is None
    np.testing.assert_array_equal(sparse.matmul(found, jnp.ones(3)), DENSE @ np.ones(3))


def test_sparse_arrays_of_libraries() -> None:
    made = {
        "numpy": scipy.sparse.csr_array(DENSE),
        "torch": torch.from_numpy(DENSE.copy()).to_sparse_csr(),
        "jax": jax_sparse.BCSR.fromdense(jnp.asarray(DENSE)),
    }
    for source, target in itertools.product(made, made):
        found = convert([made[source]], target)[0]
        if source == target:
            assert found is made[source]
            found = convert(made[source], target, copy=True)
            assert found is not made[source]
        else:
            with pytest.raises(ValueError, match="copy=False, but the library's own sparse arrays"):
                convert(made[source], target, copy=False)
        assert type(found) is type(made[target])
        np.testing.assert_array_equal(sparse.todense(sparse.from_native(found)), DENSE)
    with pytest.raises(xpand.UnsupportedError, match="to_native"):
        convert(made["numpy"], "array_api_strict")


def test_keys_of_jax_become_their_data() -> None:
    key = jax.random.key(7)
    expected = np.asarray(jax.random.key_data(key))
    for target in ("numpy", "torch", "dask"):
        made = convert(key, target)
        assert str(made.dtype).endswith("uint32")
        np.testing.assert_array_equal(to_numpy(made), expected)
        np.testing.assert_array_equal(to_numpy(random.bits(made, (3,))), np.asarray(jax.random.bits(key, (3,))))
    assert convert(key, "jax") is key
    assert jnp.issubdtype(convert(key, "jax", copy=True).dtype, jax.dtypes.prng_key)


def test_what_says_how_to_make_an_array_of_it(library: Library) -> None:
    class Arraylike:
        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            return np.asarray([1.0, 2.0])

    class Capsule:
        def __init__(self) -> None:
            self.x = np.asarray([1.0, 2.0])

        def __dlpack__(self, **kwargs: Any) -> Any:
            return self.x.__dlpack__(**kwargs)

        def __dlpack_device__(self) -> Any:
            return self.x.__dlpack_device__()

    for x in (Arraylike(), Capsule()):
        library.assert_equal(convert(x, library.xp, device=library.device), np.asarray([1.0, 2.0]))
        library.assert_equal(convert([x], library.xp, device=library.device)[0], np.asarray([1.0, 2.0]))


def test_arrays_that_give_no_values_raise() -> None:
    import sparse as pydata_sparse  # here, since `make test-gpu` goes without it

    x = pydata_sparse.COO.from_numpy(np.eye(2))
    with pytest.raises(TypeError, match="sparse.*cannot export its values to other libraries"):
        convert(x, "torch")
    assert convert(x, "sparse") is x
    np.testing.assert_array_equal(convert(torch.eye(2), "sparse").todense(), np.eye(2))


def test_the_library_by_its_own_namespace() -> None:
    assert isinstance(convert(torch.ones(2), np), np.ndarray)
    assert isinstance(convert(np.ones(2), torch), torch.Tensor)
    assert isinstance(convert(np.ones(2), jnp), jax.Array)


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
def test_to_numpy(library: Library) -> None:
    x = library.asarray([[1.0, 2.0]])
    for made in (to_numpy(x), to_numpy(x, copy=True), to_numpy({"x": [x]})["x"][0]):
        assert type(made) is np.ndarray
        np.testing.assert_array_equal(made, [[1.0, 2.0]])
    made = to_numpy(x, copy=True)
    made[0, 0] = 9.0
    library.assert_equal(x, np.asarray([[1.0, 2.0]]))


@pytest.mark.parametrize("pair", OTHERS, ids=ids)
def test_the_two_halves(pair: tuple[Library, Library]) -> None:
    source, target = pair
    x = source.asarray([1.0, 2.0])
    np.testing.assert_array_equal(exported(x, to_host=True), [1.0, 2.0])
    made = imported(exported(x, to_host=target.id == "numpy"), xp=target.xp)
    np.testing.assert_array_equal(target.to_numpy(made), [1.0, 2.0])


# Bad input


@pytest.mark.parametrize(
    ("x", "to", "options", "error", "message"),
    [
        (3.0, "torch", {}, TypeError, "convert: x must be an array, or a tree of arrays, got float"),
        ("text", "torch", {}, TypeError, "convert: x must be an array, or a tree of arrays, got str"),
        (np.ones, "torch", {}, TypeError, "convert: x must be an array"),
        (np.ones(2), None, {}, TypeError, "convert: to must be a namespace or a library's name .*, got NoneType"),
        (np.ones(2), np.linalg.norm, {}, TypeError, "convert: to must be a namespace or a library's name"),
        (np.ones(2), ["torch"], {}, TypeError, "convert: to must be a namespace or a library's name .*, got list"),
        (np.ones(2), "torchh", {}, ValueError, "'torchh' is no known array library"),
        (np.ones(2), "torch", {"copy": 1}, TypeError, "convert: copy must be None, True or False, got 1"),
        (np.ones(2), "numpy", {"copy": "no"}, TypeError, "convert: copy must be None, True or False"),
    ],
    ids=lambda x: getattr(x, "__name__", str(x)),
)
def test_bad_input(x: Any, to: Any, options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        convert(x, to, **options)
