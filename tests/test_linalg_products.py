"""Sums of products: every library against NumPy, transformations, bad input."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.laziness import nothing_computed
from tests.libraries import Library
from tests.operations import Case, Check, check_values, checked, torch_compile
from xpand_extensions import linalg

RNG = np.random.default_rng(0)
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATING = ["float32", "float64", "complex64", "complex128"]


def normal(*shape: int, dtype: str = "float64") -> np.ndarray:
    values = RNG.normal(size=shape)
    return (values + 1j * RNG.normal(size=shape) if dtype.startswith("c") else values).astype(dtype)


def matvec(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return `np.matvec(a, x)`, which is new in NumPy 2.2."""
    return (a @ x[..., None])[..., 0]


def einsum(subscripts: str, *arrays: np.ndarray, **options: Any) -> Case:
    return Case(
        lambda *xs: linalg.einsum(subscripts, *xs, **options),
        arrays,
        reference=lambda *xs: np.asarray(np.einsum(subscripts, *xs)),
        differentiable=tuple(range(len(arrays))) if all(x.dtype == np.float64 for x in arrays) else (),
        atol=1e-13,
    )


A, B, C = normal(3, 4), normal(4, 2), normal(2, 3)
STACK, OTHER = normal(2, 3, 4), normal(2, 4, 3)
CASES = {
    "einsum chain": einsum("ij,jk,kl->il", A, B, C),
    "einsum five operands": einsum("ab,bc,cd,de,ea->", A, B, C, A, normal(4, 3)),
    "einsum trace of a product": einsum("ijk,ikj", STACK, OTHER),
    "einsum diagonal": einsum("iij,jk->ki", normal(3, 3, 4), B),
    "einsum ellipsis": einsum("...ij,...jk->...ik", STACK, normal(1, 4, 2)),
    "einsum complex": einsum("ij,kj->ik", normal(3, 4, dtype="complex128"), normal(2, 4)),
    "einsum left to right": einsum("ij,jk,kl->li", A, B, C, optimize=False),
    "einsum one operand": einsum("ijk->kj", STACK),
    "einsum outer": einsum("i,j->ji", A[0], B[0]),
    "dot_general": Case(
        lambda x, y: linalg.dot_general(x, y, axes=((1,), (-1,)), batch_axes=((0,), (0,))),
        (STACK, normal(2, 5, 3)),
        reference=lambda x, y: np.einsum("bij,bki->bjk", x, y),
        differentiable=(0, 1),
    ),
    "matvec": Case(linalg.matvec, (STACK, normal(2, 4)), reference=matvec, differentiable=(0, 1)),
    "matvec, one matrix": Case(linalg.matvec, (A, normal(2, 4)), reference=matvec, differentiable=(0, 1)),
    "kron": Case(linalg.kron, (A, STACK), reference=np.kron, differentiable=(0, 1)),
    "diagonal": Case(
        lambda x: linalg.diagonal(x, offset=-1, axis1=2, axis2=0),
        (STACK,),
        reference=lambda x: np.diagonal(x, -1, 2, 0),
        differentiable=(0,),
    ),
}
COMPILED = ("einsum five operands", "dot_general", "matvec", "kron", "diagonal")


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values(library: Library, case: Case) -> None:
    check_values(library, case)


@checked(CASES, only=lambda name, check: check is not torch_compile or name in COMPILED)
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


def examples(library: Library) -> int:
    return 8 if library.lazy or library.id == "jax" else 25


def arrays_of(draw: st.DrawFn, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, size=shape, dtype=dtype, endpoint=True)
    return (rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype[0] == "c" else 0)).astype(dtype)


def tolerance(dtype: np.dtype) -> float:
    return 0.0 if dtype.kind in "iu" else 1e-5 if dtype in ("float32", "complex64") else 1e-12


@st.composite
def products(draw: st.DrawFn) -> tuple[str, list[np.ndarray]]:
    dtype = draw(st.sampled_from(INTEGERS + FLOATING))
    sizes = {label: draw(st.integers(0, 3)) for label in "abcd"}
    terms = draw(st.lists(st.text("abcd", max_size=3), min_size=1, max_size=4))
    output = draw(st.lists(st.sampled_from(sorted(set("".join(terms)))), unique=True)) if any(terms) else []
    arrays = [arrays_of(draw, dtype, tuple(sizes[label] for label in term)) for term in terms]
    formula = ",".join(terms)
    return (formula if draw(st.booleans()) else f"{formula}->{''.join(output)}"), arrays


def test_einsum_agrees_with_numpy(library: Library) -> None:
    @settings(max_examples=examples(library))
    @given(product=products(), optimize=st.sampled_from([True, False, "optimal", "greedy"]))
    def run(product: tuple[str, list[np.ndarray]], optimize: bool | str) -> None:
        subscripts, arrays = product
        rtol = tolerance(arrays[0].dtype)
        with np.errstate(over="ignore"):  # integers wrap
            expected = np.asarray(np.einsum(subscripts, *arrays))
            result = linalg.einsum(subscripts, *map(library.asarray, arrays), optimize=optimize)
        library.assert_equal(result, expected, rtol=10 * rtol, atol=100 * rtol)

    run()


@st.composite
def dots(draw: st.DrawFn) -> tuple[str, tuple[Any, Any], tuple[Any, Any], list[np.ndarray]]:
    """Draw axes for a product, and the same as a formula of einsum."""
    dtype = draw(st.sampled_from(INTEGERS + FLOATING))
    roles = draw(st.lists(st.sampled_from(["summed", "batch", "first", "second"]), max_size=5))
    labels = "abcde"[: len(roles)]
    sizes = {label: draw(st.integers(0, 3)) for label in labels}
    of = {
        role: [label for label, r in zip(labels, roles) if r == role] for role in ("summed", "batch", "first", "second")
    }
    terms = [draw(st.permutations(of["summed"] + of["batch"] + of[side])) for side in ("first", "second")]
    axes = tuple(
        [term.index(label) - draw(st.sampled_from([0, len(term)])) for label in of["summed"]] for term in terms
    )
    batch = tuple([term.index(label) for label in of["batch"]] for term in terms)
    free = [[label for label in term if label in of[side]] for term, side in zip(terms, ("first", "second"))]
    formula = f"{''.join(terms[0])},{''.join(terms[1])}->{''.join(of['batch'] + free[0] + free[1])}"
    arrays = [arrays_of(draw, dtype, tuple(sizes[label] for label in term)) for term in terms]
    return formula, axes, batch, arrays


def test_dot_general_agrees_with_einsum(library: Library) -> None:
    @settings(max_examples=examples(library))
    @given(problem=dots())
    def run(problem: tuple[str, tuple[Any, Any], tuple[Any, Any], list[np.ndarray]]) -> None:
        formula, axes, batch_axes, arrays = problem
        rtol = tolerance(arrays[0].dtype)
        with np.errstate(over="ignore"):
            expected = np.asarray(np.einsum(formula, *arrays))
            result = linalg.dot_general(*map(library.asarray, arrays), axes=axes, batch_axes=batch_axes)
        library.assert_equal(result, expected, rtol=10 * rtol, atol=10 * rtol)

    run()


SHAPES = st.lists(st.integers(0, 3), max_size=3).map(tuple)


def test_kron_agrees_with_numpy(library: Library) -> None:
    @settings(max_examples=examples(library))
    @given(data=st.data(), shapes=st.tuples(SHAPES, SHAPES), dtype=st.sampled_from(INTEGERS + FLOATING))
    def run(data: st.DataObject, shapes: tuple[Any, Any], dtype: str) -> None:
        a, b = (data.draw(st.composite(arrays_of)(dtype, shape)) for shape in shapes)
        with np.errstate(over="ignore"):
            expected = np.asarray(np.kron(a, b))
            result = linalg.kron(library.asarray(a), library.asarray(b))
        library.assert_equal(result, expected, rtol=tolerance(a.dtype))

    run()


def test_diagonal_agrees_with_numpy(library: Library) -> None:
    @settings(max_examples=examples(library))
    @given(data=st.data(), dtype=st.sampled_from(["bool", "uint16", "int8", "float64", "complex64"]))
    def run(data: st.DataObject, dtype: str) -> None:
        shape = data.draw(st.lists(st.integers(0, 4), min_size=2, max_size=4))
        axis1, axis2 = data.draw(st.permutations(range(len(shape))))[:2]
        offset = data.draw(st.integers(-6, 6))
        x = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
        result = linalg.diagonal(library.asarray(x), offset=offset, axis1=axis1, axis2=axis2 - len(shape))
        library.assert_equal(result, np.diagonal(x, offset, axis1, axis2))

    run()


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATING])
def test_matvec_of_every_type(library: Library, dtype: str) -> None:
    a, x = (RNG.integers(0, 9, size=s).astype(dtype) for s in ((3, 1, 2, 4), (5, 4)))
    library.assert_equal(linalg.matvec(library.asarray(a), library.asarray(x)), matvec(a, x))
    library.assert_equal(linalg.matvec(library.asarray(a[0, 0]), library.asarray(x[0])), matvec(a[0, 0], x[0]))
    library.assert_equal(linalg.matvec(library.asarray(a), library.asarray(x[0])), matvec(a, x[0]))
    none = linalg.matvec(library.asarray(a[..., :0]), library.asarray(x[..., :0]))
    library.assert_equal(none, np.zeros((3, 5, 2), dtype=dtype))


@pytest.mark.parametrize("types", [("float32", "complex128"), ("uint8", "int16"), ("float32", "float64")])
def test_data_types_are_promoted(library: Library, types: tuple[str, str]) -> None:
    x, y = (np.asarray([[1, 2], [3, 4]], dtype=dtype) for dtype in types)
    a, b = library.asarray(x), library.asarray(y)
    library.assert_equal(linalg.einsum("ij,jk", a, b), x @ y)
    library.assert_equal(linalg.dot_general(a, b, axes=((1,), (0,))), x @ y)
    library.assert_equal(linalg.matvec(a, b), matvec(x, y))
    library.assert_equal(linalg.kron(a, b), np.kron(x, y))


def test_interleaved_form(library: Library) -> None:
    a, b = library.asarray(A), library.asarray(B)
    library.assert_equal(linalg.einsum(a, [0, 1], b, [1, 2], [2, 0]), (A @ B).T, rtol=1e-12)
    library.assert_equal(linalg.einsum(a, [..., 1], b, [1, 2]), A @ B, rtol=1e-12)


def test_interleaved_labels() -> None:
    a, b = A, B
    np.testing.assert_allclose(linalg.einsum(a, ["row", "x"], b, ["x", "column"], ["column", "row"]), (A @ B).T)
    np.testing.assert_allclose(linalg.einsum(a, [7, 9], b, [9, 8]), A @ B)
    # The output without a list has its labels in order, also of more labels than an alphabet has.
    x = np.reshape(np.arange(6.0), (2, 3) + (1,) * 28)
    order = [29, 5, *(n for n in range(29) if n != 5)]
    np.testing.assert_array_equal(linalg.einsum(x, order), np.transpose(x, np.argsort(order)))
    with pytest.raises(TypeError, match="einsum: the labels in lists must be Ellipsis, or integers or strings"):
        linalg.einsum(a, [0, "x"], b, ["x", 1])
    with pytest.raises(ValueError, match="einsum: the output has the label 5, which no operand has"):
        linalg.einsum(a, [0, 1], b, [1, 2], [0, 5])


def test_sizes_of_one_broadcast(library: Library) -> None:
    x, y = normal(3, 1), normal(1, 4)
    expected = np.einsum("ij,ij->j", x, y)
    library.assert_equal(linalg.einsum("ij,ij->j", library.asarray(x), library.asarray(y)), expected, rtol=1e-12)


def test_more_labels_than_letters() -> None:
    # 60 labels: libraries take 52, in one product.
    arrays = [normal(2, 2) for _ in range(59)]
    labels = [chr(0x3B1 + n) for n in range(60)]
    formula = ",".join(labels[n] + labels[n + 1] for n in range(59)) + f"->{labels[0]}{labels[59]}"
    np.testing.assert_allclose(linalg.einsum(formula, *arrays), np.linalg.multi_dot(arrays), rtol=1e-10)


def test_values_that_are_not_finite(library: Library) -> None:
    x = library.asarray([[np.inf, 1.0], [2.0, np.nan]])
    y = library.asarray([1.0, 2.0])
    library.assert_equal(linalg.einsum("ij,j->i", x, y), [np.inf, np.nan])
    library.assert_equal(linalg.matvec(x, y), [np.inf, np.nan])
    library.assert_equal(linalg.kron(y, x[0, ...]), [np.inf, 1.0, np.inf, 2.0])


@pytest.mark.parametrize("subscripts", ["saim,im->saim", "im,saim->saim", "sm,saim->saim", "sa,im->saim"])
def test_products_without_sums_are_not_transposed(subscripts: str) -> None:
    rng = np.random.default_rng(0)
    operands = [rng.normal(size=["saim".find(x) % 4 + 2 for x in t]) for t in subscripts.split("->")[0].split(",")]
    found = linalg.einsum(subscripts, *operands)
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found, np.einsum(subscripts, *operands))


def test_plans_are_kept_and_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    from xpand_extensions.linalg import _plan

    monkeypatch.setattr(_plan, "_plans", {})
    monkeypatch.setattr(_plan, "_MAX_PLANS", 3)
    first = _plan.plan_of("ij,jk", ((1, 2), (2, 3)), True)
    assert _plan.plan_of("ij,jk", ((1, 2), (2, 3)), True) is first
    for size in range(7):
        _plan.plan_of("i", ((size,),), True)
        assert len(_plan._plans) <= 3


def test_the_order_of_least_cost_is_taken() -> None:
    from xpand_extensions.linalg._plan import plan_of

    shapes = ((2, 1000), (1000, 1000), (1000, 1))
    steps = {o: [(p.first, p.second) for p in plan_of("ij,jk,kl", shapes, o).pairs] for o in (True, False)}
    assert steps == {True: [(1, 2), (0, 1)], False: [(0, 1), (0, 1)]}


def test_dask_stays_lazy() -> None:
    import dask.array as da

    x = da.from_array(STACK, chunks=(1, 2, 3))
    with nothing_computed():
        results = [
            (linalg.einsum("bij,bkj,bij->ik", x, x, x), np.einsum("bij,bkj,bij->ik", STACK, STACK, STACK)),
            (linalg.dot_general(x, x, axes=((1,), (1,)), batch_axes=((0,), (0,))), STACK.mT @ STACK),
            (linalg.matvec(x, x[:, 0]), matvec(STACK, STACK[:, 0])),
            (linalg.kron(x, x), np.kron(STACK, STACK)),
            (linalg.diagonal(x, offset=1), np.diagonal(STACK, 1, -2, -1)),
        ]
    for result, expected in results:
        np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-12)


def bad_calls(library: Library) -> list[tuple[Any, type, str]]:
    a, v = library.asarray(A), library.asarray([1.0, 2.0])
    integers, flags = library.asarray([1, 2]), library.asarray([True, False])
    unsigned = library.asarray(np.asarray([1, 2], dtype=np.uint64))
    e, dot = linalg.einsum, linalg.dot_general
    return [
        (lambda: e("ij"), TypeError, "einsum: needs at least one operand"),
        (lambda: e("i,i", v, [1.0]), TypeError, "einsum: operand 1 must be an array, got list"),
        (lambda: e("i", flags), TypeError, "einsum: operand 0 must have a numeric data type"),
        (lambda: e("i,i", v, integers), TypeError, "einsum: takes data types that the standard promotes to one"),
        (lambda: e("i,i", integers, unsigned), TypeError, "uint64"),
        (lambda: e(a), TypeError, "einsum: subscripts must be a string"),
        (lambda: e(a, "ij"), TypeError, "einsum: subscripts must be a string"),
        (lambda: e("i,i", v), ValueError, r"einsum: subscripts 'i,i' are for 2 operand\(s\), got 1"),
        (lambda: e("i1", a), ValueError, "einsum: subscripts must be letters"),
        (lambda: e("i->i->i", v), ValueError, "einsum: subscripts must be letters"),
        (lambda: e("......", a), ValueError, "einsum: subscripts must be letters"),
        (lambda: e("i", a), ValueError, r"einsum: operand 0 has 2 axes, of shape \(3, 4\), but subscripts 'i'"),
        (lambda: e("ijk", a), ValueError, "einsum: operand 0 has 2 axes"),
        (lambda: e("i...->i", a), ValueError, "have '...' for 1 axes of the operands and none in the output"),
        (lambda: e("ij->k", a), ValueError, "has 'k', which no operand has"),
        (lambda: e("ij->ii", a), ValueError, "has 'i' twice"),
        (lambda: e("ij,j", a, v), ValueError, "label 'j' has 4 and, in operand 1"),
        (lambda: e("ii", a), ValueError, "a diagonal must be of axes of one size"),
        (lambda: e("i", v, optimize="best"), ValueError, "einsum: optimize must be one of"),
        (lambda: e("i", v, optimize=1), TypeError, "einsum: optimize must be one of"),
        (lambda: dot(a, [1.0], axes=((), ())), TypeError, "dot_general: x2 must be an array"),
        (lambda: dot(a, a, axes=1), TypeError, "dot_general: axes must be two sequences of axes"),
        (lambda: dot(a, a, axes=((0,), (1,))), ValueError, "dot_general: axes must pair axes of the same sizes"),
        (lambda: dot(a, a, axes=((0, 0), (0, 0))), ValueError, "names an axis twice"),
        (lambda: dot(a, a, axes=((2,), (0,))), ValueError, "axes=2 is out of range for 2 axes"),
        (lambda: dot(a, a, axes=((0.0,), (0,))), TypeError, "axes must be an integer"),
        (lambda: dot(a, a, axes=((0,), (0,)), batch_axes=((0,), (1,))), ValueError, "batch_axes must pair"),
        (lambda: dot(a, a, axes=((0,), (0,)), batch_axes=((0,), (0,))), ValueError, r"both have \[0\] of x1"),
        (lambda: dot(v, flags, axes=((0,), (0,))), TypeError, "dot_general: x2 must have a numeric data type"),
        (lambda: linalg.matvec(v, v), ValueError, "matvec: a must hold matrices"),
        (lambda: linalg.matvec(a, v), ValueError, r"matvec: x must have the shape \(..., 4\)"),
        (lambda: linalg.matvec(a, library.asarray(1.0)), ValueError, r"matvec: x must have the shape \(..., 4\)"),
        (
            lambda: linalg.matvec(library.asarray(STACK), library.asarray(np.ones((3, 4)))),
            ValueError,
            "matvec: the stacks of a",
        ),
        (lambda: linalg.matvec(a, 1.0), TypeError, "matvec: x must be an array"),
        (lambda: linalg.kron(v, 2.0), TypeError, "kron: b must be an array"),
        (lambda: linalg.kron(v, integers), TypeError, "kron: takes data types that the standard promotes"),
        (lambda: linalg.diagonal([[1.0]]), TypeError, "diagonal: x must be an array"),
        (lambda: linalg.diagonal(v), ValueError, "diagonal: axis1=-2 is out of range"),
        (lambda: linalg.diagonal(a, axis1=1), ValueError, "axis1 and axis2 must be two axes"),
        (lambda: linalg.diagonal(a, offset=0.5), TypeError, "diagonal: offset must be an integer"),
    ]


def test_bad_input(library: Library) -> None:
    for call, error, message in bad_calls(library):
        with pytest.raises(error, match=message):
            call()


def test_two_libraries_and_two_devices() -> None:
    import array_api_strict as strict
    import torch

    there = strict.ones(2, device=strict.Device("device1"))
    calls = {
        "einsum": lambda x, y: linalg.einsum("i,i", x, y),
        "dot_general": lambda x, y: linalg.dot_general(x, y, axes=((0,), (0,))),
        "matvec": lambda x, y: linalg.matvec(x[None, :], y),
        "kron": linalg.kron,
    }
    for name, call in calls.items():
        with pytest.raises(TypeError, match=f"{name}: takes arrays of one library"):
            call(np.ones(2), torch.ones(2))
        with pytest.raises(ValueError, match=f"{name}: takes arrays on one device"):
            call(strict.ones(2), there)


def test_unknown_sizes() -> None:
    import dask.array as da

    x = da.arange(6, chunks=3).astype("float64")
    with pytest.raises(ValueError, match="einsum: operand 0 has a shape not known yet"):
        linalg.einsum("i", x[x > 2])
