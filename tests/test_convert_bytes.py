"""Arrays become bytes and come back; what doesn't fit raises."""

from typing import Any

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

import xpand
from tests.libraries import LIBRARIES, Library
from tests.test_convert import DTYPES, SHAPES, named, values_of
from xpand_extensions import autodiff, jit
from xpand_extensions.convert import from_bytes, to_bytes

ORDERS = {"little": "<", "big": ">", "native": "="}


@pytest.mark.parametrize("byteorder", ORDERS)
def test_there_and_back(library: Library, byteorder: Any) -> None:
    for dtype, shape in [*((dtype, (2, 3)) for dtype in DTYPES), *(("float32", shape) for shape in SHAPES)]:
        x = values_of(dtype, shape)
        expected = x.astype(x.dtype.newbyteorder(ORDERS[byteorder])).tobytes()
        data = to_bytes(library.asarray(x), byteorder=byteorder)
        assert data == expected
        options = {"byteorder": byteorder, "xp": library.xp, "device": library.device}
        library.assert_equal(from_bytes(data, dtype, shape, **options), x)
        library.assert_equal(from_bytes(data, getattr(library.xp, dtype), **options), x.reshape(-1))


def test_the_order_is_that_of_the_axes_not_of_memory(library: Library) -> None:
    values = np.arange(12, dtype=np.int16).reshape(3, 4)
    x = library.asarray(values)
    for view, expected in (
        (library.xp.permute_dims(x, (1, 0)), values.T),
        (x[:, ::2], values[:, ::2]),
        (library.xp.flip(x), values[::-1, ::-1]),
    ):
        assert to_bytes(view) == expected.tobytes()


@settings(max_examples=25)
@given(st.data())
@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_limit_takes_the_first_elements(name: str, data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(0, 3), max_size=3)))
    limit = data.draw(st.integers(0, 30))
    x = np.arange(np.prod(shape, dtype=int), dtype=np.int32).reshape(shape)
    assert to_bytes(named(name).asarray(x), limit=limit) == x.reshape(-1)[:limit].tobytes()


def test_limit(library: Library) -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    for limit in (0, 1, 5, 12, 23, 24, 100):
        assert to_bytes(library.asarray(x), limit=limit) == x.reshape(-1)[:limit].tobytes()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e4m3fn"])
def test_short_types(dtype: str) -> None:
    numbers = np.asarray([0.0, -1.5, 2.0]).astype(getattr(ml_dtypes, dtype, dtype))
    for byteorder in ("little", "big"):
        bits = numbers.view(f"u{numbers.itemsize}").astype(f"{ORDERS[byteorder]}u{numbers.itemsize}").tobytes()
        for x in (numbers, torch.tensor([0.0, -1.5, 2.0]).to(getattr(torch, dtype)), jnp.asarray(numbers)):
            assert to_bytes(x, byteorder=byteorder) == bits
        for xp in ("numpy", "torch", "jax"):
            made = from_bytes(bits, dtype, xp=xp, byteorder=byteorder)
            assert str(made.dtype).endswith(dtype)
            assert [float(each) for each in made] == [0.0, -1.5, 2.0]
    with pytest.raises(TypeError, match=f"array_api_strict has no data type {dtype}"):
        from_bytes(bytes(4), dtype, xp="array_api_strict")


def test_the_array_has_memory_of_its_own(library: Library) -> None:
    data = bytearray(np.arange(3.0).tobytes())
    made = from_bytes(data, "float64", xp=library.xp, device=library.device)
    data[:] = bytes(24)
    library.assert_equal(made, np.arange(3.0))
    if library.id in ("numpy", "torch"):
        made[0] = 5.0
        assert data == bytes(24)


def test_what_has_bytes() -> None:
    data = np.arange(6, dtype=np.int16)
    for given_ in (data.tobytes(), bytearray(data), memoryview(data), memoryview(data.tobytes()), data.reshape(2, 3)):
        np.testing.assert_array_equal(from_bytes(given_, "int16", (2, 3), xp="numpy"), data.reshape(2, 3))
    np.testing.assert_array_equal(from_bytes(memoryview(data)[::2], "int16", xp="numpy"), data[::2])


@pytest.mark.parametrize(
    ("data", "dtype", "shape", "options", "error", "message"),
    [
        (
            bytes(7),
            "float32",
            None,
            {},
            ValueError,
            "7 bytes are not a multiple of 4, the size of an element of float32",
        ),
        (bytes(8), "float32", (3,), {}, ValueError, r"float32 of shape \(3,\) takes 12 bytes, got 8"),
        (bytes(8), "float32", 1, {}, ValueError, r"float32 of shape \(1,\) takes 4 bytes, got 8"),
        (b"", "float32", (), {}, ValueError, r"takes 4 bytes, got 0"),
        (bytes(8), "float32", (-1,), {}, ValueError, "shape must be at least 0"),
        (bytes(8), "float32", 2.0, {}, TypeError, "shape must be an integer"),
        (bytes(8), "float99", None, {}, TypeError, "dtype must be a numeric data type or its name.*got 'float99'"),
        (bytes(8), float, None, {}, TypeError, "dtype must be a numeric data type"),
        (b"\0\1\2", "bool", None, {}, ValueError, "a boolean must be a byte of 0 or 1"),
        ("text", "int8", None, {}, TypeError, "data must be bytes, a bytearray or a memoryview, got str"),
        ([1, 2], "int8", None, {}, TypeError, "data must be bytes"),
        (bytes(8), "int8", None, {"byteorder": "middle"}, ValueError, "byteorder must be"),
        (bytes(8), "int8", None, {"device": "quantum"}, ValueError, "quantum"),
    ],
)
def test_bad_bytes(
    library: Library, data: Any, dtype: Any, shape: Any, options: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"(from_bytes|to_device): .*{message}"):
        from_bytes(data, dtype, shape, xp=library.xp, **options)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"limit": -1}, ValueError, "limit must be at least 0, got -1"),
        ({"limit": 1.5}, TypeError, "limit must be an integer"),
        ({"byteorder": "middle"}, ValueError, "byteorder must be"),
        ({"byteorder": 1}, TypeError, "byteorder must be"),
    ],
)
def test_bad_options(library: Library, options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"to_bytes: {message}"):
        to_bytes(library.asarray([1.0]), **options)


def test_what_has_no_values_raises() -> None:
    with pytest.raises(TypeError, match="to_bytes: x must be an array, got list"):
        to_bytes([1.0])
    with pytest.raises(TypeError, match="x is a sparse tensor"):
        to_bytes(torch.eye(2).to_sparse())
    with pytest.raises(TypeError, match="requires a gradient"):
        to_bytes(torch.ones(2, requires_grad=True))
    with pytest.raises(TypeError, match="traces this array"):
        jit.jit(lambda x: (to_bytes(x), x)[1])(np.ones(2))


@pytest.mark.parametrize("transform", [jit.jit, autodiff.grad], ids=["jit", "grad"])
def test_constants_of_a_transformation(transform: Any) -> None:
    def function(x: Any) -> Any:
        xp = xpand.array_namespace(x)
        assert to_bytes(xp.asarray([1.0])) == np.asarray([1.0]).tobytes()
        return xp.sum(x * from_bytes(np.asarray([2.0, 3.0]).tobytes(), "float64", xp=xp))

    expected = 5.0 if transform is jit.jit else [2.0, 3.0]
    np.testing.assert_array_equal(transform(function)(np.ones(2)), expected)


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
def test_numbers_that_are_not_finite(library: Library) -> None:
    x = np.asarray([np.nan, -0.0, np.inf, -np.inf, 5e-324])
    assert to_bytes(library.asarray(x)) == x.tobytes()
    made = from_bytes(x.tobytes(), "float64", xp=library.xp, device=library.device)
    assert library.to_numpy(made).tobytes() == x.tobytes()
