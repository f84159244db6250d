"""Trees of arrays: every library, transformations, bad input."""

import subprocess
import sys
from collections import namedtuple
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pytest

import xpand
from tests.libraries import LIBRARIES, Library
from tests.operations import Case, Check, checked
from xpand import array_namespace, trees
from xpand.extend import same_structure
from xpand_extensions.autodiff import grad
from xpand_extensions.jit import jit
from xpand_extensions.vmap import vmap

Pair = namedtuple("Pair", "left right")
X = np.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def tree_of(library: Library, factor: int) -> Any:
    return {"b": [library.asarray(X * factor), None], "a": Pair(library.asarray(np.arange(3) * factor), ())}


def same(library: Library, actual: Any, expected: Any) -> None:
    assert trees.structure(actual) == trees.structure(expected)
    for x, y in zip(trees.leaves(actual), trees.leaves(expected)):
        library.assert_equal(x, library.to_numpy(y))


def test_map_goes_through_all_kinds_of_nodes(library: Library) -> None:
    result = trees.map(lambda x, y: x + y, tree_of(library, 1), tree_of(library, 2))
    same(library, result, tree_of(library, 3))
    assert isinstance(result["a"], Pair)


def test_flatten_and_unflatten(library: Library) -> None:
    tree = tree_of(library, 1)
    leaves, structure = trees.flatten(tree)
    assert leaves[0] is tree["a"].left  # dictionaries in the order of their keys
    assert trees.leaves(tree)[1] is leaves[1]
    assert structure == trees.structure(tree_of(library, 5))
    same(library, trees.unflatten(structure, leaves), tree)
    assert trees.leaves([(1, 2), 3], is_leaf=lambda x: isinstance(x, tuple)) == [(1, 2), 3]


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_stack_and_unstack(library: Library, axis: int) -> None:
    several = [[library.asarray(X * factor)] for factor in (1, 2, 3)]
    stacked = trees.stack(several, axis=axis)
    library.assert_equal(stacked[0], np.stack([X, X * 2, X * 3], axis=axis))
    for one, again in zip(several, trees.unstack(stacked, axis=axis)):
        same(library, again, one)


def test_concat(library: Library) -> None:
    both = trees.concat([{"x": library.asarray(X)}, {"x": library.asarray(X[:, :1])}], axis=1)
    library.assert_equal(both["x"], np.concatenate([X, X[:, :1]], axis=1))


def test_copies_are_of_their_own(library: Library) -> None:
    tree = {"x": library.asarray(X), "n": 3, "name": "text"}
    copied = trees.copy(tree)
    assert copied["x"] is not tree["x"]
    assert (copied["n"], copied["name"]) == (3, "text")
    library.assert_equal(copied["x"], X)
    if xpand.is_writeable_array(copied["x"]) and not library.lazy:
        copied["x"][0, 0] = 100.0
        library.assert_equal(tree["x"], X)
    kept = trees.copy(tree, only_writeable=True)["x"]
    assert (kept is tree["x"]) == (not xpand.is_writeable_array(tree["x"]))


def through_trees(x: Any, y: Any) -> Any:
    both = trees.stack([{"a": x, "b": [y]}, {"a": y, "b": [x]}])
    doubled = trees.map(lambda each: each * 2.0, both)
    first, second = trees.unstack(doubled)
    return trees.leaves(trees.concat([first, second, trees.copy(first)]))


CASE = Case(
    through_trees,
    (X, X[::-1] ** 2),
    lambda x, y: tuple(2 * np.concatenate(parts) for parts in ([x, y, x], [y, x, y])),
    (0, 1),
)


def test_values(library: Library) -> None:
    from tests.operations import check_values

    check_values(library, CASE)


@checked({"": CASE})
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


def test_bad_input(library: Library) -> None:
    x = library.asarray(X)
    for function in (trees.stack, trees.concat):
        name = function.__name__
        with pytest.raises(ValueError, match=f"{name}: takes one tree or more, got none"):
            function([])
        with pytest.raises(TypeError, match=f"{name}: trees must be a list or a tuple of trees, got dict"):
            function({"x": x})
        with pytest.raises(ValueError, match=f"{name}: trees must have one structure.*at 1"):
            function([[x], (x,)])
        for other in ([[x]], [x, x], [None], x, {"x": x}):
            with pytest.raises(ValueError, match=f"{name}: trees must have one structure.*at 2"):
                function([[x], [x], other])
        with pytest.raises(TypeError, match=rf"{name}: trees\[0\] must be an array, got int"):
            function([[1], [2]])
        with pytest.raises(ValueError, match=f"{name}: axis=5 is out of range"):
            function([[x], [x]], axis=5)
    with pytest.raises(
        ValueError, match=r"stack: the arrays at the same position must have the same shape, got \[\(2, 3\), \(3,\)"
    ):
        trees.stack([x, x[0, :]])
    with pytest.raises(ValueError, match="concat: the arrays at the same position must have the same shape"):
        trees.concat([x, x[:, :2]])
    for integers in ("int64", "uint64"):
        with pytest.raises(TypeError, match=r"stack: takes data types that .* trees\[1\] of .*int64"):
            trees.stack([library.asarray(1.0 if integers == "int64" else -1), library.asarray(1, integers)])
    with pytest.raises(ValueError, match="unstack: the tree has no leaves"):
        trees.unstack([None, ()])
    with pytest.raises(ValueError, match=r"unstack: all arrays must have one size along axis 0, got \[2, 3\]"):
        trees.unstack([x, x[0, :]])
    with pytest.raises(TypeError, match="unstack: leaf must be an array"):
        trees.unstack(["text"])
    with pytest.raises(TypeError, match="copy: only_writeable must be True or False"):
        trees.copy(x, only_writeable=None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="mismatch"):
        trees.map(lambda a, b: a, (x, x), (x,))


def test_two_libraries_are_refused() -> None:
    torch, jax = (next(x for x in LIBRARIES if x.id == name) for name in ("torch", "jax"))
    with pytest.raises(TypeError, match="stack: takes arrays of one library"):
        trees.stack([[torch.asarray(X)], [jax.asarray(X)]])


class OfJax:
    """A class as those of Equinox and Flax, which optree does not know."""

    def __init__(self, weight: Any, rest: Any, name: str = "layer") -> None:
        self.weight, self.rest, self.name = weight, rest, name


@dataclass
class Record:
    x: Any
    name: str = field(metadata={"static": True})


@cache
def register_with_jax() -> None:
    import jax

    jax.tree_util.register_dataclass(Record)
    jax.tree_util.register_pytree_node(
        OfJax, lambda x: ((x.weight, x.rest), x.name), lambda name, children: OfJax(*children, name)
    )


def test_classes_registered_with_jax_are_nodes(library: Library) -> None:
    register_with_jax()
    x = library.asarray(np.asarray([1.0, 2.0]))
    tree = Record(OfJax(x, {"k": x, "none": None}), "record")
    assert len(trees.leaves(tree)) == 2
    assert trees.structure(tree) == trees.structure(Record(OfJax(1, {"k": 2, "none": None}), "record"))
    assert trees.structure(tree) != trees.structure(Record(OfJax(1, {"k": 2, "none": None}), "other"))
    doubled = trees.map(lambda x, y: x + y, tree, tree)
    assert (doubled.name, doubled.x.name, doubled.x.rest["none"]) == ("record", "layer", None)
    library.assert_equal(doubled.x.weight, np.asarray([2.0, 4.0]))
    gradient = grad(lambda tree: array_namespace(tree.x.weight).sum(tree.x.weight**2 * tree.x.rest["k"]))(tree)
    library.assert_equal(gradient.x.weight, np.asarray([2.0, 8.0]))
    library.assert_equal(gradient.x.rest["k"], np.asarray([1.0, 4.0]))
    library.assert_equal(vmap(lambda tree: tree.x.weight * 2.0)(tree), np.asarray([2.0, 4.0]))
    if library.id != "torch":  # whose compiler takes seconds
        library.assert_equal(jit(lambda tree: tree.x.weight * 2.0)(tree), np.asarray([2.0, 4.0]))
        assert jit(lambda tree: tree)(tree).name == "record"
    # A function that stops at these classes gets them whole.
    assert trees.leaves([tree], is_leaf=lambda node: isinstance(node, Record)) == [tree]


def test_classes_of_arrays_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that keeps making classes of arrays does not keep them all."""
    monkeypatch.setattr(trees, "_MAX_TYPES", len(trees._plain) + 2)
    for i in range(9):
        cls = type(f"Array{i}", (np.ndarray,), {})
        assert len(trees.leaves([np.ones(2).view(cls)])) == 1
    assert len(trees._plain) == trees._MAX_TYPES


def test_jax_is_not_imported_for_its_classes() -> None:
    code = "import sys; from xpand import trees; trees.leaves([object(), 1]); assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_core_loads_optree_only_when_it_is_asked_for() -> None:
    code = (
        "import sys, xpand; assert 'optree' not in sys.modules; from xpand import trees; assert 'optree' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_structures_are_compared_piece_by_piece() -> None:
    """As optree compares them; and those that torch.compile has in their place, of which this is one."""
    examples = [
        {"a": 1, "b": (2, [3])},
        {"a": 1, "c": (2, [3])},
        {"a": 1, "b": (2, (3,))},
        {"a": 1, "b": (2, [3, 4])},
        1,
    ]
    specs = [trees.structure(each) for each in examples]

    @dataclass(eq=False)
    class Spec:
        type: Any
        _metadata: Any
        parts: tuple[Any, ...] = ()

        @property
        def num_children(self) -> int:
            return len(self.parts)

        def children(self) -> tuple[Any, ...]:
            return self.parts

    def spec(tree: Any) -> Spec:
        if isinstance(tree, dict):
            return Spec(dict, list(tree), tuple(map(spec, tree.values())))
        return Spec(type(tree), None, tuple(map(spec, tree))) if isinstance(tree, (list, tuple)) else Spec(None, None)

    for i, one in enumerate(examples):
        for j, other in enumerate(examples):
            assert same_structure(specs[i], specs[j]) is (specs[i] == specs[j]) is (i == j)
            assert same_structure(spec(one), spec(other)) is (i == j)
