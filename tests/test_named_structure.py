"""Shapes, indices, products, searches and creation by name, on every library, against NumPy."""

import itertools
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import xpand
from tests.libraries import LIBRARIES, Library
from tests.test_named_elementwise import check, of
from xpand_extensions import linalg, named as hax, random as positional_random
from xpand_extensions.jit import jit
from xpand_extensions.named import Axis, NamedArray, poly

CUBE = np.random.default_rng(1).normal(size=(4, 3, 2))
NAMES = ("a", "b", "c")
CONCRETE = [each for each in LIBRARIES if not each.lazy]


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
def test_shapes(library: Library) -> None:
    x = of(library, CUBE, NAMES)
    check(library, x.rename({"a": "d", "b": "a"}), ("d", "a", "c"), CUBE)
    check(library, x.rearrange(("c", ..., "a")), ("c", "b", "a"), CUBE.transpose(2, 1, 0))
    check(library, x.flatten_axes(("c", "a"), "d"), ("d", "b"), CUBE.transpose(2, 0, 1).reshape(8, 3))
    check(library, x.unflatten_axis("a", {"d": 2, "e": 2}), ("d", "e", "b", "c"), CUBE.reshape(2, 2, 3, 2))
    check(library, x.ravel("all"), ("all",), CUBE.reshape(-1))
    check(library, x.flatten("all"), ("all",), CUBE.reshape(-1))
    parts = x.split("a", (Axis("p", 1), Axis("a", 3)))
    check(library, parts[0], ("p", "b", "c"), CUBE[:1])
    check(library, parts[1], NAMES, CUBE[1:])
    check(library, x.unbind("b")[2], ("a", "c"), CUBE[:, 2])
    moved = x.rearrange(("b", "a", "c"))
    check(library, hax.concatenate("a", [x, moved]), NAMES, np.concatenate([CUBE, CUBE]))
    check(library, hax.stack("s", [x, moved]), ("s", *NAMES), np.stack([CUBE, CUBE]))
    v = of(library, [1.0, 2.0, 3.0], "b")
    target = {"a": 4, "b": 3}
    check(library, v.broadcast_to(target), ("a", "b"), np.broadcast_to([1.0, 2.0, 3.0], (4, 3)))
    check(library, v.broadcast_axis(Axis("a", 4)), ("b", "a"), np.broadcast_to([[1.0], [2.0], [3.0]], (3, 4)))
    assert hax.broadcast_to(v, {"b": 3, "z": 2}, ensure_order=False).names == ("z", "b")
    assert hax.flatten_axes(x.axes, ("a", "b"), "d") == (Axis("d", 12), Axis("c", 2))
    assert hax.flatten_axes({"a": 4, "b": 3}, "b", "d") == {"a": 4, "d": 3}
    for wrong in (
        lambda: x.rename({"q": "r"}),
        lambda: x.rename({"a": "b"}),
        lambda: x.rename({"a": Axis("d", 9)}),
        lambda: x.flatten_axes(("a", "q"), "d"),
        lambda: x.flatten_axes(("a", "b"), Axis("d", 9)),
        lambda: x.unflatten_axis("a", {"d": 2, "e": 3}),
        lambda: x.split("a", (Axis("p", 1), Axis("q", 1))),
        lambda: hax.concatenate("a", [x, v]),
        lambda: hax.stack("a", [x, x]),
        lambda: hax.stack("s", []),
        lambda: v.broadcast_to({"a": 4}),
        lambda: x.rearrange(("a", "b")),
        lambda: x.rearrange(("a", "a", ...)),
    ):
        with pytest.raises(ValueError, match=": "):
            wrong()


STRINGS: list[tuple[str, dict[str, Any], tuple[str, ...], Any]] = [
    ("a b c -> c a b", {}, ("c", "a", "b"), CUBE.transpose(2, 0, 1)),
    ("x y z -> z (E: x y)", {}, ("c", "E"), CUBE.transpose(2, 0, 1).reshape(2, 12)),
    ("... c -> c ...", {}, ("c", "a", "b"), CUBE.transpose(2, 0, 1)),
    ("{c} -> c ...", {}, ("c", "a", "b"), CUBE.transpose(2, 0, 1)),
    ("{b c} -> ... c b", {}, ("a", "c", "b"), CUBE.transpose(0, 2, 1)),
    ("{b c} -> ... (E: c b)", {}, ("a", "E"), CUBE.transpose(0, 2, 1).reshape(4, 6)),
    (
        "{(a: a1 a) b} -> (b: b a1) a ...",
        {"a": 2},
        ("b", "a", "c"),
        CUBE.reshape(2, 2, 3, 2).transpose(2, 0, 1, 3).reshape(6, 2, 2),
    ),
    ("(p q) b c -> q b p c", {"p": 2}, ("q", "b", "p", "c"), CUBE.reshape(2, 2, 3, 2).transpose(1, 2, 0, 3)),
    ("(p q) b c -> q b p c", {"p": Axis("P", 2)}, ("q", "b", "P", "c"), CUBE.reshape(2, 2, 3, 2).transpose(1, 2, 0, 3)),
    ("{r} -> r ...", {"r": "b"}, ("b", "a", "c"), CUBE.transpose(1, 0, 2)),
    ("a b c -> c ...", {}, ("c", "a", "b"), CUBE.transpose(2, 0, 1)),
    ("{... b ...} -> ... b ...", {}, NAMES, CUBE),
    ("{a b} -> ... b ... a", {}, ("b", "c", "a"), CUBE.transpose(1, 2, 0)),
    ("{a b c} -> ... (E: c a) ...", {}, ("E", "b"), CUBE.transpose(2, 0, 1).reshape(8, 3)),
]


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
def test_strings_that_rearrange(library: Library) -> None:
    x = of(library, CUBE, NAMES)
    for text, bindings, names, expected in STRINGS:
        check(library, hax.rearrange(x, text, **bindings), names, expected)
        check(library, hax.rearrange(x, text, **bindings), names, expected)
    for text, message in (
        ("a b c -> c (a b", "at position 11 of .* isn't closed"),
        ("a b c c a", "must have one '->'"),
        ("a b c -> c a", "lacks the axes 'b'"),
        ("a b c -> c a d", "'d' after '->' .* is not bound"),
        ("a b -> b a", "lists 2 axes"),
        ("{q} -> q ...", "no axis 'q'"),
        ("{a} -> a", "lacks the axes"),
        ("a b c -> (a b) c", "have no name"),
        ("(a d) b c -> a d b c", "sizes of 'a', 'd' .* are not given"),
        ("a ? c -> a c", "at position 2 of"),
        ("a b c -> a a b c", "occurs twice"),
    ):
        with pytest.raises(ValueError, match=message):
            hax.rearrange(x, text)
    with pytest.raises(ValueError, match="can't be split into parts"):
        hax.rearrange(x, "(a d) b c -> a d b c", a=3)


def test_several_dots_are_filled_as_in_haliax() -> None:
    x = hax.named(np.zeros((1, 2, 3, 4)), tuple("abcd"))
    for order, expected in (
        ("* c *", "abcd"),
        ("* d * a", "bcda"),
        ("* b * c", "abdc"),
        ("* c * b", "acdb"),
        ("* c * b *", "acbd"),
        ("c * a *", "cabd"),
        ("b * *", "bacd"),
        ("* d *", "abcd"),
        ("d * a * b", "dacb"),
    ):
        axes = [... if each == "*" else each for each in order.split()]
        assert x.rearrange(axes).names == tuple(expected), order
        assert x.rearrange("{a b c d} -> " + order.replace("*", "...")).names == tuple(expected), order


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
def test_slices_within_and_out_of_bounds(library: Library) -> None:
    """A part with a known start lies within its axis, or raises an error, unless a mode is given."""
    values, update = np.arange(1.0, 5.0), np.asarray([10.0, 20.0, 30.0])
    x, new = of(library, values, "a"), of(library, update, "a")
    # Starts that are Python's or NumPy's integers, and arrays of the library.
    kinds: list[Callable[[int], Any]] = [int, np.int64, np.asarray]
    kinds += [] if library.lazy else [library.asarray, lambda start: of(library, start, ())]
    for start, kind in itertools.product((-4, -3, -1, 0, 1, 2, 3, 4), kinds):
        part = hax.dslice(kind(start), 3)
        changed, read = np.concatenate([[0.0] * 4, values, [0.0] * 4]), slice(4 + start, 7 + start)
        inside = changed[read].copy()
        changed[read] = update
        if 0 <= start <= 1:
            check(library, x["a", part], ("a",), inside)
            check(library, x.slice({"a": kind(start)}, {"a": 3}), ("a",), inside)
            check(library, x.at["a", part].set(new), ("a",), changed[4:8])
            check(library, hax.updated_slice(x, {"a": kind(start)}, new), ("a",), changed[4:8])
        else:
            calls: list[Callable[[], Any]] = [
                lambda part=part: x["a", part],
                lambda start=start, kind=kind: x.slice({"a": kind(start)}, {"a": 3}),
                lambda part=part: x.at["a", part].add(new),
                lambda part=part: x.at["a", part].get(mode="raise"),
                lambda start=start, kind=kind: hax.updated_slice(x, {"a": kind(start)}, new),
            ]
            for call in calls:
                with pytest.raises(IndexError, match=f"positions {start}:{start + 3} do not lie within axis 'a'"):
                    call()
        check(library, x.at["a", part].get(mode="fill", fill_value=0.0), ("a",), inside)
        check(library, x.at["a", part].set(new, mode="drop"), ("a",), changed[4:8])
        if start >= 0:
            check(library, x.at["a", part].get(mode="clip"), ("a",), values[np.arange(start, start + 3).clip(max=3)])
        check(library, x.at["a", part].get(mode="wrap"), ("a",), values[np.arange(start, start + 3) % 4])
    with pytest.raises(ValueError, match="length must be at least 0, got -1"):
        x["a", hax.dslice(0, -1)]
    for wrong in (1.5, True, "a", library.asarray(1.5), library.asarray([0, 1])):
        with pytest.raises(TypeError, match="the start of a dslice of axis 'a' must be an integer"):
            x["a", hax.dslice(wrong, 2)]


def test_slices_whose_start_is_traced(eager_library: Library) -> None:
    values, update = np.arange(1.0, 5.0), np.asarray([10.0, 20.0, 30.0])
    x, new = of(eager_library, values, "a"), of(eager_library, update, "a")
    read = jit(lambda x, start: x["a", hax.dslice(start, 3)])
    write = jit(lambda x, start: hax.updated_slice(x, {"a": start}, new))
    constant = jit(lambda start: x["a", hax.dslice(start, 3)])
    for start in range(-4, 5):
        expected = np.concatenate([[0.0] * 4, values, [0.0] * 4])
        part, at = slice(4 + start, 7 + start), eager_library.asarray(start)
        check(eager_library, read(x, at), ("a",), expected[part])
        check(eager_library, constant(at), ("a",), expected[part])
        expected[part] = update
        check(eager_library, write(x, at), ("a",), expected[4:8])


@pytest.mark.parametrize("library", CONCRETE, ids=str)
def test_parts_with_a_start_each(library: Library) -> None:
    """Each of several parts lies within the axis, and not only the first or the last of them."""
    x = of(library, CUBE, NAMES)
    update = of(library, np.ones((2, 2)), ("i", "a"))
    for starts in ([0, 2], [2, 1], [1, 1]):
        part = hax.dslice(of(library, starts, "i"), 2)
        expected = np.stack([CUBE[start : start + 2] for start in starts])
        check(library, x["a", part].rearrange(("i", ...)), ("i", *NAMES), expected)
    for starts, wrong in (
        ([0, 3], "3:5"),
        ([3, 0], "3:5"),
        ([1, -1, 0], "-1:1"),
        ([-1, 3], "-1:1"),
        ([0, 9, 1], "9:11"),
    ):
        part = hax.dslice(of(library, starts, "i"), 2)
        calls: list[Callable[[], Any]] = [
            lambda part=part: x["a", part],
            lambda part=part: x.at["a", part].set(0.0),
            lambda part=part: x.at["a", part].get(mode="raise"),
        ]
        for call in calls:
            with pytest.raises(IndexError, match=f"positions {wrong} do not lie within axis 'a' of size 4"):
                call()
    found = x.at["a", hax.dslice(of(library, [0, 3], "i"), 2)].add(update, mode="drop")
    check(library, found, NAMES, CUBE + np.asarray([1.0, 1.0, 0.0, 1.0])[:, None, None])


def test_aliases_and_sizes_in_strings_that_rearrange() -> None:
    x = hax.named(CUBE, NAMES)
    merged = CUBE.reshape(12, 2)
    for alias in ("new", Axis("new", 12)):
        assert x.rearrange("{a b} -> (h: a b) ...", h=alias).shape == {"new": 12, "c": 2}
        assert x.rearrange("i j k -> (h: i j) k", h=alias).shape == {"new": 12, "c": 2}
    np.testing.assert_array_equal(x.rearrange("{a b} -> (h: a b) ...", h="new").array, merged)
    assert x.rearrange("i j k -> k j i", i=4, k=2).shape == {"c": 2, "b": 3, "a": 4}
    for string, sizes in (
        ("i j k -> k j i", {"i": 5}),
        ("{a} -> ... a", {"a": 3}),
        ("i j k -> (h: i j) k", {"h": Axis("new", 11)}),
        ("(i: p q) j k -> p q j k", {"p": 3}),
    ):
        for _ in range(2):
            with pytest.raises(ValueError, match="size"):
                x.rearrange(string, **sizes)


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
def test_slices_without_a_length(library: Library) -> None:
    """They end with the axis."""
    x = of(library, CUBE, NAMES)
    for start in (0, 1, 3, 4):
        check(library, x.slice({"a": start}), NAMES, CUBE[start:])
        check(library, x.slice("a", start=start), NAMES, CUBE[start:])
    check(library, x.slice({"a": 1, "c": 1}), NAMES, CUBE[1:, :, 1:])


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
def test_orders_of_axes_of_several_indices(library: Library) -> None:
    """A new axis stands where the indexed one was; those of arrays stand where the first of these was."""
    x = of(library, CUBE, NAMES)
    i, d = of(library, [0, 2, 1], "i"), Axis("d", 2)
    for index, names, expected in (
        ({"a": hax.dslice(1, d), "b": i}, ("d", "i", "c"), CUBE[1:3, [0, 2, 1]]),
        ({"b": i, "c": hax.dslice(0, d)}, ("a", "i", "d"), CUBE[:, [0, 2, 1]]),
        ({"a": 2, "b": i}, ("i", "c"), CUBE[2, [0, 2, 1]]),
        ({"a": slice(1, 3), "c": 1, "b": i}, ("a", "i"), CUBE[1:3, [0, 2, 1], 1]),
        ({"a": hax.dslice(1, d), "b": hax.dslice(0, Axis("e", 2))}, ("d", "e", "c"), CUBE[1:3, :2]),
        (
            {"a": hax.dslice(1, d), "b": i, "c": of(library, [1, 0], "j")},
            ("d", "i", "j"),
            CUBE[1:3, [0, 2, 1]][..., ::-1],
        ),
    ):
        check(library, x[index], names, expected)
        check(library, x.at[index].get(), names, expected)


def test_integers_of_numpy_as_indices(library: Library) -> None:
    x = of(library, CUBE, NAMES)
    for one in (np.asarray(1), np.int64(1), np.uint8(1)):
        check(library, x["b", one], ("a", "c"), CUBE[:, 1])
        check(library, x.at[{"a": 0, "b": one}].mul(0.0)["a", 0, "b", 1], ("c",), 0 * CUBE[0, 1])
        if not library.lazy:
            check(library, jit(lambda x, one=one: x["b", one])(x), ("a", "c"), CUBE[:, 1])
    if not library.lazy:
        with pytest.raises(IndexError, match="3 is out of bounds for axis .* of size 3"):
            x["b", np.asarray(3)]


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
def test_indices(library: Library) -> None:
    x = of(library, CUBE, NAMES)
    rows = of(library, [[3, 0], [1, 1]], ("i", "j"))
    best = of(library, [0, 2, 1, 1], "a")
    for index, names, expected in (
        ({"a": 0}, ("b", "c"), CUBE[0]),
        ({"a": -1, "c": 1}, ("b",), CUBE[-1, :, 1]),
        ({"a": 1, "b": 2, "c": 0}, (), CUBE[1, 2, 0]),
        ({"b": slice(1, None), "a": 2}, ("b", "c"), CUBE[2, 1:]),
        ({"a": slice(None, None, -1)}, NAMES, CUBE[::-1]),
        ({"b": [2, 0]}, NAMES, CUBE[:, [2, 0]]),
        ({"b": rows.array[0, ...] * 0}, NAMES, CUBE[:, [0, 0]]),
        ({"a": rows}, ("i", "j", "b", "c"), CUBE[[[3, 0], [1, 1]]]),
        ({"a": rows, "c": 1}, ("i", "j", "b"), CUBE[[[3, 0], [1, 1]]][..., 1]),
        ({"a": of(library, [3, 1], "i"), "c": of(library, [0, 1], "i")}, ("i", "b"), CUBE[[3, 1], :, [0, 1]]),
        ({"b": best}, ("a", "c"), CUBE[np.arange(4), [0, 2, 1, 1]]),
        ({"a": hax.dslice(1, 2)}, NAMES, CUBE[1:3]),
        ({"a": hax.dslice(1, Axis("d", 2))}, ("d", "b", "c"), CUBE[1:3]),
        ({"a": hax.dblock(1, 2)}, NAMES, CUBE[2:4]),
        ({"a": hax.ds(library.asarray(1), 2)}, NAMES, CUBE[1:3]),
        ({}, NAMES, CUBE),
    ):
        check(library, x[index], names, expected)
        check(library, hax.index(x, index), names, expected)
        moved = x.rearrange(("c", "a", "b"))[index]
        assert set(moved.names) == set(names)
        check(library, moved.rearrange(names), names, expected)
    check(library, x["a", 0, "b", 1:], ("b", "c"), CUBE[0, 1:])
    check(library, x[Axis("a", 4), 0], ("b", "c"), CUBE[0])
    check(library, x.take("b", rows * 0 + 1), ("a", "i", "j", "c"), CUBE[:, [[1, 1], [1, 1]]])
    check(library, x.slice("a", "d", start=1, length=2), ("d", "b", "c"), CUBE[1:3])
    check(library, x.slice({"a": 1, "b": 0}, {"a": 2, "b": Axis("e", 2)}), ("a", "e", "c"), CUBE[1:3, :2])
    expected = CUBE.copy()
    expected[1:3, :, 1] = 7.0
    check(library, x.updated_slice({"a": 1, "c": 1}, of(library, np.full((3, 2), 7.0), ("b", "a"))), NAMES, expected)
    if not library.lazy:
        check(library, x["a", of(library, [True, False, True, False], "a")], NAMES, CUBE[[0, 2]])
    bad: list[tuple[Any, type[Exception]]] = [
        ({"q": 0}, ValueError),
        ({"a": 4}, IndexError),
        ({"a": "text"}, TypeError),
        ({"a": 0.5}, TypeError),
        ({"a": Axis("a", 3)}, TypeError),
        (0, TypeError),
        (("a", 0, "a", 1), TypeError),
    ]
    for index, error in bad:
        with pytest.raises(error):
            x[index]


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
def test_updates(library: Library) -> None:
    values = np.abs(CUBE) + 1.0
    x = of(library, values, NAMES).rearrange(("b", "a", "c"))
    update = of(library, [2.0, 3.0], "c")
    updates: list[tuple[str, Callable[[Any], Any]]] = [
        ("set", lambda old: 0 * old + np.asarray([2.0, 3.0])),
        ("add", lambda old: old + np.asarray([2.0, 3.0])),
        ("multiply", lambda old: old * [2.0, 3.0]),
        ("divide", lambda old: old / [2.0, 3.0]),
        ("power", lambda old: old ** [2.0, 3.0]),
        ("min", lambda old: np.minimum(old, [2.0, 3.0])),
        ("max", lambda old: np.maximum(old, [2.0, 3.0])),
    ]
    for name, function in updates:
        expected = values.copy()
        expected[1, :2] = function(expected[1, :2])
        found = getattr(x.at[{"a": 1, "b": slice(2)}], name)(update)
        check(library, found, ("b", "a", "c"), expected.transpose(1, 0, 2))
    # Every update counts where a position is selected twice.
    twice = of(library, [0, 0, 2], "i")
    expected = values.copy()
    np.add.at(expected, [0, 0, 2], np.asarray([1.0, 10.0, 100.0])[:, None, None])
    found = x.at["a", twice].add(of(library, [1.0, 10.0, 100.0], "i"))
    check(library, found.rearrange(NAMES), NAMES, expected)
    expected = values.copy()
    expected[3:] = 5.0
    check(library, x.at["a", hax.dslice(3, 2)].set(5.0, mode="drop").rearrange(NAMES), NAMES, expected)
    expected = values.copy()
    expected[2] = -expected[2]
    check(library, x.at["a", 2].apply(lambda part: -part).rearrange(NAMES), NAMES, expected)
    check(library, x.at["a", 2].get(), ("b", "c"), values[2])
    beyond = of(library, [0, 9], "i")
    found = x.at["a", beyond].get(mode="fill", fill_value=-1.0)
    check(library, found.rearrange(("i", "b", "c")), ("i", "b", "c"), np.stack([values[0], 0 * values[0] - 1]))
    check(library, x.at["a", beyond].set(0.0, mode="drop").rearrange(NAMES)["a", 1:], NAMES, values[1:])
    for mode, selected in (("drop", []), ("fill", []), ("clip", [3]), ("wrap", [1])):
        expected = values.copy()
        expected[selected] += 1.0
        check(library, x.at["a", 5].add(1.0, mode=mode).rearrange(NAMES), NAMES, expected)
    check(library, x.at["a", 5].get(mode="fill", fill_value=7.0), ("b", "c"), np.full((3, 2), 7.0))
    for mode in (None, "raise", "error"):
        with pytest.raises(IndexError, match="at: position 5 is out of bounds for axis 'a' of size 4"):
            x.at["a", 5].add(1.0, mode=mode)
    with pytest.raises(TypeError, match="at: takes one index, got a second one"):
        x.at["a", 0]["b", 0]
    with pytest.raises(ValueError, match="which the selection lacks"):
        x.at["a", 0].set(of(library, [1.0], "q"))
    hinted = x.at[{"a": 0}].set(1.0, indices_are_sorted=True, unique_indices=True)
    assert library.to_numpy(hinted["a", 0].array).max() == 1.0
    with pytest.raises(TypeError, match=r"at.add: unknown arguments \['sorted'\]"):
        x.at[{"a": 0}].add(1.0, sorted=True)


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
def test_products(library: Library) -> None:
    x, y = of(library, CUBE, NAMES), of(library, CUBE[:, 0], ("a", "c"))
    z = of(library, CUBE[0].T[:, :2], ("c", "d"))
    values = (CUBE, CUBE[:, 0], CUBE[0].T[:, :2])
    for found, names, subscripts, several in (
        (hax.dot(x, y, axis="c"), ("a", "b"), "abc,ac->ab", (0, 1)),
        (hax.dot("c", x, y), ("a", "b"), "abc,ac->ab", (0, 1)),
        (x.dot("a", y), ("b", "c"), "abc,ac->bc", (0, 1)),
        (x.dot(z, axis="c"), ("a", "b", "d"), "abc,cd->abd", (0, 2)),
        (hax.dot(x, y, z, axis=("a", "c")), ("b", "d"), "abc,ac,cd->bd", (0, 1, 2)),
        (hax.dot(x, y, axis=None), (), "abc,ac->", (0, 1)),
        (hax.dot(y, z, axis=()), ("a", "c", "d"), "ac,cd->acd", (1, 2)),
        (hax.dot(x, z, axis="c", out_axes=(..., "b", "a")), ("d", "b", "a"), "abc,cd->dba", (0, 2)),
        (hax.einsum("i j k, i k -> j i", x, y), ("b", "a"), "abc,ac->ba", (0, 1)),
        (hax.einsum("... k, k d -> d ...", x, z), ("d", "a", "b"), "abc,cd->dab", (0, 2)),
        (hax.einsum("{a c} -> a", x, y), ("b", "a"), "abc,ac->ba", (0, 1)),
        (hax.einsum("{c} -> ", x, y), ("a", "b"), "abc,ac->ab", (0, 1)),
        (hax.einsum("-> b a", x, y), ("b", "a"), "abc,ac->ba", (0, 1)),
        (hax.einsum("{r} -> ", x, y, r=Axis("c", 2)), ("a", "b"), "abc,ac->ab", (0, 1)),
        (hax.einsum("{...} -> ", x, y), (), "abc,ac->", (0, 1)),
        (hax.einsum("{a ...} -> a", x, y), ("a",), "abc,ac->a", (0, 1)),
        (hax.einsum("{a ...} -> ...", x, y), ("b", "c"), "abc,ac->bc", (0, 1)),
        (hax.einsum("{...} -> b a", x, y), ("b", "a"), "abc,ac->ba", (0, 1)),
        (hax.einsum("{...} -> ...", x, y), ("a", "b", "c"), "abc,ac->abc", (0, 1)),
        (hax.einsum("{} -> ", x, y), ("a", "b", "c"), "abc,ac->abc", (0, 1)),
        (hax.einsum("{r ...} -> r", x, y, r="c"), ("c",), "abc,ac->c", (0, 1)),
        (hax.einsum("{c} -> ... c ...", x, y), ("a", "b", "c"), "abc,ac->abc", (0, 1)),
        (hax.einsum("-> b ...", x, y), ("b", "a", "c"), "abc,ac->bac", (0, 1)),
        (x @ z, ("a", "b", "d"), "abc,cd->abd", (0, 2)),
    ):
        check(library, found, names, np.einsum(subscripts, *(values[i] for i in several)))
    calls = []

    def dot_general(lhs: Any, rhs: Any, dimension_numbers: Any, **options: Any) -> Any:
        calls.append(dimension_numbers)
        xp = xpand.array_namespace(lhs)
        return xp.tensordot(lhs, rhs, axes=(tuple(dimension_numbers[0][0]), tuple(dimension_numbers[0][1])))

    found = hax.dot(x, z, axis="c", dot_general=dot_general)
    check(library, found, ("a", "b", "d"), np.einsum("abc,cd->abd", CUBE, values[2]))
    assert calls == [(([2], [0]), ([], []))]

    def general(lhs: Any, rhs: Any, dimension_numbers: Any, **options: Any) -> Any:
        (of_lhs, of_rhs), (batch, other_batch) = dimension_numbers
        left, right = "abcdefg"[: lhs.ndim], list("hijklmn"[: rhs.ndim])
        for first, second in zip((*of_lhs, *batch), (*of_rhs, *other_batch)):
            right[second] = left[first]
        lead = [left[each] for each in batch]
        rest = [each for i, each in enumerate(left) if i not in (*of_lhs, *batch)]
        rest += [each for i, each in enumerate(right) if i not in (*of_rhs, *other_batch)]
        return linalg.einsum(f"{left},{''.join(right)}->{''.join([*lead, *rest])}", lhs, rhs)

    for axis, names, subscripts in (
        (("a", "c"), ("b", "d"), "abc,ac,cd->bd"),
        ("c", ("a", "b", "d"), "abc,ac,cd->abd"),
        ("a", ("b", "c", "d"), "abc,ac,cd->bcd"),
        ((), ("a", "b", "c", "d"), "abc,ac,cd->abcd"),
    ):
        found = hax.dot(x, y, z, axis=axis, dot_general=general)
        check(library, found, names, np.einsum(subscripts, *values))
    ints = of(library, np.ones((2, 2), dtype=np.int32), ("a", "b"))
    assert hax.dot(ints, ints, axis="a", preferred_element_type=library.xp.float64).dtype == library.xp.float64
    bad: list[Callable[[], Any]] = [
        lambda: hax.dot(x, y, axis="q"),
        lambda: hax.dot(x, y, axis=Axis("c", 5)),
        lambda: hax.dot(x, of(library, [1.0], "c"), axis="c"),
        lambda: hax.einsum("a b -> a", x),
        lambda: hax.einsum("a b c -> q", x),
        lambda: hax.einsum("a b ? -> a", x),
        lambda: hax.einsum("{q} -> ", x),
        lambda: hax.einsum("a b c", x),
        lambda: hax.einsum("a b c -> a", x, q="a"),
        lambda: hax.einsum("{a} -> ", x, q="a"),
        lambda: hax.einsum("-> a", x, q="b"),
        lambda: hax.einsum("a ... -> ... a ...", x),
        lambda: hax.rearrange(x, "a b c -> c b a", q=2),
    ]
    for wrong in bad:
        with pytest.raises(ValueError, match=": "):
            wrong()


SIZED: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: hax.sum(x, (Axis("a", 4), Axis("b", 3))),
    "sum over one": lambda x: hax.sum(x, Axis("a", 4)),
    "max": lambda x: x.max({"a": 4, "b": 3}),
    "mean": lambda x: x.mean((Axis("a", 4), "c")),
    "var": lambda x: hax.var(x, {"a": 4, "c": 2}, ddof=1),
    "sum where": lambda x: hax.sum(x, {"a": 4, "c": 2}, where=x > 0.0),
    "argmax": lambda x: hax.argmax(x, Axis("a", 4)),
    "cumsum": lambda x: hax.cumsum(x, Axis("a", 4)),
    "sort": lambda x: hax.sort(x, Axis("a", 4)),
    "softmax": lambda x: hax.special.softmax(x, Axis("a", 4)),
    "dot": lambda x: hax.dot(x, x, axis=(Axis("a", 4), "b")),
    "einsum": lambda x: hax.einsum("{i} -> ", x, i=Axis("a", 4)),
    "index": lambda x: x[Axis("a", 4), 0],
    "take": lambda x: x.take(Axis("a", 4), 1),
    "flatten_axes": lambda x: x.flatten_axes((Axis("a", 4), "b"), "d"),
    "unflatten_axis": lambda x: x.unflatten_axis(Axis("a", 4), {"d": 2, "e": 2}),
    "rearrange": lambda x: x.rearrange((Axis("c", 2), "b", Axis("a", 4))),
    "unbind": lambda x: x.unbind(Axis("a", 4))[0],
    "quantile": lambda x: hax.statistics.quantile(x, 0.5, (Axis("a", 4), "b")),
}


@pytest.mark.parametrize("name", SIZED)
def test_sizes_are_compared_in_each_call(name: str) -> None:
    """A plan made for arrays of the right sizes does not serve others of the same names."""
    function = SIZED[name]
    right, wrong = (hax.named(np.arange(float(6 * size)).reshape(size, 3, 2), NAMES) for size in (4, 8))
    for _ in range(2):
        function(right)
        with pytest.raises(ValueError, match="size|4"):
            function(wrong)


def test_arrays_that_are_joined_have_equal_sizes() -> None:
    x, y = hax.named(np.ones((2, 3)), ("a", "b")), hax.named(np.ones((3, 2)), ("a", "b"))
    for call in (lambda: hax.concatenate("a", [x, y]), lambda: hax.stack("c", [x, y]), lambda: x + y):
        with pytest.raises(ValueError, match=r": axis '[ab]' has size \d in one array and \d in another"):
            call()


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
def test_functions_along_axes(library: Library) -> None:
    x = of(library, CUBE, NAMES)
    holes = np.where(CUBE > 1.0, np.nan, CUBE)
    check(library, hax.cumsum(x, "b"), NAMES, CUBE.cumsum(1))
    check(library, x.cumprod("a"), NAMES, CUBE.cumprod(0))
    check(library, hax.nancumsum(of(library, holes, NAMES), "b"), NAMES, np.nancumsum(holes, 1))
    check(library, hax.nancumprod(of(library, holes, NAMES), "b"), NAMES, np.nancumprod(holes, 1))
    check(library, x.sort("b"), NAMES, np.sort(CUBE, 1))
    check(library, hax.argsort(x, "a"), NAMES, CUBE.argsort(0))
    library.assert_equal(x.argsort(), CUBE.reshape(-1).argsort())
    values, indices = hax.top_k(x, "a", 2, "k")
    check(library, values, ("k", "b", "c"), -np.sort(-CUBE, 0)[:2])
    check(library, indices, ("k", "b", "c"), np.argsort(-CUBE, 0)[:2])
    check(library, x.trace("b", "a", 1), ("c",), np.trace(CUBE, 1, 1, 0))
    check(library, hax.tril(x, "b", "a"), ("c", "b", "a"), np.tril(CUBE.T))
    check(library, hax.triu(x, "a", "b", k=1), ("c", "a", "b"), np.triu(np.moveaxis(CUBE, 2, 0), 1))
    bits = of(library, (CUBE > 0).astype(np.uint8), NAMES)
    packed = hax.packbits(bits, "b")
    check(library, packed, NAMES, np.packbits(CUBE > 0, axis=1))
    check(library, hax.unpackbits(packed, "b", count=3), NAMES, (CUBE > 0).astype(np.uint8))
    check(
        library,
        hax.pad(x, {"c": (1, 0)}, constant_values=2.0),
        NAMES,
        np.pad(CUBE, ((0, 0), (0, 0), (1, 0)), constant_values=2.0),
    )
    check(library, hax.pad(x, {"a": (1, 1)}, mode="reflect"), NAMES, np.pad(CUBE, ((1, 1), (0, 0), (0, 0)), "reflect"))
    line = of(library, [0.0, 1.0, 2.0], "n")
    check(library, hax.searchsorted(line, x, side="right"), NAMES, np.searchsorted([0.0, 1.0, 2.0], CUBE, "right"))
    counts = of(library, [[0, 2], [2, 3]], ("a", "b"))
    check(library, hax.bincount(counts, Axis("n", 4)), ("n",), np.asarray([1, 0, 2, 1]))
    weights = of(library, [1.0, 2.0], "b")
    check(library, hax.bincount(counts, Axis("n", 4), weights=weights), ("n",), np.asarray([1.0, 0, 3.0, 2.0]))
    library.assert_equal(hax.searchsorted(line, 1.5).array, np.searchsorted([0.0, 1.0, 2.0], 1.5))
    with pytest.raises(TypeError, match="searchsorted: x1 has .*int64 and x2 has"):
        hax.searchsorted(of(library, [1, 2, 3], "a"), 2.5)
    for found in (
        hax.nonzero(x > 1.0, size=Axis("n", 30), fill_value=-1),
        hax.where(x > 1.0, fill_value=-1, new_axis=Axis("n", 30)),
    ):
        for position, expected in zip(found, np.nonzero(CUBE > 1.0)):
            check(library, position, ("n",), np.concatenate([expected, np.full(30 - len(expected), -1)]))
    for wrong in (
        lambda: hax.sort(x, "q"),
        lambda: hax.trace(x, "a", "a"),
        lambda: hax.top_k(x, "a", 2, Axis("k", 3)),
        lambda: hax.top_k(x, "a", 10),
        lambda: hax.where(x > 0.0, x),
        lambda: hax.searchsorted(x, line),
    ):
        with pytest.raises(ValueError, match=": "):
            wrong()


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
def test_fourier_transforms(library: Library) -> None:
    x = of(library, CUBE, NAMES)
    z = x + 0.5j * x
    complex_cube = CUBE * (1 + 0.5j)
    fft = np.fft
    for found, names, expected in (
        (cast("Any", hax.fft)(z, axis="a"), NAMES, fft.fft(complex_cube, axis=0)),
        (hax.fft.fft(x, "b"), NAMES, fft.fft(CUBE, axis=1)),
        (hax.fft.ifft(x, ("a", "c")), NAMES, fft.ifftn(CUBE, axes=(0, 2))),
        (hax.fft.hfft(x, "a"), NAMES, fft.hfft(CUBE, axis=0)),
        (hax.fft.fft(z), NAMES, fft.fft(complex_cube)),
        (hax.fft.ifft(z, Axis("b", 5)), NAMES, fft.ifft(complex_cube, 5, axis=1)),
        (hax.fft.fft(z, ("b", "a"), "ortho"), NAMES, fft.fftn(complex_cube, axes=(1, 0), norm="ortho")),
        (hax.fft.fft(z, {"a": None, "b": Axis("w", 4)}), ("a", "w", "c"), fft.fftn(complex_cube, (4, 4), axes=(0, 1))),
        (hax.fft.rfft(x, "a"), NAMES, fft.rfft(CUBE, axis=0)),
        (hax.fft.irfft(hax.fft.rfft(x, ("b", "a")), ("b", "a")), NAMES, CUBE),
        (hax.fft.hfft(hax.fft.fft(z, "a"), "b"), NAMES, fft.hfft(fft.fft(complex_cube, axis=0), axis=1)),
        (hax.fft.ihfft(x, {"b": 4}), NAMES, fft.ihfft(CUBE, 4, axis=1)),
        (hax.fft.fftshift(x, "b"), NAMES, fft.fftshift(CUBE, axes=1)),
        (hax.fft.ifftshift(x), NAMES, fft.ifftshift(CUBE)),
    ):
        check(library, found, names, expected)
    integers = hax.fft.fft(of(library, np.arange(4), "a"))  # of the library's default precision
    np.testing.assert_allclose(library.to_numpy(integers.array), fft.fft(np.arange(4)), atol=1e-6)
    with pytest.raises(ValueError, match="no axis 'q'"):
        hax.fft.fft(z, "q")
    found = hax.fft.fftfreq(Axis("a", 4), 0.5, xp=library.xp, device=library.device)
    library.assert_equal(found.array, fft.fftfreq(4, 0.5).astype(str(library.to_numpy(found.array).dtype)))
    assert hax.fft.rfftfreq(Axis("a", 4), xp=library.xp).names == ("a",)
    assert hax.fft.fftfreq(Axis("a", 4), 0.5).tolist() == fft.fftfreq(4, 0.5).tolist()
    assert hax.fft.rfftfreq(Axis("a", 4)).shape == {"a": 3}


@pytest.mark.parametrize("library", CONCRETE, ids=str)
def test_polynomials(library: Library) -> None:
    p, q = of(library, [1.0, -3.0, 2.0], "p"), of(library, [1.0, 1.0], "q")
    check(library, poly.poly(of(library, [1.0, 2.0], "p")), ("p",), np.poly([1.0, 2.0]))
    check(library, hax.polyadd(p, q), ("p",), np.polyadd([1.0, -3.0, 2.0], [1.0, 1.0]))
    check(library, hax.polysub(q, p), ("q",), np.polysub([1.0, 1.0], [1.0, -3.0, 2.0]))
    check(library, hax.polymul(p, q), ("p",), np.polymul([1.0, -3.0, 2.0], [1.0, 1.0]))
    for found, expected in zip(hax.polydiv(p, q), np.polydiv([1.0, -3.0, 2.0], [1.0, 1.0])):
        assert found.names == ("p",)
        np.testing.assert_allclose(np.trim_zeros(library.to_numpy(found.array), "f"), np.trim_zeros(expected, "f"))
    check(library, hax.polyint(p, 2), ("p",), np.polyint([1.0, -3.0, 2.0], 2))
    check(library, hax.polyder(library.asarray([1.0, -3.0, 2.0])), ("degree",), np.polyder([1.0, -3.0, 2.0]))
    check(library, hax.polyval(p, of(library, CUBE, NAMES)), NAMES, np.polyval([1.0, -3.0, 2.0], CUBE))
    roots = library.to_numpy(hax.roots(p).array)
    np.testing.assert_allclose(np.sort(roots.real), [1.0, 2.0])
    check(library, hax.trim_zeros(of(library, [0.0, 1.0, 0.0], "p")), ("p",), np.asarray([1.0]))
    check(library, hax.vander(q + p["p", :2].rename({"p": "q"}), "d"), ("q", "d"), np.vander([2.0, -2.0]))
    points, values = np.linspace(0, 1, 7), np.linspace(0, 1, 7) ** 3
    x, y = of(library, points, "t"), of(library, values, "t")
    check(library, hax.polyfit(x, y, 2), ("t",), np.polyfit(points, values, 2), rtol=1e-9)
    fit, covariance = hax.polyfit(x, y, 2, cov=True)
    expected, expected_covariance = np.polyfit(points, values, 2, cov=True)
    check(library, fit, ("t",), expected, rtol=1e-9)
    check(library, covariance, ("t", "t_cov"), expected_covariance, rtol=1e-9)
    full, expected_full = hax.polyfit(x, y, 2, full=True), np.polyfit(points, values, 2, full=True)
    np.testing.assert_allclose(library.to_numpy(full[1]), expected_full[1], rtol=1e-9)
    np.testing.assert_allclose(library.to_numpy(full[3]), expected_full[3], rtol=1e-9)
    assert (int(full[2]), full[4]) == (expected_full[2], pytest.approx(expected_full[4]))
    check(library, hax.polymul(p, [1.0, 1.0]), ("p",), np.polymul([1.0, -3.0, 2.0], [1.0, 1.0]))
    library.assert_equal(hax.polyval(p, 2.5), np.polyval([1.0, -3.0, 2.0], 2.5))
    integers = of(library, [1, 2, 3], "t")
    library.assert_equal(hax.polyval(integers, 2), np.asarray(11))
    narrow = of(library, np.asarray([1.0, -3.0, 2.0], np.float32), "p")
    for number in (2, 2.5, [2.0, 3.0], True):  # numbers have no data type of their own
        expected = np.polyval(np.asarray([1.0, -3.0, 2.0], np.float32), np.asarray(number, np.float32))
        library.assert_equal(hax.polyval(narrow, number), np.asarray(expected, np.float32))
    for options in ({}, {"full": True}, {"cov": True}):
        with pytest.raises(TypeError, match="polyfit: x must have a floating-point data type"):
            hax.polyfit(integers, p, 1, **options)
    with pytest.raises(TypeError, match="polyval: takes data types that the standard promotes"):
        hax.polyval(integers, 2.5)
    with pytest.raises(ValueError, match="takes arrays of one axis"):
        hax.roots(of(library, CUBE, NAMES))


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
def test_creation(library: Library) -> None:
    axes, place = {"a": 2, "b": 3}, {"xp": library.xp, "device": library.device}
    for found, names, expected in (
        (hax.zeros(axes, library.xp.float64, **place), ("a", "b"), np.zeros((2, 3))),
        (hax.ones(axes, "int64", **place), ("a", "b"), np.ones((2, 3), dtype=np.int64)),
        (hax.full(axes, 2.5, library.xp.float64, **place), ("a", "b"), np.full((2, 3), 2.5)),
        (hax.arange(axes, start=library.asarray(2.0), step=0.5), ("a", "b"), np.arange(2.0, 5.0, 0.5).reshape(2, 3)),
        (hax.arange(Axis("a", 3), dtype="int32", **place), ("a",), np.arange(3, dtype=np.int32)),
        (hax.linspace(Axis("a", 5), start=library.asarray(0.0), stop=1.0), ("a",), np.linspace(0, 1, 5)),
        (hax.logspace(Axis("a", 3), start=library.asarray(0.0), stop=2.0), ("a",), np.logspace(0, 2, 3)),
        (hax.geomspace(Axis("a", 3), start=library.asarray(1.0), stop=100.0), ("a",), np.geomspace(1, 100, 3)),
        (
            hax.linspace(Axis("a", 3), start=-5.0, stop=0.0, dtype="int32", **place),
            ("a",),
            np.asarray([-5, -3, 0], "i4"),
        ),
        (hax.arange(Axis("a", 3), start=library.asarray(1), step=library.asarray(0.5)), ("a",), np.arange(1, 2.5, 0.5)),
    ):
        check(library, found, names, expected)
    one, four = library.asarray(1), library.asarray(4)
    for function in ("linspace", "logspace", "geomspace"):  # the default data type depends on the library
        for start, stop in ((one, four), (1.0, four), (one, 4)):
            found = getattr(hax, function)(Axis("a", 3), start=start, stop=stop)
            np.testing.assert_allclose(library.to_numpy(found.array), getattr(np, function)(1, 4, 3), rtol=1e-6)
    found = hax.arange(Axis("a", 3), start=one, step=0.5)
    np.testing.assert_allclose(library.to_numpy(found.array), np.arange(1, 2.5, 0.5))
    assert hax.linspace("a", start=0.0, stop=1.0, **place).shape == {"a": 50}
    x = of(library, CUBE, NAMES)
    check(library, hax.zeros_like(x), NAMES, 0 * np.abs(CUBE))
    check(library, hax.ones_like(x, "int64"), NAMES, np.ones(CUBE.shape, dtype=np.int64))
    check(library, hax.full_like(x, of(library, [1.0, 2.0], "c")), NAMES, np.broadcast_to([1.0, 2.0], CUBE.shape))
    check(library, x.astype("float32"), NAMES, CUBE.astype(np.float32), rtol=1e-6)
    b = of(library, [0.0, 1.0, 2.0], "b")
    for function in ("zeros", "arange", "linspace", "geomspace"):
        ends = {"start": 1.0, "stop": 2.0} if "space" in function else {}
        with pytest.raises(TypeError, match=f"{function}: dtype must be a data type or the name of one.*'sum'"):
            getattr(hax, function)(Axis("a", 3), dtype="sum", **ends, **place)
    with pytest.raises(TypeError, match="astype: dtype must be a data type or the name of one"):
        b.astype("float")
    for wrong, parameter in (
        (lambda: hax.linspace(Axis("a", 3), start=b, stop=1.0), "linspace: start"),
        (lambda: hax.geomspace(Axis("a", 3), start=1.0, stop=b.array), "geomspace: stop"),
        (lambda: hax.arange(Axis("a", 3), step=b), "arange: step"),
        (lambda: hax.full({"a": 3}, b.array), "full: fill_value"),
        (lambda: hax.full_like(b, b.array), "full_like: fill_value"),
    ):
        with pytest.raises(TypeError, match=f"{parameter} must be a number or an array without axes, got"):
            wrong()
    with pytest.raises(ValueError, match="the size of axis 'a' is needed"):
        hax.zeros("a")  # type: ignore[arg-type]


@pytest.mark.parametrize("library", [each for each in LIBRARIES if each.id in ("numpy", "torch", "jax")], ids=str)
def test_random_numbers(library: Library) -> None:
    key, axes = positional_random.key(0, xp=library.xp), {"a": 3, "b": 2}
    scale = of(library, [0.5, 1.0], "b")
    for name in hax.random.__all__:
        function: Any = getattr(hax.random, name)
        parameters = {
            **dict.fromkeys(("chisquare", "gamma", "generalized_normal", "loggamma", "pareto", "poisson"), (2.0,)),
            **dict.fromkeys(("rayleigh", "t", "wald"), (2.0,)),
            **dict.fromkeys(("beta", "f", "weibull_min"), (scale, 2.0)),
            "binomial": (5, 0.5),
            "geometric": (0.5,),
            "randint": (0, 10),
            "triangular": (0.0, 0.5, 1.0),
            "truncated_normal": (-1.0, scale),
            "ball": (Axis("d", 2),),
            "choice": (scale, "b"),
        }.get(name, ())
        if name in ("categorical", "permutation"):
            continue
        found = function(key, axes, *parameters)
        assert found.names == (("a", "b", "d") if name == "ball" else ("a", "b"))
    found = hax.random.normal(key, axes)
    library.assert_equal(found.array, library.to_numpy(positional_random.normal(key, (3, 2))))
    drawn = hax.random.categorical(key, of(library, [[0.0, -1e9], [-1e9, 0.0]], ("a", "k")), "k")
    assert (drawn.names, drawn.tolist()) == (("a",), [0, 1])
    for wrong in (
        lambda: hax.random.gamma(key, axes, scale.array),
        lambda: hax.random.uniform(key, axes, minval=scale.array),
        lambda: hax.random.truncated_normal(key, axes, -1.0, scale.array),
    ):
        with pytest.raises(TypeError, match="whose 1 axes have no names"):
            wrong()
    with pytest.raises(ValueError, match="categorical: axis names must be different, got 'b'"):
        hax.random.categorical(key, scale, "b", {"b": 2, "a": 2})
    with pytest.raises(ValueError, match="choice: p must have the axes"):
        hax.random.choice(key, {"n": 3}, scale, "b", p=scale.rename({"b": "q"}))
    shuffled = hax.random.permutation(key, of(library, CUBE, NAMES), "b")
    check(library, shuffled.sort("b"), NAMES, np.sort(CUBE, 1))


def test_random_programs_with_permuted_axes() -> None:
    """Permuted inputs give the same result by name."""
    generator = np.random.default_rng(5)
    values = [CUBE, CUBE[:, 0], CUBE[0], CUBE[0, :, 0]]
    names = [NAMES, ("a", "c"), ("b", "c"), ("b",)]

    def program(arrays: list[NamedArray], choices: list[int]) -> NamedArray:
        x = arrays[choices[0] % 4]
        for choice in choices[1:]:
            other = arrays[choice % 4]
            step = choice // 4 % 6
            if step == 0:
                x = x * other + 1.0
            elif step == 1 and "b" in x.names:
                x = hax.cumsum(x, "b") - other
            elif step == 2 and "c" in x.names and "c" in other.names:
                x = hax.dot(x, other, axis="c")
            elif step == 3 and len(x.names) > 1:
                x = x.mean(sorted(x.names)[0])
            elif step == 4:
                x = hax.where(x > other, x, 0.5)
            else:
                x = hax.maximum(other, x)
        return x

    for _ in range(200):
        choices = [int(i) for i in generator.integers(0, 24, size=6)]
        arrays = [hax.named(v, n) for v, n in zip(values, names)]
        moved = [x.rearrange(tuple(generator.permutation(x.names).tolist())) for x in arrays]
        found, other = program(arrays, choices), program(moved, choices)
        assert hax.allclose(found, other)
        assert found.shape.items() == other.shape.items() or set(found.names) == set(other.names)
