"""Functions computed again for their derivatives: the same values and derivatives, and less that is kept."""

import gc
import tracemalloc
from typing import Any

import numpy as np
import pytest

import xpand
from tests.libraries import LIBRARIES, Library
from tests.test_derivatives import NAMESPACE, total
from xpand import trees
from xpand_extensions.autodiff import (
    checkpoint,
    checkpoint_name,
    checkpoint_policies as policies,
    grad,
    hessian,
    jacfwd,
    jvp,
    vjp,
)
from xpand_extensions.jit import jit, make_graph
from xpand_extensions.tracing._simplify import without_unused
from xpand_extensions.vmap import vmap

X, Y = np.asarray([0.3, -0.7, 1.2]), np.asarray([1.5, 0.4, -0.2])


@pytest.fixture(params=LIBRARIES, ids=str)
def able(request: pytest.FixtureRequest) -> Library:
    return request.param


def loss(wrap: Any) -> Any:
    """A function of nested parts that use arrays from outside, one of them also given."""

    def f(x: Any, w: Any) -> Any:
        xp = NAMESPACE(x)
        inner = wrap(lambda x: xp.sin(x * w) * x)
        outer = wrap(lambda x, v: inner(x) * w + inner(v) * x)
        return total(wrap(lambda tree: {"y": tree["x"] ** 2.0})({"x": outer(x, w)})["y"])

    return f


NESTINGS = {
    "grad": lambda f: grad(f, (0, 1)),
    "hessian": lambda f: hessian(f, (0, 1)),
    "jacfwd-jacfwd": lambda f: jacfwd(jacfwd(f)),
    "grad-grad": lambda f: grad(lambda x, w: total(grad(f, 1)(x, w) ** 2.0), (0, 1)),
    "vmap-grad": lambda f: lambda x, w: vmap(grad(f, (0, 1)), (None, 0))(x, NAMESPACE(w).stack([w, 2.0 * w])),
    "grad-vmap": lambda f: grad(lambda x, w: total(vmap(f, (None, 0))(x, NAMESPACE(w).stack([w, 2.0 * w]))), (0, 1)),
    "jvp": lambda f: lambda x, w: jvp(f, (x, w), (w, x)),
}


@pytest.mark.parametrize("nesting", NESTINGS)
def test_nestings(able: Library, nesting: str) -> None:
    arrays = able.asarray(X), able.asarray(Y)
    expected = NESTINGS[nesting](loss(lambda f: f))(*arrays)
    found = NESTINGS[nesting](loss(checkpoint))(*arrays)
    for got, wanted in zip(trees.leaves(found), trees.leaves(expected)):
        able.assert_equal(got, able.to_numpy(wanted), rtol=1e-11, atol=1e-12)


POLICIES = {
    "everything": policies.everything_saveable,
    "nothing": policies.nothing_saveable,
    "dots": policies.dots_saveable,
    "dots without batches": policies.dots_with_no_batch_dims_saveable,
    "a name": policies.save_only_these_names("product", "other"),
    "other names": policies.save_any_names_but_these("product"),
    "all but a name": policies.save_anything_except_these_names("product"),
    "dots or a name": policies.save_from_both_policies(
        policies.dots_saveable, policies.save_only_these_names("exponential")
    ),
    "a function": lambda op, *avals, **params: op.name in ("exp", "checkpoint_name", "name"),
}


def layers(w: Any, x: Any) -> Any:
    """Two products of matrices, the second of a batch, and values with names."""
    xp = NAMESPACE(w, x)
    y = checkpoint_name(xp.exp(checkpoint_name(w @ x, "product")), "exponential")
    return total(xp.sin(xp.stack([w, w]) @ xp.stack([xp.sin(y), y])) ** 2.0)


MATRICES = np.asarray([[0.1, 0.2], [0.3, 0.4]]), np.asarray([[1.0, -0.5], [2.0, 0.5]])


@pytest.mark.parametrize("name", POLICIES)
def test_policies_change_no_values(able: Library, name: str) -> None:
    w, x = map(able.asarray, MATRICES)
    f = lambda w, x: checkpoint(layers, policy=POLICIES[name])(w, x)
    able.assert_equal(f(w, x), able.to_numpy(layers(w, x)), rtol=1e-14)
    nestings = {"jax": ("grad",), "dask": ("grad", "jvp", "vmap-grad", "grad-vmap")}
    for nesting in nestings.get(able.id, ("grad", "jvp", "hessian", "vmap-grad", "grad-vmap")):
        check_nesting(able, NESTINGS[nesting](f), NESTINGS[nesting](layers), (w, x))


@pytest.mark.parametrize("name", ["dots", "other names"])
@pytest.mark.parametrize("nesting", ["hessian", "vmap-grad", "jit-grad", "grad-jit"])
def test_policies_in_compiled_and_nested_derivatives(able: Library, name: str, nesting: str) -> None:
    f = lambda w, x: checkpoint(layers, policy=POLICIES[name])(w, x)
    compiled = {"jit-grad": lambda f: jit(grad(f)), "grad-jit": lambda f: grad(jit(f))}
    found = (compiled | NESTINGS)[nesting](f)
    check_nesting(able, found, NESTINGS.get(nesting, grad)(layers), tuple(map(able.asarray, MATRICES)))


def check_nesting(library: Library, f: Any, plain: Any, arrays: tuple[Any, ...]) -> None:
    for got, wanted in zip(trees.leaves(f(*arrays)), trees.leaves(plain(*arrays)), strict=True):
        library.assert_equal(got, library.to_numpy(wanted), rtol=1e-11, atol=1e-12)


def test_pytorch_saves_no_single_values() -> None:
    """All policies but one have the memory of none, and call the function again as often."""
    import torch

    w, x = (torch.asarray(each).requires_grad_() for each in MATRICES)
    for name, policy in POLICIES.items():
        calls: list[None] = []
        f = checkpoint(lambda w, x, calls=calls: (calls.append(None), layers(w, x))[1], policy=policy)
        f(w, x).backward()
        assert len(calls) == (1 if name == "everything" else 2), name


@pytest.mark.parametrize("name", POLICIES)
def test_traced_functions_save_no_single_values(name: str) -> None:
    """Find the values passed from the function to its derivative, and those that the latter recomputes."""
    graph = make_graph(grad(checkpoint(layers, policy=POLICIES[name])))(*MATRICES)
    found = [each for each in graph.equations if each.op.name == "checkpoint"]
    if name == "everything":
        assert not found
        return
    first, second = found
    assert len(first.outputs) == 1
    ops = [each.op.name for each in without_unused(second.params["body"].graph).equations]
    assert (ops.count("matmul"), ops.count("exp")) == (3 + 2, 1)
    graph.check()


def test_names_are_known_where_values_are_not(able: Library) -> None:
    x = able.asarray(X)
    f = lambda x: checkpoint_name({"x": NAMESPACE(x).sin(x), "n": "text"}, "sine")["x"]
    able.assert_equal(f(x), np.sin(X), rtol=1e-15)
    able.assert_equal(vmap(f)(x), np.sin(X), rtol=1e-15)
    able.assert_equal(grad(lambda x: total(f(x)))(x), np.cos(X), rtol=1e-15)
    able.assert_equal(jvp(f, (x,), (x,))[1], np.cos(X) * X, rtol=1e-15)


def test_memory_of_another_kind_is_jaxs_own(able: Library) -> None:
    if able.id == "jax":
        pytest.skip("JAX has kinds of memory")
    x = able.asarray(X)
    for policy in (
        policies.offload_dot_with_no_batch_dims("device", "pinned_host"),
        policies.save_and_offload_only_these_names(
            names_which_can_be_saved=["a"],
            names_which_can_be_offloaded=["b"],
            offload_src="device",
            offload_dst="pinned_host",
        ),
    ):
        with pytest.raises(xpand.UnsupportedError, match="only JAX has several kinds of memory"):
            checkpoint(lambda x: x, policy=policy)(x)


def test_static_arguments(able: Library) -> None:
    def power(kind: str, x: Any, n: int, *, y: Any = 1.0) -> Any:
        return x**n * y if kind == "power" else -x

    x = able.asarray(X)
    for places in ((0, 2), [-1, 0]):
        f = checkpoint(power, static_argnums=places)
        able.assert_equal(f("power", x, 3), X**3, rtol=1e-15)
        able.assert_equal(grad(lambda x, f=f: total(f("power", x, 3, y=2.0)))(x), 6.0 * X**2, rtol=1e-14)
        able.assert_equal(grad(lambda x, f=f: total(f("other", x, 3)))(x), np.full(3, -1.0))
    with pytest.raises(ValueError, match="checkpoint: static_argnums names argument 5, .* called with 3 positional"):
        checkpoint(power, static_argnums=5)("power", x, 3)
    with pytest.raises(TypeError, match="checkpoint: static_argnums must be an integer"):
        checkpoint(power, static_argnums="n")  # type: ignore[arg-type]


def test_derivatives_within(able: Library) -> None:
    """The recomputed function may itself differentiate, even if nothing differentiates it."""
    x = able.asarray(X)
    plain = lambda x: grad(lambda y: total(NAMESPACE(y).sin(y) * y * x))(x)
    again = checkpoint(plain)
    able.assert_equal(again(x), able.to_numpy(plain(x)))
    squared = lambda f: lambda x: total(f(x) * f(x))
    able.assert_equal(grad(squared(again))(x), able.to_numpy(grad(squared(plain))(x)), rtol=1e-12)
    able.assert_equal(checkpoint(lambda x: again(x) * x)(x), able.to_numpy(plain(x)) * X)


def test_values_integers_and_keywords(able: Library) -> None:
    f = checkpoint(
        lambda x, *, n: {"x": x * NAMESPACE(x).astype(n, NAMESPACE(x).float64), "n": n + 1}, prevent_cse=False
    )
    x, n = able.asarray(X), able.asarray(np.asarray([1, 2, 3]))
    able.assert_equal(f(x, n=n)["n"], np.asarray([2, 3, 4]))
    able.assert_equal(grad(lambda x: total(f(x, n=n)["x"]))(x), np.asarray([1.0, 2.0, 3.0]))


def test_complex_numbers(able: Library) -> None:
    z = able.asarray(X + 1j * Y)
    f = lambda wrap: lambda z: total(NAMESPACE(z).real(wrap(lambda z: z * NAMESPACE(z).exp(z))(z)))
    able.assert_equal(grad(f(checkpoint))(z), able.to_numpy(grad(f(lambda g: g))(z)), rtol=1e-13)


def test_less_is_kept(eager_library: Library) -> None:
    assert count_saved(eager_library, checkpoint) <= 2 < 9 <= count_saved(eager_library, lambda f: f)
    nested = lambda f: checkpoint(lambda x: checkpoint(f)(NAMESPACE(x).sin(x)))
    assert count_saved(eager_library, nested) <= 2


def storages() -> set[int]:
    """Return where the memory of all of PyTorch's arrays of 1,000 numbers is."""
    import torch

    return {x.data_ptr() for x in gc.get_objects() if type(x) is torch.Tensor and x.numel() == 1000}


def count_saved(library: Library, wrap: Any) -> int:
    """Count the values of the steps of a function that are alive while its pullback is."""

    def chain(x: Any) -> Any:
        for _ in range(10):
            x = NAMESPACE(x).sin(x)
        return x

    x = library.asarray(np.ones(1000))
    if library.id == "jax":  # its tracers are not what is kept
        import jax

        return len(jax.tree.leaves(jax.vjp(wrap(chain), x)[1]))
    vjp(wrap(chain), x)  # what is made once, is made
    tracemalloc.start()
    before = storages()
    try:
        _, pullback = vjp(wrap(chain), x)
        gc.collect()
        # Python does not see the memory of PyTorch's arrays.
        is_torch = library.id.startswith("torch")
        count = len(storages() - before) if is_torch else tracemalloc.get_traced_memory()[0] // 8000
    finally:
        tracemalloc.stop()
    assert pullback(x)[0].shape == (1000,)
    return count


def test_what_is_first_compiled_inside() -> None:
    """PyTorch counts what is saved for derivatives, not what is so while it compiles."""
    import torch

    x = torch.tensor(0.6, dtype=torch.float64, requires_grad=True)
    compiled = jit(lambda x: x.sin() * x)
    checkpoint(lambda x: compiled(x))(x).backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad, x.cos() * x + x.sin())


def test_pytorchs_own_derivatives_and_compiler() -> None:
    import torch

    def f(wrap: Any) -> Any:
        return lambda x, w: wrap(lambda x: torch.sin(x * w) * x)(x).sum()

    x, w = (torch.asarray(each).requires_grad_() for each in (X, Y))
    expected = grad(f(lambda g: g), (0, 1))(x.detach(), w.detach())
    torch.compiler.reset()
    for call in (f(checkpoint), torch.compile(f(checkpoint), backend="eager", fullgraph=True)):
        for found, wanted in zip(torch.autograd.grad(call(x, w), (x, w)), expected):
            torch.testing.assert_close(found, wanted)


def test_bad_input(able: Library) -> None:
    with pytest.raises(TypeError, match="checkpoint: takes a function, got int"):
        checkpoint(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="checkpoint: policy must be one of `checkpoint_policies`.*got str"):
        checkpoint(lambda x: x, policy="dots_saveable")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="checkpoint_name: name must be a string, got int"):
        checkpoint_name(1.0, 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="save_only_these_names: names must be strings"):
        policies.save_only_these_names(["h"])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="save_from_both_policies: takes two policies, got str"):
        policies.save_from_both_policies("h", policies.dots_saveable)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="checkpoint: the arguments hold str"):
        checkpoint(lambda x: x)("text")

    def fails(x: Any) -> Any:
        raise ZeroDivisionError

    x = able.asarray(X)
    for _ in range(20):
        with pytest.raises(ZeroDivisionError):
            grad(checkpoint(fails))(x)
    able.assert_equal(grad(checkpoint(lambda x: total(x * x)))(x), 2 * X)
