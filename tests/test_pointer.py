"""Arrays by the address of their memory: the same memory, kept alive, or an error."""

import ctypes
import dataclasses
import gc
import weakref
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import xpand
from tests.libraries import Library
from tests.test_convert import DTYPES, address, aligned, named, values_of
from xpand_extensions import autodiff
from xpand_extensions.convert import Pointer, convert, from_pointer, pointer

MEMORY = ["numpy", "torch", "jax", "strict", "strict-device1"]


def read(p: Pointer) -> np.ndarray:
    """Read what a pointer points to, by means of its own."""
    found = np.zeros(p.shape, dtype=p.dtype)
    for index in np.ndindex(p.shape):
        place = p.address + sum(i * step for i, step in zip(index, p.strides))
        found[index] = np.frombuffer(ctypes.string_at(place, p.itemsize), dtype=p.dtype)[0]
    return found


@pytest.mark.parametrize("name", MEMORY)
def test_what_is_at_the_address(name: str) -> None:
    library = named(name)
    for dtype in DTYPES:
        x = library.asarray(values_of(dtype, (3, 4)))
        views = (library.xp.permute_dims(x, (1, 0)), x[1:, ::2], x[0, 0], x[:, :0]) if dtype == "float32" else ()
        for view in (x, *views):
            p = pointer(view)
            assert p.dtype == dtype
            assert p.device == "cpu"
            assert p.shape == tuple(view.shape)
            np.testing.assert_array_equal(read(p), library.to_numpy(view))
    assert pointer(x).owner is x
    assert pointer(x).address == address(x)


def test_strides() -> None:
    assert pointer(np.zeros((2, 3), np.float32)).strides == (12, 4)
    assert pointer(np.zeros((2, 3))[::-1]).strides == (-24, 8)
    assert pointer(torch.zeros(2, 3).T).strides == (4, 12)
    assert pointer(jnp.zeros((2, 3))).strides == (24, 8)
    assert pointer(torch.zeros(2, dtype=torch.bfloat16)).dtype == "bfloat16"


def test_whether_memory_may_be_written_into() -> None:
    x = np.zeros(3)
    assert not pointer(x).read_only
    x.flags.writeable = False
    assert pointer(x).read_only
    assert pointer(jnp.zeros(3)).read_only
    assert not pointer(torch.zeros(3)).read_only


@pytest.mark.parametrize("target", ["numpy", "torch", "jax", "strict"])
@pytest.mark.parametrize("source", ["numpy", "torch", "jax", "strict"])
def test_an_array_over_the_memory_of_another(source: str, target: str) -> None:
    for dtype in DTYPES:
        x = aligned((2, 8), dtype)
        x[...] = values_of(dtype, (2, 8))
        expected = x.copy()
        given = convert(x, named(source).xp, copy=False)
        p = dataclasses.replace(pointer(given), read_only=False)
        made = from_pointer(p, xp=named(target).xp)
        assert address(made) == address(given)
        named(target).assert_equal(made, expected)


def test_views_over_memory() -> None:
    x = np.arange(24.0).reshape(4, 6)
    for view in (x.T, x[::2, 1:], x[::-1], x[0], np.broadcast_to(x[0], (4, 6))):
        made = from_pointer(pointer(view), xp="numpy")
        np.testing.assert_array_equal(made, view)
        assert made.strides == view.strides
        assert made.flags.writeable == view.flags.writeable
        assert np.shares_memory(made, view)
    np.testing.assert_array_equal(from_pointer(pointer(x.T), xp="torch").numpy(), x.T)


def test_short_types() -> None:
    x = torch.tensor([1.0, -2.5]).to(torch.bfloat16)
    for target in ("torch", "numpy"):
        made = from_pointer(pointer(x), xp=target)
        assert str(made.dtype).endswith("bfloat16")
        assert [float(each) for each in made] == [1.0, -2.5]
    made[0] = 3.0
    assert x.tolist() == [3.0, -2.5]


def test_the_owner_lives_as_long_as_the_array() -> None:
    class Owner:
        pass

    x, owners, made = aligned((1000,)), {}, {}
    x[:] = 4.0
    for target in ("numpy", "torch", "jax", "strict"):
        owner = Owner()
        owners[target] = weakref.ref(owner)
        made[target] = from_pointer(Pointer(x.ctypes.data, (1000,), "float64", owner=owner), xp=named(target).xp)
    del owner
    gc.collect()
    for target, array in made.items():
        assert owners[target]() is not None
        assert float(array[999]) == 4.0
    del owners["jax"], array  # JAX lets go of memory when it likes
    made.clear()
    gc.collect()
    assert [owner() for owner in owners.values()] == [None, None, None]


def test_the_default_library() -> None:
    with xpand.use("torch"):
        assert isinstance(from_pointer(pointer(np.zeros(3))), torch.Tensor)


def test_a_pointer_described_by_hand() -> None:
    p = Pointer(4096, (2, 3), torch.float32)
    assert (p.strides, p.dtype, p.nbytes, p.itemsize, p.is_contiguous) == ((12, 4), "float32", 24, 4, True)
    assert not Pointer(4096, (2, 3), np.int8, strides=(1, 2)).is_contiguous
    assert Pointer(4096, 3, "int8").shape == (3,)
    assert Pointer(4096, (), np.dtype("int16")).strides == ()
    assert p == Pointer(4096, (2, 3), "float32", owner=object())
    assert "owner" not in repr(p)
    with pytest.raises(dataclasses.FrozenInstanceError):
        p.address = 0


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (("there", (2,), "int8"), {}, TypeError, "address must be an integer"),
        ((-1, (2,), "int8"), {}, ValueError, "address must be at least 0"),
        ((4096, (-2,), "int8"), {}, ValueError, "shape must be at least 0"),
        ((4096, (2,), "int99"), {}, TypeError, "dtype must be a numeric data type"),
        ((4096, (2,), object), {}, TypeError, "dtype must be a numeric data type"),
        ((4096, (2,), "int8"), {"strides": (1, 1)}, ValueError, "there must be one stride for each of 1 axes"),
        ((4096, (2,), "int8"), {"strides": (0.5,)}, TypeError, "strides must be an integer"),
        ((4096, (2,), "int8"), {"device": torch.device("cpu")}, TypeError, "device must be a string"),
        ((4096, (2,), "int8"), {"read_only": 1}, TypeError, "read_only must be True or False"),
    ],
)
def test_bad_pointers(arguments: Any, options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"Pointer: {message}"):
        Pointer(*arguments, **options)


def test_what_is_refused(library: Library) -> None:
    x = np.zeros(3)
    if library.lazy:
        with pytest.raises(xpand.UnsupportedError, match="it copies arrays"):
            from_pointer(pointer(x), xp=library.xp)
        return
    with pytest.raises(ValueError, match="from_pointer: owner is None"):
        from_pointer(dataclasses.replace(pointer(x), owner=None), xp=library.xp)
    with pytest.raises(ValueError, match="there is no memory at the address 0"):
        from_pointer(Pointer(0, (3,), "float64", owner=x), xp=library.xp)
    with pytest.raises(TypeError, match="from_pointer: memory must be a Pointer, got int"):
        from_pointer(x.ctypes.data, xp=library.xp)
    with pytest.raises(ValueError, match="from_pointer: .*cuda:0"):
        from_pointer(dataclasses.replace(pointer(x), device="cuda:0"), xp=library.xp)


@pytest.mark.parametrize(
    ("x", "target", "message"),
    [
        (np.zeros(3)[::-1], "torch", "the strides are negative"),
        (np.broadcast_to(np.zeros(1), 3), "torch", "the memory is read-only"),
        (jnp.zeros(3), "torch", "the memory is read-only"),
        (np.zeros((4, 4))[:, ::2], "jax", "without gaps"),
        (aligned((9,))[1:], "jax", "multiple of 64 bytes"),
    ],
    ids=str,
)
def test_memory_that_a_library_does_not_take(x: Any, target: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_pointer(pointer(x), xp=target)


def test_arrays_without_an_address() -> None:
    with pytest.raises(TypeError, match="pointer: x must be an array, got list"):
        pointer([1.0])
    with pytest.raises(xpand.UnsupportedError, match="no memory before they are computed"):
        pointer(named("dask").asarray([1.0]))
    with pytest.raises(TypeError, match="requires a gradient"):
        pointer(torch.ones(2, requires_grad=True))
    with pytest.raises(TypeError, match="is traced by a transformation"):
        jax.jit(lambda x: (pointer(x), x)[1])(jnp.ones(2))
    with pytest.raises(TypeError, match="traces this array"):
        autodiff.grad(lambda x: (pointer(x), x)[1])(np.asarray(1.0))
    with pytest.raises(ValueError, match="conjugated or negated"):
        pointer(torch.ones(2, dtype=torch.complex64).conj())
    with pytest.raises(ValueError, match="the bytes are in the other order"):
        pointer(np.ones(2, dtype=">f8"))
