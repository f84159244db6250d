"""Names from NumPy, SciPy, JAX and PyTorch, and what to use in their place.

A module with `__getattr__ = elsewhere(__name__)` raises an error that names the replacement. So do classes, and
functions for the names of arguments.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from types import FrameType
from typing import Any, Final, NoReturn, TypeVar, cast

from xpand._renamed import renamed

C = TypeVar("C", bound=type)
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
        "linalg": "`xpand.linear_solve`",
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
    "OptimizeResult": {
        "success": "`r.converged`",
        **dict.fromkeys(("nit", "n_iter_", "num_iterations"), "`r.iterations`"),
        "nfev": "`r.function_evaluations`",
        **dict.fromkeys(("njev", "nhev"), "`r.gradient_evaluations`"),
        **dict.fromkeys(("root", "params", "value", "beta", "zero", "coef_", "solution"), "`r.x`"),
        **dict.fromkeys(("cost", "f", "fval", "loss", "residual", "residuals"), "`r.fun`"),
        **dict.fromkeys(("jac", "grad", "gradient"), "`grad(f)(r.x)`, or `jacfwd(f)(r.x)` for several residuals"),
        **dict.fromkeys(("hess", "hess_inv"), "`hessian(f)(r.x)`"),
        "error": "`r.optimality`",
        "state": "the fields of the result, such as `r.iterations`",
    },
    "SolveResult": {
        "success": "`r.converged`",
        "info": "`r.status`, or `r.converged`",
        **dict.fromkeys(("nit", "niter", "num_iterations", "n_iter_"), "`r.iterations`"),
        **dict.fromkeys(("value", "solution"), "`r.x`"),
        **dict.fromkeys(("residuals", "resid"), "`r.residual`"),
        "stats": "the fields of the result, such as `r.iterations`",
        **dict.fromkeys(("shape", "dtype", "ndim", "size", "T", "mT", "sum", "mean", "reshape"), "`r.x.{name}`"),
    },
    "LstsqResult": {
        **dict.fromkeys(("solution", "value"), "`r.x`"),
        **dict.fromkeys(("residues", "resid"), "`r.residuals`"),
        **dict.fromkeys(("s", "sv"), "`r.singular_values`"),
        **dict.fromkeys(("shape", "dtype", "ndim", "size", "T", "mT", "sum", "mean", "reshape"), "`r.x.{name}`"),
    },
    "convolution": {
        **dict.fromkeys(("conv1d", "conv2d", "conv3d", "conv_general_dilated"), "`convolution.conv`"),
        **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), "`convolution.conv_transpose`"),
        **dict.fromkeys(("fftconvolve", "oaconvolve"), '`convolution.convolve(x, kernel, method="fft")`'),
        **dict.fromkeys(("convolve2d", "convolve1d"), "`convolution.convolve(x, kernel, axes=…)`"),
        "correlate2d": "`convolution.correlate(x, kernel, axes=…)`",
    },
    "histograms": {
        **dict.fromkeys(("histogram2d", "hist2d"), "`histograms.histogramdd`"),
        **dict.fromkeys(("histc", "hist"), "`histograms.histogram`"),
        "histogramnd": "`histograms.histogramdd`",
        "searchsorted": "`sorting.searchsorted`",
    },
    "indexing": {
        "index_select": "`indexing.take`",
        "take_along_dim": "`indexing.take_along_axis`",
        **dict.fromkeys(("dynamic_update_slice", "slice_update"), "`indexing.put_slice`"),
        "where": _STANDARD,
        **dict.fromkeys(("masked_select", "compress"), "`indexing.boolean_mask`"),
        **dict.fromkeys(("put_along_axis", "index_add", "index_put"), "`scatter.at(x)[index].set(values)`"),
        "at": "`scatter.at`",
    },
    "interpolation": {
        **dict.fromkeys(("interp1d", "interpolate1d"), "`interpolation.interp(x, points, values)`"),
        **dict.fromkeys(
            ("RegularGridInterpolator", "interpn", "interpnd", "map_coordinates"),
            "`interpolation.grid_sample(grid, coordinates)`",
        ),
    },
    "padding": {**dict.fromkeys(("constant_pad_nd", "zero_pad"), "`padding.pad`")},
    "sorting": {
        **dict.fromkeys(("topk", "largest"), "`sorting.top_k`"),
        **dict.fromkeys(("sort", "argsort"), _STANDARD),
        "unique_consecutive": "`sorting.unique`",
    },
    "statistics": {
        **dict.fromkeys(("percentile", "nanpercentile"), "`statistics.quantile(x, q / 100)`"),
        **dict.fromkeys(("mean", "std", "var", "sum", "prod", "max", "min", "cumulative_sum", "diff"), _STANDARD),
        **dict.fromkeys(("cumsum", "nancumsum"), "`xp.cumulative_sum` of the standard"),
        **dict.fromkeys(("cummax", "cummin"), "`statistics.cumulative_max` or `statistics.cumulative_min`"),
        "histogram": "`histograms.histogram`",
        "bincount": "`histograms.bincount`",
    },
    "special": {
        **dict.fromkeys(("erf_inv", "inverse_erf"), "`special.erfinv`"),
        "erfc_inv": "`special.erfcinv`",
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
        "gradient": "`grad` for the gradient of a function, or `xpand.statistics.gradient` for differences",
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

_CLASSES: Final = ("NamedArray", "Sparse", "OptimizeResult", "SolveResult", "LstsqResult")

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
        raise missing(f"module {module!r}", capability, name, sys._getframe(1))

    return __getattr__


_RENAMED: Final[Mapping[str, Sequence[str]]] = {
    "axis": ("dim", "dims"),
    "keepdims": ("keepdim",),
    "correction": ("ddof", "unbiased"),
    "max_steps": ("maxiter", "max_iter", "maxfev", "max_nfev", "max_iterations", "num_iterations", "niter"),
    "shape": ("size", "sample_shape"),
    "minval": ("low",),
    "maxval": ("high",),
    "gradient": ("jac", "fprime", "grad"),
    "preconditioner": ("M",),
    "largest": ("descending",),
    "constant_values": ("value", "fill_value"),
    "kernel_dilation": ("dilation", "rhs_dilation"),
    "strides": ("stride", "window_strides"),
    "feature_groups": ("groups", "feature_group_count"),
    "in_axes": ("in_dims",),
    "out_axes": ("out_dims",),
    "argnums": ("argnum",),
    "static_argnums": ("static_args",),
    "static_argnames": ("static_kwargs",),
}
"""By argument: its names in other libraries."""


_LOCATED: Final = {
    **dict.fromkeys(("loc", "mean"), "`loc + scale * {name}(key, …)`"),
    **dict.fromkeys(("scale", "std", "sigma", "stddev"), "`loc + scale * {name}(key, …)`"),
}
_SCALED: Final = {"scale": "`scale * {name}(key, …)`", "rate": "`{name}(key, …) / rate`"}

ARGUMENTS: Final[Mapping[str, Mapping[str, str]]] = {
    **dict.fromkeys(("cauchy", "gumbel", "laplace", "logistic", "normal", "t"), _LOCATED),
    **dict.fromkeys(("exponential", "loggamma", "pareto", "chisquare"), _SCALED),
    "bernoulli": {"probs": "`p`", "logits": "`p=special.expit(logits)`"},
    "beta": {**dict.fromkeys(("alpha", "concentration1"), "`a`"), **dict.fromkeys(("beta", "concentration0"), "`b`")},
    "binomial": {"total_count": "`n`", "probs": "`p`", "logits": "`p=special.expit(logits)`"},
    "categorical": {**dict.fromkeys(("num_samples", "n"), "`shape`"), "probs": "`logits=xp.log(probs)`"},
    "choice": {**dict.fromkeys(("probs", "weights"), "`p`"), "num_samples": "`shape`"},
    "dirichlet": {"concentration": "`alpha`"},
    "gamma": {**_SCALED, **dict.fromkeys(("concentration", "alpha", "k"), "`a`")},
    "geometric": {"probs": "`p`"},
    "lognormal": {"mean": "`xp.exp(mean) * lognormal(key, sigma)`", "s": "`sigma`"},
    "multinomial": {**dict.fromkeys(("pvals", "probs"), "`p`"), "num_samples": "`n`"},
    "multivariate_normal": {"loc": "`mean`", "covariance_matrix": "`cov`"},
    "poisson": dict.fromkeys(("rate", "mu"), "`lam`"),
    "randint": {"endpoint": "`maxval + 1`"},
    "split": {"n": "`num`"},
    "truncated_normal": {**_LOCATED, "a": "`lower`", "b": "`upper`"},
    "uniform": {**dict.fromkeys(("loc", "a"), "`minval`"), "b": "`maxval`"},
    "solve": {
        **dict.fromkeys(("restart", "restrt"), '`method="gmres(20)"`, for example'),
        **dict.fromkeys(("assume_a", "sym_pos"), "`symmetric` or `positive_definite`"),
        "show": "`progress`",
        "callback": "`record_history` or `progress`",
    },
    "lstsq": dict.fromkeys(("rcond", "cond"), "`rtol`"),
    "quantile": {"interpolation": "`method`"},
    "nanquantile": {"interpolation": "`method`"},
    "cov": {"bias": "`correction`", "ddof": "`correction`"},
    "interp": {"xp": "the points as the second argument", "fp": "the values as the third argument"},
    "pad": dict.fromkeys(("padding", "paddings"), "`pad_width`"),
    "histogram": dict.fromkeys(("min", "max"), "`range`"),
    "top_k": {"n": "`k`"},
    "vmap": {"chunk_size": "`control_flow.map(f, x, batch_size=…)`", "randomness": "nothing: samplers take keys"},
    "jit": {"backend": "`compiler`"},
    "unique": {"sorted": "nothing: the result is sorted"},
}
"""By function: names of arguments in other libraries."""


def arguments_elsewhere(**instead: str) -> Callable[[F], F]:
    """Make a decorator. Its error for an argument that other libraries have says what to write instead.

    It knows `_RENAMED` and `ARGUMENTS`; `instead` adds others. It costs 0.15 microseconds per call, so do not decorate
    operations on small arrays.
    """

    def decorate(function: F) -> F:
        foreign = foreign_arguments(function, instead)

        @wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            for given in kwargs:
                if given in foreign:
                    raise foreign_argument(function, given, foreign)
            return function(*args, **kwargs)

        return cast(F, checked)

    return decorate


def foreign_arguments(function: Callable[..., Any], instead: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the names of other libraries for arguments of a function, and what to write instead."""
    name, parameters = function.__name__, signature(function).parameters
    found = {old: f"`{new}`" for new, names in _RENAMED.items() if new in parameters for old in names}
    if "rtol" in parameters:
        found["tol"] = "`atol` and `rtol`" if "atol" in parameters else "`rtol`"
    if "key" in parameters:
        found |= dict.fromkeys(
            ("seed", "rng", "random_state", "generator"), "a key as the first argument, such as `random.key(seed)`"
        )
    found |= {**ARGUMENTS.get(name, {}), **(instead or {})}
    return {old: write.format(name=name) for old, write in found.items() if old not in parameters}


def foreign_argument(function: Callable[..., Any], given: str, foreign: Mapping[str, str]) -> TypeError:
    """Make the error for an argument that has another name here."""
    return TypeError(f"{function.__name__}: takes no argument {given!r}; write {foreign[given]}")


def start_elsewhere(function: F) -> F:
    """Explain errors of a function that is called with the list of numbers that is its starting point."""

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            start = args[1] if len(args) > 1 else kwargs.get("x0")
            if isinstance(start, list) and all(isinstance(x, (int, float)) for x in start):
                error.add_note("x0 is a list, so the function got a list of numbers; for one array write `asarray(x0)`")
            raise

    return cast(F, checked)


def not_an_array(cls: C) -> C:
    """Decorate the class of a result whose solution is `x`, since users may take it for the solution itself.

    Operators, which a tuple would accept or explain otherwise, and names of other libraries say what to write.
    """

    def operator(self: Any, *_: Any) -> NoReturn:
        raise TypeError(f"{cls.__name__} is no array; its field `x` is the solution: write `result.x`")

    def __getattr__(self: Any, name: str) -> NoReturn:
        raise missing(f"{cls.__name__!r} object", cls.__name__, name)

    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"):
        setattr(cls, f"__{name}__", operator)
        setattr(cls, f"__r{name}__", operator)
    for name in ("neg", "pos", "abs"):
        setattr(cls, f"__{name}__", operator)
    cls.__array_ufunc__ = None  # type: ignore[attr-defined]  # so NumPy's arrays leave `x + result` to the result
    cls.__getattr__ = __getattr__  # type: ignore[attr-defined]
    return cls


@cache
def _of_a_capability(name: str, capabilities: Sequence[str] = _WITH_NUMPYS_NAMES) -> str | None:
    for capability in capabilities:
        if name in import_module(f"{__package__}.{capability}").__all__:
            return f"`xpand.{capability}.{name}`"
    return None


def instead_of(name: str) -> str:
    """Say what to write instead of a function of NumPy, SciPy or PyTorch that the standard lacks."""
    found = _of_a_capability(name.rpartition(".")[2]) or renamed(name)
    return "use a function of the standard or of `xpand`" if found is None else f"write {found}"


def missing(
    what: str, capability: str | None, name: str, caller: FrameType | None = None
) -> AttributeError | ImportError:
    """Make the error for a name that `what` lacks. Without a capability, all capabilities are searched for the name.

    In `from module import name`, Python replaces an `AttributeError` by its own error, so there it is an `ImportError`.
    """
    found = _anywhere(name) if capability is None else NAMES[capability].get(name)
    write = "" if found is None else f"; write {found.format(name=name)}"
    if found is not None and caller is not None and _is_import(caller):
        return ImportError(f"cannot import {name!r}: {what} has no such name{write}", name=name)
    return AttributeError(f"{what} has no attribute {name!r}{write}", name=name)


def _is_import(caller: FrameType) -> bool:
    """Return whether a frame runs `from module import name`."""
    from opcode import opmap

    return caller.f_lasti >= 0 and caller.f_code.co_code[caller.f_lasti] == opmap["IMPORT_FROM"]


def _anywhere(name: str) -> str | None:
    if name.startswith("_"):
        return None
    if find_spec(f"xpand.{name}") is not None:
        return f"`import xpand.{name}`"
    found = NAMES["xpand_extensions"].get(name) or _of_a_capability(name)
    tables = (table for capability, table in NAMES.items() if capability not in _CLASSES)
    return found or next((table[name] for table in tables if name in table), None) or _of_a_capability(name, _OTHERS)
