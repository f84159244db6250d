"""Functions of the lanes along a named axis: values, derivatives as JAX's own, compositions, names, bad input."""

import threading
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

import xpand
from tests.cases import library_of_name
from tests.libraries import LIBRARIES, Library
from tests.test_derivatives import total
from xpand_extensions.autodiff import checkpoint, custom_jvp, custom_vjp, grad, jvp
from xpand_extensions.control_flow import cond, while_loop
from xpand_extensions.jit import jit
from xpand_extensions.vmap import (
    all_gather,
    all_to_all,
    axis_index,
    axis_size,
    pmax,
    pmean,
    pmin,
    ppermute,
    psum,
    psum_scatter,
    vmap,
)

JAX = next(library for library in LIBRARIES if library.id == "jax")
TORCH = next(library for library in LIBRARIES if library.id == "torch")
X = np.arange(12.0).reshape(3, 4) ** 1.5 - 9.0
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES = ["float32", "float64", "complex64", "complex128", *INTEGERS]


@pytest.fixture(params=LIBRARIES, ids=str)
def able(request: pytest.FixtureRequest) -> Library:
    return request.param


def named(function: Callable[[Any], Any], **options: Any) -> Callable[..., Any]:
    return vmap(function, axis_name="i", **options)


def twice(function: Callable[[Any], Any]) -> Callable[..., Any]:
    return vmap(vmap(function, axis_name="j"), axis_name="i")


# Values


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_keep_the_data_type(able: Library, dtype: str) -> None:
    x = np.asarray([[100, 2], [100, 3], [100, 4]], dtype=dtype)
    found = named(lambda x: psum(x, "i"))(able.asarray(x))
    able.assert_equal(found, np.broadcast_to(x.sum(axis=0, dtype=dtype), x.shape))


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_of_what_all_have(able: Library, dtype: str) -> None:
    x = np.asarray([100, 2], dtype=dtype)
    found = vmap(lambda y: psum(y, "i"), None, None, "i", 3)(able.asarray(x))
    able.assert_equal(found, np.multiply(x, np.asarray(3, dtype=dtype)))


def test_sums_of_booleans_count(able: Library) -> None:
    found = named(lambda x: psum(x, "i"))(able.asarray([True, False, True]))
    able.assert_equal(found, np.asarray([2, 2, 2], dtype=np.int32))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_means(able: Library, dtype: str) -> None:
    found = named(lambda x: pmean(x, "i"))(able.asarray(X.astype(dtype)))
    expected = np.broadcast_to(X.astype(dtype).mean(axis=0), X.shape)
    able.assert_equal(found, expected, rtol=1e-6 if dtype in ("float32", "complex64") else 1e-14)


def test_means_of_integers_and_booleans(able: Library) -> None:
    default = able.xp.__array_namespace_info__().default_dtypes(device=able.device)["real floating"]
    for x, mean in ((np.asarray([1, 2, 4, 5]), 3.0), (np.asarray([True, False]), 0.5)):
        found = named(lambda x: pmean(x, "i"))(able.asarray(x))
        assert found.dtype == default
        np.testing.assert_array_equal(able.to_numpy(found), mean)


@pytest.mark.parametrize("dtype", ["float32", "float64", *INTEGERS])
def test_extremes(able: Library, dtype: str) -> None:
    x = np.asarray([[3, 100], [0, 7], [9, 7]], dtype=dtype)
    largest, smallest = named(lambda x: (pmax(x, "i"), pmin(x, "i")))(able.asarray(x))
    able.assert_equal(largest, np.broadcast_to(x.max(axis=0), x.shape))
    able.assert_equal(smallest, np.broadcast_to(x.min(axis=0), x.shape))


def test_extremes_at_the_edges(able: Library) -> None:
    largest, smallest = named(lambda x: (pmax(x, "i"), pmin(x, "i")))(able.asarray([[np.nan, -np.inf], [1.0, np.inf]]))
    able.assert_equal(largest, np.asarray([[np.nan, np.inf]] * 2))
    able.assert_equal(smallest, np.asarray([[np.nan, -np.inf]] * 2))
    largest, smallest = named(lambda x: (pmax(x, "i"), pmin(x, "i")))(able.asarray([True, False]))
    able.assert_equal(largest, np.asarray([True, True]))
    able.assert_equal(smallest, np.asarray([False, False]))


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_gathered(able: Library, axis: int) -> None:
    x = np.arange(24.0).reshape(3, 4, 2)
    found = named(lambda x: all_gather(x, "i", axis=axis))(able.asarray(x))
    able.assert_equal(found, np.stack([np.moveaxis(x, 0, axis)] * 3))


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_gathered_and_joined(able: Library, axis: int) -> None:
    x = np.arange(24.0).reshape(3, 4, 2)
    found = named(lambda x: all_gather(x, "i", axis=axis, tiled=True))(able.asarray(x))
    able.assert_equal(found, np.stack([np.concatenate(list(x), axis=axis)] * 3))


@pytest.mark.parametrize("dtype", ["bool", *DTYPES])
def test_data_types_of_what_moves(able: Library, dtype: str) -> None:
    x = np.asarray([[1, 0], [3, 4], [5, 6]]).astype(dtype)
    gathered, moved = named(lambda x: (all_gather(x, "i"), ppermute(x, "i", [(0, 2), (2, 1)])))(able.asarray(x))
    able.assert_equal(gathered, np.stack([x] * 3))
    able.assert_equal(moved, np.stack([np.zeros_like(x[0]), x[2], x[0]]))


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_permutations(library: Library, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 6))
    positions = st.permutations(range(size))
    pairs = list(zip(data.draw(positions), data.draw(positions)))[: data.draw(st.integers(0, size))]
    x = np.arange(1.0, 2 * size + 1).reshape(size, 2)
    expected = np.zeros_like(x)
    for source, destination in pairs:
        expected[destination] = x[source]
    library.assert_equal(named(lambda x: ppermute(x, "i", pairs))(library.asarray(x)), expected)
    # Values common to all lanes are sent, too.
    expected = np.zeros(size)
    expected[[destination for _, destination in pairs]] = 2.0
    one = library.asarray(2.0)
    library.assert_equal(vmap(lambda y: ppermute(y, "i", pairs), None, 0, "i", size)(one), expected)


def test_permutations_by_an_array(able: Library) -> None:
    x, pairs = able.asarray(X), np.asarray([[0, 2], [2, 1]], dtype=np.int32)
    for perm in (pairs, able.asarray(pairs), pairs.tolist()):
        if not xpand.is_concrete(perm):
            continue
        able.assert_equal(named(lambda x, perm=perm: ppermute(x, "i", perm))(x), np.stack([0 * X[0], X[2], X[0]]))
    able.assert_equal(named(lambda x: ppermute(x, "i", np.zeros((0, 2), dtype=np.int64)))(x), np.zeros_like(X))
    for bad, message in (
        (np.asarray([0, 1]), r"of shape \(n, 2\), got the shape \(2,\)"),
        (np.asarray([[0.0, 1.0]]), "must be of integers .* float64"),
    ):
        with pytest.raises(TypeError, match=message):
            named(lambda x, bad=bad: ppermute(x, "i", bad))(x)
    with pytest.raises(TypeError, match="ppermute: perm must be concrete"):
        named(lambda x: ppermute(x, "i", xpand.array_namespace(axis_index("i")).stack([axis_index("i")] * 2)))(x)


def test_sizes(able: Library) -> None:
    def f(x: Any) -> Any:
        assert (axis_size("i"), axis_size("j"), axis_size(("i", "j"))) == (3, 4, 12)
        assert type(axis_size("i")) is int
        return x

    twice(f)(able.asarray(X))


@pytest.mark.parametrize("dtype", ["bool", "int32", "float64", "complex64"])
def test_sums_divided_among_lanes(able: Library, dtype: str) -> None:
    x = (np.arange(3 * 2 * 6 * 3).reshape(3, 2, 6, 3) % 7).astype(dtype)
    expected = x.sum(axis=0, dtype=np.int32 if dtype == "bool" else dtype)
    found = named(lambda x: psum_scatter(x, "i", scatter_dimension=-1))(able.asarray(x))
    able.assert_equal(found, np.moveaxis(expected, -1, 0))
    found = named(lambda x: psum_scatter(x, "i", scatter_dimension=1, tiled=True))(able.asarray(x))
    able.assert_equal(found, np.stack(np.split(expected, 3, axis=1)))
    both = twice(lambda x: psum_scatter(x, ("i", "j"), tiled=True))(able.asarray(np.tile(X[..., None], 24)))
    able.assert_equal(both, np.full((3, 4, 2), X.sum()), rtol=1e-13)


@pytest.mark.parametrize("dtype", ["bool", "int32", "float64", "complex64"])
def test_exchanged_among_lanes(able: Library, dtype: str) -> None:
    x = (np.arange(3 * 2 * 6 * 3).reshape(3, 2, 6, 3) % 7).astype(dtype)
    # Axes of x: the lane, then those of a lane's array.
    found = named(lambda x: all_to_all(x, "i", 2, 0))(able.asarray(x))
    able.assert_equal(found, np.transpose(x, (3, 0, 1, 2)))
    found = named(lambda x: all_to_all(x, "i", -1, -1))(able.asarray(x))
    able.assert_equal(found, np.transpose(x, (3, 1, 2, 0)))
    found = named(lambda x: all_to_all(x, "i", 1, 0, tiled=True))(able.asarray(x))
    able.assert_equal(found, np.stack([np.concatenate(list(part)) for part in np.split(x, 3, axis=2)]))
    table = np.arange(144.0).reshape(3, 4, 12)
    both = twice(lambda x: all_to_all(x, ("i", "j"), 0, 0))(able.asarray(table))
    able.assert_equal(both, table.reshape(12, 12).T.reshape(3, 4, 12))


def test_exchanged_twice_is_the_same(able: Library) -> None:
    x = np.arange(27.0).reshape(3, 3, 3)
    f = lambda x: all_to_all(all_to_all(x, "i", 0, 1), "i", 1, 0)
    able.assert_equal(named(f)(able.asarray(x)), x)
    same = vmap(lambda y: all_to_all(y, "i", 0, 0), None, 0, "i", 3)(able.asarray(x[0]))
    able.assert_equal(same, np.moveaxis(np.stack([x[0]] * 3), 1, 0))


def test_positions(able: Library) -> None:
    x = able.asarray(X)
    able.assert_equal(named(lambda x: axis_index("i"))(x), np.arange(3, dtype=np.int32))
    count = np.arange(12, dtype=np.int32).reshape(3, 4)
    able.assert_equal(twice(lambda x: axis_index(("i", "j")))(x), count)
    able.assert_equal(twice(lambda x: axis_index(("j", "i")))(x), np.arange(12, dtype=np.int32).reshape(4, 3).T)


def test_several_names(able: Library) -> None:
    x = able.asarray(X)
    both = ("j", "i")
    able.assert_equal(twice(lambda x: psum(x, both))(x), np.full_like(X, X.sum()), rtol=1e-13)
    able.assert_equal(twice(lambda x: pmean(x, both))(x), np.full_like(X, X.mean()), rtol=1e-13)
    able.assert_equal(twice(lambda x: pmax(x, both))(x), np.full_like(X, X.max()))
    able.assert_equal(twice(lambda x: pmin(x, list(both)))(x), np.full_like(X, X.min()))
    able.assert_equal(twice(lambda x: all_gather(x, both))(x), np.broadcast_to(X.T.ravel(), (3, 4, 12)))
    able.assert_equal(twice(lambda x: all_gather(x, ("i", "j")))(x), np.broadcast_to(X.ravel(), (3, 4, 12)))
    moved = twice(lambda x: ppermute(x, ("i", "j"), [(0, 5), (5, 11)]))(x)
    expected = np.zeros(12)
    expected[[5, 11]] = X.ravel()[[0, 5]]
    able.assert_equal(moved, expected.reshape(3, 4))


def test_the_outer_of_two_names(able: Library) -> None:
    x = able.asarray(X)
    able.assert_equal(twice(lambda x: psum(x, "i"))(x), np.broadcast_to(X.sum(axis=0), X.shape), rtol=1e-13)
    able.assert_equal(twice(lambda x: all_gather(x, "i"))(x), np.stack([X.T] * 3))
    moved = twice(lambda x: ppermute(x, "i", [(0, 1), (1, 2), (2, 0)]))(x)
    able.assert_equal(moved, np.roll(X, 1, axis=0))


def test_the_inner_of_two_axes_with_one_name(able: Library) -> None:
    found = named(lambda row: psum(named(lambda x: psum(x, "i"))(row), "i"))(able.asarray(X))
    expected = np.broadcast_to(X.sum(), X.shape)
    able.assert_equal(found, expected, rtol=1e-13)


def test_numbers_and_trees(able: Library) -> None:
    def f(x: Any) -> Any:
        tree = {"x": x, "n": 2, "y": [x * 2, None]}
        return psum(tree, "i"), pmean(tree, "i"), pmax(2.5, "i"), all_gather((x, 1.5), "i"), ppermute(1, "i", [(0, 1)])

    x = able.asarray([1.0, 3.0])
    total, mean, largest, gathered, moved = named(f)(x)
    able.assert_equal(total["x"], np.asarray([4.0, 4.0]))
    assert able.to_numpy(total["n"]).tolist() == [4, 4]
    able.assert_equal(total["y"][0], np.asarray([8.0, 8.0]))
    assert total["y"][1] is None
    able.assert_equal(mean["x"], np.asarray([2.0, 2.0]))
    assert able.to_numpy(mean["n"]).tolist() == [2, 2]
    assert able.to_numpy(largest).tolist() == [2.5, 2.5]
    able.assert_equal(gathered[0], np.asarray([[1.0, 3.0]] * 2))
    assert able.to_numpy(gathered[1]).tolist() == [[1.5, 1.5]] * 2
    assert able.to_numpy(moved).tolist() == [0, 1]

    def size(x: Any) -> Any:
        count = psum(1, "i")
        assert count == 2
        assert isinstance(count, int)
        return x

    named(size)(x)


def test_results_are_the_same_for_all_lanes(able: Library) -> None:
    f = lambda x: (psum(x, "i"), all_gather(x, "i"), x)
    total, gathered, own = named(f, out_axes=(None, None, 0))(able.asarray(X))
    able.assert_equal(total, X.sum(axis=0), rtol=1e-13)
    able.assert_equal(gathered, X)
    able.assert_equal(own, X)


def test_an_axis_without_lanes(able: Library) -> None:
    f = lambda x: (psum(x, "i"), pmean(x, "i"), pmax(x, "i"), ppermute(x, "i", []))
    for found in named(f)(able.asarray(np.zeros((0, 2)))):
        able.assert_equal(found, np.zeros((0, 2)))


# Against JAX's own, and under its and PyTorch's transformations

FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "psum": (lambda x: psum(x, "i"), lambda x: jax.lax.psum(x, "i")),
    "pmean": (lambda x: pmean(x, "i"), lambda x: jax.lax.pmean(x, "i")),
    "all_gather": (lambda x: all_gather(x, "i")[1], lambda x: jax.lax.all_gather(x, "i")[1]),
    "ppermute": (
        lambda x: ppermute(x, "i", [(0, 1), (1, 2), (2, 0)]),
        lambda x: jax.lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 0)]),
    ),
    "psum_scatter": (
        lambda x: psum_scatter(spread(x), "i"),
        lambda x: jax.lax.psum_scatter(spread(x), "i"),
    ),
    "all_to_all": (
        lambda x: total(all_to_all(spread(x), "i", 0, 0) ** 2.0),
        # Not `jax.lax.all_to_all`, which fails under `jax.vmap` for arrays that are not mapped.
        lambda x: total(jax.lax.all_gather(spread(x), "i")[:, jax.lax.axis_index("i")] ** 2.0),
    ),
}


def spread(x: Any) -> Any:
    xp = xpand.array_namespace(x)
    return xp.stack([x, x * 2.0, xp.sin(x)])


V = np.asarray([1.0, -2.0, 0.5])


def as_float(x: Any, like: Any) -> Any:
    return xpand.array_namespace(like).astype(x, like.dtype)


def composed(collective: Callable[[Any], Any], index: Callable[[], Any]) -> Callable[[Any], Any]:
    """Make a function of a lane that isn't linear, and not the same for all lanes."""
    return lambda x: collective(x * x) ** 2.0 * (as_float(index(), x) + 1.0) + x


TRANSFORMED: dict[str, Callable[..., Any]] = {
    "value": lambda f, vmap, grad, jvp: lambda x: vmap(f)(x),
    "grad inside": lambda f, vmap, grad, jvp: lambda x: vmap(grad(f))(x),
    "grad outside": lambda f, vmap, grad, jvp: grad(lambda x: total(vmap(f)(x) ** 2.0)),
    "grad of grad inside": lambda f, vmap, grad, jvp: lambda x: vmap(grad(grad(f)))(x),
    "jvp inside": lambda f, vmap, grad, jvp: lambda x: vmap(lambda x: jvp(f, (x,), (x,))[1])(x),
    "jvp outside": lambda f, vmap, grad, jvp: lambda x: jvp(lambda x: vmap(f)(x), (x,), (x,))[1],
    "jvp of grad inside": lambda f, vmap, grad, jvp: lambda x: vmap(lambda x: jvp(grad(f), (x,), (x,))[1])(x),
    "grad of jvp outside": lambda f, vmap, grad, jvp: grad(lambda x: total(jvp(lambda x: vmap(f)(x), (x,), (x,))[1])),
    "unmapped": lambda f, vmap, grad, jvp: lambda x: vmap(lambda x: grad(lambda y: f(y) * x)(constant(x)))(x),
}


def constant(like: Any) -> Any:
    """Make a number that is the same for all lanes."""
    return xpand.array_namespace(like).full((), 1.5, dtype=like.dtype, device=xpand.device(like))


@pytest.mark.parametrize("transformed", TRANSFORMED.values(), ids=TRANSFORMED)
@pytest.mark.parametrize("functions", FUNCTIONS.values(), ids=FUNCTIONS)
def test_derivatives_are_those_of_jax(able: Library, functions: Any, transformed: Callable[..., Any]) -> None:
    ours, theirs = functions
    native = transformed(
        composed(theirs, lambda: jax.lax.axis_index("i")), lambda f: jax.vmap(f, axis_name="i"), jax.grad, jax.jvp
    )
    expected = np.asarray(native(JAX.asarray(V)))
    found = transformed(composed(ours, lambda: axis_index("i")), named, grad, jvp)(able.asarray(V))
    able.assert_equal(found, expected, rtol=1e-12)


@pytest.mark.parametrize("extreme", [pmax, pmin])
def test_derivatives_of_extremes(able: Library, extreme: Callable[..., Any]) -> None:
    """Lanes that tie share alike; all else as for the namespace's own."""
    x = able.asarray([2.0, -1.0, 2.0, -1.0, 0.0])
    chosen = np.asarray([0.5, 0.0, 0.5, 0.0, 0.0] if extreme is pmax else [0.0, 0.5, 0.0, 0.5, 0.0])
    weights = able.asarray(np.asarray([1.0, 2.0, 3.0, 4.0, 5.0]))
    found = vmap(grad(lambda x, w: extreme(x, "i") * w), axis_name="i")(x, weights)
    able.assert_equal(found, 15.0 * chosen, rtol=1e-14)
    found = grad(lambda x: total(vmap(lambda x, w: extreme(x, "i") * w, axis_name="i")(x, weights)))(x)
    able.assert_equal(found, 15.0 * chosen, rtol=1e-14)


def test_gradients_of_partial_permutations(able: Library) -> None:
    found = named(grad(lambda x: ppermute(x, "i", [(0, 1), (1, 2)]) ** 2.0 * (as_float(axis_index("i"), x) + 1.0)))(
        able.asarray(V)
    )
    able.assert_equal(found, np.asarray([4.0, -12.0, 0.0]))


# Choices of lanes: derivatives are those of the function that each has chosen, and NaN of the other is in none

CHOICES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "none within": lambda x, cond, psum: cond(x > 0, root, lambda x: x * x, x) * psum(x),
    "in one": lambda x, cond, psum: cond(x > 0, lambda x: root(x) * 2.0, lambda x: psum(x * x), x),
    "beside NaN": lambda x, cond, psum: cond(x > 0, lambda x: root(x) + psum(x), lambda x: x * x, x),
    "in both": lambda x, cond, psum: cond(x > 0, lambda x: psum(x * x), lambda x: psum(x) * x, x),
    "of all alike": lambda x, cond, psum: cond(psum(x) > 0, lambda x: root(x * x + 1.0), lambda x: x * psum(x), x),
}
CHOSEN = {name: TRANSFORMED[name] for name in ("grad inside", "grad outside", "grad of grad inside", "jvp outside")}
OF_LANES = np.asarray([0.3, -0.7, 1.2, 2.5])


def root(x: Any) -> Any:
    return xpand.array_namespace(x).sqrt(x)


def cond_of_jax(pred: Any, chosen: Any, other: Any, x: Any) -> Any:
    return jax.lax.cond(pred, chosen, other, x)


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("library", [x for x in LIBRARIES if x.id in ("numpy", "torch")], ids=str)
def test_derivatives_of_choices_are_those_of_jax(library: Library, name: str) -> None:
    choice = CHOICES[name]
    ours = lambda x: choice(x, cond, lambda x: psum(x, "i"))
    for transformation, transformed in CHOSEN.items():
        if (name, transformation) == ("in both", "grad of grad inside"):
            continue  # JAX takes there for one function what it has kept of the other
        native = transformed(
            lambda x: choice(x, cond_of_jax, lambda x: jax.lax.psum(x, "i")),
            lambda f: jax.vmap(f, axis_name="i"),
            jax.grad,
            jax.jvp,
        )
        with np.errstate(invalid="ignore"):  # of the root that is computed for nothing
            found = transformed(ours, named, grad, jvp)(library.asarray(OF_LANES))
        library.assert_equal(found, np.asarray(native(JAX.asarray(OF_LANES))), rtol=1e-12)


@pytest.mark.parametrize("within", [checkpoint, lambda f: lambda x: cond(x < 9.0, f, lambda x: x, x)])
def test_what_is_brought_along_is_differentiated(able: Library, within: Any) -> None:
    """Collectives within a recomputed function, with a captured array."""
    f = lambda x: within(lambda y: psum(x, "i") * y)(x * x)
    x, expected = able.asarray(OF_LANES), 2.0 * OF_LANES * np.sum(OF_LANES) + np.sum(OF_LANES**2)
    able.assert_equal(grad(lambda x: total(named(f)(x)))(x), expected, rtol=1e-13)
    able.assert_equal(named(grad(f))(x), expected, rtol=1e-13)


# Functions with rules of their own, in which lanes do something together


def forward_rule(decorated: Any, psum: Any) -> Any:
    f = decorated(lambda x: x * psum(x, "i"))
    f.defjvp(lambda p, t: (f(p[0]), 3.0 * t[0] * psum(p[0], "i") * p[0]))
    return f


def reverse_rule(decorated: Any, psum: Any) -> Any:
    f = decorated(lambda x: x * psum(x, "i"))
    f.defvjp(lambda x: (f(x), x * psum(x, "i")), lambda residuals, ct: (3.0 * ct * residuals,))
    return f


RULES = {"jvp": (forward_rule, custom_jvp, jax.custom_jvp), "vjp": (reverse_rule, custom_vjp, jax.custom_vjp)}


@pytest.mark.parametrize("kind", RULES)
@pytest.mark.parametrize("library", [x for x in LIBRARIES if x.id in ("numpy", "torch")], ids=str)
def test_rules_in_which_lanes_do_something_together(library: Library, kind: str) -> None:
    rule, own, native = RULES[kind]
    ours, theirs = rule(own, psum), rule(native, jax.lax.psum)
    x = np.stack([STARTS, STARTS[::-1] * 0.5])
    for transformed in (
        lambda f, vmap, grad: vmap(vmap(grad(f)), axis_name="i"),
        lambda f, vmap, grad: grad(lambda x: total(vmap(vmap(f), axis_name="i")(x))),
        lambda f, vmap, grad: grad(lambda x: total(vmap(vmap(f, axis_name="i"))(x))),
        lambda f, vmap, grad: vmap(lambda row: grad(lambda row: total(vmap(f)(row)))(row), axis_name="i"),
        lambda f, vmap, grad: grad(lambda x: total(vmap(vmap(grad(f)), axis_name="i")(x))),
    ):
        expected = transformed(theirs, jax.vmap, jax.grad)(JAX.asarray(x))
        library.assert_equal(transformed(ours, vmap, grad)(library.asarray(x)), np.asarray(expected), rtol=1e-13)


# Loops that lanes end at different times: those that have ended still give what they have

STARTS = np.asarray([0.3, 0.7, 1.2, 2.5])


def until_ten(x: Any, while_loop: Any, psum: Any, **options: Any) -> Any:
    return while_loop(lambda c: c < 10.0, lambda c: c * 1.5 + 0.1 * psum(c, "i") * x, x, **options)


def loop_in_loop(x: Any, while_loop: Any, psum: Any) -> Any:
    inner = lambda c: while_loop(lambda d: d < 2.0, lambda d: d * 2.0 + 0.01 * psum(d, "i"), c)
    return while_loop(lambda c: c < 10.0, lambda c: inner(c) * 1.5, x)


def until_all_have(x: Any, while_loop: Any, psum: Any) -> Any:
    """A condition that is one for all lanes, and a choice within."""
    choose = cond if psum is not jax.lax.psum else jax.lax.cond
    step = lambda c: choose(psum(c, "i") > 9.0, lambda c: c * 2.0, lambda c: c + psum(c, "i"), c)
    return while_loop(lambda c: psum(c, "i") < 50.0, step, x)


LOOPS = (until_ten, loop_in_loop, until_all_have)


@pytest.mark.parametrize("transformation", ["value", "jvp inside", "jvp outside"])
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("library", [x for x in LIBRARIES if x.id in ("numpy", "jax", "torch")], ids=str)
def test_loops_are_those_of_jax(library: Library, loop: Any, transformation: str) -> None:
    transformed = TRANSFORMED[transformation]
    native = lambda x: loop(x, jax.lax.while_loop, jax.lax.psum)
    expected = np.asarray(
        transformed(native, lambda f: jax.vmap(f, axis_name="i"), jax.grad, jax.jvp)(JAX.asarray(STARTS))
    )
    ours = transformed(lambda x: loop(x, while_loop, psum), named, grad, jvp)
    library.assert_equal(ours(library.asarray(STARTS)), expected, rtol=1e-13)
    if library is not JAX:
        library.assert_equal(jit(ours)(library.asarray(STARTS)), expected, rtol=1e-13)


def test_derivatives_of_bounded_loops(library: Library) -> None:
    def unrolled(x: Any) -> Any:
        c = x
        for _ in range(7):
            c = jax.numpy.where(c < 10.0, c * 1.5 + 0.1 * jax.lax.psum(c, "i") * x, c)
        return c

    bounded = lambda x: until_ten(x, while_loop, psum, max_iter=7)
    for name in ("value", "grad inside", "grad outside"):
        transformed = TRANSFORMED[name]
        expected = transformed(unrolled, lambda f: jax.vmap(f, axis_name="i"), jax.grad, jax.jvp)(JAX.asarray(STARTS))
        found = transformed(bounded, named, grad, jvp)(library.asarray(STARTS))
        library.assert_equal(found, np.asarray(expected), rtol=1e-12)


@pytest.mark.parametrize("id", ["numpy", "strict"])
def test_lanes_without_steps_take_part_in_collectives(id: str) -> None:
    """A collective of captured arrays has a derivative also for a lane whose loop takes no step."""
    library = library_of_name(id)
    loop = lambda x, w: while_loop(lambda c: c < 3.0, lambda c: c * 1.1 + psum(w * w, "i") * c, x, max_iter=6)
    x, w = np.asarray([0.5, 5.0, 1.0]), np.asarray([0.3, 0.2, 0.4])
    for transformed in (
        named(grad(loop, (0, 1))),
        jit(named(grad(loop, (0, 1)))),
        grad(lambda x, w: total(named(loop)(x, w)), (0, 1)),
    ):
        of_x, of_w = transformed(library.asarray(x), library.asarray(w))
        library.assert_equal(of_x, np.asarray([1.39**6, 1.0, 1.39**4]), rtol=1e-12)
        steps = np.asarray([6.0 * 0.5 * 1.39**5, 0.0, 4.0 * 1.39**3])
        library.assert_equal(of_w, 2.0 * w * np.sum(steps), rtol=1e-12)


def test_compiled_loops_within_several_maps() -> None:
    x = TORCH.asarray(np.stack([STARTS, STARTS * 0.5, STARTS + 0.2]))
    loop = lambda x: until_ten(x, while_loop, psum)
    names_of_both = lambda x: while_loop(lambda c: c < 9.0, lambda c: c * 2.0 + 0.01 * psum(c, ("i", "j")), x)
    for function in (
        named(vmap(loop)),
        vmap(named(loop)),
        twice(names_of_both),
        named(lambda row: jvp(vmap(loop), (row,), (row * 2.0,))[1]),
    ):
        TORCH.assert_equal(jit(function)(x), TORCH.to_numpy(function(x)), rtol=1e-13)


def two_names(x: Any) -> Any:
    everything = total(all_gather(x**2.0, ("j", "i")))
    moved = ppermute(x, "i", [(0, 1), (2, 0)]) * psum(x * psum(x, "j"), ("i", "j"))
    return psum(x, "i") * everything * as_float(axis_index("i"), x) + moved + pmax(x, "j")


def two_names_of_jax(x: Any) -> Any:
    lax = jax.lax
    everything = lax.all_gather(lax.all_gather(x**2, "i"), "j").sum()
    received = lax.axis_index("i") < 2
    moved = jax.numpy.where(received, lax.ppermute(x, "i", [(0, 1), (2, 0), (1, 2)]), 0.0)
    moved = moved * lax.psum(x * lax.psum(x, "j"), ("i", "j"))
    return lax.psum(x, "i") * everything * lax.axis_index("i") + moved + lax.all_gather(x, "j").max()


def test_nested_names(able: Library) -> None:
    native = jax.vmap(jax.vmap(two_names_of_jax, axis_name="j"), axis_name="i")
    able.assert_equal(twice(two_names)(able.asarray(X)), np.asarray(native(JAX.asarray(X))), rtol=1e-12)
    native = jax.vmap(jax.vmap(jax.grad(two_names_of_jax), axis_name="j"), axis_name="i")
    able.assert_equal(twice(grad(two_names))(able.asarray(X)), np.asarray(native(JAX.asarray(X))), rtol=1e-12)


def test_under_jax_jit() -> None:
    x = JAX.asarray(X)
    for function in (twice(two_names), twice(grad(two_names))):
        JAX.assert_equal(jax.jit(function)(x), np.asarray(function(x)), rtol=1e-12)
    # Compiled once, used in two mappings: nothing of the first is kept.
    inner = jax.jit(lambda x: psum(x, "i") + axis_index("i"))
    for values in (V, V * 2, V[:2]):
        JAX.assert_equal(named(inner)(JAX.asarray(values)), values.sum() + np.arange(len(values)), rtol=1e-13)


def test_under_torch_compile() -> None:
    torch.compiler.reset()
    compiled = torch.compile(named(lambda x: psum(x, "i")), fullgraph=True, backend="eager")
    with pytest.raises(torch._dynamo.exc.Unsupported, match="psum: torch.compile cannot trace it; use"):
        compiled(TORCH.asarray(V))


def test_backward_of_torch() -> None:
    x = TORCH.asarray(V).requires_grad_()
    named(lambda x: psum(x, "i") ** 2 + all_gather(x, "i")[0])(x).sum().backward()
    TORCH.assert_equal(x.grad, 6 * V.sum() + np.asarray([3.0, 0.0, 0.0]), rtol=1e-13)


# Names


def test_names_are_unbound_again(able: Library) -> None:
    def fails(x: Any) -> Any:
        raise RuntimeError("in the function")

    x = able.asarray(V)
    for _ in range(100):
        with pytest.raises(RuntimeError, match="in the function"):
            named(fails)(x)
    with pytest.raises(NameError, match="psum: no mapped axis is called 'i' here; those bound are: none"):
        psum(x, "i")
    able.assert_equal(named(lambda x: psum(x, "i"))(x), np.full(3, V.sum()))


def test_threads_do_not_see_each_other(able: Library) -> None:
    messages: list[str] = []

    def elsewhere() -> None:
        with pytest.raises(NameError) as error:
            axis_index("i")
        messages.append(str(error.value))

    def f(x: Any) -> Any:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        return psum(x, "i")

    able.assert_equal(named(f)(able.asarray(V)), np.full(3, V.sum()))
    assert messages
    assert "those bound are: none" in messages[0]


def test_names_need_not_be_strings(able: Library) -> None:
    for name in (2.5, frozenset({"a"}), object()):
        found = vmap(lambda x, name=name: psum(x, name), axis_name=name)(able.asarray(V))
        able.assert_equal(found, np.full(3, V.sum()))


ALL: dict[str, Callable[[Any, Any], Any]] = {
    "psum": psum,
    "pmean": pmean,
    "pmax": pmax,
    "pmin": pmin,
    "all_gather": all_gather,
    "all_to_all": lambda x, name: all_to_all(x, name, 0, 0),
    "axis_index": lambda x, name: axis_index(name),
    "axis_size": lambda x, name: axis_size(name),
    "psum_scatter": psum_scatter,
    "ppermute": lambda x, name: ppermute(x, name, [(0, 0)]),
}


@pytest.mark.parametrize("name", ALL)
def test_bad_names(able: Library, name: str) -> None:
    function, x = ALL[name], able.asarray(V)
    with pytest.raises(NameError, match=f"{name}: no mapped axis is called 'k' here; those bound are: 'i'"):
        named(lambda x: function(x, "k"))(x)
    with pytest.raises(NameError, match=f"{name}: no mapped axis is called 'k' here; those bound are: none"):
        function(x, "k")
    for bad in (3, None, ("i", 3), ["i", {}]):
        with pytest.raises(TypeError, match=f"{name}: axis_name must be a string"):
            named(lambda x, bad=bad: function(x, bad))(x)
    for bad in (("i", "i"), ()):
        with pytest.raises(ValueError, match=f"{name}: axis_name must name at least one axis, and each axis once"):
            named(lambda x, bad=bad: function(x, bad))(x)


@pytest.mark.parametrize("name", [name for name in ALL if not name.startswith("axis_")])
def test_bad_leaves(able: Library, name: str) -> None:
    with pytest.raises(TypeError, match=f"{name}: takes"):
        named(lambda x: ALL[name]({"x": x, "y": "text"}, "i"))(able.asarray(V))


def test_bad_options(able: Library) -> None:
    x = able.asarray(X)
    for bad, error, message in (
        (lambda x: pmax(x * 1j, "i"), TypeError, "pmax: x must have a boolean or real-valued data type"),
        (lambda x: all_gather(x, "i", axis=2), ValueError, "all_gather: axis=2 is out of range for 2 axes"),
        (lambda x: all_gather(x, "i", axis=1, tiled=True), ValueError, "all_gather: axis=1 is out of range"),
        (lambda x: all_gather(x, "i", axis=0.5), TypeError, "all_gather: axis must be an integer"),
        (lambda x: all_gather(x, "i", tiled=1), TypeError, "all_gather: tiled must be"),
        (lambda x: psum_scatter(x, "i"), ValueError, "axis scatter_dimension=0 must have the size 3 .* got 4"),
        (lambda x: psum_scatter(x, "i", tiled=True), ValueError, "scatter_dimension=0 must be a multiple of 3.* got 4"),
        (lambda x: psum_scatter(x, "i", scatter_dimension=1), ValueError, "scatter_dimension=1 is out of range"),
        (lambda x: psum_scatter(x, "i", tiled=1), TypeError, "psum_scatter: tiled must be"),
        (lambda x: all_to_all(x, "i", 0, 0), ValueError, "all_to_all: the axis split_axis=0 must have the size 3"),
        (lambda x: all_to_all(x[:3, ...], "i", 0, 1), ValueError, "all_to_all: concat_axis=1 is out of range"),
        (lambda x: all_to_all(x, "i", 0.0, 0), TypeError, "all_to_all: split_axis must be an integer"),
        (lambda x: ppermute(x, "i", 3), TypeError, "ppermute: perm must be a list of pairs"),
        (lambda x: ppermute(x, "i", [(0, 1, 2)]), TypeError, "ppermute: perm must be a list of pairs"),
        (lambda x: ppermute(x, "i", [(0.5, 1)]), TypeError, "ppermute: a source must be an integer"),
        (lambda x: ppermute(x, "i", [(0, 3)]), ValueError, "ppermute: destination 3 is out of bounds for .* size 3"),
        (lambda x: ppermute(x, "i", [(-1, 0)]), ValueError, "ppermute: source -1 is out of bounds"),
        (lambda x: ppermute(x, "i", [(0, 1), (0, 2)]), ValueError, "ppermute: each position may be a source once"),
        (lambda x: ppermute(x, "i", [(1, 0), (2, 0)]), ValueError, "ppermute: each position may be a destination once"),
    ):
        with pytest.raises(error, match=message):
            named(bad)(x)


def test_what_is_not_mapped_and_not_an_argument(able: Library) -> None:
    """An array that the function closes over is of the library itself, beside lanes that are traced."""
    outside = np.asarray([1.0, 5.0, 2.0])
    closed = able.asarray(outside)
    f = lambda _: (
        pmax(closed, "i"),
        pmin(closed, "i"),
        ppermute(closed, "i", [(0, 1)]),
        ppermute(closed, ("i", "j"), [(p, 11 - p) for p in range(12)]),
    )
    largest, smallest, one, moved = twice(f)(able.asarray(X))
    everywhere = np.broadcast_to(outside, (3, 4, 3))
    for found in (largest, smallest, moved):
        able.assert_equal(found, everywhere)
    able.assert_equal(one, everywhere * (np.arange(3) == 1)[:, None, None])
