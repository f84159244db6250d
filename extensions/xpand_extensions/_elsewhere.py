"""Names from NumPy, SciPy, JAX and PyTorch, and what to use in their place.

A module with `__getattr__ = elsewhere(__name__)` raises an `AttributeError` that names the replacement.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, NoReturn, TypeVar, cast

from xpand._renamed import renamed

F = TypeVar("F", bound=Callable[..., Any])

_STANDARD: Final = "`xp.{name}` of the standard, with `xp = xpand.array_namespace(x)`"
_STANDARD_LINALG: Final = "`xp.linalg.{name}` of the standard, with `xp = xpand.array_namespace(x)`"

NAMES: Final[Mapping[str, Mapping[str, str]]] = {
    "autodiff": {
        **dict.fromkeys(("jacobian", "jacfwd_rev"), "`autodiff.jacrev`, or `autodiff.jacfwd` for few arguments"),
        "detach": "`autodiff.stop_gradient`",
        "hvp": "`jvp(grad(f), (x,), (v,))`",
        "remat": "`autodiff.checkpoint`",
    },
    "control_flow": {"if_else": "`control_flow.cond`", "while": "`control_flow.while_loop`"},
    "jit": {"compile": "`jit.jit`", "make_jaxpr": "`jit.make_graph`"},
    "linalg": {
        **dict.fromkeys(("cholesky", "det", "inv", "matrix_rank", "pinv", "slogdet", "trace"), _STANDARD_LINALG),
        **dict.fromkeys(("eig", "eigh", "eigvals", "eigvalsh", "svd", "svdvals"), _STANDARD_LINALG),
        **dict.fromkeys(("cross", "matmul", "matrix_power", "outer", "tensordot", "vecdot"), _STANDARD_LINALG),
        **dict.fromkeys(("matrix_norm", "matrix_transpose", "vector_norm"), _STANDARD_LINALG),
        "cho_factor": "`linear_solve.factorize`, or `xp.linalg.cholesky` with `linalg.cho_solve`",
        "norm": "`xp.linalg.vector_norm` or `xp.linalg.matrix_norm` of the standard",
        "qr": "`xp.linalg.qr` of the standard, or `linalg.pivoted_qr` with column exchanges",
        "solve": "`xp.linalg.solve` of the standard, or `linear_solve.solve`, which takes a method",
        **dict.fromkeys(
            ("solve_banded", "solve_continuous_lyapunov"),
            "`linalg.tridiagonal_solve` or `linalg.solve_sylvester`, or `linear_solve.solve` of a sparse matrix",
        ),
        "solve_triangular": "`linalg.triangular_solve`, or `linear_solve.solve_triangular`",
    },
    "linear_solve": {
        **dict.fromkeys(("bicgstab", "cg", "gmres", "spsolve"), "`linear_solve.solve(A, b)`, which takes a method"),
        **dict.fromkeys(("factorized", "splu"), "`linear_solve.factorize(A)`"),
    },
    "optimize": {
        **dict.fromkeys(("curve_fit", "leastsq"), "`optimize.least_squares`"),
        **dict.fromkeys(("fmin", "fmin_bfgs", "fmin_l_bfgs_b", "minimize_scalar"), "`optimize.minimize`"),
        **dict.fromkeys(("fsolve", "newton", "newton_krylov"), "`optimize.root`"),
        **dict.fromkeys(("brenth", "ridder", "root_scalar", "toms748"), "`optimize.bracketed_root`"),
    },
    "random": {
        **dict.fromkeys(("PRNGKey", "manual_seed"), "`random.key(seed)`"),
        **dict.fromkeys(("RandomState", "default_rng"), "`random.Generator(seed)`"),
        **dict.fromkeys(("rand", "random", "random_sample"), "`random.uniform(key, shape)`"),
        **dict.fromkeys(("randn", "standard_normal"), "`random.normal(key, shape)`"),
        **dict.fromkeys(("integers", "random_integers"), "`random.randint(key, shape, minval, maxval)`"),
        "randperm": "`random.permutation(key, n)`",
        "wrap_key_data": "the array itself, which is a key",
    },
    "scatter": {
        **dict.fromkeys(("index_add", "scatter_add"), "`scatter.at(x)[index].add(values)`"),
        "index_put": "`scatter.at(x)[index].set(values)`",
    },
    "sparse": {
        **dict.fromkeys(("BCOO", "coo", "coo_array", "coo_matrix", "coo_tensor", "sparse_coo_tensor"), "`sparse.COO`"),
        **dict.fromkeys(("BCSR", "csr", "csr_array", "csr_matrix", "sparse_csr_tensor"), "`sparse.CSR`"),
        **dict.fromkeys(("csc", "csc_array", "csc_matrix"), "`sparse.CSC`"),
        **dict.fromkeys(("hstack", "vstack"), "`sparse.concat`"),
        "diags_array": "`sparse.diags`",
        **dict.fromkeys(("issparse", "isspmatrix"), "`sparse.is_sparse`"),
        "linalg": "`xpand_extensions.linear_solve`",
        **dict.fromkeys(("from_scipy", "from_torch"), "`sparse.from_native`"),
        "identity": "`sparse.eye`",
        "random": "`sparse.from_dense`, of random numbers that are mostly zero",
        "toarray": "`sparse.todense`",
    },
    "Sparse": {
        **dict.fromkeys(("nnz", "getnnz"), "`a.nse`, the number of stored elements, or `sparse.count_nonzero(a)`"),
        **dict.fromkeys(("A", "toarray", "to_dense"), "`a.todense()`"),
        **dict.fromkeys(("data",), "`a.values`"),
        **dict.fromkeys(("col_indices", "crow_indices"), "`a.indices` or `a.indptr`"),
        "dot": "`a @ b`",
        "row": "`a.coords[0]` of `a.tocoo()`",
        "col": "`a.coords[1]` of `a.tocoo()`",
    },
    "NamedArray": {
        **dict.fromkeys(("T", "mT", "transpose", "permute", "permute_dims", "swapaxes"), "`x.rearrange(names)`"),
        **dict.fromkeys(("reshape", "view"), "`x.flatten_axes`, `x.unflatten_axis` or `x.rearrange`"),
        **dict.fromkeys(("squeeze",), "`x[name, 0]`"),
        **dict.fromkeys(("expand_dims", "unsqueeze", "expand"), "`x.broadcast_axis(axis)`"),
        **dict.fromkeys(("numpy", "detach", "device", "to_device"), "`x.array`, which is the library's array"),
        **dict.fromkeys(("add", "set", "multiply"), "`x.at[index].{name}(values)`"),
    },
    "special": {
        "beta": "`xp.exp(special.betaln(a, b))`",
        "comb": "`xp.exp(-special.betaln(n - k + 1, k + 1)) / (n + 1)`",
        "gamma": "`xp.exp(special.gammaln(x))`, the absolute value of the gamma function",
        **dict.fromkeys(("lgamma", "loggamma"), "`special.gammaln`"),
        "psi": "`special.digamma`",
        "expm1": _STANDARD,
        "log1p": _STANDARD,
        "norm_cdf": "`special.ndtr`",
        "relu": "`xp.maximum(x, 0)` of the standard",
    },
    "xpand_extensions": {
        **dict.fromkeys(("tree", "tree_map", "tree_util"), "`xpand.trees`"),
        "fft": "`xp.fft` of the standard, with `xp = xpand.array_namespace(x)`",
        "gradient": "`grad` for the gradient of a function, or `xpand_extensions.statistics.gradient` for differences",
    },
    "vmap": {
        "axis_names": "`vmap.axis_index` and `vmap.axis_size`, which take a name",
        "vectorized_map": "`vmap.vmap`",
    },
    "named": {
        **dict.fromkeys(
            ("erf", "expit", "log_sigmoid", "log_softmax", "logsumexp", "sigmoid", "softmax", "softplus"),
            "`named.special.{name}`",
        ),
        "nn": "`named.special` for softmax and activations; xpand has no layers",
        "relu": "`named.maximum(x, 0)`",
    },
}
"""By module or class: names from other libraries, and their replacements."""

_WITH_NUMPYS_NAMES: Final = (
    "linalg",
    "special",
    "statistics",
    "sorting",
    "histograms",
    "indexing",
    "padding",
    "interpolation",
    "convolution",
)


_OTHERS: Final = ("autodiff", "control_flow", "jit", "vmap", "linear_solve", "optimize", "random", "sparse")
"""The capabilities that are searched for a missing name last."""


def elsewhere(module: str) -> Callable[[str], NoReturn]:
    """Make the `__getattr__` of a module. Its error for a missing name says what to write instead."""
    capability = module.rpartition(".")[2]

    def __getattr__(name: str) -> NoReturn:
        raise missing(f"module {module!r}", capability, name)

    return __getattr__


def arguments_elsewhere(**instead: str) -> Callable[[F], F]:
    """Make a decorator. Its error for an argument that other libraries have says what to write instead."""

    def decorate(function: F) -> F:
        @wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            for name in kwargs:
                if name in instead:
                    raise TypeError(f"{function.__name__}: takes no argument {name!r}; write {instead[name]}")
            try:
                return function(*args, **kwargs)
            except TypeError as error:
                start = args[1] if len(args) > 1 else kwargs.get("x0")
                if isinstance(start, list) and all(isinstance(x, (int, float)) for x in start):
                    error.add_note(
                        "x0 is a list, so the function got a list of numbers; for one array write `asarray(x0)`"
                    )
                raise

        return cast(F, checked)

    return decorate


@cache
def _of_a_capability(name: str, capabilities: Sequence[str] = _WITH_NUMPYS_NAMES) -> str | None:
    for capability in capabilities:
        if name in import_module(f"{__package__}.{capability}").__all__:
            return f"`xpand_extensions.{capability}.{name}`"
    return None


def instead_of(name: str) -> str:
    """Say what to write instead of a function of NumPy, SciPy or PyTorch that the standard lacks."""
    found = _of_a_capability(name.rpartition(".")[2]) or renamed(name)
    return "use a function of the standard or of `xpand_extensions`" if found is None else f"write {found}"


def missing(what: str, capability: str | None, name: str) -> AttributeError:
    """Make the error for a name that `what` lacks. Without a capability, all capabilities are searched for the name."""
    found = _anywhere(name) if capability is None else NAMES[capability].get(name)
    write = "" if found is None else f"; write {found.format(name=name)}"
    return AttributeError(f"{what} has no attribute {name!r}{write}", name=name)


def _anywhere(name: str) -> str | None:
    if name.startswith("_"):
        return None
    if find_spec(f"xpand.{name}") is not None:
        return f"`import xpand.{name}`"
    found = NAMES["xpand_extensions"].get(name) or _of_a_capability(name)
    tables = (table for capability, table in NAMES.items() if capability not in ("NamedArray", "Sparse"))
    return found or next((table[name] for table in tables if name in table), None) or _of_a_capability(name, _OTHERS)
