"""Segment reductions: every library against NumPy's ufunc.at, transformations, bad input."""

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import xpand
from tests.laziness import nothing_computed
from tests.libraries import Library
from tests.operations import elements
from xpand_extensions import check_plugin, scatter

FUNCTIONS = ["segment_sum", "segment_prod", "segment_min", "segment_max", "segment_mean"]
UFUNCS = {
    "segment_sum": np.add,
    "segment_prod": np.multiply,
    "segment_min": np.minimum,
    "segment_max": np.maximum,
    "segment_mean": np.add,
}
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
REAL = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
DTYPES = {
    "segment_sum": INTEGERS + REAL + COMPLEX,
    "segment_prod": INTEGERS + REAL + COMPLEX,
    "segment_min": ["bool", *INTEGERS, *REAL],
    "segment_max": ["bool", *INTEGERS, *REAL],
    "segment_mean": REAL + COMPLEX,
}


def empty_segment(function: str, dtype: np.dtype) -> Any:
    if function in ("segment_sum", "segment_prod", "segment_mean"):
        return int(function == "segment_prod")
    lowest = function == "segment_max"
    if dtype.kind == "b":
        return not lowest
    if dtype.kind == "f":
        return -np.inf if lowest else np.inf
    return np.iinfo(dtype).min if lowest else np.iinfo(dtype).max


def reference(function: str, values: np.ndarray, ids: np.ndarray, n: int, axis: int = 0) -> np.ndarray:
    values = np.moveaxis(values, axis, 0)
    out = np.full((n, *values.shape[1:]), empty_segment(function, values.dtype), dtype=values.dtype)
    UFUNCS[function].at(out, ids, values)
    if function == "segment_mean":
        number = np.bincount(ids, minlength=n).astype(values.dtype)
        out = out / number.reshape(-1, *(1 for _ in values.shape[1:]))
    return np.moveaxis(out, 0, axis)


def tolerance(dtype: np.dtype) -> float:
    return 0.0 if dtype.kind in "biu" else 1e-5 if dtype in ("float32", "complex64") else 1e-12


@st.composite
def problems(draw: st.DrawFn, function: str) -> tuple[np.ndarray, np.ndarray, int, int]:
    dtype = draw(st.sampled_from(DTYPES[function]))
    size = draw(st.integers(0, 7))
    segments = draw(st.integers(1, 4))
    rest = draw(st.lists(st.integers(0, 3), max_size=2))
    axis = draw(st.integers(-len(rest) - 1, len(rest)))
    shape = [*rest]
    shape.insert(axis % (len(rest) + 1), size)
    count = int(np.prod(shape))
    flat = draw(st.lists(elements(dtype), min_size=count, max_size=count))
    ids = draw(st.lists(st.integers(0, segments - 1), min_size=size, max_size=size))
    id_type = draw(st.sampled_from(["int64", "int32", "uint8", "uint64"]))
    return np.asarray(flat, dtype=dtype).reshape(shape), np.asarray(ids, dtype=id_type), segments, axis


def quiet() -> Any:
    return np.errstate(all="ignore")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_agrees_with_ufunc_at(library: Library, function: str) -> None:
    @settings(max_examples=8 if library.lazy else 15 if library.id == "jax" else 25)
    @given(problem=problems(function))
    def run(problem: tuple[np.ndarray, np.ndarray, int, int]) -> None:
        values, ids, segments, axis = problem
        x, i = library.asarray(values), library.asarray(ids)
        with quiet():
            result = getattr(scatter, function)(x, i, num_segments=segments, axis=axis)
            expected = reference(function, values, ids.astype(int), segments, axis)
            rtol = tolerance(values.dtype)
            library.assert_equal(result, expected, rtol=rtol, atol=rtol)
        library.assert_equal(x, values)
        library.assert_equal(i, ids)

    run()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_sorted_ids_give_the_same(library: Library, function: str) -> None:
    rng = np.random.default_rng(0)
    values, ids = rng.normal(size=(50, 3)), np.sort(rng.integers(0, 8, 50))
    result = getattr(scatter, function)(
        library.asarray(values), library.asarray(ids), num_segments=9, indices_are_sorted=True
    )
    with quiet():
        library.assert_equal(result, reference(function, values, ids, 9), rtol=1e-12)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("shape", [(40,), (40, 3)])
def test_number_of_segments_is_inferred(eager_library: Library, function: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    values, ids = rng.normal(size=shape), rng.integers(0, 5, 40)
    ids[0] = 4
    result = getattr(scatter, function)(eager_library.asarray(values), eager_library.asarray(ids))
    with quiet():
        eager_library.assert_equal(result, reference(function, values, ids, 5), rtol=1e-12)
    none = getattr(scatter, function)(eager_library.asarray(values[:0]), eager_library.asarray(ids[:0]))
    assert tuple(none.shape) == (0, *shape[1:])


@pytest.mark.parametrize("mode", ["drop", "fill", "clip", "wrap"])
@pytest.mark.parametrize("is_sorted", [False, True])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_modes(library: Library, function: str, mode: str, is_sorted: bool) -> None:
    # Out of bounds at both ends: -1 and 3 for two segments.
    ids, values = np.asarray([-1, 0, 3, 1]), np.asarray([1.0, 2.0, 4.0, 8.0])
    used_ids, used = {
        "drop": ([0, 1], [2.0, 8.0]),
        "fill": ([0, 1], [2.0, 8.0]),
        "clip": ([0, 0, 1, 1], values),
        "wrap": ([1, 0, 1, 1], values),
    }[mode]
    order = np.argsort(ids, kind="stable") if is_sorted else np.arange(4)
    result = getattr(scatter, function)(
        library.asarray(values[order]),
        library.asarray(ids[order]),
        num_segments=2,
        mode=mode,
        indices_are_sorted=is_sorted,
    )
    library.assert_equal(result, reference(function, np.asarray(used), np.asarray(used_ids), 2), rtol=1e-12)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("mode", ["drop", "wrap", "clip"])
def test_largest_unsigned_ids(library: Library, function: str, mode: str) -> None:
    ids = np.asarray([2**64 - 1, 0, 2**63], dtype=np.uint64)
    values = np.asarray([1.0, 2.0, 4.0])
    used = {"drop": [0], "clip": [2, 0, 2], "wrap": [int(i) % 3 for i in ids]}[mode]
    result = getattr(scatter, function)(library.asarray(values), library.asarray(ids), num_segments=3, mode=mode)
    with quiet():
        expected = reference(function, values[[1]] if mode == "drop" else values, np.asarray(used), 3)
        library.assert_equal(result, expected, rtol=1e-12)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_many_values_in_one_segment(eager_library: Library, function: str) -> None:
    rng = np.random.default_rng(2)
    values = rng.uniform(0.9, 1.1, size=1000)
    ids = np.where(rng.random(1000) < 0.9, 3, rng.integers(0, 6, 1000))
    result = getattr(scatter, function)(eager_library.asarray(values), eager_library.asarray(ids), num_segments=6)
    eager_library.assert_equal(result, reference(function, values, ids, 6), rtol=1e-10)


def test_integers_are_exact(library: Library) -> None:
    # Neither sum nor mean of these survives a detour through float64.
    values = np.asarray([2**62 + 1, 2**60 + 1, 3, -(2**53) - 1], dtype=np.int64)
    ids = np.asarray([0, 0, 1, 1])
    result = scatter.segment_sum(library.asarray(values), library.asarray(ids), num_segments=2)
    library.assert_equal(result, np.asarray([2**62 + 2**60 + 2, 2 - 2**53], dtype=np.int64))
    high = np.asarray([2**63 + 5, 7], dtype=np.uint64)
    result = scatter.segment_max(library.asarray(high), library.asarray(ids[:2]), num_segments=1)
    library.assert_equal(result, high[:1])


@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "complex128"])
@pytest.mark.parametrize("number", [1, 10, 100_000])  # a table is not converted for few rows; many are added in blocks
def test_rows_are_added_in_order_and_rounded_once(dtype: str, number: int) -> None:
    rng = np.random.default_rng(number)
    values, ids = (rng.normal(size=(number, 3)) * 50).astype(dtype), rng.integers(0, 70, number)
    wide = {"float32": "float64"}.get(dtype, dtype)
    table = (rng.normal(size=(70, 3)) * 50).astype(dtype)

    def expected(start: np.ndarray, ufunc: np.ufunc) -> np.ndarray:
        found = start.astype(wide)
        ufunc.at(found, ids, values.astype(wide))
        return found.astype(dtype)

    total = scatter.segment_sum(values, ids, num_segments=70)
    np.testing.assert_array_equal(total, expected(np.zeros_like(table), np.add), strict=True)
    added = scatter.scatter(table, ids, values, axis=0, operation="add")
    np.testing.assert_array_equal(added, expected(table, np.add), strict=True)
    np.testing.assert_array_equal(scatter.at(table)[ids].add(values), added, strict=True)
    subtracted = scatter.scatter(table, ids, values, axis=0, operation="subtract")
    np.testing.assert_array_equal(subtracted, expected(table, np.subtract), strict=True)
    column = scatter.scatter(table[:, 0], ids, values[:, 0], axis=0, operation="add")
    np.testing.assert_array_equal(column, added[:, 0], strict=True)


def test_mean_counts_beyond_the_precision_of_the_values() -> None:
    # float16 counts one by one to 2048 only.
    values = np.ones(5000, dtype=np.float16) * np.float16(0.001)
    result = scatter.segment_mean(values, np.zeros(5000, dtype=int), num_segments=1)
    total = scatter.segment_sum(values, np.zeros(5000, dtype=int), num_segments=1)
    np.testing.assert_allclose(result, total / 5000, rtol=2e-3)


def test_views_with_strides() -> None:
    import torch

    base = np.arange(24.0).reshape(6, 4)
    ids = np.asarray([0, 9, 1, 9, 0, 9])[::2]
    expected = reference("segment_sum", base[::-2, ::-1], ids, 2)
    np.testing.assert_array_equal(scatter.segment_sum(base[::-2, ::-1], ids, num_segments=2), expected)
    x, i = torch.from_numpy(base).T, torch.asarray([0, 9, 1, 9, 0, 9, 1, 9])[::2]
    result = scatter.segment_sum(x, i, num_segments=2)
    np.testing.assert_array_equal(result.numpy(), reference("segment_sum", base.T, i.numpy(), 2))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_dask_stays_lazy(function: str) -> None:
    import dask.array as da

    values = da.from_array(np.arange(12.0).reshape(6, 2), chunks=(2, 1))
    ids = da.from_array(np.asarray([0, 2, 0, 7, -1, 2]), chunks=3)
    with nothing_computed():
        result = getattr(scatter, function)(values, ids, num_segments=4)
    used = [0, 1, 2, 5]
    with quiet():
        expected = reference(function, np.arange(12.0).reshape(6, 2)[used], np.asarray([0, 2, 0, 2]), 4)
        np.testing.assert_allclose(np.asarray(result), expected)


# --- transformations ----------------------------------------------------------------------------------------------


VALUES = np.asarray([[1.0, 2.0, 0.0, 3.0, -1.5], [0.5, -2.0, 0.0, 0.0, 4.0]])
IDS = np.asarray([0, 0, 2, 2, 7])  # 7 is dropped: nobody can raise under tracing


@pytest.mark.parametrize("function", FUNCTIONS)
def test_jax_transformations(function: str) -> None:
    import jax
    import jax.numpy as jnp

    def reduce(values: Any, ids: Any) -> Any:
        return getattr(scatter, function)(values, ids, num_segments=3, mode="drop")

    values, ids = jnp.asarray(VALUES), jnp.asarray(IDS)
    one = np.stack([np.asarray(reduce(v, ids)) for v in values])
    np.testing.assert_allclose(jax.jit(reduce)(values[0], ids), one[0])
    np.testing.assert_allclose(jax.vmap(reduce, (0, None))(values, ids), one)
    np.testing.assert_allclose(jax.jit(jax.vmap(reduce))(values, jnp.stack([ids, ids])), one)
    # Under jit ids out of bounds are dropped, though mode is left out.
    default = jax.jit(lambda v, i: getattr(scatter, function)(v, i, num_segments=3))
    np.testing.assert_allclose(default(values[0], ids), one[0])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from jax.test_util import check_grads

    def weighted(values: Any) -> Any:
        result = reduce(jnp.asarray(values), ids)[jnp.asarray([0, 2])]
        return (result * jnp.asarray([1.0, 3.0])).sum()

    check_grads(weighted, (values[0] + 0.1,), order=2, modes=("rev",), rtol=1e-4, atol=1e-4)
    for transformed in (jax.vmap(jax.grad(weighted)), jax.jit(jax.vmap(jax.grad(weighted)))):
        np.testing.assert_allclose(transformed(values), np.stack([jax.grad(weighted)(v) for v in values]))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_torch_transformations(function: str) -> None:
    import torch

    def reduce(values: Any, ids: Any) -> Any:
        return getattr(scatter, function)(values, ids, num_segments=3, mode="drop")

    values, ids = torch.asarray(VALUES), torch.asarray(IDS)
    one = torch.stack([reduce(v, ids) for v in values])

    def same(actual: Any, expected: Any) -> None:
        torch.testing.assert_close(actual, expected, equal_nan=True)

    same(torch.func.vmap(reduce, (0, None))(values, ids), one)
    same(torch.func.vmap(reduce)(values, torch.stack([ids, ids])), one)
    compiled = torch.compile(
        lambda v, i: getattr(scatter, function)(v, i, num_segments=3), fullgraph=True, backend="eager"
    )
    same(compiled(values[0], ids), one[0])

    def weighted(values: Any) -> Any:
        result = reduce(values, ids)[torch.asarray([0, 2])]
        return (result * torch.asarray([1.0, 3.0], dtype=torch.float64)).sum()

    assert torch.autograd.gradcheck(weighted, (values[0].clone().add(0.1).requires_grad_(),))
    assert torch.autograd.gradgradcheck(weighted, (values[0].clone().add(0.1).requires_grad_(),))
    gradient = torch.func.grad(weighted)
    same(torch.func.vmap(gradient)(values), torch.stack([gradient(v) for v in values]))


@pytest.mark.parametrize("function", ["segment_prod"])
def test_gradient_of_products_with_zeros(function: str) -> None:
    import jax
    import torch

    # One zero: its factor's gradient is the product of the others. Two: all gradients are zero.
    values, ids = np.asarray([2.0, 0.0, 3.0, 0.0, 0.0]), np.asarray([0, 0, 0, 1, 1])
    expected = [0.0, 6.0, 0.0, 0.0, 0.0]
    f = lambda v, i: scatter.segment_prod(v, i, num_segments=2).sum()
    assert jax.grad(f)(jax.numpy.asarray(values), jax.numpy.asarray(ids)).tolist() == expected
    assert torch.func.grad(f)(torch.asarray(values), torch.asarray(ids)).tolist() == expected


@pytest.mark.parametrize("beside", [np.nan, np.inf])
def test_gradient_of_products_beside_what_is_not_finite(beside: float) -> None:
    import jax
    import torch

    values, ids = np.asarray([2.0, 3.0, beside, 5.0]), np.asarray([0, 0, 1, 2])
    f = lambda v, i: scatter.segment_prod(v, i, num_segments=3)[0]
    for result in (
        jax.grad(f)(jax.numpy.asarray(values), jax.numpy.asarray(ids)),
        jax.jit(jax.grad(f))(jax.numpy.asarray(values), jax.numpy.asarray(ids)),
        torch.func.grad(f)(torch.asarray(values), torch.asarray(ids)),
        torch.func.vmap(torch.func.grad(f))(torch.asarray(values[None]), torch.asarray(ids[None]))[0],
    ):
        assert result.tolist() == [3.0, 2.0, 0.0, 0.0]


def test_values_of_two_segments_never_meet(library: Library) -> None:
    # Warnings are errors: the sum of the first two would overflow, their product with the zero be NaN.
    ids = library.asarray([0, 1, 2, 2, 2])
    large = library.asarray([1e308, 1e308, 1.0, 1.0, 1.0])
    library.assert_equal(scatter.segment_sum(large, ids, num_segments=3), [1e308, 1e308, 3.0])
    infinite = library.asarray([np.inf, 0.0, 1.0, 2.0, 3.0])
    library.assert_equal(scatter.segment_prod(infinite, ids, num_segments=3), [np.inf, 0.0, 6.0])


# --- bad input ----------------------------------------------------------------------------------------------------


def bad_calls(library: Library, function: str) -> dict[str, tuple[tuple[Any, ...], dict[str, Any], type, str]]:
    """Name each kind of bad call: arguments, the exception, and what the message must hold."""
    v, i = library.asarray(np.ones((4, 2))), library.asarray([0, 1, 1, 2])
    wrong = {
        "segment_sum": "bool",
        "segment_prod": "bool",
        "segment_min": "complex128",
        "segment_max": "complex128",
        "segment_mean": "int64",
    }[function]
    n = {"num_segments": 3}
    calls = {
        "list for values": (([1.0], i), n, TypeError, "values must be an array, got list"),
        "number for values": ((1.0, i), n, TypeError, "values must be an array, got float"),
        "list for ids": ((v, [0, 1, 1, 2]), n, TypeError, "segment_ids must be an array, got list"),
        "dtype of values": ((library.asarray(np.ones((4, 2)), dtype=wrong), i), n, TypeError, wrong),
        "dtype of ids": ((v, library.asarray(np.ones(4))), n, TypeError, "segment_ids must have an integer data type"),
        "rank of ids": ((v, library.asarray(np.zeros((4, 2), dtype=int))), n, ValueError, "(4,)"),
        "length of ids": ((v, library.asarray(np.zeros(3, dtype=int))), n, ValueError, "got (3,)"),
        "0-d values": ((library.asarray(1.0), i), n, ValueError, "axis"),
        "axis": ((v, i), n | {"axis": 2}, ValueError, "axis=2"),
        "negative axis": ((v, i), n | {"axis": -3}, ValueError, "axis=-3"),
        "fractional axis": ((v, i), n | {"axis": 0.5}, TypeError, "axis must be an integer, got 0.5"),
        "negative number": ((v, i), {"num_segments": -1}, ValueError, "num_segments must be at least 0, got -1"),
        "fractional number": ((v, i), {"num_segments": 3.0}, TypeError, "num_segments must be an integer, got 3.0"),
        "bool number": ((v, i), {"num_segments": True}, TypeError, "num_segments must be an integer, got True"),
        "mode": ((v, i), n | {"mode": "clamp"}, ValueError, "'clip'"),
        "misspelt mode": ((v, i), n | {"mode": "dropp"}, ValueError, "did you mean 'drop'?"),
        "type of mode": ((v, i), n | {"mode": 1}, TypeError, "mode must be one of"),
        "sorted": ((v, i), n | {"indices_are_sorted": 1}, TypeError, "indices_are_sorted must be True or False, got 1"),
        "no segment to clip to": ((v, i), {"num_segments": 0, "mode": "clip"}, IndexError, "num_segments is 0"),
        "no segment to wrap to": ((v, i), {"num_segments": 0, "mode": "wrap"}, IndexError, "num_segments is 0"),
    }
    if library.id == "numpy":
        import torch

        calls["two libraries"] = ((v, torch.asarray([0, 1, 1, 2])), n, TypeError, "torch.Tensor")
    else:
        calls["two libraries"] = ((v, np.asarray([0, 1, 1, 2])), n, TypeError, "numpy.ndarray")
    if library.lazy:
        calls["number of segments left out"] = ((v, i), {}, ValueError, "num_segments must be given")
        calls["raising"] = ((v, i), n | {"mode": "raise"}, ValueError, "mode='raise' needs the values")
    else:
        low, high = library.asarray([0, 1, -1, 2]), library.asarray([0, 1, 1, 3])
        calls["id too large"] = ((v, high), n, IndexError, "segment id 3 is out of bounds for num_segments=3")
        calls["negative id"] = ((v, low), n, IndexError, "segment id -1 is out of bounds for num_segments=3")
        calls["negative id alone"] = ((v, low), {}, IndexError, "segment id -1")
        calls["raising"] = ((v, high), n | {"mode": "raise"}, IndexError, "segment id 3")
        calls["no segments"] = ((v, i), {"num_segments": 0}, IndexError, "num_segments=0")
        calls["id too large for no values"] = ((v[:, :0], high), n, IndexError, "segment id 3 is out of bounds")
        calls["negative id for no values"] = ((v[:, :0], low), n, IndexError, "segment id -1 is out of bounds")
        huge = library.asarray(np.asarray([0, 1, 1, 2**64 - 1], dtype=np.uint64))
        calls["huge id"] = ((v, huge), n, IndexError, "segment id 18446744073709551615")
    return calls


@pytest.mark.parametrize("function", FUNCTIONS)
def test_bad_input(library: Library, function: str) -> None:
    for name, (args, kwargs, error, fragment) in bad_calls(library, function).items():
        try:
            getattr(scatter, function)(*args, **kwargs)
        except (TypeError, ValueError, IndexError) as raised:
            caught = raised
        else:
            pytest.fail(f"{name}: nothing was raised")
        assert type(caught) is error, f"{name}: {caught!r}"
        assert fragment in str(caught), f"{name}: {caught}"
        assert str(caught).startswith(f"{function}: "), f"{name}: {caught}"


@pytest.mark.parametrize("function", FUNCTIONS)
def test_two_devices(function: str) -> None:
    import array_api_strict as strict
    import torch

    other = strict.Device("device1")
    with pytest.raises(ValueError, match=f"{function}: takes arrays on one device"):
        getattr(scatter, function)(strict.ones(2), strict.zeros(2, dtype=strict.int64, device=other), num_segments=2)
    with pytest.raises(ValueError, match=f"{function}: takes arrays on one device"):
        getattr(scatter, function)(torch.ones(2), torch.zeros(2, dtype=torch.int64, device="meta"), num_segments=2)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_number_of_segments_is_asked_for_under_tracing(function: str) -> None:
    import jax
    import torch

    reduce = getattr(scatter, function)
    with pytest.raises(ValueError, match="num_segments must be given"):
        jax.jit(reduce)(jax.numpy.ones(3), jax.numpy.zeros(3, dtype=int))
    with pytest.raises(ValueError, match="num_segments must be given"):
        torch.func.vmap(reduce)(torch.ones(2, 3), torch.zeros((2, 3), dtype=torch.int64))
    with pytest.raises(ValueError, match="mode='raise' needs the values"):
        jax.jit(lambda v, i: reduce(v, i, num_segments=2, mode="raise"))(
            jax.numpy.ones(3), jax.numpy.zeros(3, dtype=int)
        )


def test_unknown_sizes() -> None:
    import dask.array as da

    x = da.arange(6, chunks=3).astype("float64")
    with pytest.raises(ValueError, match="values has a shape not known yet"):
        scatter.segment_sum(x[x > 2], da.zeros(3, dtype=int), num_segments=1)


@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_plugin_is_well_formed(name: str) -> None:
    check_plugin(f"xpand_extensions.plugins.{name}")


def test_a_library_without_plugin_runs_generic() -> None:
    from xpand_extensions import capabilities

    table = capabilities()
    for function in FUNCTIONS:
        row = table[f"scatter.{function}"]
        assert {row[name] for name in xpand.wrapped_libraries()} == {"native"}
        assert row["other"] == "generic"


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32"])
def test_jax_without_64_bit_types(function: str, dtype: str) -> None:
    import jax

    values = np.asarray([1.0, 2.0, 4.0], dtype=np.float32)
    # Far fewer values in an int8 than there are segments; negative ids are out of bounds, not counted from the end.
    ids = np.asarray([100, 3, 100] if dtype[0] == "u" else [100, 3, -1]).astype(dtype)
    used = slice(None) if dtype[0] == "u" else slice(2)
    with jax.enable_x64(False):
        reduce = jax.jit(lambda v, i: getattr(scatter, function)(v, i, num_segments=1000))
        result = np.asarray(reduce(jax.numpy.asarray(values), jax.numpy.asarray(ids)))
    with quiet():
        expected = reference(function, values[used], ids[used].astype(int), 1000)
    np.testing.assert_allclose(result, expected)
