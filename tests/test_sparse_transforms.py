"""Containers through transformations: derivatives, maps, compilation, loops, and the trees of libraries."""

import numpy as np
import pytest
import torch

import xpand
from tests.libraries import LIBRARIES, Library
from xpand_extensions import autodiff, control_flow, linear_solve, sparse
from xpand_extensions.jit import jit
from xpand_extensions.vmap import vmap

VALUES = np.asarray([1.0, 2.0, 3.0, 4.0])
INDICES, INDPTR = np.asarray([1, 3, 0, 3]), np.asarray([0, 2, 3, 4])
ROWS = np.asarray([0, 0, 1, 2])
DENSE = np.asarray([[0.0, 1.0, 0.0, 2.0], [3.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 4.0]])
X = np.asarray([1.0, -2.0, 0.5, 3.0])
FORMATS = ["coo", "csr", "csc"]

DIFFERENTIATING = pytest.mark.parametrize("lib", [each for each in LIBRARIES if not each.lazy], ids=str)


def made(lib: Library, format: str = "csr", values: np.ndarray = VALUES) -> sparse.Sparse:
    parts = lib.asarray(values), lib.asarray(INDICES), lib.asarray(INDPTR)
    a = sparse.CSR(*parts, (*values.shape[:-1], 3, 4), is_sorted=True, is_unique=True)
    return sparse.convert(a, format)


def total(a: sparse.Sparse, x: object) -> object:
    product = sparse.matmul(a, x)
    return xpand.array_namespace(product).sum(product**2)


def like(lib: Library, found: sparse.Sparse, a: sparse.Sparse, dense: np.ndarray) -> None:
    """Check that a container has the pattern of another, and the values that an array has there."""
    assert type(found) is type(a)
    assert found.shape == dense.shape
    for x, y in zip(found.pattern, a.pattern):
        lib.assert_equal(x, lib.to_numpy(y))
    lib.assert_equal(sparse.todense(found), dense, rtol=1e-12)


@DIFFERENTIATING
@pytest.mark.parametrize("format", FORMATS)
def test_gradients_have_the_pattern(lib: Library, format: str) -> None:
    a, x = made(lib, format), lib.asarray(X)
    expected = np.where(DENSE != 0, 2 * np.outer(DENSE @ X, X), 0.0)
    gradient = autodiff.grad(total)(a, x)
    like(lib, gradient, a, expected)
    assert all(found is given for found, given in zip(gradient.pattern, a.pattern))
    value, (of_a, of_x) = autodiff.value_and_grad(total, argnums=(0, 1))(a, x)
    lib.assert_equal(value, np.sum((DENSE @ X) ** 2), rtol=1e-12)
    like(lib, of_a, a, expected)
    lib.assert_equal(of_x, 2 * DENSE.T @ (DENSE @ X), rtol=1e-12)


@DIFFERENTIATING
def test_nonzero_elements_are_known_inside_derivatives(lib: Library) -> None:
    def squares(x: object, other: object) -> object:
        a = sparse.eliminate_zeros(sparse.from_dense(x, nse=12))
        return sparse.sum(sparse.square(a)) + sparse.sum(a * sparse.from_dense(other))

    other = 2.0 * DENSE + np.eye(3, 4)
    found = autodiff.grad(squares)(lib.asarray(DENSE), lib.asarray(other))
    lib.assert_equal(found, 2.0 * DENSE + np.where(DENSE != 0.0, other, 0.0))


@DIFFERENTIATING
def test_jacobians_are_batches_over_the_pattern(lib: Library) -> None:
    a, x = made(lib), lib.asarray(X)
    expected = np.zeros((3, 3, 4))
    for i in range(3):
        expected[i, i] = np.where(DENSE[i] != 0, X, 0.0)
    for jacobian in (autodiff.jacrev, autodiff.jacfwd):
        found = jacobian(sparse.matmul)(a, x)
        assert found.indices.ndim == 1
        like(lib, found, a, expected)
    second = autodiff.hessian(total)(a, x)
    rows, columns = ROWS, INDICES
    expected = 2 * np.equal.outer(rows, rows) * np.multiply.outer(X[columns], X[columns])
    lib.assert_equal(second.values.values, expected, rtol=1e-12)


@DIFFERENTIATING
def test_a_jacobian_of_a_batch_of_patterns_repeats_them(lib: Library) -> None:
    indices = lib.asarray(np.asarray([[1, 3, 0, 3], [0, 2, 1, 2]]))
    indptr = lib.asarray(np.stack([INDPTR, INDPTR]))
    a = sparse.CSR(lib.asarray(np.stack([VALUES, VALUES + 1])), indices, indptr, (2, 3, 4))
    found = autodiff.jacrev(lambda a: a.values)(a)
    assert found.shape == (2, 4, 2, 3, 4)
    assert tuple(found.indices.shape) == (2, 4, 2, 4)
    lib.assert_equal(xpand.array_namespace(found.values).sum(sparse.todense(found)), np.asarray(8.0))


@DIFFERENTIATING
def test_directions_and_cotangents_are_containers(lib: Library) -> None:
    a, x = made(lib), lib.asarray(X)
    # Promises, and what was worked out of the pattern, may differ.
    direction = sparse.CSR(lib.asarray(np.ones(4)), a.indices, a.indptr, (3, 4))
    _, tangent = autodiff.jvp(total, (a, x), (direction, lib.asarray(np.zeros(4))))
    lib.assert_equal(tangent, 2 * (DENSE @ X) @ ((DENSE != 0) @ X), rtol=1e-12)

    def squared(a: sparse.Sparse) -> sparse.Sparse:
        return sparse.tocsc(a.with_values(a.values**2))

    out, tangent = autodiff.jvp(squared, (a,), (direction,))
    like(lib, tangent, out, 2 * DENSE)
    out, pullback = autodiff.vjp(squared, a)
    like(lib, out, sparse.tocsc(a), DENSE**2)
    (back,) = pullback(out)
    like(lib, back, a, 2 * DENSE**3)
    out, derivative = autodiff.linearize(squared, a)
    like(lib, derivative(direction), out, 2 * DENSE)
    transposed = autodiff.linear_transpose(lambda a: a.with_values(3 * a.values), a)
    like(lib, transposed(a)[0], a, 3 * DENSE)


@DIFFERENTIATING
def test_rules_of_ones_own(lib: Library) -> None:
    a = made(lib)

    @autodiff.custom_jvp
    def doubled(a: sparse.Sparse) -> sparse.Sparse:
        return a.with_values(2 * a.values)

    @doubled.defjvp
    def _(primals: tuple, tangents: tuple) -> tuple:
        (a,), (t,) = primals, tangents
        assert t.indices.shape == a.indices.shape
        return doubled(a), t.with_values(7 * sparse.tocoo(t).values)

    def summed(a: sparse.Sparse) -> object:
        return xpand.array_namespace(a.values).sum(sparse.todense(doubled(a)))

    like(lib, autodiff.grad(summed)(a), a, 7.0 * (DENSE != 0))

    @autodiff.custom_vjp
    def doubled(a: sparse.Sparse) -> sparse.Sparse:
        return a.with_values(2 * a.values)

    doubled.defvjp(
        lambda a: (doubled(a), a), lambda residuals, g: (g.with_values(sparse.tocoo(g).values * 5 * residuals.values),)
    )
    like(lib, autodiff.grad(summed)(a), a, 5.0 * DENSE)


@DIFFERENTIATING
def test_wrong_directions(lib: Library) -> None:
    a = made(lib)
    with pytest.raises(TypeError, match="jvp: tangents must have the structure"):
        autodiff.jvp(lambda a: a.values, (a,), (sparse.tocsc(a),))
    with pytest.raises(TypeError, match="jvp: tangents must have the structure"):
        autodiff.jvp(lambda a: a.values, (a,), (a.values,))
    short = sparse.CSR(a.values[:1], a.indices[:1], lib.asarray(np.asarray([0, 1, 1, 1])), (3, 4))
    with pytest.raises(ValueError, match=r"jvp: tangents must have the shape \(4,\)"):
        autodiff.jvp(lambda a: a.values, (a,), (short,))
    with pytest.raises(TypeError, match="grad: the arguments must have floating-point"):
        autodiff.grad(lambda a: a.values[0])(a.with_values(a.indices))


@DIFFERENTIATING
@pytest.mark.parametrize("format", FORMATS)
def test_maps_over_one_pattern(lib: Library, format: str) -> None:
    values = np.stack([VALUES, 10 * VALUES])
    a, x = made(lib, format, values), lib.asarray(X)
    dense = np.stack([DENSE, 10 * DENSE])
    lib.assert_equal(vmap(sparse.matmul, in_axes=(0, None))(a, x), dense @ X, rtol=1e-12)
    both = vmap(lambda a, x: (a.with_values(2 * a.values), x), in_axes=(0, None))(a, x)[0]
    like(lib, both, a, 2 * dense)
    # A container of what is closed over; an axis from the end.
    alone = made(lib, format)
    like(lib, vmap(alone.with_values)(a.values), alone, dense)
    turned = vmap(lambda a: a.mT, in_axes=-3)(a)
    assert all(each.ndim == 1 for each in turned.pattern)
    lib.assert_equal(sparse.todense(turned), np.swapaxes(dense, 1, 2))
    gradients = vmap(autodiff.grad(total), in_axes=(0, None))(a, x)
    expected = [np.where(DENSE != 0, 2 * np.outer(each @ X, X), 0.0) for each in dense]
    like(lib, gradients, a, np.stack(expected))


@DIFFERENTIATING
def test_maps_over_many_patterns(lib: Library) -> None:
    indices = np.asarray([[1, 3, 0, 3], [0, 2, 1, 2]])
    indptr = np.asarray([[0, 2, 3, 4], [0, 0, 2, 4]])
    a = sparse.CSR(lib.asarray(np.stack([VALUES, VALUES])), lib.asarray(indices), lib.asarray(indptr), (2, 3, 4))
    doubled = vmap(lambda a: a.with_values(2 * a.values))(a)
    like(lib, doubled, a, 2 * lib.to_numpy(sparse.todense(a)))
    # One pattern becomes many where one of its arrays differs between lanes; dense axes of the batch come after.
    values, ends = lib.asarray(np.stack([VALUES, VALUES + 1])), lib.asarray(INDPTR)
    made = vmap(lambda i: sparse.CSR(values, i, ends, (2, 3, 4)))(a.indices)
    assert made.shape == (2, 2, 3, 4)
    assert tuple(made.indices.shape) == (2, 2, 4)
    assert tuple(made.indptr.shape) == (2, 2, 4)


@DIFFERENTIATING
def test_places_of_mapped_axes(lib: Library) -> None:
    a = made(lib, values=np.stack([VALUES, 10 * VALUES, 20 * VALUES]))
    twice = lib.asarray(np.asarray([1.0, 2.0]))
    found = vmap(lambda t: a.with_values(t * a.values), out_axes=1)(twice)
    assert found.shape == (3, 2, 3, 4)
    lib.assert_equal(found.values[:, 1, ...], 2 * lib.to_numpy(a.values))
    same = vmap(lambda t: (a, t), out_axes=(None, 0))(twice)[0]
    like(lib, same, a, lib.to_numpy(sparse.todense(a)))
    for axis in (1, -1):
        with pytest.raises(ValueError, match="vmap: in_axes has .* only batch axes can be mapped"):
            vmap(lambda a: a.values, in_axes=axis)(a)
    with pytest.raises(ValueError, match="vmap: in_axes has 0 for .* here None"):
        vmap(lambda a: a.values)(made(lib))
    with pytest.raises(ValueError, match="vmap: out_axes has 2 for .* here 0 to 1"):
        vmap(lambda t: a.with_values(t * a.values), out_axes=2)(twice)


def test_compiled(library: Library) -> None:
    a, x = made(library), library.asarray(X)
    compiled = jit(lambda a, x: (sparse.matmul(a, x), a.with_values(2 * a.values)))
    for factor in (1.0, 3.0):
        product, doubled = compiled(a.with_values(library.asarray(factor * VALUES)), x)
        library.assert_equal(product, factor * DENSE @ X, rtol=1e-12)
        library.assert_equal(doubled.values, 2 * factor * VALUES)
    assert jit(lambda a: xpand.array_namespace(a.values).asarray(a.shape[0]))(a) == 3


@DIFFERENTIATING
def test_loops_carry_containers(lib: Library) -> None:
    a, x = made(lib), lib.asarray(X)

    def step(carried: tuple) -> tuple:
        i, a, total = carried
        return i + 1, a.with_values(2 * a.values), total + sparse.matmul(a, x)

    init = (lib.asarray(np.asarray(0)), a, lib.asarray(np.zeros(3)))
    _, last, found = control_flow.while_loop(lambda carried: carried[0] < 3, step, init)
    like(lib, last, a, 8 * DENSE)
    lib.assert_equal(found, 7 * DENSE @ X, rtol=1e-12)


@DIFFERENTIATING
def test_scans_along_batches(lib: Library) -> None:
    a, x = made(lib, values=np.stack([VALUES, 10 * VALUES])), lib.asarray(X)

    def step(total: object, a: sparse.Sparse) -> tuple:
        product = sparse.matmul(a, x)
        return total + product, a.with_values(3 * a.values)

    found, ys = control_flow.scan(step, lib.asarray(np.zeros(3)), a)
    lib.assert_equal(found, 11 * DENSE @ X, rtol=1e-12)
    lib.assert_equal(sparse.todense(ys), 3 * np.stack([DENSE, 10 * DENSE]))
    with pytest.raises(ValueError, match="scan: takes arrays along their first axes, and xs holds .* no batch"):
        control_flow.scan(step, lib.asarray(np.zeros(3)), made(lib))


def test_trees_of_jax() -> None:
    import jax

    lib = next(each for each in LIBRARIES if each.id == "jax")
    a, x = made(lib), lib.asarray(X)
    np.testing.assert_allclose(jax.jit(lambda a, x: a @ x)(a, x), DENSE @ X)
    gradient = jax.grad(total, allow_int=True)(a, x)
    np.testing.assert_allclose(gradient.values, (2 * np.outer(DENSE @ X, X))[ROWS, INDICES])
    np.testing.assert_allclose(jax.vmap(lambda v: a.with_values(v) @ x)(a.values[None, :]), [DENSE @ X])


def test_trees_of_pytorch() -> None:
    lib = next(each for each in LIBRARIES if each.id == "torch")
    a, x = made(lib), lib.asarray(X)
    gradient = torch.func.grad(lambda v: total(a.with_values(v), x))(a.values)
    np.testing.assert_allclose(gradient, (2 * np.outer(DENSE @ X, X))[ROWS, INDICES])
    leaves, spec = torch.utils._pytree.tree_flatten({"a": a})
    again = torch.utils._pytree.tree_unflatten(leaves, spec)["a"]
    assert again.values is a.values
    assert again.plan is None
    assert again.indptr is a.indptr
    compiled = torch.compile(lambda a, x: sparse.matmul(a, x), fullgraph=True)
    np.testing.assert_allclose(compiled(a, x), DENSE @ X)


MADE_INSIDE = {
    "matmul": lambda a, b: a @ b.T,
    "add": lambda a, b: a + b,
    "multiply": lambda a, b: a * b,
    "csr": lambda a, b: a.tocsr().todense(),
    "index": lambda a, b: a[1:, ::2],
    "sum_duplicates": lambda a, b: sparse.sum_duplicates(a),
    "concat": lambda a, b: sparse.concat([a, b], axis=0),
    "cg": lambda a, b: linear_solve.solve(a @ a.T + b @ b.T, a.values[:3], method="cg").x,
}


@DIFFERENTIATING
@pytest.mark.parametrize("name", MADE_INSIDE)
def test_patterns_made_inside_compiled_functions(name: str, lib: Library) -> None:
    """xpand's own tracing knows their values, even though the namespace is that of traced arrays."""
    (rows, columns), work = np.nonzero(DENSE), MADE_INSIDE[name]

    def function(values: object) -> object:
        xp = xpand.array_namespace(values)
        each = [
            tuple(xp.asarray(x[::step].copy(), device=xpand.device(values)) for x in (rows, columns))
            for step in (1, -1)
        ]
        found = work(*[sparse.COO(step * values, coords, shape=DENSE.shape) for step, coords in zip((1, 2), each)])
        return found.todense() if isinstance(found, sparse.Sparse) else found

    values = lib.asarray(DENSE[rows, columns])
    wanted = lib.to_numpy(function(values))
    compiled = jit(function)
    if name in ("matmul", "cg") and lib.id.partition("-")[0] == "jax":  # whose compiler puts off all reads
        with pytest.raises(TypeError, match="matmul: the number of entries .* isn't known under jit"):
            compiled(values)
    else:
        lib.assert_equal(compiled(values), wanted, rtol=1e-12, atol=1e-13)
