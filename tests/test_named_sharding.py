"""Named arrays split over devices: on one device on every library, and over four of JAX's host devices."""

import os
import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pytest

from tests.libraries import Library
from xpand_extensions import named as hax

VALUES = np.random.default_rng(0).normal(size=(4, 3))
MAPPING = {"batch": "data", "embed": ("replica", "model")}


def named(library: Library) -> hax.NamedArray:
    return hax.named(library.asarray(VALUES), ("batch", "embed"))


def test_the_mapping_of_a_block() -> None:
    assert hax.physical_axis_name("batch") is None
    with hax.axis_mapping(MAPPING):
        assert hax.physical_axis_name("batch") == "data"
        assert hax.physical_axis_name(hax.Axis("embed", 3)) == ("replica", "model")
        with hax.axis_mapping({"batch": "other"}):
            assert hax.physical_axis_name("batch") == "other"
            assert hax.physical_axis_name("embed") is None
        with hax.axis_mapping({"time": "other"}, merge=True):
            assert hax.physical_axis_name("batch") == "data"
            assert hax.physical_axis_name("time") == "other"
    assert hax.physical_axis_name("batch") is None


def test_without_a_mesh_there_is_one_device() -> None:
    assert hax.physical_axis_size("batch", MAPPING) == 1
    assert hax.physical_axis_size("time", MAPPING) is None
    assert hax.round_axis_for_partitioning(hax.Axis("batch", 5), MAPPING) == hax.Axis("batch", 5)
    assert hax.sharding_for_axis("batch", MAPPING) is None


def test_nothing_is_split_on_one_device(library: Library) -> None:
    x = named(library)
    for found in (hax.shard(x, MAPPING), hax.shard_with_axis_mapping({"x": x, "n": 3}, MAPPING)["x"]):
        assert found.names == ("batch", "embed")
        library.assert_equal(found.array, VALUES)
    with hax.axis_mapping(MAPPING):
        library.assert_equal(hax.auto_sharded(x).array, VALUES)


def test_named_jit_compiles(library: Library) -> None:
    calls = []

    @hax.named_jit(axis_resources=MAPPING)
    def scaled(x: Any, kind: str, *, factor: Any) -> Any:
        calls.append(hax.physical_axis_name("batch"))
        return {"y": (x * factor if kind == "product" else x / factor).sum("embed")}

    x, factor = named(library), library.asarray(2.0)
    for _ in range(2):
        found = scaled(x, "product", factor=factor)["y"]
        assert found.names == ("batch",)
        library.assert_equal(found.array, 2 * VALUES.sum(1), rtol=1e-12)
    assert calls == ["data"]
    library.assert_equal(scaled(x, "quotient", factor=factor)["y"].array, VALUES.sum(1) / 2, rtol=1e-12)


def test_named_jit_lowers(library: Library) -> None:
    x = named(library)
    scaled = hax.named_jit(lambda x, kind, y: (x * y if kind == "product" else x).sum("embed"), MAPPING)
    lowered = scaled.lower(x, "product", y=x)
    assert lowered.as_text()
    compiled = lowered.compile()
    for found in (compiled(x, x), scaled(x, "product", y=x)):
        assert found.names == ("batch",)
        library.assert_equal(found.array, (VALUES**2).sum(1), rtol=1e-15)
    with pytest.raises(TypeError, match="<lambda>: compiled for "):
        compiled(x)
    assert hax.fsdp(lambda x: 2.0 * x, MAPPING, MAPPING).lower(x).compile()(x).names == ("batch", "embed")


def test_numbers_are_static_arguments_of_named_jit(library: Library) -> None:
    seen = []

    @hax.named_jit
    def chosen(x: Any, flag: Any) -> Any:
        seen.append(flag)
        return x + 1.0 if flag else x - 1.0

    x = named(library)
    for flag in (True, False, 1, 0.0, -0.0, True):
        library.assert_equal(chosen(x, flag).array, VALUES + 1 if flag else VALUES - 1)
    assert list(map(repr, seen)) == ["True", "False", "1", "0.0", "-0.0"]


def test_several_axes_of_the_mesh_in_a_list() -> None:
    physical = []
    compiled = hax.named_jit(
        lambda x: physical.append(hax.physical_axis_name("batch")) or x, axis_resources={"batch": ["replica", "data"]}
    )
    compiled(hax.named(VALUES, ("batch", "column")))
    assert physical == [("replica", "data")]


def test_named_jit_follows_the_mapping_of_the_call(library: Library) -> None:
    names = []
    compiled = hax.named_jit(lambda x: names.append(hax.physical_axis_name("batch")) or x + 1.0)
    x = named(library)
    for mapping in ({"batch": "one"}, {"batch": "two"}, {"batch": "one"}):
        with hax.axis_mapping(mapping):
            library.assert_equal(compiled(x).array, VALUES + 1)
    assert names == ["one", "two"]


def test_fsdp_and_donation(library: Library) -> None:
    x = named(library)
    library.assert_equal(hax.fsdp(lambda x: x + x, {"embed": "data"}, {"batch": "data"})(x).array, 2 * VALUES)
    decorated = hax.fsdp(parameter_mapping={"embed": "data"}, compute_mapping={})(lambda x: x - 1.0)
    library.assert_equal(decorated(x).array, VALUES - 1)
    library.assert_equal(hax.named_jit(lambda x, y: x + y, donate_args=(False, False))(x, x).array, 2 * VALUES)


def test_donated_memory_of_jax() -> None:
    import jax.numpy as jnp

    def donated(donate_args: Any, donate_kwargs: Any = None) -> list[str]:
        """Return which arguments a call has used up."""
        leaves = {name: hax.named(jnp.asarray(VALUES), ("batch", "embed")) for name in ("w", "b", "y", "z")}
        shifted = lambda tree, y, *, z: ({name: x + 1.0 for name, x in tree.items()}, y - 1.0, z * 2.0)
        step = hax.named_jit(shifted, donate_args=donate_args, donate_kwargs=donate_kwargs)
        step({name: leaves[name] for name in ("w", "b")}, leaves["y"], z=leaves["z"])
        return [name for name, x in leaves.items() if x.array.is_deleted()]

    assert donated(None) == []
    assert donated(True) == ["w", "b", "y"]
    assert donated(({"w": True, "b": False},)) == ["w"]
    assert donated((False, lambda leaf: leaf.has_axis("embed")), {"z": True}) == ["y", "z"]


def test_bad_arguments() -> None:
    x = hax.named(VALUES, ("batch", "embed"))
    with pytest.raises(TypeError, match="axis_mapping: mapping must be a dictionary"), hax.axis_mapping("batch"):
        pass
    with pytest.raises(TypeError, match=r"names for names, got 'batch': 3"):
        hax.shard(x, {"batch": 3})
    with pytest.raises(TypeError, match=r"mesh must be a `jax.sharding.Mesh`, got"):
        hax.shard(x, {"batch": "data"}, mesh=3)
    with pytest.raises(TypeError, match=r"named_jit: unknown options \['static'\]"):
        hax.named_jit(lambda x: x, static=1)
    with pytest.raises(TypeError, match="named_jit: arguments that are not arrays are static and must be hashable"):
        hax.named_jit(lambda x, y: x)(x, bytearray())
    with pytest.raises(TypeError, match="take booleans, functions of a leaf, or trees of these, got str"):
        hax.named_jit(lambda x: x, donate_args=("yes",))(x)
    with pytest.raises(TypeError, match="axis must be an Axis"):
        hax.round_axis_for_partitioning("batch", {})


PROGRAM = """
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

from xpand_extensions import named as hax

mesh = jax.make_mesh((2, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
mapping = {"batch": "data", "embed": "model"}
values = np.arange(32.0).reshape(4, 8)
x = hax.named(jnp.asarray(values), ("batch", "embed"))


def check(found, spec, expected):
    assert found.array.sharding.is_equivalent_to(NamedSharding(mesh, spec), found.ndim), found.array.sharding
    np.testing.assert_array_equal(found.array, expected)


check(hax.shard(x, mapping, mesh), P("data", "model"), values)
assert hax.shard(x, mapping).array.sharding.num_devices == 1
with jax.set_mesh(mesh):
    assert hax.physical_axis_size("batch", mapping) == 2
    assert hax.physical_axis_size("batch", {"batch": ("data", "model")}) == 4
    assert hax.round_axis_for_partitioning(hax.Axis("batch", 5), mapping) == hax.Axis("batch", 6)
    assert hax.sharding_for_axis(("other", "batch"), mapping) == NamedSharding(mesh, P(None, "data"))
    check(hax.shard(x, mapping), P("data", "model"), values)
    with hax.axis_mapping(mapping):
        check(jax.jit(lambda x: hax.auto_sharded(2 * x))(x), P("data", "model"), 2 * values)
    weights = hax.named(jnp.ones((8, 6)), ("embed", "out"))
    product = hax.named_jit(lambda x, w: hax.dot(x, w, axis="embed"), axis_resources=mapping)
    check(product(hax.shard(x, mapping), weights), P("data"), values.sum(1)[:, None] * np.ones(6))
    doubled = hax.fsdp(lambda x: 2 * x, {"embed": ("data", "model")}, {"batch": "data"})
    check(doubled(x), P(None, ("data", "model")), 2 * values)
    merged = hax.named_jit(lambda x: x.rearrange("{batch embed} -> embed batch"), axis_resources=mapping)(x)
    check(merged, P("model", "data"), values.T)
    for bad, message in (
        ({"batch": "data", "embed": "data"}, "both mapped to axis 'data'"),
        ({"batch": "nothing"}, "the mesh has no axis 'nothing'; its axes are {'data': 2, 'model': 2}"),
    ):
        with pytest.raises(ValueError, match=message):
            hax.shard(x, bad)
    with pytest.raises(ValueError, match="axis 'batch' of size 3 can't be split over 2 devices"):
        hax.shard(x[{"batch": slice(3)}], mapping)
explicit = jax.make_mesh((4,), ("data",), axis_types=(AxisType.Explicit,))
with pytest.raises(ValueError, match="Explicit"):
    hax.shard(x, {"batch": "data"}, explicit)
"""


def test_four_devices_of_jax() -> None:
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(PROGRAM)],
        env=os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
