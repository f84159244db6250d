"""The interface for other packages: operations with their own rules, on every library, and what the core offers."""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import xpand
from tests.libraries import Library
from xpand import array_namespace
from xpand_extensions import _dispatch, named
from xpand_extensions._at import GenericAt
from xpand_extensions.autodiff import grad, hessian, jacrev, jvp, vjp
from xpand_extensions.extend import (
    LINEAR,
    contribution,
    factor,
    joint,
    pluggable,
    pullback,
    register_rules,
    row_kernels,
    scale,
)
from xpand_extensions.jit import jit, make_graph
from xpand_extensions.vmap import vmap

CALLS: list[str] = []
"""The rules that were called, in order."""


class Polar(NamedTuple):
    """A radius and an angle."""

    radius: Any
    angle: Any


class Toy(NamedTuple):
    """Operations of another package, with rules."""

    soft_maximum: Callable[..., Any]
    weighted: Callable[..., Any]
    polar: Callable[..., Any]
    halves: Callable[..., Any]
    bounded: Callable[..., Any]
    summed: Callable[..., Any]


def _forget(before: set[str]) -> None:
    """Forget the operations that tests have defined since; xpand's own stay, whenever they were imported."""
    for path, operation in list(_dispatch.OPERATIONS.items()):
        if path not in before and operation.package != "xpand_extensions":
            del _dispatch.OPERATIONS[path]


@pytest.fixture(scope="module")
def toy() -> Iterator[Toy]:
    """Define the operations, and forget them afterwards."""
    before = set(_dispatch.OPERATIONS)
    yield _toy()
    _forget(before)


@pytest.fixture(autouse=True)
def _own_operations() -> Iterator[None]:
    before = set(_dispatch.OPERATIONS)
    CALLS.clear()
    yield
    _forget(before)


def _toy() -> Toy:
    @pluggable
    def soft_maximum(x, y, /, *, temperature=1.0):
        """A smooth maximum of two arrays, element by element."""
        return soft_maximum.native(x, y)(x, y, temperature=temperature)

    @soft_maximum.default
    def _(x, y, /, *, temperature=1.0):
        xp = array_namespace(x, y)
        return temperature * xp.logaddexp(x / temperature, y / temperature)

    @soft_maximum.register("numpy")
    def _(x, y, /, *, temperature=1.0):
        CALLS.append("numpy's own")
        return temperature * np.logaddexp(x / temperature, y / temperature)

    def slope(xp, out, x, y, temperature):
        CALLS.append("factor")
        return 1 / (1 + xp.exp((y - x) / temperature))

    def along_y(xp, t, out, x, y, temperature):
        CALLS.append("contribution")
        return t / (1 + xp.exp((x - y) / temperature))

    def together(xp, mapped, x, y, temperature):
        CALLS.append("batching")
        assert set(mapped) == {"x", "y"}
        size = x.shape[0] if mapped["x"] else y.shape[0]
        x, y = [z if has else xp.broadcast_to(z, (size, *z.shape)) for z, has in ((x, mapped["x"]), (y, mapped["y"]))]
        return soft_maximum(x, y, temperature=temperature)

    derivative = {"x": factor(slope), "y": contribution(along_y)}
    register_rules(soft_maximum, derivative=derivative, batching=together)

    @pluggable
    def weighted(x, weights, /):
        """The sum of the products along the last axis."""
        return weighted.native(x, weights)(x, weights)

    @weighted.default
    def _(x, weights, /):
        return array_namespace(x, weights).sum(x * weights, axis=-1)

    register_rules(weighted, derivative={"x": LINEAR, "weights": LINEAR})

    @pluggable
    def polar(x, y, /) -> Polar:
        """The polar coordinates of points."""
        return polar.native(x, y)(x, y)

    @polar.default
    def _(x, y, /):
        xp = array_namespace(x, y)
        return Polar(xp.hypot(x, y), xp.atan2(y, x))

    def of_polar(xp, tangents, out, x, y):
        CALLS.append("joint")
        dx, dy = [xp.zeros_like(x) if t is None else t for t in (tangents["x"], tangents["y"])]
        r = out.radius
        return (x * dx + y * dy) / r, (x * dy - y * dx) / r**2

    register_rules(polar, derivative=joint(of_polar))

    @pluggable
    def halves(x, /):  # without an annotation that says that there are two results
        """Both halves of an array along its first axis."""
        return halves.native(x)(x)

    @halves.default
    def _(x, /):
        return x[: x.shape[0] // 2], x[x.shape[0] // 2 :]

    def of_halves(xp, tangents, out, x):
        CALLS.append("halves")
        t = tangents["x"]
        return t[: x.shape[0] // 2], t[x.shape[0] // 2 :]

    register_rules(halves, derivative=joint(of_halves))

    @pluggable
    def bounded(x, low, /, high=1.0):
        """The array itself, whose cotangents are clipped to bounds."""
        return bounded.native(x)(x, low, high)

    @bounded.default
    def _(x, low, /, high=1.0):
        return array_namespace(x).asarray(x, copy=True)

    def clipped(xp, cotangent, out, x, low, high=1.0):
        CALLS.append("pullback")
        return {"x": xp.clip(cotangent, low, high)}

    register_rules(bounded, derivative=pullback(clipped))

    @pluggable
    def summed(arrays, /):
        """The sum of the squares of several arrays."""
        return summed.native(*arrays)(arrays)

    @summed.default
    def _(arrays, /):
        return sum([x * x for x in arrays[1:]], arrays[0] * arrays[0])

    def of_summed(xp, tangents, out, arrays):
        CALLS.append("summed")
        terms = [2 * x * t for x, t in zip(arrays, tangents["arrays"]) if t is not None]
        return sum(terms[1:], terms[0])

    register_rules(summed, derivative=joint(of_summed))
    return Toy(soft_maximum, weighted, polar, halves, bounded, summed)


X, Y = np.asarray([0.3, 1.0, -2.0]), np.asarray([1.0, 0.5, -1.0])
T = 0.7


def _value(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return T * np.logaddexp(x / T, y / T)


def _share(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp((y - x) / T))


def _arrays(library: Library, *values: Any) -> list[Any]:
    return [library.asarray(x) for x in values]


def _total(x: Any) -> Any:
    return array_namespace(x).sum(x)


TOLERANCE = {"rtol": 1e-12, "atol": 1e-14}


# One operation with a derivative and a batching rule, under every transformation


def test_values(library: Library, toy: Toy) -> None:
    x, y = _arrays(library, X, Y)
    library.assert_equal(toy.soft_maximum(x, y, temperature=T), _value(X, Y), **TOLERANCE)
    assert (["numpy's own"] if library.id == "numpy" else []) == CALLS


def test_jvp(library: Library, toy: Toy) -> None:
    x, y, dx, dy = _arrays(library, X, Y, Y, X)
    out, tangent = jvp(lambda x, y: toy.soft_maximum(x, y, temperature=T), (x, y), (dx, dy))
    library.assert_equal(out, _value(X, Y), **TOLERANCE)
    library.assert_equal(tangent, _share(X, Y) * Y + _share(Y, X) * X, **TOLERANCE)
    assert {"factor", "contribution"} <= set(CALLS)


def test_vjp(library: Library, toy: Toy) -> None:
    x, y, ct = _arrays(library, X, Y, Y)
    out, pull = vjp(lambda x, y: toy.soft_maximum(x, y, temperature=T), x, y)
    library.assert_equal(out, _value(X, Y), **TOLERANCE)
    back = pull(ct)
    library.assert_equal(back[0], _share(X, Y) * Y, **TOLERANCE)
    library.assert_equal(back[1], _share(Y, X) * Y, **TOLERANCE)
    assert {"factor", "contribution"} <= set(CALLS)


def test_only_rules_of_what_is_differentiated(library: Library, toy: Toy) -> None:
    x, y = _arrays(library, X, Y)
    found = grad(lambda y: _total(toy.soft_maximum(x, y, temperature=T)))(y)
    library.assert_equal(found, _share(Y, X), **TOLERANCE)
    assert "factor" not in CALLS


def test_second_derivative(library: Library, toy: Toy) -> None:
    x, y = _arrays(library, X, Y)
    found = hessian(lambda x: _total(toy.soft_maximum(x, y, temperature=T)))(x)
    share = _share(X, Y)
    library.assert_equal(found, np.diag(share * (1 - share) / T), **TOLERANCE)
    assert "factor" in CALLS


def test_vmap(library: Library, toy: Toy) -> None:
    xs, y = _arrays(library, np.stack([X, Y, X + Y, X]), Y)
    found = vmap(lambda x: toy.soft_maximum(x, y, temperature=T))(xs)
    library.assert_equal(found, _value(np.stack([X, Y, X + Y, X]), Y), **TOLERANCE)
    assert "batching" in CALLS


def test_vmap_of_grad(library: Library, toy: Toy) -> None:
    xs, y = _arrays(library, np.stack([X, Y, X + Y, X]), Y)
    found = vmap(grad(lambda x: _total(toy.soft_maximum(x, y, temperature=T))))(xs)
    library.assert_equal(found, _share(np.stack([X, Y, X + Y, X]), Y), **TOLERANCE)
    assert {"batching", "factor"} <= set(CALLS)


def test_grad_of_vmap(library: Library, toy: Toy) -> None:
    xs, y = _arrays(library, np.stack([X, Y]), Y)
    mapped = vmap(lambda x, y: toy.soft_maximum(x, y, temperature=T), in_axes=(0, None))
    found = grad(lambda y: _total(mapped(xs, y)))(y)
    library.assert_equal(found, _share(Y, X) + 0.5, **TOLERANCE)
    assert {"batching", "contribution"} <= set(CALLS)


def test_jit(library: Library, toy: Toy) -> None:
    x, y = _arrays(library, X, Y)
    function = jit(lambda x, y: toy.soft_maximum(x, y, temperature=T))
    for _ in range(2):
        library.assert_equal(function(x, y), _value(X, Y), **TOLERANCE)
    assert ("numpy's own" in CALLS) == (library.id == "numpy")


def test_jit_of_grad(library: Library, toy: Toy) -> None:
    x, y = _arrays(library, X, Y)
    function = jit(grad(lambda x, y: _total(toy.soft_maximum(x, y, temperature=T))))
    library.assert_equal(function(x, y), _share(X, Y), **TOLERANCE)
    assert "factor" in CALLS
    count = len([name for name in CALLS if name == "factor"])
    library.assert_equal(function(y, x), _share(Y, X), **TOLERANCE)
    assert len([name for name in CALLS if name == "factor"]) == count, "the rule is part of the compiled program"


def test_it_is_one_operation_of_a_graph(toy: Toy) -> None:
    graph = make_graph(lambda x: toy.soft_maximum(x, x, temperature=T))(X)
    assert [equation.op.name.rpartition(".")[2] for equation in graph.equations] == ["soft_maximum"]


# Other kinds of rules


def test_linear_in_each_argument(library: Library, toy: Toy) -> None:
    x, w = _arrays(library, np.stack([X, Y]), Y)
    library.assert_equal(grad(lambda x: _total(toy.weighted(x, w)))(x), np.stack([Y, Y]), **TOLERANCE)
    library.assert_equal(grad(lambda w: _total(toy.weighted(x, w)))(w), X + Y, **TOLERANCE)
    library.assert_equal(jvp(toy.weighted, (x, w), (x, w))[1], 2 * np.stack([X @ Y, Y @ Y]), **TOLERANCE)
    found = vmap(grad(toy.weighted), in_axes=(0, None))(x, w)
    library.assert_equal(found, np.stack([Y, Y]), **TOLERANCE)


def test_several_results(library: Library, toy: Toy) -> None:
    x, y = _arrays(library, X, Y)
    out, tangent = jvp(toy.polar, (x, y), (x, y))
    assert type(out).__name__ == type(tangent).__name__ == "Polar"
    library.assert_equal(tangent.radius, np.hypot(X, Y), **TOLERANCE)
    library.assert_equal(tangent.angle, np.zeros(3), **TOLERANCE)
    assert "joint" in CALLS
    library.assert_equal(grad(lambda x: _total(toy.polar(x, y).radius))(x), X / np.hypot(X, Y), **TOLERANCE)
    library.assert_equal(grad(lambda x: _total(toy.polar(x, y)[1]))(x), -Y / (X**2 + Y**2), **TOLERANCE)
    library.assert_equal(vmap(toy.polar)(x, y).angle, np.arctan2(Y, X), **TOLERANCE)


def test_several_results_without_an_annotation(library: Library, toy: Toy) -> None:
    (x,) = _arrays(library, np.asarray([1.0, 2.0, 3.0, 4.0]))
    (_, second), (_, tangent) = jvp(toy.halves, (x,), (2 * x,))
    library.assert_equal(second, [3.0, 4.0])
    library.assert_equal(tangent, [6.0, 8.0])
    library.assert_equal(grad(lambda x: _total(toy.halves(x)[0] * toy.halves(x)[1]))(x), [3.0, 4.0, 1.0, 2.0])
    assert "halves" in CALLS


def test_pullback(library: Library, toy: Toy) -> None:
    (x,) = _arrays(library, X)
    library.assert_equal(toy.bounded(x, -1.0), X)
    gradient = grad(lambda x: _total(10.0 * toy.bounded(x, -1.0, 2.0)))
    library.assert_equal(gradient(x), [2.0, 2.0, 2.0])
    library.assert_equal(grad(lambda x: -10.0 * _total(toy.bounded(x, -1.0)))(x), [-1.0, -1.0, -1.0])
    library.assert_equal(vmap(grad(lambda x: 10.0 * toy.bounded(x, -1.0)))(x), [1.0, 1.0, 1.0])
    assert "pullback" in CALLS


def test_pullback_of_a_compiled_function(library: Library, toy: Toy) -> None:
    (x,) = _arrays(library, X)
    gradient = jit(grad(lambda x: _total(10.0 * toy.bounded(x, -1.0, 2.0))))
    library.assert_equal(gradient(x), [2.0, 2.0, 2.0])


def test_pullback_has_no_forward_mode(library: Library, toy: Toy) -> None:
    (x,) = _arrays(library, X)
    with pytest.raises(TypeError, match="custom_vjp"):
        jvp(lambda x: toy.bounded(x, -1.0), (x,), (x,))


def test_a_sequence_of_arrays(library: Library, toy: Toy) -> None:
    x, y = _arrays(library, X, Y)
    library.assert_equal(grad(lambda x: _total(toy.summed([x, y, x])))(x), 4 * X)
    library.assert_equal(jvp(lambda *a: toy.summed(list(a)), (x, y), (y, x))[1], 4 * X * Y)
    assert "summed" in CALLS


def test_an_empty_derivative_is_zero(library: Library) -> None:
    @pluggable
    def sign(x, /):
        """The sign."""
        return sign.native(x)(x)

    sign.default(lambda x: array_namespace(x).sign(x) * x**0)
    register_rules(sign, derivative={})
    (x,) = _arrays(library, X)
    library.assert_equal(grad(lambda x: _total(sign(x) * x))(x), np.sign(X))


def test_batching_alone(library: Library) -> None:
    @pluggable
    def centred(x, /):
        """The array without its mean."""
        return centred.native(x)(x)

    centred.default(lambda x: x - array_namespace(x).mean(x))

    def together(xp, mapped, x):
        CALLS.append("batching")
        return x - xp.mean(x, axis=tuple(range(1, x.ndim)), keepdims=True)

    register_rules(centred, batching=together)
    (xs,) = _arrays(library, np.stack([X, Y]))
    library.assert_equal(vmap(centred)(xs), np.stack([X - X.mean(), Y - Y.mean()]), **TOLERANCE)
    assert CALLS == ["batching"]


@pytest.fixture(scope="module")
def with_axes() -> Iterator[dict[str, Callable[..., Any]]]:
    """Define operations with axis signatures; their implementations note the shapes that they get."""
    before = set(_dispatch.OPERATIONS)

    @pluggable
    def weighted_mean(x, w, /, *, power=1):
        """The mean of the powers along the last axis, with weights for its positions."""
        return weighted_mean.native(x, w)(x, w, power=power)

    @weighted_mean.default
    def _(x, w, /, *, power=1):
        CALLS.append(f"weighted_mean {tuple(x.shape)} {tuple(w.shape)}")
        xp = array_namespace(x, w)
        return xp.sum(x**power * w, axis=-1) / xp.sum(w, axis=-1)

    @pluggable
    def ranged(x, /, *, axis=-1):
        """The largest minus the smallest value along an axis."""
        return ranged.native(x)(x, axis=axis)

    @ranged.default
    def _(x, /, *, axis=-1):
        CALLS.append(f"ranged {tuple(x.shape)}")
        xp = array_namespace(x)
        return xp.max(x, axis=axis) - xp.min(x, axis=axis)

    @pluggable
    def spread(x, /, *, count):
        """The powers of every element, the first `count`."""
        return spread.native(x)(x, count=count)

    @spread.default
    def _(x, /, *, count):
        xp = array_namespace(x)
        return xp.stack([x**i for i in range(count)], axis=-1)

    register_rules(weighted_mean, axes="...i,...i->...")
    register_rules(ranged, axes="...(axis=-1)->...")
    register_rules(spread, axes="...->...{count}")
    yield {"weighted_mean": weighted_mean, "ranged": ranged, "spread": spread}
    _forget(before)


XS = np.stack([X, Y, X - Y])


def test_batching_by_axes(library: Library, with_axes: dict[str, Callable[..., Any]]) -> None:
    weighted_mean, w = with_axes["weighted_mean"], np.asarray([1.0, 2.0, 4.0])
    xs, weights = _arrays(library, XS, w)
    mapped = vmap(lambda x, w: weighted_mean(x, w, power=2), in_axes=(0, None))
    library.assert_equal(mapped(xs, weights), (XS**2 @ w) / 7.0, **TOLERANCE)
    by_rule = library.id not in ("torch", "jax")  # which map the implementation themselves
    assert CALLS[-1] == "weighted_mean (3, 3) (3,)" or not by_rule, "one call does all batch elements"
    ranges = np.max(XS, axis=0) - np.min(XS, axis=0)
    for axis in (0, -1):
        of_columns = vmap(lambda x, axis=axis: with_axes["ranged"](x, axis=axis), in_axes=1)
        library.assert_equal(of_columns(xs), ranges, **TOLERANCE)
        assert CALLS[-1] == "ranged (3, 3)" or not by_rule
    library.assert_equal(vmap(lambda x: with_axes["spread"](x, count=2))(xs), np.stack([XS**0, XS], -1), **TOLERANCE)


def test_maps_in_maps_and_derivatives_by_axes(library: Library, with_axes: dict[str, Callable[..., Any]]) -> None:
    weighted_mean, w = with_axes["weighted_mean"], np.asarray([1.0, 2.0, 4.0])
    xs, weights = _arrays(library, XS, w)
    pairs = vmap(vmap(weighted_mean, in_axes=(0, None)), in_axes=(None, 0))(xs, library.asarray(np.stack([w, w + 1])))
    library.assert_equal(pairs, np.stack([XS @ w / 7.0, XS @ (w + 1) / 10.0]), **TOLERANCE)
    slopes = vmap(grad(lambda x: weighted_mean(x, weights)))(xs)
    library.assert_equal(slopes, np.broadcast_to(w / 7.0, XS.shape), **TOLERANCE)


def test_shapes_by_axes_without_a_default() -> None:
    before = set(_dispatch.OPERATIONS)

    @pluggable
    def total(x, /, *, axis=-1):
        """The sum along an axis, on NumPy alone."""
        return total.native(x)(x, axis=axis)

    total.register("numpy")(lambda x, /, *, axis=-1: np.sum(x, axis=axis))
    register_rules(total, axes="...(axis=-1)->...")
    np.testing.assert_allclose(jit(lambda x: total(x, axis=0) * 2.0)(XS), 2.0 * XS.sum(axis=0))
    np.testing.assert_allclose(vmap(total)(XS), XS.sum(axis=1))
    _forget(before)


def test_names_by_axes(library: Library, with_axes: dict[str, Callable[..., Any]]) -> None:
    xs, weights = _arrays(library, XS, np.asarray([1.0, 2.0, 4.0]))
    x, w = named.named(xs, ("time", "place")), named.named(weights, ("time",))
    found = named.by_name(with_axes["weighted_mean"], "time")(x, w)
    assert found.names == ("place",)
    library.assert_equal(found.array, np.asarray([1.0, 2.0, 4.0]) @ XS / 7.0, **TOLERANCE)
    assert named.by_name(with_axes["ranged"], "time")(x).names == ("place",)


def test_an_argument_without_axes_is_not_mapped() -> None:
    before = set(_dispatch.OPERATIONS)

    @pluggable
    def shifted(x, by, /):
        """The array plus another."""
        return shifted.native(x, by)(x, by)

    shifted.default(lambda x, by: x + by)
    register_rules(shifted, axes="...i->...i")
    with pytest.raises(ValueError, match=r"shifted: by has a batch axis, but no axes in the signature '...i->...i'"):
        vmap(shifted)(XS, XS)
    _forget(before)


def test_rules_given_later_are_used(library: Library) -> None:
    @pluggable
    def cubed(x, /):
        """The cube."""
        return cubed.native(x)(x)

    cubed.default(lambda x: x**3)
    (x,) = _arrays(library, X)
    gradient = grad(lambda x: _total(cubed(x)))
    library.assert_equal(gradient(x), 3 * X**2, **TOLERANCE)
    register_rules(cubed, derivative={"x": scale(lambda xp, out, x: xp.zeros_like(x) + 7.0)})  # not the right one
    library.assert_equal(gradient(x), [7.0, 7.0, 7.0])


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # PyTorch's own, as it compiles
def test_it_is_compiled_by_torch() -> None:
    import torch

    @pluggable
    def cubed(x, /):
        """The cube."""
        return cubed.native(x)(x)

    cubed.default(lambda x: x**3)
    register_rules(
        cubed,
        derivative={"x": factor(lambda xp, out, x: 7 * xp.ones_like(x))},  # not the right one
        batching=lambda xp, mapped, x: x**3,
    )
    torch.compiler.reset()
    x = torch.asarray(X, requires_grad=True)
    compiled = torch.compile(cubed, fullgraph=True, backend="eager")
    np.testing.assert_allclose(compiled(x.detach()).numpy(), X**3, rtol=1e-12)
    _total(compiled(x)).backward()
    np.testing.assert_allclose(x.grad.numpy(), [7.0, 7.0, 7.0])


def test_gradients_of_torch_itself(toy: Toy) -> None:
    import torch

    x = torch.asarray(X).requires_grad_(True)
    _total(toy.soft_maximum(x, torch.asarray(Y), temperature=T)).backward()
    np.testing.assert_allclose(x.grad.numpy(), _share(X, Y), rtol=1e-12)
    assert "factor" in CALLS


# Errors


def _double(name: str = "double") -> Any:
    def double(x, y=None, /):
        """Twice."""
        return double.native(x)(x) if y is None else double.native(x, y)(x, y)

    double.__name__ = name
    double = pluggable(double)
    double.default(lambda x, y=None: x + x)
    return double


@pytest.mark.parametrize(
    ("rules", "error", "message"),
    [
        ({}, ValueError, "register_rules: double needs a derivative, a batching rule or axes, got none of them"),
        ({"axes": 3}, TypeError, "register_rules: axes of double must be text such as '...i->...', got"),
        ({"axes": "...->...", "batching": len}, ValueError, "double got both batching and axes"),
        ({"axes": "...i"}, ValueError, "axis signature '...i': it must have one '->'"),
        ({"axes": "i->"}, ValueError, "each array must begin with '...'"),
        ({"axes": "*...->..."}, ValueError, "none may be repeated"),
        ({"axes": "...,...,...->..."}, ValueError, "it has 3 arrays, but the operation has"),
        ({"axes": "...->...k"}, ValueError, "an axis that only a result has must get its size"),
        ({"axes": "...(axis)->..."}, ValueError, "axis is no argument; the arguments are x"),
        ({"axes": "z:...->..."}, ValueError, "z is no argument; the arguments are x"),
        ({"derivative": {"z": LINEAR}}, ValueError, "double has 'z', which is not an argument; its arguments are x, y"),
        ({"derivative": {"x": 1.5}}, TypeError, "double in x must be None, an integer, `LINEAR`.*got float"),
        ({"derivative": {"x": True}}, TypeError, "double in x must be .* got bool"),
        ({"derivative": {"x": lambda xp, out, x: x}}, TypeError, "double in x must be .* got function"),
        ({"derivative": {"x": factor(2.0)}}, TypeError, "double in x: `factor` takes a function, got float"),
        ({"derivative": joint(None)}, TypeError, "double: `joint` takes a function, got NoneType"),
        ({"derivative": [LINEAR]}, TypeError, "double must be a dictionary by the names of arguments.*got list"),
        ({"derivative": {"x": joint(len)}}, TypeError, "double in x must be .* got .*joint"),
        ({"batching": 3}, TypeError, "batching of double must be a function, got int"),
    ],
)
def test_bad_rules(rules: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        register_rules(_double(), **rules)


def test_rules_are_given_once() -> None:
    double = _double()
    register_rules(double, derivative={"x": 2})
    with pytest.raises(ValueError, match="register_rules: double already has rules"):
        register_rules(double, derivative={"x": 2})


@pytest.mark.parametrize("operation", [math.sin, "double", None, _double])
def test_rules_are_for_operations(operation: Any) -> None:
    with pytest.raises(TypeError, match="register_rules: takes an operation made by `pluggable`"):
        register_rules(operation, derivative={"x": 2})


def test_rules_of_xpand_are_its_own() -> None:
    from xpand_extensions.scatter import segment_sum

    with pytest.raises(ValueError, match="segment_sum belongs to xpand"):
        register_rules(segment_sum, derivative={"values": LINEAR})


def test_rules_need_names_of_arguments() -> None:
    @pluggable
    def most(*arrays):
        """The largest."""
        return most.native(*arrays)(*arrays)

    with pytest.raises(TypeError, match="most takes any number of arguments as 'arrays'"):
        register_rules(most, derivative={"arrays": 1})


def _returning(derivative: Any, default: Callable[..., Any] = lambda x: x + x) -> Callable[..., Any]:
    @pluggable
    def wrong(x, /):
        """An operation with a wrong rule."""
        return wrong.native(x)(x)

    wrong.default(default)
    register_rules(wrong, derivative=derivative)
    return wrong


def _both(x: Any) -> tuple[Any, Any]:
    return x + x, x * x


@pytest.mark.parametrize(
    ("derivative", "default", "error", "message"),
    [
        (joint(lambda xp, t, out, x: (t["x"],)), _both, TypeError, "wrong: .* a tuple of 2 tangents.* got 1"),
        (joint(lambda xp, t, out, x: t["x"]), _both, TypeError, "wrong: .* a tuple of 2 tangents"),
        (joint(lambda xp, t, out, x: (t["x"], 1.0)), _both, TypeError, "wrong: tangent 1 must be an array, got float"),
        (joint(lambda xp, t, out, x: t["x"][:2]), None, ValueError, r"wrong: the tangent .* \(3,\), got \(2,\)"),
        (joint(lambda xp, t, out, x: (t["x"],)), None, TypeError, "wrong: the tangent must be an array, got tuple"),
        ({"x": factor(lambda xp, out, x: "2")}, None, TypeError, "wrong: the factor of x must be an array, got str"),
        ({"x": factor(lambda xp, out, x: x[:2])}, None, ValueError, r"the factor of x .* \(3,\), got \(2,\)"),
        ({"x": contribution(lambda xp, t, out, x: 2)}, None, TypeError, "wrong: the contribution of x must be an arr"),
        ({"x": factor(lambda xp, out, x: x)}, _both, TypeError, "wrong: returns several arrays"),
    ],
)
def test_what_rules_return(
    library: Library, derivative: Any, default: Any, error: type[Exception], message: str
) -> None:
    wrong = _returning(derivative) if default is None else _returning(derivative, default)
    (x,) = _arrays(library, X)
    with pytest.raises(error, match=message):
        jvp(wrong, (x,), (x,))


@pytest.mark.parametrize(
    ("rule", "error", "message"),
    [
        (lambda xp, ct, out, x: ct, TypeError, "wrong: the pullback must return a dictionary"),
        (lambda xp, ct, out, x: {"y": ct}, ValueError, r"wrong: the pullback returns \['y'\], .* these are x"),
        (lambda xp, ct, out, x: {"x": (ct, ct)}, ValueError, "wrong: .* 1 cotangents for x, got 2"),
        (lambda xp, ct, out, x: {"x": ct[:2]}, ValueError, r"the cotangent of x .* \(3,\), got \(2,\)"),
    ],
)
def test_what_pullbacks_return(library: Library, rule: Any, error: type[Exception], message: str) -> None:
    wrong = _returning(pullback(rule))
    (x,) = _arrays(library, X)
    with pytest.raises(error, match=message):
        grad(lambda x: _total(wrong(x)))(x)


@pytest.mark.parametrize(
    ("rule", "error", "message"),
    [
        (lambda xp, mapped, x: 2.0, TypeError, "wrong: the batching rule must return arrays, got float"),
        (lambda xp, mapped, x: xp.sum(x), ValueError, r"mapped axis first, of size 2, got the shape \(\)"),
        (lambda xp, mapped, x: x[:1, ...], ValueError, r"mapped axis first, of size 2, got the shape \(1, 3\)"),
    ],
)
def test_what_batching_rules_return(library: Library, rule: Any, error: type[Exception], message: str) -> None:
    @pluggable
    def wrong(x, /):
        """An operation with a wrong rule."""
        return wrong.native(x)(x)

    wrong.default(lambda x: x + x)
    register_rules(wrong, batching=rule)
    (xs,) = _arrays(library, np.stack([X, Y]))
    with pytest.raises(error, match=message):
        vmap(wrong)(xs)


def test_errors_of_rules_are_not_changed(library: Library) -> None:
    def broken(xp, out, x):
        raise ZeroDivisionError("by the rule")

    wrong = _returning({"x": factor(broken)})
    (x,) = _arrays(library, X)
    with pytest.raises(ZeroDivisionError, match="by the rule"):
        jacrev(wrong)(x)


# Costs of operations without rules


def test_operations_without_rules_are_found_as_they_are() -> None:
    def implementation(x: Any, y: Any = None) -> Any:
        return x

    double = _double()
    double.register("torch")(implementation)
    assert double.native_for("torch") is implementation
    register_rules(double, derivative={"x": 2})
    assert double.native_for("torch") is not implementation
    assert double.native_for("numpy") is double.native(np.ones(1))


def test_the_namespace_is_the_arrays_own(library: Library) -> None:
    found = []

    def rule(xp, out, x):
        found.append(xpand.library_name(xp, underlying=True))
        return 2.0

    (x,) = _arrays(library, X)
    grad(lambda x: _total(_returning({"x": factor(rule)})(x)))(x)
    assert set(found) == {xpand.library_name(library.xp)}


def _table_kernels(log: list[str]) -> dict[str, Any]:
    """Return functions for rows of NumPy's arrays, which note their calls."""

    def updated(name: str) -> Callable[..., np.ndarray]:
        ufunc = {"add": np.add, "multiply": np.multiply, "max": np.maximum}.get(name)

        def kernel(table: np.ndarray, index: np.ndarray, values: np.ndarray) -> np.ndarray:
            log.append(name)
            assert 0 <= index.min() <= index.max() < len(table)
            table = table.copy()
            if ufunc is None:
                table[index] = values
            else:
                ufunc.at(table, index, values)
            return table

        return kernel

    def read(table: np.ndarray, index: np.ndarray) -> np.ndarray:
        log.append("read")
        return table[index]

    return {"read": read, "write": {name: updated(name) for name in ("set", "add", "multiply", "max")}}


@pytest.mark.parametrize("mode", ["drop", "clip", "wrap"])
def test_row_kernels_read_and_write(mode: str) -> None:
    log: list[str] = []
    at = row_kernels(**_table_kernels(log))
    x, rng = np.arange(12.0).reshape(4, 3), np.random.default_rng(0)
    for index in (
        np.asarray([3, 0, 3, 7, -6]),
        (slice(None), np.asarray([[2], [0]])),
        (np.asarray([1, 1]), np.asarray([0, 5])),
    ):
        ours, generic = at(x)[index], GenericAt(x)[index]
        np.testing.assert_array_equal(ours.get(mode=mode), generic.get(mode=mode))
        values = rng.normal(size=generic.get(mode=mode).shape)
        for name in ("set", "add", "multiply", "max", "subtract"):
            found, expected = (getattr(each, name)(values, mode=mode) for each in (ours, generic))
            np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert {"set", "add", "multiply", "max"} <= set(log)
    assert "read" in log or mode == "drop"


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"read": 3}, TypeError, "row_kernels: read must be a function, got"),
        ({"write": len}, TypeError, "row_kernels: write must be a mapping from names of updates to functions, got"),
        ({"write": {"add": None}}, TypeError, "row_kernels: add must be a function, got"),
        ({"write": {"plus": len}}, ValueError, "row_kernels: write has 'plus', but the updates are set, add,"),
    ],
)
def test_bad_row_kernels(given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        row_kernels(**given)
