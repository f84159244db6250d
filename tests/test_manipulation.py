"""Sizes, positions and batches: every library against NumPy, transformations, bad input."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import xpand
from tests.libraries import Library
from tests.operations import Case, Check, check_values, checked
from xpand.creation import iota
from xpand.manipulation import broadcast_in_dim, pad_to, tile_to, to_batched

X = np.arange(6.0).reshape(2, 3) + 0.5

CASES = {
    "pad_to, longer": Case(
        lambda x: pad_to(x, 5, fill_value=-1.0),
        (X,),
        lambda x: np.pad(x, [(0, 0), (0, 2)], constant_values=-1.0),
        (0,),
    ),
    "pad_to, an array as the fill value": Case(
        lambda x, value: pad_to(x, 5, fill_value=value),
        (X, np.asarray(-1.0)),
        lambda x, value: np.pad(x, [(0, 0), (0, 2)], constant_values=value),
        (0, 1),
    ),
    "pad_to, shorter": Case(lambda x: pad_to(x, 1, axis=0), (X,), lambda x: x[:1], (0,)),
    "tile_to": Case(lambda x: tile_to(x, 6, axis=-2), (X,), lambda x: np.tile(x, (3, 1)), (0,)),
    "broadcast_in_dim": Case(
        lambda x: broadcast_in_dim(x, (2, 4, 3), axes=(0, 2)),
        (X,),
        lambda x: np.broadcast_to(x[:, None, :], (2, 4, 3)).copy(),
        (0,),
    ),
    "to_batched": Case(lambda x: tuple(to_batched(x, 2, axis=1)), (X,), lambda x: (x[:, :2], x[:, [2, 0]]), (0,)),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values(library: Library, case: Case) -> None:
    check_values(library, case)


@checked(CASES)
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "uint64", "float32", "complex64"])
def test_every_data_type(library: Library, dtype: str) -> None:
    values = np.asarray([[0, 1, 1], [1, 0, 1]], dtype=dtype)
    fill = dtype == "bool" or 1
    x = library.asarray(values)
    expected = np.pad(values, [(0, 0), (0, 1)], constant_values=1)
    library.assert_equal(pad_to(x, 4, fill_value=fill), expected)
    library.assert_equal(tile_to(x, 6), np.tile(values, 2))
    library.assert_equal(broadcast_in_dim(x, (2, 3, 2), axes=(0, 1)), np.stack([values, values], axis=-1))


def test_the_array_itself_where_it_has_the_size(library: Library) -> None:
    x = library.asarray(X)
    assert pad_to(x, 3) is x
    assert tile_to(x, 2, axis=0) is x


def test_empty_and_zero_dimensional(library: Library) -> None:
    none = library.asarray(np.zeros((0, 2)))
    library.assert_equal(pad_to(none, 2, axis=0), np.zeros((2, 2)))
    library.assert_equal(tile_to(none, 0, axis=0), np.zeros((0, 2)))
    library.assert_equal(broadcast_in_dim(library.asarray(2.0), (2, 0), axes=()), np.zeros((2, 0)))
    library.assert_equal(broadcast_in_dim(library.asarray(2.0), (), axes=()), np.asarray(2.0))


def test_batches(library: Library) -> None:
    @settings(max_examples=8)
    @given(st.integers(1, 9), st.integers(1, 4), st.sampled_from(["repeat", "discard", "keep"]))
    def run(size: int, batch: int, leftover: Any) -> None:
        batch = min(size, batch)
        values = np.arange(size)
        found = [library.to_numpy(x).tolist() for x in to_batched(library.asarray(values), batch, leftover=leftover)]
        expected = [values[i : i + batch].tolist() for i in range(0, size, batch)]
        if leftover == "repeat":
            expected[-1] += values[: batch - len(expected[-1])].tolist()
        elif leftover == "discard" and len(expected[-1]) < batch:
            expected.pop()
        assert found == expected

    run()


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("shape", [(2, 3), (0, 3), (4, 1)])
def test_iota(library: Library, shape: tuple[int, ...], axis: int | None) -> None:
    result = iota(shape, axis=axis, dtype=library.xp.int32, device=library.device, xp=library.xp)
    flat = np.arange(np.prod(shape)).reshape(shape)
    expected = flat if axis is None else np.indices(shape)[axis]
    library.assert_equal(result, expected.astype("int32"))


def test_iota_uses_the_default_namespace() -> None:
    with xpand.use("torch") as xp:
        assert xpand.array_namespace(iota(3)) is xp
        assert iota(3, dtype=xp.float32).dtype == xp.float32
    assert iota(()).shape == ()


def test_bad_input(library: Library) -> None:
    x = library.asarray(X)
    for function, arguments in ((pad_to, (3,)), (tile_to, (3,)), (to_batched, (1,))):
        name = function.__name__
        with pytest.raises(TypeError, match=f"{name}: x must be an array, got list"):
            function([1.0], *arguments)
        with pytest.raises(ValueError, match=f"{name}: axis=2 is out of range for 2 axes"):
            function(x, *arguments, axis=2)
        with pytest.raises(TypeError, match=f"{name}: .* must be an integer, got 1.5"):
            function(x, 1.5)
    with pytest.raises(ValueError, match="pad_to: size must be at least 0, got -1"):
        pad_to(x, -1)
    with pytest.raises(TypeError, match="pad_to: fill_value is the complex 1j"):
        pad_to(x, 4, fill_value=1j)
    for bad in ([1.0], "1", None):
        with pytest.raises(TypeError, match="pad_to: fill_value must be a number, or an array .* got "):
            pad_to(x, 4, fill_value=bad)
    with pytest.raises(ValueError, match=r"pad_to: fill_value must be a number or of shape \(\), got shape \(1,\)"):
        pad_to(x, 4, fill_value=library.asarray([1.0]))
    with pytest.raises(TypeError, match="pad_to: fill_value has .*complex128, which does not promote"):
        pad_to(x, 4, fill_value=library.asarray(1j))
    with pytest.raises(OverflowError, match="pad_to: fill_value=256 does not fit into x's .*uint8"):
        pad_to(library.asarray([1], "uint8"), 4, fill_value=256)
    with pytest.raises(ValueError, match="tile_to: size=4 is not a multiple of 3, the size of axis 1"):
        tile_to(x, 4)
    with pytest.raises(ValueError, match="to_batched: batch_size=3 is more than 2, the size of axis 0"):
        to_batched(x, 3)
    with pytest.raises(ValueError, match="did you mean 'discard'"):
        to_batched(x, 2, leftover="discards")  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match="broadcast_in_dim: axes must give a position for each of the 2 axes of x, got 1"
    ):
        broadcast_in_dim(x, (2, 3), axes=0)
    with pytest.raises(ValueError, match="broadcast_in_dim: axes must increase"):
        broadcast_in_dim(x, (3, 2), axes=(1, 0))
    with pytest.raises(ValueError, match="names an axis twice"):
        broadcast_in_dim(x, (3, 2), axes=(1, -1))
    with pytest.raises(ValueError, match="axis 1 of x has size 3, which doesn't broadcast to the 4 of axis 1"):
        broadcast_in_dim(x, (2, 4), axes=(0, 1))
    with pytest.raises(ValueError, match="iota: shape must be at least 0, got -1"):
        iota((2, -1), xp=library.xp)
    with pytest.raises(ValueError, match="iota: axis=2 is out of range"):
        iota((2, 3), axis=2, xp=library.xp)
    with pytest.raises(TypeError, match="iota: dtype must be an integer or real .* got .*complex64"):
        iota((2, 3), dtype=library.xp.complex64, xp=library.xp)
