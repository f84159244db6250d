"""The check of derivatives passes what is right and finds what is wrong, in each mode and order."""

from importlib import import_module
from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.cases import Case
from tests.libraries import LIBRARIES, Library
from tests.test_derivatives import NAMESPACE
from tests.traced import check_orders
from xpand_extensions.autodiff import check_grads, custom_jvp, custom_vjp, grad, jvp
from xpand_extensions.tracing._functions import FUNCTIONS as ALL_FUNCTIONS
from xpand_extensions.tracing.rules import CONSTANT

X, Y = np.asarray([0.3, -0.7, 1.2]), np.asarray([1.5, 0.4, -0.2])


@pytest.fixture(params=LIBRARIES, ids=str)
def able(request: pytest.FixtureRequest) -> Library:
    return request.param


def sine(x: Any) -> Any:
    return NAMESPACE(x).sin(x)


def cosine(x: Any) -> Any:
    return NAMESPACE(x).cos(x)


def smooth(tree: Any, y: Any) -> Any:
    xp = NAMESPACE(y)
    return {"a": xp.sin(tree["x"]) * y, "b": (xp.sum(xp.exp(y)), None), "n": xp.astype(y, xp.int32)}


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_right_derivatives(able: Library, dtype: str) -> None:
    x, y = (able.asarray((each + (0.5j if dtype == "complex128" else 0)).astype(dtype)) for each in (X, Y))
    f = smooth if dtype != "complex128" else lambda tree, y: NAMESPACE(y).conj(tree["x"]) * y * y
    check_grads(f, ({"x": x}, y), 2 if dtype != "float32" else 1)


def test_wrong_derivatives(able: Library) -> None:
    x = able.asarray(X)
    f = custom_jvp(sine)
    f.defjvp(lambda p, t: (sine(p[0]), 1.00001 * cosine(p[0]) * t[0]))
    with pytest.raises(
        AssertionError, match=r"(?s)check_grads: fwd: output\['a'\]\[0\]: differences give .*derivative is"
    ):
        check_grads(lambda x: {"a": [f(x)]}, (x,))
    with pytest.raises(AssertionError, match="check_grads: rev: the differences times random weights"):
        check_grads(f, (x,), modes="rev")
    check_grads(f, (x,), rtol=1e-3)
    g = custom_vjp(sine)
    g.defvjp(lambda x: (sine(x), x), lambda x, g: (2.0 * g * cosine(x),))
    with pytest.raises(AssertionError, match="check_grads: rev"):
        check_grads(g, (x,), modes=["rev"])


def test_wrong_second_derivatives(able: Library) -> None:
    x = able.asarray(X)
    wrong = custom_jvp(cosine)
    wrong.defjvp(lambda p, t: (cosine(p[0]), -1.1 * sine(p[0]) * t[0]))
    f = custom_jvp(sine)
    f.defjvp(lambda p, t: (f(p[0]), wrong(p[0]) * t[0]))
    check_grads(f, (x,), 1)
    for mode in ("fwd", "rev"):
        with pytest.raises(AssertionError, match=f"check_grads: {mode} > {mode}"):
            check_grads(f, (x,), 2, modes=mode)


def test_bad_input(able: Library) -> None:
    x = able.asarray(X)
    with pytest.raises(TypeError, match="check_grads: args must be a tuple or a list"):
        check_grads(sine, x)
    with pytest.raises(ValueError, match="check_grads: order must be at least 1, got 0"):
        check_grads(sine, (x,), 0)
    with pytest.raises(ValueError, match="check_grads: modes"):
        check_grads(sine, (x,), modes="both")
    with pytest.raises(TypeError, match="check_grads: args must have floating-point data types"):
        check_grads(sine, (able.asarray([1, 2]),))
    with pytest.raises(TypeError, match="check_grads: takes a function, got int"):
        check_grads(3, (x,))  # type: ignore[arg-type]


# Every differentiable function of the standard: by differences, to second order, in both modes

A = np.asarray([[0.31, -0.64, 0.17], [0.78, 0.45, -0.29]])
B = np.asarray([[-0.52, 0.23, 0.91], [0.14, -0.83, 0.66]])
POSITIVE = A * A + 0.4
SQUARE = np.asarray([[2.1, 0.3, -0.2], [0.5, 1.4, 0.7], [-0.4, 0.1, 0.9]])
SYMMETRIC = SQUARE @ SQUARE.T
APART = SQUARE * 0.3 + np.diag([0.0, 2.0, 5.0])  # of eigenvalues that stay in order
INDEX = np.asarray([2, 0])
LONG = np.asarray([[1, 0, 2], [0, 1, 0]])

Call = tuple[Any, ...]
"""A function of the namespace and arrays; then the arrays; those after three dots are not differentiated."""


def named(name: str, *arrays: np.ndarray, **options: Any) -> Call:
    return (lambda xp, *x: find(xp, name)(*x, **options), *arrays)


def find(xp: Any, name: str) -> Any:
    part, _, last = name.rpartition(".")
    return getattr(getattr(xp, part) if part else xp, last)


def shifted(function: Any) -> Any:
    """Make of a matrix a symmetric one, as the functions of such take them."""
    return lambda xp, x: function(xp, x + xp.matrix_transpose(x))


def spectrum(name: str) -> Any:
    """Take of the vectors what their signs don't change."""

    def function(xp: Any, x: Any) -> Any:
        values, vectors = find(xp, name)(x)
        magnitudes = xp.real(vectors * xp.conj(vectors))
        return xp.real(values), magnitudes / xp.sum(magnitudes, axis=0, keepdims=True)

    return function


def complex_of(name: str, **options: Any) -> Any:
    """A function of complex numbers: made of two real arrays, since differences are along real directions."""

    def function(xp: Any, x: Any, y: Any) -> Any:
        found = find(xp, name)(xp.astype(x, xp.complex128) + xp.astype(y, xp.complex128) * 1j, **options)
        return (xp.real(found), xp.imag(found)) if xp.isdtype(found.dtype, "complex floating") else found

    return function


UNARY = [
    "abs", "acos", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1", "log1p", "negative", "positive",
    "real", "conj", "sign", "sin", "sinh", "square", "tan", "tanh", "fft.fftshift", "fft.ifftshift", "cumulative_sum",
    "cumulative_prod", "diff", "flip", "matrix_transpose", "max", "mean", "min", "prod", "sum", "std", "var", "sort",
    "tril", "triu", "linalg.diagonal", "linalg.matrix_norm", "linalg.trace", "linalg.vector_norm", "linalg.svdvals",
    "linalg.pinv", "unique_values",
]  # fmt: skip
UNARY_OF_POSITIVE = ["log", "log10", "log2", "reciprocal", "sqrt"]
BINARY = [
    "add", "atan2", "copysign", "divide", "hypot", "logaddexp", "maximum", "minimum", "multiply", "nextafter",
    "remainder", "subtract", "vecdot", "linalg.cross",
]  # fmt: skip
FUNCTIONS: dict[str, Call] = {
    **{name: named(name, A, **({"axis": -1} if name.startswith("cumulative") else {})) for name in UNARY},
    **{name: named(name, POSITIVE) for name in UNARY_OF_POSITIVE},
    **{name: named(name, A, B) for name in BINARY},
    "acosh": named("acosh", POSITIVE + 1.0),
    "pow": named("pow", POSITIVE, B),
    "clip": (lambda xp, x, low: xp.clip(x, low, 0.6), A, B * 0.3),
    "where": (lambda xp, x, y: xp.where(x > y, x * y, y), A, B),
    "imag": (complex_of("imag"), A, B),
    "broadcast_arrays": named("broadcast_arrays", A, B[:1]),
    "broadcast_to": named("broadcast_to", A, shape=(2, 2, 3)),
    "concat": (lambda xp, x, y: xp.concat([x, y], axis=1), A, B),
    "expand_dims": named("expand_dims", A, axis=1),
    "meshgrid": named("meshgrid", A[0], B[0]),
    "moveaxis": (lambda xp, x: xp.moveaxis(x, 0, 1), A),
    "permute_dims": (lambda xp, x: xp.permute_dims(x, (1, 0)), A),
    "repeat": (lambda xp, x: xp.repeat(x, 2, axis=1), A),
    "reshape": (lambda xp, x: xp.reshape(x, (3, 2)), A),
    "roll": (lambda xp, x: xp.roll(x, 2, axis=1), A),
    "squeeze": named("squeeze", A[None], axis=0),
    "stack": (lambda xp, x, y: xp.stack([x, y], axis=1), A, B),
    "take": (lambda xp, x, i: xp.take(x, i, axis=1), A, ..., INDEX),
    "take_along_axis": (lambda xp, x, i: xp.take_along_axis(x, i, axis=1), A, ..., LONG),
    "tile": (lambda xp, x: xp.tile(x, (2, 1)), A),
    "unstack": (lambda xp, x: xp.unstack(x), A),
    "unique_all": (lambda xp, x: xp.unique_all(x).values, A),
    "unique_counts": (lambda xp, x: xp.unique_counts(x).values, A),
    "unique_inverse": (lambda xp, x: xp.unique_inverse(x).values, A),
    "matmul": (lambda xp, x, y: xp.matmul(x, xp.matrix_transpose(y)), A, B),
    "tensordot": (lambda xp, x, y: xp.tensordot(x, y, axes=((1,), (1,))), A, B),
    **{f"fft.{name}": (complex_of(f"fft.{name}"), A, B) for name in ("fft", "ifft", "fftn", "ifftn", "irfftn")},
    **{f"fft.{name}": (complex_of(f"fft.{name}", n=5), A, B) for name in ("irfft", "hfft")},
    "fft.rfft": (lambda xp, x: xp.real(xp.fft.rfft(x) * (2.0 - 1.0j)), A),
    "fft.ihfft": (lambda xp, x: xp.real(xp.fft.ihfft(x) * (2.0 - 1.0j)), A),
    "fft.rfftn": (lambda xp, x: xp.real(xp.fft.rfftn(x) * (2.0 - 1.0j)), A),
    "linalg.cholesky": (shifted(lambda xp, x: xp.linalg.cholesky(x)), SYMMETRIC),
    "linalg.det": named("linalg.det", SQUARE),
    "linalg.eig": (spectrum("linalg.eig"), APART),
    "linalg.eigvals": (lambda xp, x: xp.real(xp.linalg.eigvals(x) ** 2.0), APART),
    "linalg.eigh": (shifted(spectrum("linalg.eigh")), SYMMETRIC),
    "linalg.eigvalsh": (shifted(lambda xp, x: xp.linalg.eigvalsh(x)), SYMMETRIC),
    "linalg.inv": named("linalg.inv", SQUARE),
    "linalg.matrix_power": (lambda xp, x: xp.linalg.matrix_power(x, 3), SQUARE),
    "linalg.outer": named("linalg.outer", A[0], B[0]),
    "linalg.qr": (lambda xp, x: tuple(y * y for y in xp.linalg.qr(x)), SQUARE),
    "linalg.slogdet": (lambda xp, x: xp.linalg.slogdet(x)[1], SQUARE),
    "linalg.solve": (lambda xp, x, y: xp.linalg.solve(x, xp.matrix_transpose(y)), SQUARE, B),
    "linalg.svd": (lambda xp, x: [y * y for y in xp.linalg.svd(x, full_matrices=False)], A),
}  # fmt: skip


@pytest.mark.parametrize("library", [x for x in LIBRARIES if x.id in ("numpy", "torch", "strict-device1")], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_the_standard(library: Library, name: str) -> None:
    function, *given = FUNCTIONS[name]
    end = next((i for i, x in enumerate(given) if x is ...), len(given))
    chosen, constants = [library.asarray(x) for x in given[:end]], [library.asarray(x) for x in given[end + 1 :]]
    check_grads(lambda *x: function(NAMESPACE(*x), *x, *constants), chosen, 2)


@pytest.mark.parametrize(
    "name",
    [
        "multiply",
        "sum",
        "max",
        "where",
        "concat",
        "cumulative_sum",
        "sort",
        "take_along_axis",
        "fft.rfft",
        "linalg.inv",
        "linalg.solve",
    ],
)
def test_functions_on_dask(name: str) -> None:
    test_functions_of_the_standard(next(x for x in LIBRARIES if x.id == "dask"), name)


# Every rule of ours, and what has none and is traced: on PyTorch, by each nesting of the modes

NOT_ON_PYTORCH = {
    "numbers on the left": "its arrays' % has no derivative to the right of a number",
    "steps": "its arrays take no negative steps",
    "backwards": "the same",
    "set steps backwards": "the same",
    "svd, wide": "its vectors have other signs, on which the case's derivatives depend",
    "mean, outside": "the square of NaN has NaN for a second derivative, where zeros are not symbolic",
    "cumulative_sum in another type": "of float32, exact to its precision only",
    "cumulative_prod in another type": "the same",
    "sort of ties, descending": "no derivative: PyTorch's own stands",
    "cumulative_max with ties": "the same",
    "cumulative_min with ties": "the same",
}
"""Cases that are no question here, and why."""

RULES = [
    pytest.param(case, id=f"{module}-{name}")
    for module, tables in {
        "test_rules_elementwise": ("CASES",),
        "test_rules_fourier": ("CASES",),
        "test_rules_indexing": ("READ", "WRITTEN", "FACADES"),
        "test_rules_linalg": ("CASES",),
        "test_rules_products": ("CASES",),
        "test_rules_reductions": ("REDUCTIONS", "MORE"),
        "test_rules_searching": ("STANDARD", "FACADES"),
        "test_rules_shapes": ("ONE", "SEVERAL", "MADE"),
        "test_rules_windows": ("CASES",),
        "test_scatter_nd": ("CASES",),
        "test_sparse_arithmetic": ("CASES",),
    }.items()
    for table in tables
    for name, case in getattr(import_module(f"tests.{module}"), table).items()
    if case.differentiable and name not in NOT_ON_PYTORCH
]


@pytest.mark.parametrize("case", RULES)
def test_rules_on_pytorch(case: Case) -> None:
    check_orders("torch", case)


SAMPLE = [
    ("convolution", 0),
    ("padding", 0),
    ("scatter_nd", 0),
    ("special_logistic", "logsumexp"),
    ("statistics", "logcumsumexp"),
    ("statistics", "quantile"),
    ("windows", 0),
]


@pytest.mark.parametrize(("topic", "name"), SAMPLE)
def test_extensions_on_dask(topic: str, name: str | int) -> None:
    cases = import_module(f"tests.test_{topic}").CASES
    check_orders("dask", cases[name] if isinstance(name, str) else next(x for x in cases.values() if x.differentiable))


def test_determinants_in_forward_mode(able: Library) -> None:
    x, t = able.asarray([[[1.0, 2.0], [2.0, 4.0]], [[0.0, 1.0], [1.0, 0.0]]]), able.asarray(np.ones((2, 2, 2)))
    values, derivatives = jvp(lambda x: NAMESPACE(x).linalg.det(x), (x,), (t,))
    able.assert_equal(values, np.asarray([0.0, -1.0]), atol=1e-15)
    able.assert_equal(derivatives, np.asarray([1.0, -2.0]), rtol=1e-12)
    (signs, logarithms), along = jvp(lambda x: tuple(NAMESPACE(x).linalg.slogdet(x)), (x[1, ...],), (t[1, ...],))
    able.assert_equal(signs, np.asarray(-1.0))
    able.assert_equal(logarithms, np.asarray(0.0), atol=1e-15)
    able.assert_equal(along[1], np.asarray(2.0), rtol=1e-12)


def test_all_differentiable_functions_of_the_standard_are_checked() -> None:
    assert set(FUNCTIONS) == {name for name in ALL_FUNCTIONS if name not in CONSTANT}


@pytest.mark.parametrize("name", ["linalg.eigh", "linalg.eig"])
def test_second_derivatives_of_spectra_on_pytorch(name: str) -> None:
    """Those of each nesting of the modes, Hermitian matrices too, against JAX's, which has none of `eig`."""
    import jax
    import torch

    weights, imaginary = B[:1, :2].T, np.asarray([[0.0, -0.4, 0.9], [0.4, 0.0, 0.2], [-0.9, -0.2, 0.0]])

    def number(x: Any) -> Any:
        xp = NAMESPACE(x)
        if name == "linalg.eigh":
            x = xp.astype(x + xp.matrix_transpose(x), xp.complex128) + xp.asarray(imaginary * 1j)
        values, magnitudes = spectrum(name)(xp, x)
        return xp.sum(values**3) + xp.sum(magnitudes[:2, :1] * xp.asarray(weights))

    along = np.asarray([[0.3, -1.2, 0.5], [0.1, 0.8, -0.6], [1.1, 0.4, -0.2]])

    def second(outer: str, inner: str, x: Any, t: Any) -> float:
        modes = {
            "fwd": lambda f: lambda x: jvp(f, (x,), (t,))[1],
            "rev": lambda f: lambda x: NAMESPACE(x).sum(grad(f)(x) * t),
        }
        return float(modes[outer](modes[inner](number))(x))

    x = SYMMETRIC if name == "linalg.eigh" else APART
    asarray = jax.numpy.asarray if name == "linalg.eigh" else np.asarray
    expected = second("fwd", "rev", asarray(x), asarray(along))
    for outer, inner in product(("fwd", "rev"), repeat=2):
        assert second(outer, inner, torch.asarray(x), torch.asarray(along)) == pytest.approx(expected, rel=1e-10)
