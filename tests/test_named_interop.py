"""Annotations of named arrays, and their conversion to xarray and to other libraries."""

import pickle
from typing import Annotated, Any, get_args, get_type_hints

import numpy as np
import pytest
import xarray

from tests.libraries import Library
from xpand_extensions import named as hax
from xpand_extensions.convert import convert
from xpand_extensions.named import NamedArray, typing as types

VALUES = np.random.default_rng(0).normal(size=(2, 3, 4))
NAMES = ("batch", "row", "column")


def named(library: Library, dtype: Any = None) -> NamedArray:
    return hax.named(library.asarray(VALUES, dtype), NAMES)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("batch row column", True),
        (("batch", "row", "column"), True),
        (["batch", "row column"], True),
        ("batch column row", False),
        ("batch row", False),
        ("batch row column more", False),
        ("batch ...", True),
        ("... column", True),
        ("batch ... column", True),
        ("row ... column", False),
        ("batch row ... row column", ValueError),
        ("batch row column ...", True),
        ("...", True),
        (..., True),
        ({"row", "batch", "column"}, True),
        ({"row", "batch"}, False),
        ({"row", ...}, True),
        ({"depth", ...}, False),
        ("batch row=3 column", True),
        ("batch row=4 column", False),
        ((hax.Axis("batch", 2), "row", hax.Axis("column", 4)), True),
        ((hax.Axis("batch", 3), ...), False),
        ((), False),
        ("... row ...", ValueError),
        ("batch batch", ValueError),
        ("row=many", ValueError),
        (3, TypeError),
    ],
)
def test_axes_of_annotations(spec: Any, expected: Any) -> None:
    x = hax.named(VALUES, NAMES)
    if isinstance(expected, bool):
        assert x.matches_axes(spec) is expected
        assert x.matches_axes(NamedArray[spec]) is expected
        return
    with pytest.raises(expected, match="matches_axes: "):
        x.matches_axes(spec)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "bool"])
def test_kinds_of_annotations(library: Library, dtype: str) -> None:
    x = named(library, dtype)
    matching = {
        "float32": {"Float", "Num", "Float32"},
        "float64": {"Float", "Num", "Float64"},
        "int32": {"Int", "Num", "Int32"},
        "int64": {"Int", "Num", "Int64"},
        "bool": {"Bool"},
    }[dtype]
    kinds = set(types.__all__) - {"AxesSpec"}
    assert {name for name in kinds if x.matches_axes(getattr(types, name)[NamedArray, "batch ..."])} == matching
    assert not any(x.matches_axes(getattr(types, name)[NamedArray, "row", ...]) for name in kinds)


def test_annotations_are_annotated_types() -> None:
    def attention(q: NamedArray["batch", "key"], k: types.Float[NamedArray, "batch key"]) -> None: ...  # noqa: F722, F821

    hints = get_type_hints(attention, include_extras=True)
    assert hints["q"] == Annotated[NamedArray, types.AxesSpec((("batch", None), ("key", None)))]
    assert get_args(hints["k"])[0] is NamedArray
    with pytest.raises(TypeError, match=r"Float\[...\]: takes NamedArray and axes"):
        types.Float["batch"]


def test_xarray_and_back(library: Library) -> None:
    x = named(library)
    if library.id == "torch":
        with pytest.raises(TypeError, match=r"to_xarray: xarray can't wrap torch.Tensor.*convert\(x, \"numpy\"\)"):
            hax.to_xarray(x)
        return
    there = hax.to_xarray(x, coords={"row": [10, 20, 30]}, name="values")
    assert (there.dims, there.name, there.sizes["row"]) == (NAMES, "values", 3)
    assert there.sel(row=20).dims == ("batch", "column")
    back, coords = hax.from_xarray(there)
    assert back.array is x.array
    assert back.names == NAMES
    assert hax.to_xarray(back, coords=coords, name="values").identical(there)
    assert not hax.to_xarray(back.sum("row"), coords=coords).coords
    assert hax.to_xarray(back.sum(), coords=coords).shape == ()
    others = {"row": [1, 2, 3], "column": np.ones(4), "place": ("row", [1, 2, 3]), "year": 2020, "kind": "mean"}
    assert set(hax.to_xarray(back.sum("row"), coords=others).coords) == {"column", "year", "kind"}


def test_bad_arguments_of_xarray_conversions() -> None:
    with pytest.raises(TypeError, match="x must be a NamedArray"):
        hax.to_xarray(np.ones(2))
    with pytest.raises(TypeError, match=r"must be an xarray.DataArray, got .*; select a variable"):
        hax.from_xarray(xarray.Dataset({"a": ("x", [1.0])}))
    with pytest.raises(TypeError, match="names of dimensions must be strings"):
        hax.from_xarray(xarray.DataArray(np.ones(2), dims=(3,)))
    with pytest.raises(ValueError, match="row"):
        hax.to_xarray(hax.named(VALUES, NAMES), coords={"row": [1, 2]})


def test_patterns_of_einops(library: Library) -> None:
    flat = library.asarray(VALUES.reshape(2, 12))
    x = hax.from_einops(flat, "batch (row column)", row=3)
    assert x.shape == {"batch": 2, "row": 3, "column": 4}
    library.assert_equal(x.array, VALUES)
    expected = np.transpose(VALUES, (2, 0, 1)).reshape(8, 3)
    library.assert_equal(hax.to_einops(x, "(column batch) row"), expected)
    library.assert_equal(hax.to_einops(x, "() batch (row column)"), VALUES.reshape(1, 2, 12))
    one = hax.from_einops(library.asarray(VALUES[:, :1]), "batch () column")
    assert one.names == ("batch", "column")
    both = hax.from_einops(library.asarray(VALUES.reshape(1, 24)), "() (batch rest)", batch=2)
    library.assert_equal(both.array, VALUES.reshape(2, 12))


def test_patterns_move_nothing_in_vain() -> None:
    x = hax.from_einops(VALUES, "batch row column")
    assert x.array is VALUES
    assert hax.to_einops(x, "batch row column") is VALUES


@pytest.mark.parametrize(
    ("pattern", "sizes", "message"),
    [
        ("batch (row", {}, r"at position 6 of .*: '\(' isn't closed"),
        ("batch row)", {}, r"at position 9 of .*: '\)' is not expected"),
        ("batch ((row) column)", {}, r"at position 7 of .*: '\(' is not expected"),
        ("batch -> row", {}, "at position 6 of .*: '-' is not expected"),
        ("batch ... row", {}, "must list all axes"),
        ("batch (new: row)", {}, "must list all axes"),
        ("batch", {}, "has 1 axes, and the array 2"),
        ("batch (row column)", {}, "the sizes of 'row', 'column' .* are not given"),
        ("batch (row column)", {"row": 5}, "axis 'row column' of size 12 can't be split"),
        ("batch (row column)", {"row": 0}, "can't be split"),
        ("batch (row column)", {"row": 3, "column": 5}, "can't be split"),
        ("batch=3 row", {}, "at position 5 of .*: '=' is not expected"),
        ("batch row", {"batch": 3}, "axis 'batch' of size 2 can't be split"),
        ("batch row", {"depth": 3}, "has no axis 'depth'"),
        ("batch batch", {}, "must be different"),
    ],
)
def test_bad_patterns(pattern: str, sizes: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=f"from_einops: .*{message}"):
        hax.from_einops(VALUES.reshape(2, 12), pattern, **sizes)


def test_bad_arguments_of_patterns() -> None:
    x = hax.named(VALUES, NAMES)
    with pytest.raises(TypeError, match="an array without names"):
        hax.from_einops(x, "a b c")
    with pytest.raises(TypeError, match="must be an integer"):
        hax.from_einops(VALUES, "a b c", a="2")
    with pytest.raises(TypeError, match="pattern must be a string"):
        hax.to_einops(x, NAMES)
    with pytest.raises(ValueError, match="'depth'"):
        hax.to_einops(x, "batch row depth")
    with pytest.raises(ValueError, match=r"lacks the axes 'row', 'column' of the array"):
        hax.to_einops(x, "batch")
    with pytest.raises(TypeError, match="must be a NamedArray"):
        hax.to_einops(VALUES, "a b c")


def test_conversions_between_libraries_keep_names(library: Library) -> None:
    found = convert({"x": hax.named(VALUES, NAMES)}, library.xp)["x"]
    assert found.names == NAMES
    np.testing.assert_array_equal(np.asarray(library.to_numpy(found.array)), VALUES)


def test_named_arrays_can_be_pickled(library: Library) -> None:
    found = pickle.loads(pickle.dumps(named(library)))
    assert found.names == NAMES
    np.testing.assert_array_equal(np.asarray(library.to_numpy(found.array)), VALUES)
