"""Derivatives at zeros, bounds and ties, on every library.

Where a function is differentiable, all libraries have the same first and second derivatives, in both modes. Where it
isn't, each library's own derivative stands; that of traced libraries is JAX's where JAX's is finite.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import xpand
from tests.libraries import LIBRARIES, Library
from xpand_extensions import special, statistics
from xpand_extensions.autodiff import grad, hessian, jvp
from xpand_extensions.vmap import vmap

NAMESPACE = xpand.array_namespace
inf, nan = np.inf, np.nan


class Point(NamedTuple):
    """A function of one array, and the derivative of the sum of its results in each element."""

    function: Callable[[Any], Any]
    x: Any
    slopes: Any
    second: Any = 0.0
    """The second derivative along 1, 2, 3, …; None where it is infinite or not the same everywhere."""
    native: Callable[[Any], Any] | None = None
    """The function in PyTorch's own terms. Code that moves to the namespace keeps its `backward`."""
    jax: Any = None
    """JAX's slopes where they are others."""


def standard(name: str, **options: Any) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        xp: Any = NAMESPACE(x)
        for part in name.split("."):
            xp = getattr(xp, part)
        return xp(x, **options)

    return function


def with_constant(name: str, other: Any, *, first: bool = False) -> Callable[[Any], Any]:
    """A function of two arrays, the other one of which is constant."""

    def function(x: Any) -> Any:
        xp = NAMESPACE(x)
        constant = xp.asarray(other, dtype=x.dtype, device=xpand.device(x))
        return getattr(xp, name)(*((constant, x) if first else (x, constant)))

    return function


def torch_function(name: str, *args: Any, **options: Any) -> Callable[[Any], Any]:
    """PyTorch's function of an array; lists become arrays."""

    def function(x: Any) -> Any:
        import torch

        found: Any = torch
        for part in name.split("."):
            found = getattr(found, part)
        return found(x, *(torch.tensor(y, dtype=x.dtype) if isinstance(y, list) else y for y in args), **options)

    return function


def incomplete(function: Callable[..., Any], *parameters: list[float]) -> Callable[[Any], Any]:
    """An incomplete gamma or beta function of its last argument."""

    def of_x(x: Any) -> Any:
        xp = NAMESPACE(x)
        return function(*(xp.asarray(a, dtype=x.dtype, device=xpand.device(x)) for a in parameters), x)

    return of_x


def clipped(low: Any, high: Any, x: Any, slopes: Any) -> Point:
    def function(x: Any) -> Any:
        xp = NAMESPACE(x)
        bounds = [
            xp.asarray(b, dtype=x.dtype, device=xpand.device(x)) if isinstance(b, list) else b for b in (low, high)
        ]
        return xp.clip(x, *bounds)

    return Point(function, x, slopes, native=torch_function("clamp", low, high))


def norm(x: Any, slopes: Any, ord: Any = 2, axis: Any = None, jax: Any = None, **options: Any) -> Point:
    return Point(
        standard("linalg.vector_norm", ord=ord, axis=axis, **options),
        x,
        slopes,
        0.0 if jax is None else None,
        torch_function("linalg.vector_norm", ord, axis) if axis != () else torch_function("abs"),
        jax,
    )


ROWS = [[0.0, -0.0], [3.0, 4.0]]
CUMULATIVE = 2.0 * (1 * 2 * 4 + 2 * 3 * 2 + 2 * 4 * 6)
ERFCINV = [-inf, -inf, nan, nan, nan, -np.sqrt(np.pi) / 2]
RANK_2 = [[1.0, 2.0, 3.0, 4.0], [2.0, 4.0, 6.0, 8.0], [0.0, 1.0, 0.0, 1.0], [2.0, 5.0, 6.0, 9.0]]
RANK_3 = [[1.0, 2.0, 0.0, 1.0], [2.0, 4.0, 0.0, 2.0], [0.0, 1.0, 3.0, 1.0], [1.0, 0.0, 1.0, 5.0]]


POWERS = sum(t * (2 * s / x + t * np.log(x) ** 2) for x, s, t in ((4.0, 1.0, 3.0), (0.5, 2.0, 4.0)))


def cofactors(x: Any) -> np.ndarray:
    a = np.asarray(x)
    places = range(len(a))
    minor = lambda i, j: np.linalg.det(np.delete(np.delete(a, i, 0), j, 1))
    return np.asarray([[(-1.0) ** (i + j) * minor(i, j) for j in places] for i in places])


def curvature(x: Any) -> float:
    """The second derivative of a determinant along 1, 2, 3, …, from differences: those of polynomials are exact."""
    a = np.asarray(x)
    t = np.arange(1.0, a.size + 1).reshape(a.shape)
    f = lambda step: float(np.linalg.det(a + step * t))
    return (16 * (f(1) + f(-1)) - f(2) - f(-2) - 30 * f(0)) / 12


POINTS = {
    "abs": Point(
        standard("abs"),
        [-2.0, -0.0, 0.0, 3.0, -inf, inf],
        [-1.0, 1.0, 1.0, 1.0, -1.0, 1.0],
        native=torch_function("abs"),
    ),
    "sqrt": Point(standard("sqrt"), [0.0, 4.0], [inf, 0.25], None),
    "gammainc": Point(incomplete(special.gammainc, [1.0, 2.0, 3.0]), [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], -1.0 + 4.0),
    "gammaincc": Point(incomplete(special.gammaincc, [1.0, 2.0, 0.5]), [0.0, 0.0, 0.0], [-1.0, 0.0, -inf], None),
    "betainc": Point(
        incomplete(special.betainc, [1.0, 2.0, 4.0, 3.0], [3.0, 3.0, 1.0, 2.0]),
        [0.0, 0.0, 1.0, 1.0],
        [3.0, 0.0, 4.0, 0.0],
        -6.0 + 4.0 * 12.0 + 9.0 * 12.0 - 16.0 * 12.0,
    ),
    "betainc of small parameters": Point(
        incomplete(special.betainc, [0.5, 1.0, 1.0], [1.0, 0.5, 1.0]), [0.0, 1.0, 1.0], [inf, inf, 1.0], None
    ),
    "clip by numbers": clipped(-1.0, 2.0, [-3.0, -1.0, 0.0, 2.0, 5.0], [0.0, 0.5, 1.0, 0.5, 0.0]),
    "clip by equal numbers": clipped(1.0, 1.0, [0.0, 1.0, 2.0], [0.0, 0.25, 0.0]),
    "clip from below": clipped(0.0, None, [-1.0, -0.0, 0.0, inf], [0.0, 0.5, 0.5, 1.0]),
    "clip from above": clipped(None, 0.0, [-inf, -0.0, 0.0, 1.0], [1.0, 0.5, 0.5, 0.0]),
    "clip by arrays": clipped([0.0, 1.0, 1.0], [2.0, 1.0, 2.0], [0.0, 1.0, 0.0], [0.5, 0.25, 0.0]),
    "clip by an array": clipped([0.0, 1.0], None, [0.0, 2.0], [0.5, 1.0]),
    "maximum": Point(with_constant("maximum", [0.0, 0.0, 1.0]), [0.0, 1.0, 0.0], [0.5, 1.0, 0.0]),
    "minimum": Point(with_constant("minimum", [0.0, 0.0, 1.0]), [0.0, 1.0, 0.0], [0.5, 0.0, 1.0]),
    "copysign": Point(
        with_constant("copysign", [2.0, -2.0, -1.0, 1.0, -1.0]),
        [0.0, 0.0, -inf, -inf, 3.0],
        [1.0, -1.0, 1.0, -1.0, -1.0],
        native=torch_function("copysign", [2.0, -2.0, -1.0, 1.0, -1.0]),
    ),
    "hypot": Point(with_constant("hypot", [-2.0, 4.0]), [0.0, 3.0], [0.0, 0.6], 0.5 + 4 * 16 / 125),
    "hypot of zeros": Point(
        with_constant("hypot", [0.0, 4.0]), [0.0, 3.0], [0.5, 0.6], None, torch_function("hypot", [0.0, 4.0])
    ),
    "logaddexp": Point(with_constant("logaddexp", [-inf, 1.0, 0.5]), [1.0, -inf, 0.5], [1.0, 0.0, 0.5], 9 * 0.25),
    "logaddexp the other way": Point(
        with_constant("logaddexp", [-inf, 1.0, 0.5], first=True), [1.0, -inf, 0.5], [1.0, 0.0, 0.5], 9 * 0.25
    ),
    "logaddexp of numbers far apart": Point(with_constant("logaddexp", [800.0, 0.0]), [0.0, 800.0], [0.0, 1.0]),
    "pow with exponent 0": Point(
        lambda x: NAMESPACE(x).pow(x[:2], x[2:]), [4.0, 0.5, 0.0, 0.0], [0.0, 0.0, np.log(4.0), np.log(0.5)], POWERS
    ),
    "nextafter": Point(with_constant("nextafter", [3.0, -1.0]), [1.0, 2.0], [1.0, 1.0]),
    "nextafter the other way": Point(with_constant("nextafter", [3.0, -1.0], first=True), [1.0, 2.0], [0.0, 0.0]),
    "max": Point(standard("max", axis=1), [[1.0, 2.0, 2.0], [3.0, 3.0, 3.0]], [[0.0, 0.5, 0.5], [1 / 3] * 3]),
    "min of all": Point(standard("min"), [[1.0, 2.0], [1.0, 1.0]], [[1 / 3, 0.0], [1 / 3, 1 / 3]]),
    "sort": Point(lambda x: NAMESPACE(x).sort(x)[1:2], [2.0, 2.0, 2.0], [0.0, 1.0, 0.0]),
    "sort, descending": Point(
        lambda x: NAMESPACE(x).sort(x, descending=True)[:1],
        [2.0, 2.0, 1.0],
        [0.0, 1.0, 0.0],
        native=lambda x: torch_function("sort", descending=True, stable=True)(x)[0][:1],
    ),
    "cumulative_max": Point(
        lambda x: statistics.cumulative_max(x)[-1:],
        [2.0, 1.0, 2.0],
        [0.5, 0.0, 0.5],
        native=lambda x: torch_function("cummax", 0)(x)[0][-1:],
    ),
    "erfcinv": Point(special.erfcinv, [0.0, 2.0, -1.0, 3.0, nan, 1.0], ERFCINV, None),
    "i0e": Point(special.i0e, [0.0, -0.0], [0.0, 0.0], 0.5 * (1 + 4)),
    "prod": Point(standard("prod"), [2.0, 0.0, 3.0], [0.0, 6.0, 0.0], 36.0),
    "cumulative_prod": Point(standard("cumulative_prod"), [2.0, 0.0, 3.0, -0.0], [1.0, 8.0, 0.0, 0.0], CUMULATIVE),
    "std": Point(
        standard("std", axis=1),
        [[1.0, 1.0], [1.0, 3.0]],
        [[0.0, 0.0], [-0.5, 0.5]],
        None,
        torch_function("std", 1, correction=0),
        [[nan, nan], [-0.5, 0.5]],
    ),
    "norm": norm(ROWS, [[0.0, 0.0], [0.6, 0.8]], axis=1, jax=[[nan, nan], [0.6, 0.8]]),
    "norm of all, kept": norm([[0.0, 0.0]], [[0.0, 0.0]], keepdims=True, jax=[[nan, nan]]),
    "norm of none": norm([0.0, -2.0], [0.0, -1.0], axis=(), jax=[nan, -1.0]),
    "norm of order 3": norm(
        [[0.0, 0.0], [0.0, 2.0]], [[0.0, 0.0], [0.0, 1.0]], axis=0, ord=3, jax=[[nan, 0.0], [nan, 1.0]]
    ),
    "norm of order 1": norm(ROWS, [[1.0, 1.0], [1.0, 1.0]], axis=1, ord=1),
    "norm of order -inf": norm([0.0, -3.0, -0.0], [0.5, 0.0, 0.5], ord=-inf),
    "norm of order inf": norm([3.0, 0.0, -3.0], [0.5, 0.0, -0.5], ord=inf),
    "matrix norm": Point(
        standard("linalg.matrix_norm"),
        [[0.0, 0.0], [0.0, 0.0]],
        [[0.0, 0.0], [0.0, 0.0]],
        None,
        torch_function("linalg.matrix_norm"),
        [[nan, nan], [nan, nan]],
    ),
    "matrix norm of order 1": Point(
        standard("linalg.matrix_norm", ord=1),
        [[1.0, 0.0], [0.0, 1.0]],
        [[0.5, 0.5], [0.5, 0.5]],
        native=torch_function("linalg.matrix_norm", 1),
    ),
    "det": Point(standard("linalg.det"), [[1.0, 2.0], [2.0, 4.0]], [[4.0, -2.0], [-2.0, 1.0]], -4.0),
    "det of zeros": Point(standard("linalg.det"), [[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]], -4.0),
    "det of one": Point(standard("linalg.det"), [[0.0]], [[1.0]]),
    "det of rank 3 in 4": Point(standard("linalg.det"), RANK_3, cofactors(RANK_3), curvature(RANK_3)),
}


ABOUT = 1e-12
"""Of determinants, what rounding leaves of differences of products."""


def total(point: Point) -> Callable[[Any], Any]:
    return lambda x: NAMESPACE(x).sum(point.function(x))


def given(library: Library, point: Point) -> tuple[Any, Any, np.ndarray]:
    """The arrays, and a direction."""
    values = np.asarray(point.x)
    direction = np.arange(1.0, values.size + 1).reshape(values.shape)
    return library.asarray(values), library.asarray(direction), direction


@pytest.mark.parametrize("name", POINTS)
def test_derivatives(library: Library, name: str) -> None:
    point = POINTS[name]
    x, t, direction = given(library, point)
    slopes = slopes_on(library, point)
    expected = np.sum(slopes * direction)
    # Dask computes when all warnings of NumPy's are on again.
    with np.errstate(divide="ignore", invalid="ignore"):
        library.assert_equal(grad(total(point))(x), slopes, rtol=ABOUT, atol=ABOUT)
        library.assert_equal(jvp(total(point), (x,), (t,))[1], expected, rtol=ABOUT, atol=ABOUT)


def slopes_on(library: Library, point: Point) -> np.ndarray:
    return np.asarray(point.slopes if point.jax is None or not library.id.startswith("jax") else point.jax)


def own_slopes(point: Point) -> np.ndarray:
    """PyTorch's own derivative."""
    import torch

    assert point.native is not None
    x = torch.tensor(point.x, dtype=torch.float64, requires_grad=True)
    return torch.autograd.grad(point.native(x).sum(), x)[0].numpy()


def test_code_that_moves_to_the_namespace_keeps_its_derivatives() -> None:
    """On PyTorch, `backward` gives what it gives without xpand, and no NaN where that is finite."""
    import torch

    for name, point in POINTS.items():
        if point.native is not None:
            x = torch.tensor(point.x, dtype=torch.float64, requires_grad=True)
            point.function(x).sum().backward()
            assert x.grad is not None
            np.testing.assert_array_equal(x.grad.numpy(), own_slopes(point), err_msg=name)


def test_jax_keeps_its_own_derivatives() -> None:
    """The functions of the namespace have those of `jax.numpy`, in one program."""
    import jax
    import jax.numpy as jnp

    xp = xpand.namespace("jax")
    x = jnp.asarray([0.0, 0.0, -2.0, 2.0, 2.0])
    calls: dict[str, Callable[[Any], Any]] = {
        "abs": lambda xp: xp.abs,
        "clip": lambda xp: lambda x: xp.clip(x, 0.0, 2.0),
        "copysign": lambda xp: lambda x: xp.copysign(x, -1.0),
        "hypot": lambda xp: lambda x: xp.hypot(x, jnp.flip(x)),
        "max": lambda xp: xp.max,
        "maximum": lambda xp: lambda x: xp.maximum(x, jnp.flip(x)),
        "min": lambda xp: xp.min,
        "minimum": lambda xp: lambda x: xp.minimum(x, 0.0),
        "prod": lambda xp: xp.prod,
        "sort": lambda xp: lambda x: xp.sort(x) @ jnp.arange(5.0),
        "sqrt": lambda xp: xp.sqrt,
        "std": lambda xp: lambda x: xp.std(x[:2]),
        "linalg": lambda xp: lambda x: xp.linalg.vector_norm(x[:2]),
    }

    def slopes(xp: Any) -> dict[str, Any]:
        return {name: grad(lambda x, call=call: jnp.sum(call(xp)(x)))(x) for name, call in calls.items()}

    found, own = jax.jit(lambda: (slopes(xp), slopes(jnp)))()
    for name in calls:
        np.testing.assert_array_equal(found[name], own[name], err_msg=name)


SECOND = {name: point for name, point in POINTS.items() if point.second is not None}
OWN = [x for x in LIBRARIES if x.id in ("numpy", "torch", "torch-cuda")]
"""JAX's own are left as they are, and the others have NumPy's."""


@pytest.mark.parametrize(
    ("library", "name"),
    [pytest.param(library, name, id=f"{name}-{library}") for name in SECOND for library in OWN],
)
def test_second_derivatives(library: Library, name: str) -> None:
    point = SECOND[name]
    x, t, _ = given(library, point)
    assert_second(library, total(point), x, t, point.second)


def assert_second(library: Library, f: Callable[[Any], Any], x: Any, t: Any, expected: float) -> None:
    """Assert the second derivative along a direction, in all four nestings of the modes."""
    forward = lambda f: lambda x: jvp(f, (x,), (t,))[1]
    reverse = lambda f: lambda x: NAMESPACE(x).sum(grad(f)(x) * t)
    for outer in (forward, reverse):
        for inner in (forward, reverse):
            own = lambda x, inner=inner: inner(f)(x)
            library.assert_equal(
                outer(own)(x),
                np.asarray(expected),
                rtol=ABOUT,
                atol=ABOUT * (1.0 + abs(expected)),
            )


@pytest.mark.parametrize("values", [RANK_2, np.diag([0.0, 2.0, 0.0, 3.0])], ids=["rank 2", "diagonal"])
@pytest.mark.parametrize("library", OWN, ids=str)
def test_second_derivatives_of_determinants_of_lower_rank(library: Library, values: Any) -> None:
    point = Point(standard("linalg.det"), values, np.zeros((4, 4)))
    x, t, _ = given(library, point)
    library.assert_equal(grad(total(point))(x), np.asarray(point.slopes), atol=1e-11)
    assert_second(library, total(point), x, t, curvature(values))


@pytest.mark.parametrize("library", OWN, ids=str)
def test_second_derivative_of_a_squared_norm_at_zero(library: Library) -> None:
    """The norm has the derivative 0 there by convention; the sum of squares has no such point."""
    x = library.asarray(np.zeros(3))
    library.assert_equal(hessian(lambda x: NAMESPACE(x).linalg.vector_norm(x) ** 2)(x), np.zeros((3, 3)))
    library.assert_equal(hessian(lambda x: NAMESPACE(x).linalg.vecdot(x, x))(x), 2.0 * np.eye(3))


# On PyTorch, where another form is taken for arrays that are being differentiated

FORMS = [name for name in POINTS if name.startswith(("cumulative_prod", "det", "erfcinv", "logaddexp", "pow"))]


@pytest.mark.parametrize("name", FORMS)
def test_values_of_differentiated_arrays(name: str) -> None:
    """They are those of other arrays, to the bit: signs of zeros, subnormal numbers, and squares that overflow."""
    import torch

    point = POINTS[name]
    values = torch.tensor(point.x, dtype=torch.float64)
    more = torch.tensor([-0.0, 0.0, 1.5, -2.0, 5e-324, -1e300, 1e300, inf, -inf, nan], dtype=torch.float64)
    rng = np.random.default_rng(5)
    drawn = [more[torch.tensor(rng.integers(0, len(more), values.shape))] for _ in range(30)]
    for x in (values, *drawn):
        if name.startswith("det") and not torch.isfinite(x).all():
            continue
        plain = point.function(x)
        for differentiated in (
            point.function(x.clone().requires_grad_()).detach(),
            torch.func.vjp(point.function, x)[0],
            torch.func.vmap(lambda x: torch.func.vjp(point.function, x)[0])(x[None])[0],
        ):
            known = ~torch.isnan(plain)
            assert torch.equal(torch.isnan(differentiated), ~known)
            assert torch.equal(differentiated[known].view(torch.int64), plain[known].view(torch.int64)), (
                x,
                differentiated,
                plain,
            )


def test_batches_and_programs() -> None:
    """Under maps, and in what is compiled, where no value tells whether there are zeros."""
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx

    for name in FORMS:
        point = POINTS[name]
        x = torch.tensor(point.x, dtype=torch.float64)
        found = vmap(grad(total(point)))(torch.stack([x, x]))[1]
        np.testing.assert_allclose(found, point.slopes, rtol=ABOUT, atol=ABOUT, err_msg=name)
        mapped = grad(lambda x, point=point: torch.sum(vmap(point.function)(x)))(x[None])[0]
        np.testing.assert_allclose(mapped, point.slopes, rtol=ABOUT, atol=ABOUT, err_msg=name)
    chosen = [POINTS[name] for name in ("abs", "clip by numbers", "logaddexp", "norm", "pow with exponent 0")]
    arrays = [torch.tensor(point.x, dtype=torch.float64) for point in chosen]

    def all_totals(*xs: Any) -> Any:
        return sum(total(point)(x) for point, x in zip(chosen, xs))

    places = tuple(range(len(chosen)))
    by_xpand = make_fx(grad(all_totals, places), tracing_mode="fake")(*arrays)(*arrays)
    by_pytorch = _by_autograd(torch.compile(all_totals, backend="aot_eager", fullgraph=True), arrays)
    for gradient, backward, point in zip(by_xpand, by_pytorch, chosen):
        np.testing.assert_allclose(gradient, point.slopes, rtol=ABOUT, atol=ABOUT)
        own = point.slopes if point.native is None else own_slopes(point)
        np.testing.assert_allclose(backward, own, rtol=ABOUT, atol=ABOUT)


def _singular() -> Iterator[np.ndarray]:
    """Matrices of each rank, with the pivot that is missing in each place, and one that isn't singular."""
    for size in range(1, 6):
        full = np.random.default_rng(size).normal(size=(size, size))
        yield full
        yield np.eye(size)
        for i in range(size):
            for axis in (0, 1):
                zero = full.copy()
                zero[(i, slice(None))[:: 1 if axis else -1]] = 0.0
                yield zero
            triangle = np.triu(full)
            triangle[i, i] = 0.0
            yield triangle
            yield triangle.T.copy()
            equal = full.copy()
            equal[i] = 2.0 * equal[(i + 1) % size] if size > 1 else 0.0
            yield equal
            equal[(i + 2) % size] = 0.0
            yield equal


def test_gradients_of_determinants_in_programs() -> None:
    """In graphs of PyTorch's the gradient is PyTorch's own."""
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx

    det = torch.func.grad(POINTS["det"].function)
    stacks: dict[int, list[np.ndarray]] = {}
    for x in _singular():
        stacks.setdefault(len(x), []).append(x)
    for size, stack in stacks.items():
        xs = torch.tensor(np.stack(stack))
        expected = [cofactors(x) if size > 1 else np.ones((1, 1)) for x in stack]
        one = make_fx(det, tracing_mode="fake")(xs[0])
        np.testing.assert_allclose(np.stack([one(x) for x in xs]), expected, rtol=1e-9, atol=1e-13)
        every = make_fx(torch.func.vmap(det), tracing_mode="fake")(xs)
        np.testing.assert_allclose(every(xs), expected, rtol=1e-9, atol=1e-13)


def _by_autograd(function: Callable[..., Any], arrays: list[Any]) -> Any:
    import torch

    leaves = [x.clone().requires_grad_() for x in arrays]
    return torch.autograd.grad(function(*leaves), leaves)


def test_gradients_of_zeros_are_whole() -> None:
    """PyTorch's own tensors of no memory stay within: NumPy couldn't read them."""
    import torch

    x = torch.tensor([1.0, -2.0])
    twice = grad(lambda x: grad(lambda x: torch.sign(x).sum() + torch.abs(x).sum())(x).sum())(x)
    assert twice.numpy().tolist() == [0.0, 0.0]
