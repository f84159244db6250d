"""Libraries that xpand doesn't wrap: what works on them, and what is not asked of them."""

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xpand
from tests.conforming import PROGRAMS, TABLE, Conforming, libraries, outcome, rejected
from xpand_extensions import autodiff, scatter, statistics
from xpand_extensions.vmap import vmap

LIBRARIES = libraries()
STORED = json.loads(TABLE.read_text())


def test_the_table_has_everything() -> None:
    """Where it hasn't, `python -m tests.conforming` measures it again."""
    # On a machine with a device it may have columns of CuPy and dpnp, too.
    assert STORED["versions"].items() >= {library.name: library.version for library in LIBRARIES}.items()
    assert len(PROGRAMS) == 40
    assert list(STORED["programs"]) == list(PROGRAMS)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("library", LIBRARIES, ids=str)
def test_the_table_is_current(library: Conforming, program: str) -> None:
    assert outcome(library, program) == STORED["programs"][program][library.name]


REJECTED = (
    "full(): incompatible function arguments.\n  1. full(shape, dtype: Dtype)\nInvoked with types: tuple, kwargs = "
)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (REJECTED + "{ dtype: Dtype, device: NoneType }", "`full` without `device`"),
        (REJECTED + "{ dtype: str }", ""),
        ("another error", ""),
    ],
)
def test_unknown_keywords_of_mlx_are_named(message: str, expected: str) -> None:
    assert rejected(message) == expected


def test_a_gradient_is_exported_as_onnx(tmp_path: Path) -> None:
    """NDONNX's arrays without values are traced by xpand, and what is done with them is written into a model."""
    import ndonnx as ndx
    import onnx
    import onnxruntime

    def loss(x: Any, w: Any) -> Any:
        xp = xpand.array_namespace(x, w)
        return xp.sum(xp.tanh(xp.matmul(x, w)) ** 2.0)

    x, w = ndx.argument(shape=(4, 3), dtype=ndx.float32), ndx.argument(shape=(3,), dtype=ndx.float32)
    gradient = autodiff.grad(lambda w: loss(x, w))(w)
    onnx.save(ndx.build({"x": x, "w": w}, {"gradient": gradient}), tmp_path / "gradient.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "gradient.onnx")
    rng = np.random.default_rng(0)
    for _ in range(3):
        values, at = rng.normal(size=(4, 3)).astype(np.float32), rng.normal(size=3).astype(np.float32)
        (found,) = session.run(None, {"x": values, "w": at})
        slope = 2.0 * np.tanh(values @ at) / np.cosh(values @ at) ** 2
        np.testing.assert_allclose(found, values.T @ slope, rtol=1e-4)


def test_constants_have_the_spec_of_the_arrays(tmp_path: Path) -> None:
    """Cubed's arrays of two specs can't be computed together, and new arrays have the default one."""
    import cubed
    import cubed.array_api as cubed_api

    spec = cubed.Spec(work_dir=tmp_path, allowed_mem="200MB")
    x = cubed_api.asarray([1.0, 2.0, 4.0], spec=spec)
    ids = cubed_api.asarray([0, 2, 0], spec=spec)
    found = scatter.segment_sum(x, ids, num_segments=3)
    assert found.spec == spec
    np.testing.assert_array_equal(found.compute(), [5.0, 0.0, 2.0])
    xp = xpand.array_namespace(x)
    assert xp is xpand.array_namespace(ids)
    assert xpand.library_name(xp) == "cubed"
    assert not xpand.is_concrete(x)
    np.testing.assert_array_equal((x + xp.ones(3)).compute(), [2.0, 3.0, 5.0])

    def above(x: Any) -> Any:
        xp = xpand.array_namespace(x)
        return xp.sum(xp.where(x > 1.0, x * x, xp.zeros(3)))

    gradient = autodiff.grad(above)(x)
    np.testing.assert_array_equal(gradient.compute(), [0.0, 4.0, 8.0])
    assert xpand.array_namespace(cubed_api.asarray([1.0])) is cubed


# A library that has less than the standard


@pytest.fixture
def lesser(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A library without sorting, whose `sum` takes no data type (MLX), and whose `dtypes` asks for a kind (NDONNX)."""
    monkeypatch.syspath_prepend(Path(__file__).parent / "third_party")
    tiny = importlib.import_module("tinyarray")
    for name in ("argsort", "sort", "searchsorted", "unique_all"):
        monkeypatch.delattr(tiny, name)
    total, info = tiny.sum, tiny.__array_namespace_info__

    class Info(info):  # type: ignore[misc, valid-type]
        def dtypes(self, *, device: Any = None, kind: Any) -> dict[str, Any]:
            return super().dtypes(device=device, kind=kind)

    monkeypatch.setattr(tiny, "sum", lambda x, /, axis=None, keepdims=False: total(x, axis=axis, keepdims=keepdims))
    monkeypatch.setattr(tiny, "__array_namespace_info__", Info)
    yield tiny
    for name in [name for name in sys.modules if name.partition(".")[0] == "tinyarray"]:
        del sys.modules[name]


VALUES = np.asarray([[1.0, -2.0], [0.5, 3.0], [-0.0, np.nan], [2.0, 4.0], [-1.0, 0.25]])
INDEX = np.asarray([3, 1, 3, 0, 3])
OPERATIONS = ("segment_sum", "segment_prod", "segment_min", "segment_max", "segment_mean")


@pytest.mark.parametrize("name", OPERATIONS)
def test_segments_without_sorting(lesser: Any, name: str) -> None:
    reduce = getattr(scatter, name)
    for values, ids in ((VALUES, INDEX), (VALUES[:, 0], INDEX), (VALUES[:1], INDEX[:1]), (VALUES[:0], INDEX[:0])):
        found = reduce(lesser.asarray(values), lesser.asarray(ids), num_segments=5)
        expected = reduce(values, ids, num_segments=5)
        np.testing.assert_allclose(found._data, expected, rtol=1e-15)
        np.testing.assert_array_equal(np.signbit(found._data), np.signbit(expected))


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "mean"])
@pytest.mark.parametrize("size", [1, 5, 8])
def test_segments_of_arrays_with_fill_values(name: str, size: int) -> None:
    """Functions of pydata/sparse's arrays give results with another fill value, which it does not combine."""
    import sparse

    reduction = getattr(scatter, f"segment_{name}")
    values, ids = np.arange(1.0, size + 1.0), np.arange(size) % 2
    found = reduction(sparse.COO.from_numpy(values), sparse.COO.from_numpy(ids), num_segments=3)
    np.testing.assert_allclose(found.todense(), reduction(values, ids, num_segments=3))


@pytest.mark.parametrize("operation", ["set", "add", "multiply", "subtract", "divide", "min", "max", "power"])
def test_updates_without_sorting(lesser: Any, operation: str) -> None:
    """Duplicates count each, the last of several that are set wins, and bits are copied: NaN and -0.0."""
    x = np.asarray([[2.0, 3.0], [1.5, 2.5], [4.0, 5.0], [0.5, 8.0]])
    values = np.abs(VALUES) if operation == "power" else VALUES
    with np.errstate(all="ignore"):
        expected = getattr(scatter.at(x)[INDEX], operation)(values)
        found = getattr(scatter.at(lesser.asarray(x))[lesser.asarray(INDEX)], operation)(lesser.asarray(values))
    np.testing.assert_allclose(found._data, expected, rtol=1e-14)
    np.testing.assert_array_equal(np.signbit(found._data), np.signbit(expected))


def test_sums_without_a_data_type(lesser: Any) -> None:
    x = lesser.asarray(VALUES[:2])
    row = lesser.asarray(np.asarray([1.0, 2.0]))
    found = autodiff.grad(lambda row: lesser_sum(x * row))(row)  # the cotangent is summed over the first axis
    np.testing.assert_array_equal(found._data, [1.5, 1.0])
    small = lesser.asarray(np.asarray([[100, 27], [50, 1]], dtype=np.int8))
    np.testing.assert_array_equal(vmap(lambda x: lesser_sum(x))(small)._data, [127, 51])
    np.testing.assert_array_equal(statistics.nansum(lesser.asarray(VALUES), axis=0)._data, [2.5, 5.25])


def lesser_sum(x: Any) -> Any:
    return xpand.array_namespace(x).sum(x)
