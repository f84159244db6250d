"""Linear algebra on JAX: each function is compiled as a whole, and its derivatives stay finite.

The matrix exponential stops squaring when all matrices of a stack have finished. JAX's own function scales by one power
of two too little, which costs four digits, and returns NaN for norms from 350,000 on.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

import xpand.jax as xp
from xpand.extend import LibraryArray as Array
from xpand_extensions.generic.linalg import (
    _distances as distances,
    _factorizations as generic,
    _products as products,
    _schur as schur_forms,
    _spectra as spectra,
    _structured as structured,
)
from xpand_extensions.generic.linalg._functions import MAX_SQUARINGS, exponential, logarithm_along, principal_logarithm
from xpand_extensions.generic.linalg._products import Axes, execute
from xpand_extensions.linalg import _checks as checks, _lstsq as lstsq
from xpand_extensions.linalg._factorizations import LUFactors
from xpand_extensions.linalg._lstsq import LstsqResult
from xpand_extensions.linalg._plan import Pair, Plan, plan_of
from xpand_extensions.linalg._spectra import SchurResult

cdist = jax.jit(distances.cdist, static_argnames=("metric", "p"))


@jax.jit  # type: ignore[untyped-decorator]
def logm(x: Array, /) -> Array:
    return _logm(x)


@jax.custom_jvp  # type: ignore[untyped-decorator]
def _logm(x: Array) -> Array:
    return principal_logarithm(xp, x, lax.while_loop)


@_logm.defjvp  # type: ignore[untyped-decorator]
def _logm_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,), (direction,) = primals, tangents
    result = logm(x)
    # The tangent is the solution of a linear system, with the derivative of the exponential as the operator. So JAX
    # sees a linear function, which it can transpose and differentiate.
    tangent = lax.custom_linear_solve(
        lambda e: jax.jvp(expm, (result,), (e,))[1],
        direction,
        solve=lambda _, e: logarithm_along(logm, x, e),
        transpose_solve=lambda _, e: logarithm_along(logm, x.mT, e),
    )
    return result, tangent


@jax.jit  # type: ignore[untyped-decorator]
def expm(x: Array, /) -> Array:
    return exponential(xp, x, _squared)


def _squared(x: Array, squarings: Array) -> Array:
    def step(x: Array, number: Array) -> tuple[Array, None]:
        more = number < squarings
        return lax.cond(jnp.any(more), lambda x: jnp.where(more, x @ x, x), lambda x: x, x), None

    return lax.scan(step, x, jnp.arange(MAX_SQUARINGS))[0]


block_diag = jax.jit(structured.block_diag)
cho_solve = jax.jit(generic.cho_solve, static_argnames=("lower",))
diagonal = jax.jit(jnp.diagonal, static_argnames=("offset", "axis1", "axis2"))
kron = jax.jit(products.kron)
lu = jax.jit(generic.lu)
lu_solve = jax.jit(generic.lu_solve, static_argnames=("transpose", "conjugate"))
matvec = jax.jit(products.matvec)
pivoted_qr = jax.jit(generic.pivoted_qr, static_argnames=("mode",))
schur = jax.jit(spectra.schur)
solve_sylvester = jax.jit(spectra.solve_sylvester)
sqrtm = jax.jit(spectra.sqrtm)
toeplitz = jax.jit(structured.toeplitz)
tridiagonal_solve = jax.jit(structured.tridiagonal_solve)


def column_order(x: Array, /) -> Array:
    if 0 in x.shape:
        return generic.column_order(x)
    permutation = jax.lax.linalg.qr(x, pivoting=True, full_matrices=False)[-1]
    return permutation.astype(jnp.arange(0).dtype)


def schur_factors(x: Array, /) -> SchurResult:
    # XLA has Schur forms on CPUs only.
    by_lapack = lambda x: SchurResult(*lax.linalg.schur(x))
    found: SchurResult = lax.platform_dependent(x, cpu=by_lapack, default=schur_forms.schur_factors)
    return found


def einsum(subscripts: str, /, *operands: Array, optimize: bool | str = True) -> Array:
    return _execute(plan_of(subscripts, tuple([x.shape for x in operands]), optimize), *operands)


@partial(jax.jit, static_argnums=0)
def _execute(plan: Plan, *operands: Array) -> Array:
    return execute(plan, operands, _pair)


def _pair(step: Pair, x1: Array, x2: Array) -> Array:
    x = jax.lax.dot_general(x1, x2, (step.axes, step.batch_axes))
    return x if step.order is None else x.transpose(step.order)


def dot_general(x1: Array, x2: Array, /, *, axes: Axes, batch_axes: Axes = ((), ())) -> Array:
    return jax.lax.dot_general(x1, x2, (axes, batch_axes))


@partial(jax.jit, static_argnames=("lower", "transpose", "conjugate", "unit_diagonal", "left_side"))
def triangular_solve(
    a: Array,
    b: Array,
    /,
    *,
    lower: bool = True,
    transpose: bool = False,
    conjugate: bool = False,
    unit_diagonal: bool = False,
    left_side: bool = True,
) -> Array:
    vector = b.ndim == 1
    if vector:
        b = b[:, None] if left_side else b[None, :]
    a, b = checks.broadcast_stacks(xp, a, b)
    if conjugate and not transpose:
        a = a.conj()  # JAX conjugates only transposed operands
    x = jax.lax.linalg.triangular_solve(
        a,
        b,
        left_side=left_side,
        lower=lower,
        transpose_a=transpose,
        conjugate_a=conjugate and transpose,
        unit_diagonal=unit_diagonal,
    )
    if vector:
        return x[..., 0] if left_side else x[..., 0, :]
    return x


@jax.jit  # type: ignore[untyped-decorator]
def lu_factor(x: Array, /) -> LUFactors:
    factors, _, permutation = jax.lax.linalg.lu(x)
    return LUFactors(factors, permutation.astype(jnp.arange(0).dtype))


@partial(jax.jit, static_argnames=("rtol",))
def least_squares(a: Array, b: Array, /, *, rtol: float | None = None) -> LstsqResult:
    a, b, finite = lstsq.finite_matrices(xp, a, b)
    if 0 in a.shape[-2:]:
        return lstsq.no_values(xp, a, b, finite)
    tolerance = lstsq.cutoff(xp, a, rtol)
    x, s = _by_singular_values(a, b, tolerance)
    return lstsq.lstsq_result(xp, a, b, x, s, s > tolerance * s[..., :1], finite)


@partial(jax.custom_jvp, nondiff_argnums=(2,))
def _by_singular_values(a: Array, b: Array, tolerance: float) -> tuple[Array, Array]:
    return generic.by_singular_values(xp, a, b, tolerance)


@_by_singular_values.defjvp  # type: ignore[untyped-decorator]
def _by_singular_values_jvp(
    tolerance: float, primals: tuple[Array, Array], tangents: tuple[Array, Array]
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    # The derivative of singular vectors is infinite if singular values are equal. The derivative of the pseudo-inverse
    # is finite.
    def by_inverse(a: Array, b: Array) -> tuple[Array, Array]:
        return jnp.linalg.pinv(a, rtol=tolerance) @ b, jnp.linalg.svd(a, compute_uv=False)

    return jax.jvp(by_inverse, primals, tangents)
