"""Mapping over axes: against a loop, with trees of arguments, axes and results; bad input."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import xpand
from tests.libraries import LIBRARIES, Library, unless
from xpand_extensions import random, special, statistics
from xpand_extensions.autodiff import grad
from xpand_extensions.control_flow import fori_loop, scan, while_loop
from xpand_extensions.jit import jit
from xpand_extensions.vmap import axis_index, vmap

X = np.arange(12.0).reshape(3, 4) ** 1.5
Y = np.asarray([2.0, -1.0, 0.5, 3.0])


@pytest.fixture(params=LIBRARIES, ids=str)
def able(request: pytest.FixtureRequest) -> Library:
    return request.param


def dot(x: Any, y: Any) -> Any:
    return xpand.array_namespace(x).sum(x * y)


@pytest.mark.parametrize(
    ("in_axes", "x", "y", "expected"),
    [
        (0, X, X, (X * X).sum(axis=1)),
        ((0, None), X, Y, X @ Y),
        ((None, 0), Y, X, X @ Y),
        ((1, -1), X, X, (X * X).sum(axis=0)),
        ([0, 1], X, X.T, (X * X).sum(axis=1)),
    ],
)
def test_axes(able: Library, in_axes: Any, x: np.ndarray, y: np.ndarray, expected: np.ndarray) -> None:
    able.assert_equal(vmap(dot, in_axes)(able.asarray(x), able.asarray(y)), expected, rtol=1e-14)


@pytest.mark.parametrize("out_axes", [0, 1, -1])
def test_out_axes(able: Library, out_axes: int) -> None:
    found = vmap(lambda x: xpand.array_namespace(x).stack([x, x * 2.0]), out_axes=out_axes)(able.asarray(X))
    able.assert_equal(
        found, np.stack([X, 2 * X], axis=1) if out_axes == 0 else np.moveaxis(np.stack([X, 2 * X], axis=1), 0, out_axes)
    )


def test_trees_of_arguments_axes_and_results(able: Library) -> None:
    def f(tree: Any, scale: Any, *, shift: Any) -> Any:
        return {"sum": tree["x"] + tree["y"][0] * scale + shift, "scale": scale, "pair": (tree["x"], None)}

    tree = {"x": able.asarray(X), "y": [able.asarray(X.T.copy()), able.asarray(Y)]}
    axes = ({"x": 0, "y": [1, None]}, None)
    found = vmap(f, axes, {"sum": 1, "scale": None, "pair": 0})(tree, able.asarray(3.0), shift=able.asarray(Y[:3]))
    able.assert_equal(found["sum"], (X + 3 * X + Y[:3, None]).T, rtol=1e-14)
    able.assert_equal(found["scale"], np.asarray(3.0))
    able.assert_equal(found["pair"][0], X)
    assert found["pair"][1] is None


def test_nested(able: Library) -> None:
    outer = vmap(vmap(lambda x, y: x * y, (None, 0)), (0, None))
    able.assert_equal(outer(able.asarray(Y), able.asarray(X[0])), np.outer(Y, X[0]))


def test_numbers_in_results(able: Library) -> None:
    found = vmap(lambda x: {"x": x, "one": 1.0})(able.asarray(Y))
    assert tuple(found["one"].shape) == (4,)


def test_axis_size_where_nothing_is_mapped(able: Library) -> None:
    x, y = able.asarray(X), able.asarray(Y)
    able.assert_equal(vmap(dot, None, axis_size=2)(x, y), np.full(2, (X * Y).sum()))
    able.assert_equal(vmap(dot, None, None, axis_size=2)(x, y), np.asarray((X * Y).sum()))
    able.assert_equal(vmap(dot, axis_size=3)(x, x), (X * X).sum(axis=1))


def test_no_arguments(able: Library) -> None:
    """The library is then the default one."""
    with xpand.use(able.xp):
        found = vmap(lambda: (able.asarray(Y), axis_index("i")), axis_name="i", axis_size=2)()
    able.assert_equal(found[0], np.stack([Y, Y]))
    np.testing.assert_array_equal(able.to_numpy(found[1]), np.arange(2, dtype=np.int32))


def test_one_call_of_the_function_whatever_the_axes_of_its_results(able: Library) -> None:
    calls = []

    def f(x: Any, y: Any) -> Any:
        calls.append(1)
        return {"mapped": x * y, "same": y, "both": (x, y)}

    axes = {"mapped": -1, "same": None, "both": 0}
    found = vmap(f, (0, None), axes)(able.asarray(X), able.asarray(Y))
    assert len(calls) == 1
    able.assert_equal(found["mapped"], (X * Y).T)
    able.assert_equal(found["same"], Y)
    able.assert_equal(found["both"][0], X)
    able.assert_equal(found["both"][1], np.stack([Y] * 3))


def test_the_same_for_all_lanes_of_an_inner_axis(able: Library) -> None:
    """Arrays mapped by an outer axis are no obstacle."""
    inner = vmap(lambda x, y: (x + y, y * 2.0), (0, None), (0, None))
    summed, doubled = vmap(inner, (None, 0))(able.asarray(X), able.asarray(X))
    able.assert_equal(summed, X[None, :, :] + X[:, None, :])
    able.assert_equal(doubled, 2 * X)
    slope = grad(lambda x: xpand.array_namespace(x).sum(vmap(inner, (None, 0))(x, x)[1]))(able.asarray(X))
    able.assert_equal(slope, np.full_like(X, 2.0))


def test_only_what_is_the_same_for_all(able: Library) -> None:
    able.assert_equal(vmap(lambda x, y: y, (0, None), None)(able.asarray(X), able.asarray(Y)), Y)


def test_an_axis_without_lanes(able: Library) -> None:
    found = vmap(lambda x: xpand.array_namespace(x).sum(x))(able.asarray(np.zeros((0, 3))))
    able.assert_equal(found, np.zeros((0,)))


@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions_of_lanes_that_are_numbers(able: Library, keepdims: bool) -> None:
    """A lane without axes has none to reduce: as many results as lanes, with several arrays too."""
    x, weights = np.asarray([1.5, -2.0, 0.25]), np.asarray([0.5, 2.0, 1.0])
    logs = x + np.log(weights)

    def reductions(x: Any, weights: Any) -> Any:
        whole = statistics.nansum, statistics.nanmean, statistics.nanmax, special.logsumexp
        return [
            *(function(x, keepdims=keepdims) for function in whole),
            statistics.average(x, weights=weights, keepdims=keepdims),
            special.logsumexp(x, b=weights, keepdims=keepdims),
        ]

    arrays = able.asarray(x), able.asarray(weights)
    for found, expected in zip(vmap(reductions)(*arrays), [x, x, x, x, x, logs]):
        able.assert_equal(found, expected, rtol=1e-14)
    one_x = vmap(lambda b: special.logsumexp(arrays[0][0], b=b, keepdims=keepdims))(arrays[1])
    able.assert_equal(one_x, x[0] + np.log(weights), rtol=1e-14)


@pytest.mark.parametrize("shape", [(), (3,)])
@pytest.mark.parametrize("sample", [random.uniform, random.normal])
def test_random_numbers_without_lanes(able: Library, sample: Callable[..., Any], shape: tuple[int, ...]) -> None:
    keys = able.asarray(np.zeros((0, 2), dtype=np.uint32))
    found = vmap(lambda key: sample(key, shape, able.xp.float32))(keys)
    able.assert_equal(found, np.zeros((0, *shape), np.float32))


def test_under_torch_compile() -> None:
    library = next(library for library in LIBRARIES if library.id == "torch")
    torch.compiler.reset()
    f = lambda x, y: vmap(lambda x, y: (x * y, y), (0, None), (1, None))(x, y)
    product, same = torch.compile(f, fullgraph=True, backend="eager")(library.asarray(X), library.asarray(Y))
    library.assert_equal(product, (X * Y).T)
    library.assert_equal(same, Y)
    torch.compiler.reset()


def test_bad_input(able: Library) -> None:
    x, y = able.asarray(X), able.asarray(Y)
    with pytest.raises(TypeError, match="vmap: takes a function, got int"):
        vmap(3)  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match=r"vmap: in_axes=\(0,\) must have an entry for each positional argument; there are 2"
    ):
        vmap(dot, (0,))(x, x)
    with pytest.raises(
        ValueError, match=r"vmap: the arrays must have one size along the mapped axes.*\(3, 4\) along 0, \(4,\) along 0"
    ):
        vmap(dot)(x, y)
    with pytest.raises(ValueError, match="vmap: no argument is mapped over"):
        vmap(dot, None)(x, x)
    with pytest.raises(ValueError, match="vmap: in_axes=2 is out of range for 2 axes"):
        vmap(dot, 2)(x, x)
    with pytest.raises(ValueError, match="vmap: in_axes must be an integer, None, or a tree"):
        vmap(dot, ({"x": 0}, 0))(x, x)
    with pytest.raises(ValueError, match="vmap: out_axes must be an integer, None, or a tree"):
        vmap(dot, out_axes=(0, 0))(x, x)
    with pytest.raises(ValueError, match="vmap: out_axes=3 is out of range"):
        vmap(dot, out_axes=3)(x, x)
    with pytest.raises(TypeError, match="vmap: the arguments hold str"):
        vmap(dot)("text", x)
    with pytest.raises(TypeError, match="vmap: the function returned str"):
        vmap(lambda x: "text")(x)
    with pytest.raises(ValueError, match="vmap.* out_axes"):
        vmap(lambda x: x, out_axes=None)(x)
    with pytest.raises(ValueError, match=r"got shapes \(3, 4\) along 0, \(3, 4\) along 0 and axis_size=4"):
        vmap(dot, axis_size=4)(x, x)
    with pytest.raises(TypeError, match="vmap: axis_size must be an integer"):
        vmap(dot, axis_size=2.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="vmap: axis_size must be"):
        vmap(dot, axis_size=-1)
    for name in (3, ("i", "j"), []):
        with pytest.raises(TypeError, match="vmap: axis_name must be a string"):
            vmap(dot, axis_name=name)  # type: ignore[arg-type]


def test_functions_and_other_objects_are_the_same_in_every_call(able: Library) -> None:
    x, marker = able.asarray(X), object()

    def f(tree: Any, x: Any, name: str) -> Any:
        assert tree["marker"] is marker
        assert name == "name"
        return tree["f"](x) * tree["scale"]

    found = vmap(f, in_axes=({"f": None, "marker": None, "scale": 0}, 0, None))(
        {"f": lambda x: 2.0 * x, "marker": marker, "scale": x[:, 0]}, x, "name"
    )
    able.assert_equal(found, 2 * X * X[:, :1])
    able.assert_equal(vmap(lambda f, x: f(x), (None, 1), 1)(lambda x: 3.0 * x, x), 3 * X)
    with pytest.raises(TypeError, match="vmap: the arguments hold function, which is neither an array nor a number"):
        vmap(lambda f, x: f(x))(lambda x: x, x)
    with pytest.raises(TypeError, match="the arguments hold str"):
        vmap(lambda x, name: x)(x, name="name")


LOOPS = {
    "fori_loop": lambda x, seven: fori_loop(0, 3, lambda i, c: (c[0] + 1.0, c[1] + x, c[2]), (0.0, 0.0 * x, seven)),
    "scan": lambda x, seven: scan(
        lambda c, _: ((c[0] + 1.0, c[1] + x, c[2]), None), (0.0, 0.0 * x, seven), None, length=3
    )[0],
    "while_loop": lambda x, seven: while_loop(
        lambda c: c[0] < 3.0, lambda c: (c[0] + 1.0, c[1] + x, c[2]), (0.0, 0.0 * x, seven), max_iter=5
    ),
}


def of(x: Any) -> Any:
    return xpand.array_namespace(x)


@pytest.mark.parametrize("name", LOOPS)
def test_what_a_loop_carries_for_all_alike(able: Library, name: str) -> None:
    x = able.asarray(Y)
    steps, total, seven = vmap(LOOPS[name], (0, None), (None, 0, None))(x, able.asarray(7.0))
    able.assert_equal(steps, np.asarray(3.0))
    able.assert_equal(total, 3 * Y)
    able.assert_equal(seven, np.asarray(7.0))


@unless(lambda able: able.id in ("torch", "dask"))
def test_what_loops_of_several_lengths_hand_on(able: Library) -> None:
    """A value that every step hands on is the same for all, also where each takes a number of steps of its own."""
    x = able.asarray(np.abs(Y))
    f = lambda x, seven: while_loop(lambda c: c[1] < 4.0, lambda c: (c[0], c[1] + x), (seven, 0.0 * x))
    for transform in (lambda f: f, jit):
        seven, total = vmap(transform(f), (0, None), (None, 0))(x, able.asarray(7.0))
        able.assert_equal(seven, np.asarray(7.0))
        able.assert_equal(total, np.ceil(4 / np.abs(Y)) * np.abs(Y))
    bounded = lambda x, y: while_loop(lambda c: c[1] < 4.0, lambda c: (c[0], c[1] + x * c[0]), (y, x * 0.0), max_iter=9)
    found = vmap(grad(lambda y, x: bounded(x, y)[1]), (None, 0))(able.asarray(1.0), x)
    able.assert_equal(found, np.ceil(4 / np.abs(Y)) * np.abs(Y))
