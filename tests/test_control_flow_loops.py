"""Loops by a condition or a count: values, trajectories, trees, transformations, bad input."""

import tracemalloc
from typing import Any

import jax
import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

import xpand
from tests.libraries import EAGER_LIBRARIES, LIBRARIES, Library
from tests.operations import Case, Check, check_values, checked
from tests.test_derivatives import NAMESPACE, total
from xpand_extensions import UnsupportedError
from xpand_extensions.autodiff import grad, hessian, jvp, stop_gradient, value_and_grad
from xpand_extensions.control_flow import _trees, cond, fori_loop, scan, switch, while_loop
from xpand_extensions.jit import ShapeDtype, jit, pure_callback
from xpand_extensions.vmap import vmap

A = np.asarray([2.0, 9.0, 1.0, 0.25])


def root(a: Any, max_iter: Any = None) -> Any:
    """Newton's iteration for the square root, and how many steps it took."""
    xp = xpand.array_namespace(a)
    far = lambda c: xp.abs(c[0] * c[0] - a) > 1e-13
    return while_loop(far, lambda c: ((c[0] + a / c[0]) / 2, c[1] + 1), (a, 0), max_iter=max_iter)


def root_in_numpy(a: float, steps: int = 100) -> tuple[float, int]:
    x = a
    for step in range(steps):
        if abs(x * x - a) <= 1e-13:
            return x, step
        x = (x + a / x) / 2
    return x, steps


def logistic_map(r: Any, x: Any, steps: int) -> Any:
    return fori_loop(0, steps, lambda i, x: r * x * (1 - x), x)


def logistic_map_in_numpy(r: np.ndarray, x: np.ndarray, steps: int) -> np.ndarray:
    for _ in range(steps):
        x = r * x * (1 - x)
    return x


def sixteenth_power(x: Any) -> Any:
    step = lambda c: {"x": c["x"] * c["x"], "n": c["n"] + 1}
    return while_loop(lambda c: c["n"] < 4, step, {"x": x, "n": 0}, max_iter=9)["x"]


def tripled(x: Any) -> Any:
    small = lambda x: xpand.array_namespace(x).all(x < 50.0)
    return while_loop(small, lambda x: 3.0 * x, x, max_iter=(0, 1, 6, 1))


CASES = {
    "while bounded": Case(sixteenth_power, (np.asarray([0.9, -1.1, 1.0]),), lambda x: x**16, (0,)),
    "trajectory": Case(tripled, (np.asarray([1.0, 0.5]),), lambda x: np.stack([x, 3 * x, 81 * x, 3 * x]), (0,)),
    "fori": Case(
        lambda r, x: logistic_map(r, x, 5),
        (np.asarray([3.7, 2.0]), np.asarray([0.3, 0.6])),
        lambda r, x: logistic_map_in_numpy(r, x, 5),
        (0, 1),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values(library: Library, case: Case) -> None:
    check_values(library, case)


@checked(CASES)
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


def test_while_by_its_condition(library: Library) -> None:
    x, steps = root(library.asarray(2.0), 30 if library.lazy else None)
    expected = root_in_numpy(2.0)
    library.assert_equal(x, expected[0], rtol=1e-15)
    assert int(library.to_numpy(steps)) == expected[1]


@settings(max_examples=10)
@given(a=st.floats(0.1, 100.0), bound=st.integers(0, 6), stops=st.lists(st.integers(0, 9), min_size=1, max_size=4))
def test_bound_and_trajectory(a: float, bound: int, stops: list[int]) -> None:
    for library in LIBRARIES:
        x, steps = root(library.asarray(a), bound)
        expected = root_in_numpy(a, bound)
        library.assert_equal(x, expected[0], rtol=1e-13)
        assert int(library.to_numpy(steps)) == expected[1]
        states = [root_in_numpy(a, stop) for stop in stops]
        xs, counts = root(library.asarray(a), stops)
        library.assert_equal(xs, np.asarray([state[0] for state in states]), rtol=1e-13)
        np.testing.assert_array_equal(library.to_numpy(counts), [state[1] for state in states])


def test_no_steps(library: Library) -> None:
    x = library.asarray([1.0, 2.0])
    library.assert_equal(while_loop(lambda x: False, lambda x: x + 1.0, x, max_iter=3), [1.0, 2.0])
    library.assert_equal(while_loop(lambda x: True, lambda x: x + 1.0, x, max_iter=0), [1.0, 2.0])
    library.assert_equal(while_loop(lambda x: True, lambda x: x + 1.0, x, max_iter=(0, 0)), [[1.0, 2.0]] * 2)
    library.assert_equal(fori_loop(3, 3, lambda i, x: x + 1.0, x), [1.0, 2.0])
    library.assert_equal(fori_loop(3, -3, lambda i, x: x + 1.0, x), [1.0, 2.0])


def test_bounds_beyond_the_steps_kept_whole(library: Library) -> None:
    """Bounds that are no square, and end inside a block."""
    for bound in (31, 32, 33, 40, 50):
        x = while_loop(lambda x: x < 37, lambda x: x + 1, library.asarray(0), max_iter=bound)
        assert int(library.to_numpy(x)) == min(37, bound)
        total = fori_loop(2, bound, lambda i, total: total * 2 % 1009 + i, library.asarray(1))
        expected = 1
        for i in range(2, bound):
            expected = expected * 2 % 1009 + i
        assert int(library.to_numpy(total)) == expected


def test_fibonacci_in_a_tree(library: Library) -> None:
    start = {"pair": (library.asarray(0), library.asarray(1)), "nothing": None}
    found = fori_loop(0, 30, lambda i, c: {"pair": (c["pair"][1], c["pair"][0] + c["pair"][1]), "nothing": None}, start)
    assert int(library.to_numpy(found["pair"][0])) == 832040
    assert found["nothing"] is None


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "uint64", "float32", "complex128"])
def test_data_types_stay(library: Library, dtype: str) -> None:
    x = library.asarray([0, 1], dtype)
    expected = np.asarray([0, 1], dtype)
    for found in (
        while_loop(lambda c: c[1] < 3, lambda c: (c[0], c[1] + 1), (x, 0), max_iter=5)[0],
        fori_loop(0, 3, lambda i, x: x, x),
    ):
        library.assert_equal(found, expected)


def test_empty_arrays(library: Library) -> None:
    x = library.asarray(np.zeros((0, 2)))
    library.assert_equal(fori_loop(0, 3, lambda i, x: x * 2.0, x), np.zeros((0, 2)))


def test_numbers_take_the_data_type_of_the_first_step(library: Library) -> None:
    x = library.asarray([1.5, 2.5], "float32")
    xp = library.xp
    total = fori_loop(0, 2, lambda i, c: (c[0], xp.sum(c[0])), (x, 0.0))[1]
    library.assert_equal(total, np.float32(4.0))
    total = while_loop(lambda c: xp.sum(c[0]) < 9.0, lambda c: (c[0] * 2.0, xp.sum(c[0])), (x, 0), max_iter=9)[1]
    library.assert_equal(total, np.float32(8.0))


def test_fori_with_bounds_of_arrays(library: Library) -> None:
    if library.lazy:
        with pytest.raises(UnsupportedError, match="while_loop: the condition's value is not known"):
            fori_loop(library.asarray(0), 3, lambda i, x: x, library.asarray(1))
        return
    found = fori_loop(
        library.asarray(2, "int32"), library.asarray(5, "int32"), lambda i, x: x * i, library.asarray(1, "int32")
    )
    library.assert_equal(found, np.int32(24))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_fori_with_bounds_at_the_ends_of_their_types(eager_library: Library, dtype: str) -> None:
    """The other bound, which may be of another type, and the integers between them may not fit the type."""
    library, info = eager_library, np.iinfo(dtype)
    top, low = min(info.max, 2**62), max(info.min, -(2**62))
    count = lambda lower, upper: fori_loop(lower, upper, lambda i, total: total + (i - i + 1), library.asarray(1))
    bounds = [
        (library.asarray(low, dtype), low + 3),
        (low - 3, library.asarray(low, dtype)),
        (library.asarray(top, dtype), top + 3),
        (library.asarray(top - 3, dtype), library.asarray(top, dtype)),
        (library.asarray(top, dtype), library.asarray(top + 3, "int64")),
        (library.asarray(low - 3, "int64"), library.asarray(low, dtype)),
    ]
    for lower, upper in bounds:
        library.assert_equal(count(lower, upper), np.int64(4))
        if library.id == "numpy":
            library.assert_equal(jit(count)(lower, upper), np.int64(4))
            wide = [x if isinstance(x, int) else library.xp.stack([x, x]) for x in (lower, upper)]
            axes = tuple([None if isinstance(x, int) else 0 for x in (lower, upper)])
            library.assert_equal(vmap(count, in_axes=axes)(*wide), np.asarray([4, 4]))


def test_bounds_that_are_integers_of_numpy(library: Library) -> None:
    x = library.asarray(1.0)
    library.assert_equal(fori_loop(np.int64(1), np.uint8(4), lambda i, x: x * 2.0, x), np.float64(8.0))


def test_lazy_conditions_are_not_computed() -> None:
    dask = next(library for library in LIBRARIES if library.lazy)
    x = dask.asarray([1.0]).map_blocks(lambda block: pytest.fail("computed"), meta=np.zeros(0))
    with pytest.raises(UnsupportedError, match="give max_iter"):
        while_loop(lambda x: dask.xp.all(x < 2.0), lambda x: x * 2.0, x)
    assert while_loop(lambda x: dask.xp.all(x < 2.0), lambda x: x * 2.0, x, max_iter=2).shape == (1,)
    loop = lambda x, n: while_loop(lambda x: NAMESPACE(x).all(x < 2.0), lambda x: x * 2.0, x, max_iter=n)
    for transformed in (
        vmap(loop, (0, None)),
        jit(loop, static_argnums=1),
        grad(lambda x, n: total(loop(x, n))),
        lambda x, n: jvp(lambda x: loop(x, n), (x,), (x,))[1],
        vmap(grad(loop), (0, None)),
    ):
        with pytest.raises(UnsupportedError, match="give max_iter"):
            transformed(x, None)
        assert transformed(x, 2).shape == (1,)


# Transformations


def lanes(a: np.ndarray, steps: int = 100) -> tuple[np.ndarray, np.ndarray]:
    found = [root_in_numpy(x, steps) for x in a]
    return np.asarray([x for x, _ in found]), np.asarray([n for _, n in found])


@pytest.mark.parametrize("bound", [None, 3, 20, 50])
def test_vmap_takes_each_lane_as_if_alone(library: Library, bound: int | None) -> None:
    if library.lazy:
        bound = min(bound or 9, 9)  # as many as it takes, and fewer
    x, steps = vmap(lambda a: root(a, bound))(library.asarray(A))
    expected = lanes(A, 100 if bound is None else bound)
    library.assert_equal(x, expected[0], rtol=1e-15)
    np.testing.assert_array_equal(library.to_numpy(steps), expected[1])


def test_vmap_of_vmap(eager_library: Library) -> None:
    batch = np.stack([A, A[::-1] * 3])
    x, steps = vmap(vmap(root))(eager_library.asarray(batch))
    eager_library.assert_equal(x, np.stack([lanes(row)[0] for row in batch]), rtol=1e-15)
    np.testing.assert_array_equal(eager_library.to_numpy(steps), np.stack([lanes(row)[1] for row in batch]))


def test_vmap_of_a_trajectory(library: Library) -> None:
    x, _ = vmap(lambda a: root(a, (0, 2, 40)), out_axes=1)(library.asarray(A))
    library.assert_equal(x, np.stack([lanes(A, n)[0] for n in (0, 2, 40)]), rtol=1e-15)


def test_vmap_of_counts(eager_library: Library) -> None:
    found = vmap(lambda n: fori_loop(0, n, lambda i, x: 2 * x, 1))(eager_library.asarray([0, 5, 1]))
    np.testing.assert_array_equal(eager_library.to_numpy(found), [1, 32, 2])


@pytest.mark.parametrize("bound", [20, 50])
def test_derivatives_of_a_bounded_loop(library: Library, bound: int) -> None:
    f = lambda a: root(a, 9 if library.lazy else bound)[0]
    a = library.asarray(2.0)
    library.assert_equal(grad(f)(a), 0.5 / np.sqrt(2.0), rtol=1e-14)
    library.assert_equal(hessian(f)(a), -0.25 / 2.0**1.5, rtol=1e-13)
    # The lane that is the root from the beginning takes no step: its derivative is 1.
    expected = np.where(A == 1.0, 1.0, 0.5 / np.sqrt(A))
    batch = library.asarray(A)
    library.assert_equal(vmap(grad(f))(batch), expected, rtol=1e-13)
    library.assert_equal(grad(lambda a: total(vmap(f)(a)))(batch), expected, rtol=1e-13)


def test_forward_derivative_of_a_loop_without_bound(eager_library: Library) -> None:
    a = eager_library.asarray(2.0)
    eager_library.assert_equal(jvp(lambda a: root(a)[0], (a,), (a,))[1], np.sqrt(0.5), rtol=1e-14)
    found = vmap(lambda a: jvp(lambda a: root(a)[0], (a,), (a,))[1])(eager_library.asarray(A))
    eager_library.assert_equal(found, np.where(A == 1.0, 1.0, np.sqrt(A) / 2), rtol=1e-13)


def test_gradients_of_lanes_that_ended_stay_finite(library: Library) -> None:
    """A step from where a lane has ended would divide by zero."""

    def f(x: Any) -> Any:
        xp = xpand.array_namespace(x)
        return while_loop(lambda c: c[0] > 0.5, lambda c: (c[0] - 1.0, c[1] * xp.sqrt(c[0])), (x, x), max_iter=5)[1]

    x = np.asarray([1.0, 3.0])
    # x, and x sqrt(x) sqrt(x - 1) sqrt(x - 2), whose derivative is its own times that of its logarithm.
    expected = [1.5, np.sqrt(54.0) * (1.5 / 3 + 0.5 / 2 + 0.5 / 1)]
    library.assert_equal(vmap(grad(f))(library.asarray(x)), expected, rtol=1e-13)


def test_lanes_that_take_no_step_have_the_gradient_of_none(library: Library) -> None:
    """A step from where one begins would be undefined."""

    def f(x: Any) -> Any:
        return while_loop(lambda c: c > 0.5, lambda c: xpand.array_namespace(c).sqrt(c - 0.5), x, max_iter=2)

    x = np.asarray([0.75, 0.25])
    with np.errstate(invalid="ignore"):
        for gradient in (vmap(grad(f)), jit(vmap(grad(f)))):
            library.assert_equal(gradient(library.asarray(x)), [1.0, 1.0], rtol=1e-14)
            if library.id == "torch":  # which compiles it for 10 s
                break


def test_closures_are_differentiated(library: Library) -> None:
    def f(a: Any, x: Any) -> Any:
        return while_loop(lambda x: x < 90.0, lambda x: a * x, x, max_iter=40) + fori_loop(0, 40, lambda i, x: a + x, x)

    a, x = library.asarray(2.0), library.asarray(3.0)
    found = grad(f, (0, 1))(a, x)
    library.assert_equal(found[0], 5 * 2.0**4 * 3.0 + 40)
    library.assert_equal(found[1], 2.0**5 + 1)


def test_against_jax() -> None:
    """Long loops, compiled, differentiated and mapped, as those of JAX itself."""
    library = next(library for library in LIBRARIES if library.id == "jax")
    r, x = library.asarray(np.linspace(2.5, 3.9, 5)), library.asarray(0.3)
    ours = lambda r: logistic_map(r, x, 70)
    theirs = lambda r: jax.lax.fori_loop(0, 70, lambda i, x: r * x * (1 - x), x)
    for change in (jax.vmap, lambda f: jax.jit(jax.vmap(jax.grad(f)))):
        np.testing.assert_allclose(change(ours)(r), change(theirs)(r), rtol=1e-9)


def test_memory_grows_as_the_square_root_on_jax() -> None:
    x = jax.numpy.full((100,), 0.5)

    def saved(steps: int) -> int:
        f = lambda x: while_loop(
            lambda c: c[1] < 10**9, lambda c: (jax.numpy.sin(c[0]), c[1] + 1), (x, 0), max_iter=steps
        )[0]
        pull = jax.eval_shape(lambda x: jax.vjp(f, x)[1], x)
        return sum(leaf.size for leaf in jax.tree.leaves(pull))

    assert saved(1600) < 1600 * 100 / 15
    assert saved(6400) < 2.2 * saved(1600)


def test_memory_of_a_bounded_loop_grows_as_the_square_root_on_numpy() -> None:
    size = 10_000

    def peak(bound: int) -> float:
        """Return the most memory that is taken at a time, in states."""

        def f(x: Any) -> Any:
            step = lambda c: (NAMESPACE(x).sin(c[0]) * x, c[1] + 1)
            return total(while_loop(lambda c: c[1] < 10**9, step, (x, 0), max_iter=bound)[0])

        tracemalloc.start()
        try:
            grad(f)(np.full(size, 0.5))
            return tracemalloc.get_traced_memory()[1] / (8 * size)
        finally:
            tracemalloc.stop()

    short, middle, long = (peak(steps) for steps in (100, 400, 1600))
    # The carries of ten blocks, the steps of one of them, and their derivatives.
    assert short < 45
    assert middle < 2.2 * short
    assert long < 2.2 * middle


@pytest.mark.parametrize("kind", ["while", "fori"])
def test_memory_of_backward_grows_as_the_square_root_on_torch(kind: str) -> None:
    a = torch.tensor(1.001, dtype=torch.float64, requires_grad=True)
    x = torch.full((100,), 0.5, dtype=torch.float64)
    saved: list[int] = []

    def loop(steps: int) -> Any:
        if kind == "fori":
            return fori_loop(0, steps, lambda i, x: torch.sin(x * a), x)
        return while_loop(lambda c: c[1] < 10**9, lambda c: (torch.sin(c[0] * a), c[1] + 1), (x, 0), max_iter=steps)[0]

    def values_kept(steps: int) -> int:
        saved.clear()
        with torch.autograd.graph.saved_tensors_hooks(lambda x: saved.append(x.numel()) or x, lambda x: x):
            loop(steps)
        return sum(saved)

    # Blocks keep what they begin with in Python, not by hooks: at most 100 numbers each.
    assert values_kept(1600) <= 4 * 40 * 100
    loop(200).sum().backward()
    gradient, a.grad = a.grad, None
    wanted = x
    for _ in range(200):
        wanted = torch.sin(wanted * a)
    wanted.sum().backward()
    torch.testing.assert_close(gradient, a.grad, rtol=1e-12, atol=0.0)


def test_steps_stop_early_under_vmap(eager_library: Library) -> None:
    """A bound costs nothing where all lanes end: 10^6 steps would take minutes."""
    found = vmap(lambda x: while_loop(lambda x: x < 9.0, lambda x: x + 1.0, x, max_iter=10**6))(
        eager_library.asarray(A)
    )
    eager_library.assert_equal(found, [9.0, 9.0, 9.0, 9.25])


def test_compiled_on_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first loop of a process may be one that torch.compile traces."""
    monkeypatch.setattr(_trees, "_BOOL", {})
    torch.compiler.reset()
    compiled = torch.compile(
        lambda a: (root(a)[0], fori_loop(0, 20, lambda i, x: x + i, a)), fullgraph=True, backend="eager"
    )
    found = compiled(torch.tensor(2.0, dtype=torch.float64))
    np.testing.assert_allclose([float(x) for x in found], [np.sqrt(2.0), 192.0], rtol=1e-15)


def test_jit_of_every_loop_and_branch(library: Library) -> None:
    """With trees, and conditions of values."""

    def f(x: Any) -> Any:
        xp = xpand.array_namespace(x)
        start = {"x": x, "n": 0}
        doubled = while_loop(
            lambda c: xp.all(c["x"] < 9.0),
            lambda c: {"x": c["x"] * 2.0, "n": c["n"] + 1},
            start,
            max_iter=5 if library.lazy else None,
        )
        negative = cond(xp.sum(x) > 0, lambda x: {"b": -x["b"], "a": x["b"]}, lambda x: x, {"b": x, "a": x})
        chosen = switch(doubled["n"] - 2, [lambda x: x, lambda x: x * 3.0, lambda x: x * 5.0], x)
        return doubled, negative, chosen, fori_loop(0, 9, lambda i, x: x + 1.0, x), scan(lambda c, x: (c, x), 0.0, x)

    values = np.asarray([1.0, 2.0])
    doubled, negative, chosen, added, (last, ys) = jit(f)(library.asarray(values))
    library.assert_equal(doubled["x"], 8 * values)
    assert int(library.to_numpy(doubled["n"])) == 3
    library.assert_equal(negative["a"], values)
    library.assert_equal(negative["b"], -values)
    library.assert_equal(chosen, 3 * values)
    library.assert_equal(added, values + 9)
    library.assert_equal(last, 0.0)
    library.assert_equal(ys, values)


# Bad input


def test_bad_functions(library: Library) -> None:
    x = library.asarray([1.0, 2.0])
    with pytest.raises(TypeError, match="while_loop: cond_fun must be a function, got int"):
        while_loop(3, lambda x: x, x)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="while_loop: body_fun must be a function, got int"):
        while_loop(lambda x: True, 3, x)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="fori_loop: body_fun must be a function, got NoneType"):
        fori_loop(0, 3, None, x)  # type: ignore[arg-type]
    with pytest.raises(
        TypeError, match=r"cond_fun must return one bool, an array of shape \(\), got .* \(2,\); reduce it"
    ):
        while_loop(lambda x: x < 3.0, lambda x: x, x)
    with pytest.raises(TypeError, match="cond_fun must return one bool, .* got .*float64.*; compare it"):
        while_loop(lambda x: library.xp.sum(x), lambda x: x, x)
    with pytest.raises(TypeError, match="cond_fun must return one bool, True, False or an array"):
        while_loop(lambda x: 1, lambda x: x, x)


def test_bad_values(library: Library) -> None:
    x = library.asarray([1.0, 2.0])
    for loop in (
        lambda init: while_loop(lambda x: True, lambda x: x, init, max_iter=2),
        lambda init: fori_loop(0, 2, lambda i, x: x, init),
    ):
        with pytest.raises(TypeError, match="init_val holds str, which is neither an array nor a number"):
            loop((x, "text"))
        assert loop((None, [])) == (None, [])
        other = np.ones(1) if library.id != "numpy" else torch.ones(1)
        with pytest.raises(TypeError, match="takes arrays of one library"):
            loop((x, other))
    for bad in (2.0, "3", True):
        with pytest.raises(TypeError, match="max_iter must be an integer"):
            while_loop(lambda x: True, lambda x: x, x, max_iter=bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="max_iter must be at least 0, got -1"):
        while_loop(lambda x: True, lambda x: x, x, max_iter=(2, -1))
    with pytest.raises(ValueError, match="max_iter must be a number of steps or a sequence of numbers, got an empty"):
        while_loop(lambda x: True, lambda x: x, x, max_iter=())
    with pytest.raises(TypeError, match="fori_loop: upper must be an integer, got 2.5"):
        fori_loop(0, 2.5, lambda i, x: x, x)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"fori_loop: lower must be an integer, or an array of one, got .*float64"):
        fori_loop(library.asarray(1.0), 2, lambda i, x: x, x)


def test_values_that_change(library: Library) -> None:
    x, n = library.asarray([1.0, 2.0]), library.asarray(1)
    steps = {
        r"init_val\['x'\] was .*float64 of shape \(2,\) and body_fun made it .*\(1, 2\); reshape": lambda c: {
            "x": c["x"][None, ...],
            "n": c["n"],
        },
        r"init_val\['x'\] was .*float64 .* and body_fun made it .*float32 .*; convert": lambda c: {
            "x": library.xp.astype(c["x"], library.xp.float32),
            "n": c["n"],
        },
        "the carry must keep its structure: init_val has .* body_fun made it": lambda c: (c["x"], c["n"]),
        "body_fun returned str": lambda c: {"x": c["x"], "n": "text"},
    }
    for match, step in steps.items():
        with pytest.raises(TypeError, match=match):
            while_loop(lambda c: True, step, {"x": x, "n": n}, max_iter=2)
        with pytest.raises(TypeError, match=match):
            fori_loop(0, 2, lambda i, c, step=step: step(c), {"x": x, "n": n})


def test_two_devices_raise() -> None:
    strict = [library for library in EAGER_LIBRARIES if library.id.startswith("strict")]
    with pytest.raises(ValueError, match="fori_loop: takes arrays on one device"):
        fori_loop(0, 2, lambda i, c: c, tuple(library.asarray(1.0) for library in strict))


# The carry comes from outside; captured arrays, or the bounds, are traced by a transformation


def counted_beside(x: Any, zero: Any, one: Any) -> Any:
    return while_loop(lambda c: c[1] < 10.0, lambda c: (c[0] + 1, c[1] * 2.0), (zero, x))[1]


def up_to(x: Any, zero: Any, one: Any) -> Any:
    return while_loop(lambda c: NAMESPACE(c, x).less(c, x), lambda c: c + 1.0, zero)


def by_what_is_used(x: Any, zero: Any, one: Any) -> Any:
    return while_loop(lambda c: c < 10.0, lambda c: NAMESPACE(c, x).add(c, x), zero)


def bounded(x: Any, zero: Any, one: Any) -> Any:
    return while_loop(lambda c: c < 10.0, lambda c: NAMESPACE(c, x).add(c, x), zero, max_iter=20)


def trajectory(x: Any, zero: Any, one: Any) -> Any:
    found = while_loop(lambda c: c < 10.0, lambda c: NAMESPACE(c, x).add(c, x), zero, max_iter=(0, 3, 20))
    return NAMESPACE(found).sum(found)


def range_of(x: Any, zero: Any, one: Any) -> Any:
    xp = NAMESPACE(x)
    return fori_loop(0, xp.astype(x, xp.int64), lambda i, c: c * 2.0, one)


def over_rows(x: Any, zero: Any, one: Any) -> Any:
    xp = NAMESPACE(x)
    return scan(lambda c, row: (NAMESPACE(c, row).add(c, row), None), zero, xp.stack([x, x]))[0]


FROM_OUTSIDE = [counted_beside, up_to, by_what_is_used, bounded, trajectory, range_of, over_rows]


@pytest.mark.parametrize("function", FROM_OUTSIDE)
@pytest.mark.parametrize("library", [x for x in EAGER_LIBRARIES if x.id not in ("torch", "jax")], ids=str)
def test_what_is_carried_is_not_traced(library: Library, function: Any) -> None:
    lanes = np.asarray([1.5, 2.5])
    ours = lambda x: function(x, library.asarray(0.0), library.asarray(1.0))
    theirs = jax.jit(lambda x: jax.jvp(lambda x: function(x, jax.numpy.zeros(()), jax.numpy.ones(())), (x,), (x,)))
    values, along = (np.asarray(x) for x in jax.vmap(theirs)(lanes))
    xs = library.asarray(lanes)
    pushed = lambda x: jvp(ours, (x,), (x,))
    for transformed in (vmap(pushed), jit(vmap(pushed))):
        for found, expected in zip(transformed(xs), (values, along)):
            library.assert_equal(found, expected, rtol=1e-14)
    x = library.asarray(lanes[0])
    for transformed in (ours, jit(ours)):
        library.assert_equal(transformed(x), values[0], rtol=1e-14)
    for found, expected in zip(pushed(x), (values[0], along[0])):
        library.assert_equal(found, expected, rtol=1e-14)


@pytest.mark.parametrize("library", [x for x in EAGER_LIBRARIES if x.id != "torch"], ids=str)
def test_only_the_number_of_steps_is_traced(library: Library) -> None:
    """There is reverse mode without a bound: the derivative is zero."""
    slope = grad(lambda x: x * up_to(x, library.asarray(0.0), None))
    library.assert_equal(jit(slope)(library.asarray(2.5)), np.asarray(3.0))
    library.assert_equal(vmap(slope)(library.asarray([1.5, 2.5])), np.asarray([2.0, 3.0]))


def test_derivatives_cost_the_steps_taken() -> None:
    """A bound costs nothing where the number of steps isn't known when the derivative is taken."""
    steps = 0

    def sine(x: Any) -> Any:
        nonlocal steps
        steps += 1
        return np.sin(x)

    def f(x: Any, bound: int) -> Any:
        def grown(x: Any) -> Any:
            like = ShapeDtype(x.shape, x.dtype)
            return 1.5 * x + pure_callback(sine, like, stop_gradient(x), vmap_method="broadcast_all")

        return while_loop(lambda x: x < 40.0, grown, x, max_iter=bound)

    x = np.asarray([1.0, 2.0, 50.0, 30.0])

    def of_lanes(bound: int) -> Any:
        return lambda x: total(vmap(lambda x: f(x, bound))(x))

    for change, at in (
        (lambda bound: grad(lambda x: f(x, bound)), x[0]),
        (lambda bound: grad(of_lanes(bound)), x),
        (lambda bound: vmap(grad(lambda x: f(x, bound))), x),
        (lambda bound: jvp_of_grad(of_lanes(bound)), x),
    ):
        few, many = jit(change(40)), jit(change(10**5))
        np.testing.assert_array_equal(few(at), many(at))
        steps = 0
        few(at)
        with_tight_bound, steps = steps, 0
        many(at)
        assert 0 < steps == with_tight_bound


def jvp_of_grad(f: Any) -> Any:
    return lambda x: jvp(grad(f), (x,), (x,))[1]


@pytest.mark.parametrize("bound", [70, 5_000])
def test_derivatives_compiled_by_pytorch_cost_a_block_of_steps(bound: int) -> None:
    """Of the square root of the bound; the lanes of a map end where the slowest does."""
    steps = 0

    def sine(x: Any) -> Any:
        nonlocal steps
        steps += 1
        return np.sin(x)

    def f(x: Any) -> Any:
        def grown(x: Any) -> Any:
            known = pure_callback(sine, ShapeDtype(x.shape, x.dtype), x.detach(), vmap_method="broadcast_all")
            # Undefined from where a lane ends.
            return 1.5 * x + known * torch.sqrt(61.5 - x)

        return while_loop(lambda x: x < 40.0, grown, x, max_iter=bound)

    def alone(x: float) -> tuple[float, float]:
        slope = 1.0
        while x < 40.0:
            x, slope = (
                1.5 * x + np.sin(x) * np.sqrt(61.5 - x),
                slope * (1.5 - 0.5 * np.sin(x) / np.sqrt(61.5 - x)),
            )
        return x, slope

    xs = torch.tensor([1.0, 2.0, 50.0, 30.0], dtype=torch.float64)
    values, slopes = np.transpose([alone(x) for x in xs.tolist()])
    for change, at, expected in (
        (jit(value_and_grad(f)), xs[0], (values[0], slopes[0])),
        (jit(vmap(value_and_grad(f))), xs, (values, slopes)),
        (jit(grad(lambda xs: vmap(f)(xs).sum())), xs, (slopes,)),
    ):
        change(at)
        steps = 0
        found = change(at)
        for each, wanted in zip(found if isinstance(found, tuple) else (found,), expected, strict=True):
            np.testing.assert_allclose(each, wanted, rtol=1e-12)
        assert 0 < steps <= 8 * bound**0.5
