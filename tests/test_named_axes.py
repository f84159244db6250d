"""Axes, their algebra, and named arrays as objects: construction, trees, pickles, references."""

import copy
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
import torch

from tests.libraries import LIBRARIES, Library
from xpand import trees
from xpand_extensions import autodiff, named as hax, random
from xpand_extensions.jit import jit
from xpand_extensions.named import Axis, NamedArray, _array
from xpand_extensions.vmap import vmap

A3, B2 = Axis("a", 3), Axis("b", 2)


def test_axes_are_values() -> None:
    assert Axis("a", 3) == A3
    assert Axis("a", 2) != A3
    assert len({A3, Axis("a", 3), B2}) == 2
    assert (A3.alias("c"), A3.resize(5)) == (Axis("c", 3), Axis("a", 5))
    assert hax.make_axes(a=3, b=2) == (A3, B2)
    assert hax.axis_name((A3, "b")) == ("a", "b")
    for name, size in ((3, 3), ("a", 2.0), ("a", None), ("a", True)):
        with pytest.raises(TypeError, match="Axis:"):
            Axis(name, size)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="must not be negative"):
        Axis("a", -1)


def test_algebra() -> None:
    assert hax.concat_axes((A3,), B2) == (A3, B2)
    assert hax.concat_axes({"a": 3}, B2) == {"a": 3, "b": 2}
    assert hax.union_axes((A3, B2), ("b", Axis("c", 1))) == (A3, B2, Axis("c", 1))
    assert hax.union_axes(A3, {"b": 2}) == {"a": 3, "b": 2}
    assert hax.intersect_axes(("a", B2), (B2, "a")) == ("a", B2)
    assert hax.eliminate_axes({"a": 3, "b": 2}, "a") == {"b": 2}
    assert hax.without_axes((A3, B2), ("a", "q")) == (B2,)
    assert hax.without_axes((A3,), Axis("a", 9), allow_mismatched_sizes=True) == ()
    assert hax.selects_axis((A3, "b"), {"b": None})
    assert not hax.selects_axis((A3,), Axis("a", 2))
    assert hax.is_axis_compatible("a", A3)
    assert not hax.is_axis_compatible(A3, Axis("a", 2))
    bad: list[Callable[[], Any]] = [
        lambda: hax.concat_axes(A3, "a"),
        lambda: hax.union_axes(A3, Axis("a", 2)),
        lambda: hax.eliminate_axes((A3,), "b"),
        lambda: hax.without_axes((A3,), Axis("a", 2)),
        lambda: hax.intersect_axes((A3,), Axis("a", 2)),
    ]
    for wrong in bad:
        with pytest.raises(ValueError, match="axes: "):
            wrong()


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
def test_construction(library: Library) -> None:
    array = library.asarray(np.zeros((3, 2)))
    given: list[Any] = [(A3, B2), ("a", "b"), {"a": 3, "b": None}, ["a", B2]]
    for axes in given:
        x = hax.named(array, axes)
        assert (x.shape, x.axes, x.ndim, x.size) == ({"a": 3, "b": 2}, (A3, B2), 2, 6)
        assert x.array is array
        assert x.nbytes == 48
        assert x.dtype == array.dtype
    assert x.has_axis(("b", A3))
    assert not x.has_axis(Axis("a", 2))
    assert (x.axis_size("b"), x.axis_size(("b", "a"))) == (2, (2, 3))
    assert (x.resolve_axis("b"), x.resolve_axis({"b": None})) == (B2, {"b": 2})
    assert x.axis_indices(("b", "q", A3)) == (1, None, 0)
    assert not hasattr(x, "__array_namespace__")
    assert hax.named(array[:0, :], ("axis", "")).shape == {"axis": 0, "": 2}
    assert hax.named(array, ("…", "Ω")).sum("…").shape == {"Ω": 2}
    bad: list[tuple[Any, type[Exception]]] = [
        (("a",), ValueError),
        (("a", "a"), ValueError),
        ((A3, A3.resize(4).alias("b")), ValueError),
        (("a", 1), TypeError),
        (3, TypeError),
    ]
    for wrong, error in bad:
        with pytest.raises(error, match="NamedArray:"):
            hax.named(array, wrong)
    for name in ("axis_size", "resolve_axis"):
        with pytest.raises(ValueError, match=r"no axis 'q'; the array has the axes \{'a': 3, 'b': 2\}"):
            getattr(x, name)("q")
    with pytest.raises(TypeError, match="no first axis"):
        iter(x)
    with pytest.raises(ValueError, match="without axes"):
        x.scalar()
    assert hax.named(library.asarray(2.5), ()).item() == 2.5
    assert float(hax.named(library.asarray(2.5), ())) == 2.5
    assert x.tolist() == [[0.0, 0.0]] * 3
    assert x.tobytes() == bytes(48)


def test_copies_and_pickles() -> None:
    x = hax.named(np.asarray([1.0, 2.0]), "a")
    for y in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x), x.copy()):
        assert y.names is x.names
        assert hax.array_equal(x, y)
    assert repr(x) == "NamedArray({'a': 2}, array([1., 2.]))"


@pytest.mark.parametrize("leaf", [None, True, object(), "text", np.zeros((2, 2, 2))])
def test_trees_take_any_leaf(leaf: Any) -> None:
    x = hax.named(np.zeros((3, 2)), ("b", "a"))
    leaves, structure = trees.flatten(x)
    assert leaves[0] is x.array
    y = trees.unflatten(structure, [leaf])
    assert (y.array is leaf, y.names) == (True, ("b", "a"))
    assert trees.structure(x) == trees.structure(hax.named(np.ones((3, 2)), ("b", "a")))
    assert trees.structure(x) != trees.structure(hax.named(np.ones((3, 2)), ("a", "b")))
    assert jax.tree.unflatten(jax.tree.structure(x), [leaf]).array is leaf
    flat, spec = torch.utils._pytree.tree_flatten([x])
    assert flat[0] is x.array
    assert leaf is None or torch.utils._pytree.tree_unflatten([leaf], spec)[0].array is leaf
    assert "NamedArray" in repr(y)


def test_created_arrays_are_nodes_of_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    program = """if True:
        import jax
        from xpand import trees
        from xpand_extensions import named as hax
        x = hax.zeros({"a": 2}, xp="jax")
        assert trees.leaves(x)[0] is jax.tree.leaves(x)[0] is x.array
    """
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
    calls: list[None] = []
    monkeypatch.setattr(_array, "_register_nodes", lambda: calls.append(None))
    for made in (
        lambda: hax.zeros({"a": 2}, xp="numpy"),
        lambda: hax.linspace(Axis("a", 2), start=0.0, stop=1.0, xp="numpy"),
        lambda: hax.arange(Axis("a", 2), xp="numpy"),
        lambda: hax.random.normal(random.key(0, xp="numpy"), {"a": 2}),
        lambda: hax.fft.fftfreq(Axis("a", 2), xp="numpy"),
        lambda: hax.polyadd(np.ones(2), np.ones(2)),
    ):
        calls.clear()
        made()
        assert calls


def test_trees_of_named_arrays() -> None:
    x = hax.named(np.ones((3, 2)), ("b", "a"))
    leaves, structure = hax.tree.flatten({"x": x, "y": 1.0})
    assert leaves[0] is x
    assert hax.tree.unflatten(structure, leaves)["x"] is x
    assert hax.tree.leaves([x])[0] is x
    assert hax.tree.structure([x]) == hax.tree.structure([x * 2.0])
    for mapped in (hax.tree.map, hax.tree.scan_aware_map):
        assert mapped(lambda each: each.sum("a"), [x])[0].names == ("b",)


@pytest.mark.parametrize("library", [each for each in LIBRARIES if "strict" not in each.id], ids=str)
def test_transformations_take_named_arrays(library: Library) -> None:
    x = hax.named(library.asarray([[1.0, 2.0], [3.0, 4.0]]), ("a", "b"))

    def loss(x: NamedArray) -> Any:
        return (x * x * hax.named(library.asarray([1.0, 10.0]), "b")).sum().scalar()

    found = autodiff.grad(loss)(x)
    assert found.names == ("a", "b")
    library.assert_equal(found.array, np.asarray([[2.0, 40.0], [6.0, 80.0]]))
    compiled = jit(lambda x: hax.dot(x, x.rename({"a": "c"}), axis="b"))(x)
    assert compiled.names == ("a", "c")
    library.assert_equal(compiled.array, np.asarray([[5.0, 11.0], [11.0, 25.0]]))


def test_programs_are_those_by_position() -> None:
    x, y = np.zeros((3, 2)), np.zeros(3)

    def by_name(x: Any, y: Any) -> Any:
        a, b = hax.named(x, ("a", "b")), hax.named(y, "a")
        return (a * b).sum("a").array, a.rearrange("a b -> (c: b a)").array, hax.rearrange(a, "{a} -> a ...").array

    def by_position(x: Any, y: Any) -> Any:
        xp = jax.numpy
        return (x * xp.expand_dims(y, 1)).sum(0), xp.reshape(xp.permute_dims(x, (1, 0)), (6,)), x

    assert str(jax.make_jaxpr(by_name)(x, y)) == str(jax.make_jaxpr(by_position)(x, y))


def test_names_of_named_arrays() -> None:
    with pytest.raises(TypeError, match="named: a has names; change them with `rename`"):
        hax.named(hax.named(np.ones(2), "a"), "b")


def test_positional_vmap_of_elementwise_functions() -> None:
    x = hax.named(jax.numpy.ones((3, 2)), ("a", "b"))
    found = jax.vmap(lambda x: x + x)(x)
    assert (found.names, found.array.shape) == (("a", "b"), (3, 2))
    with pytest.raises(ValueError, match="a positional transformation has added or removed one"):
        jax.vmap(lambda x: x.sum("a"))(x)


NEED_AXES: list[Callable[[NamedArray], Any]] = [
    lambda x: hax.argmax(x, "b"),
    lambda x: hax.nanargmin(x, "a"),
    lambda x: x.flatten_axes(("a", "b"), "d"),
    lambda x: x.unflatten_axis("a", {"d": 2, "e": 1}),
    lambda x: x.split("a", [Axis("d", 1), Axis("e", 1)]),
    lambda x: x.unbind("a"),
    lambda x: x.ravel("d"),
    lambda x: x.rearrange(("b", ...)),
    lambda x: hax.dot(x, x, axis="b"),
    lambda x: hax.einsum("{b} -> ", x, x),
    lambda x: hax.statistics.window_sum(x, {"a": 2}),
    lambda x: hax.convolution.convolve(x, hax.named(np.ones(2), "a"), "a"),
    lambda x: hax.vmap(lambda x: x, "a")(x),
    lambda x: hax.map(lambda x: x, "a")(x),
    lambda x: x.axes,
    lambda x: x.shape,
]


@pytest.mark.parametrize("number", range(len(NEED_AXES)))
def test_functions_that_need_axes_reject_a_positional_vmap(number: int) -> None:
    x = hax.named(np.ones((2, 2, 2)), ("a", "b", "c"))
    NEED_AXES[number](x)  # plans of this call must not skip the check
    with pytest.raises(ValueError, match="a positional transformation has added or removed one"):
        vmap(NEED_AXES[number])(x)


def test_threads() -> None:
    errors = []

    def work(number: int) -> None:
        try:
            for i in range(30):
                x = hax.named(np.ones((2, 3)), (f"a{number}", f"b{i}"))
                assert (x + x.rearrange((f"b{i}", ...))).sum(f"a{number}").names == (f"b{i}",)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
def test_references(library: Library) -> None:
    x = hax.named(library.asarray(np.arange(24.0).reshape(6, 4)), ("layer", "head"))
    ref = hax.new_ref(x)
    view = ref.slice({"layer": slice(2, 5)})
    view[{"layer": 0, "head": 3}] = 100.0
    assert view.shape == view.named_shape == {"layer": 3, "head": 4}
    assert (view.ndim, view.resolve_axis("head"), view.axes[0]) == (2, Axis("head", 4), Axis("layer", 3))
    assert ref.dtype == x.dtype
    assert view.unsliced().shape == x.shape
    expected = np.arange(24.0).reshape(6, 4)
    expected[2, 3] = 100.0
    library.assert_equal(ref.value().array, expected)
    library.assert_equal(x.array, np.arange(24.0).reshape(6, 4))
    old = hax.swap(view, {"layer": 1}, 0.0)
    library.assert_equal(old.array, expected[3])
    ref[...] = ref[...] + 1.0
    expected[3] = 0.0
    library.assert_equal(hax.freeze(ref).array, expected + 1.0)
    with pytest.raises(RuntimeError, match="frozen"):
        view.value()


def test_addresses_of_references() -> None:
    array = np.ones(3)
    assert hax.new_ref(hax.named(array, "a")).unsafe_buffer_pointer() == array.ctypes.data
