"""A backend of pyhf for every array library, and an optimizer that has gradients on all of them.

backend, optimizer = Backend(xpand.namespace("torch")), Optimizer()
pyhf.set_backend(backend, optimizer)
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
import pyhf
import scipy.optimize

import xpand
from xpand import autodiff, convert, indexing, jit, linalg, random, special, statistics
from xpand.extend import device_of, is_array
from xpand.typing import Array

from ._common import array


class Backend:
    """The operations of pyhf on the arrays of one namespace."""

    default_do_grad = True

    def __init__(self, xp: Any, precision: str = "64b", *, name: str = "") -> None:
        self.xp, self.precision = xp, precision
        self.name = name or f"xpand-{xpand.library_name(xp)}"
        bits = precision.removesuffix("b")
        self.dtypemap = {"float": getattr(xp, f"float{bits}"), "int": getattr(xp, f"int{bits}"), "bool": xp.bool}
        self.array_type = self.array_subtype = type(xp.asarray(0.0))
        self.keys = random.default_generator(xp)
        # pyhf's names for functions of the same signature: a call costs what the library's own function does.
        self.abs, self.exp, self.log, self.sqrt, self.isfinite = xp.abs, xp.exp, xp.log, xp.sqrt, xp.isfinite
        self.power, self.divide, self.where, self.reshape = xp.pow, xp.divide, xp.where, xp.reshape
        # The implementations for this library, which leave out the checks of each call.
        self.erf, self.erfinv, self.einsum, self.ndtr, self.xlogy, self.gammaln = (
            function.native_for(xp)
            for function in (special.erf, special.erfinv, linalg.einsum, special.ndtr, special.xlogy, special.gammaln)
        )

    def _setup(self) -> None:
        """Nothing is set up: xpand has no state."""

    # Conversions

    def astensor(self, tensor_in: Any, dtype: str = "float") -> Array:
        if dtype not in self.dtypemap:
            raise KeyError(f"Invalid dtype: {dtype!r} must be float, int, or bool.")
        wanted = self.dtypemap[dtype]
        if type(tensor_in) is self.array_type and tensor_in.dtype == wanted:
            return tensor_in
        return array(self.xp, tensor_in, wanted)

    def tolist(self, tensor_in: Any) -> Any:
        return tensor_in if isinstance(tensor_in, list) else convert.to_numpy(tensor_in).tolist()

    def to_numpy(self, tensor_in: Array) -> np.ndarray:
        return convert.to_numpy(tensor_in)

    def zeros(self, shape: Any, dtype: str = "float") -> Array:
        return self.xp.zeros(shape, dtype=self.dtypemap[dtype])

    def ones(self, shape: Any, dtype: str = "float") -> Array:
        return self.xp.ones(shape, dtype=self.dtypemap[dtype])

    # Shapes and elements

    def shape(self, tensor: Array) -> tuple[int, ...]:
        return tuple(tensor.shape)

    def ravel(self, tensor: Array) -> Array:
        return self.xp.reshape(tensor, (-1,))

    def transpose(self, tensor_in: Array) -> Array:
        return self.xp.permute_dims(tensor_in, tuple(range(tensor_in.ndim))[::-1])

    def tile(self, tensor_in: Array, repeats: Any) -> Array:
        return self.xp.tile(tensor_in, (repeats,) if isinstance(repeats, int) else tuple(repeats))

    def stack(self, sequence: Sequence[Array], axis: int = 0) -> Array:
        return self.xp.stack(sequence, axis=axis)

    def concatenate(self, sequence: Sequence[Any], axis: int = 0) -> Array:
        if {*map(type, sequence)} != {self.array_type}:
            places = [device_of(part) for part in sequence if is_array(part)] or [None]
            sequence = [array(self.xp, part, self.dtypemap["float"], places[0]) for part in sequence]
        return self.xp.concat(sequence, axis=axis)

    def simple_broadcast(self, *args: Array) -> list[Array]:
        return list(self.xp.broadcast_arrays(*args))

    def gather(self, tensor: Array, indices: Array) -> Array:
        if tensor.ndim == 1:
            return tensor[indices]
        return indexing.take(tensor, indices, axis=0)

    def boolean_mask(self, tensor: Array, mask: Array) -> Array:
        return tensor[mask]

    # Arithmetic

    def clip(self, tensor_in: Array, min_value: Any, max_value: Any) -> Array:
        return self.xp.clip(tensor_in, min_value, max_value)

    def sum(self, tensor_in: Array, axis: Any = None) -> Array:
        return self.xp.sum(tensor_in, axis=axis)

    def product(self, tensor_in: Array, axis: Any = None) -> Array:
        return self.xp.prod(tensor_in, axis=axis)

    def outer(self, tensor_in_1: Array, tensor_in_2: Array) -> Array:
        return tensor_in_1[:, None] * tensor_in_2[None, :]

    def percentile(self, tensor_in: Array, q: Any, axis: Any = None, interpolation: Any = "linear") -> Array:
        return statistics.quantile(tensor_in, q / 100.0, axis=axis, method=interpolation)

    def conditional(self, predicate: Any, true_callable: Callable[[], Any], false_callable: Callable[[], Any]) -> Any:
        return true_callable() if predicate else false_callable()

    # Probabilities

    def poisson_logpdf(self, n: Any, lam: Any) -> Array:
        return self.xlogy(n, lam) - lam - self.gammaln(n + 1.0)

    def poisson(self, n: Any, lam: Any) -> Array:
        return self.xp.exp(self.poisson_logpdf(self.astensor(n), self.astensor(lam)))

    def normal_logpdf(self, x: Any, mu: Any, sigma: Any) -> Array:
        sigma = self.astensor(sigma)
        return -0.5 * ((x - mu) / sigma) ** 2 - self.xp.log(sigma) - 0.5 * math.log(2.0 * math.pi)

    def normal(self, x: Any, mu: Any, sigma: Any) -> Array:
        return self.xp.exp(self.normal_logpdf(self.astensor(x), self.astensor(mu), sigma))

    def normal_cdf(self, x: Any, mu: Any = 0.0, sigma: Any = 1.0) -> Array:
        return self.ndtr((self.astensor(x) - mu) / sigma)

    def poisson_dist(self, rate: Array) -> "Distribution":
        return Distribution(self, random.poisson, self.poisson_logpdf, rate)

    def normal_dist(self, mu: Array, sigma: Array) -> "Distribution":
        return Distribution(self, _normal, self.normal_logpdf, mu, sigma)


class Distribution:
    """A distribution with `sample` and `log_prob`, as pyhf asks for them."""

    def __init__(self, backend: Backend, draw: Callable[..., Array], log_pdf: Callable[..., Array], *parameters: Array):
        self.backend, self.draw, self.log_pdf, self.parameters = backend, draw, log_pdf, parameters

    def sample(self, sample_shape: tuple[int, ...]) -> Array:
        shape = (*sample_shape, *self.parameters[0].shape)
        key = xpand.to_device(self.backend.keys.next_key(), xpand.device(self.parameters[0]))
        return self.backend.astensor(self.draw(key, *self.parameters, shape=shape))

    def log_prob(self, value: Array) -> Array:
        return self.log_pdf(value, *self.parameters)


def _normal(key: Array, mu: Array, sigma: Array, *, shape: tuple[int, ...]) -> Array:
    return mu + sigma * random.normal(key, shape, mu.dtype)


class Optimizer(pyhf.optimize.scipy_optimizer):
    """Fit by SciPy's SLSQP with xpand's gradients, on every library.

    Args:
        compiled: Compile the likelihood and its gradient with `xpand_extensions.jit`, once for each model.
        options: Those of `pyhf.optimize.scipy_optimizer`.
    """

    def __init__(self, *, compiled: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self.compiled = compiled

    def minimize(
        self,
        objective: Callable[..., Array],
        data: Any,
        pdf: Any,
        init_pars: Sequence[float],
        par_bounds: Sequence[tuple[float, float]],
        fixed_vals: Sequence[tuple[int, float]] | None = None,
        return_fitted_val: bool = False,
        return_result_obj: bool = False,
        return_uncertainties: bool = False,
        return_correlations: bool = False,
        do_grad: bool | None = None,
        do_stitch: bool = False,
        **options: Any,
    ) -> Any:
        """Fit the free parameters; fixed ones are no unknowns, with `do_stitch` and without."""
        backend, _ = pyhf.get_backend()
        with_gradient = backend.default_do_grad if do_grad is None else do_grad
        fixed = dict(fixed_vals or ())
        free = tuple(i for i in range(len(init_pars)) if i not in fixed)
        program = _program(backend, objective, pdf, tuple(fixed), free, with_gradient, self.compiled)
        arguments = backend.astensor(list(fixed.values())), backend.astensor(data)

        def evaluated(x: np.ndarray) -> Any:
            found = program(backend.astensor(x), *arguments)
            return (float(found[0]), backend.to_numpy(found[1])) if with_gradient else float(found)

        result = scipy.optimize.minimize(
            evaluated,
            [init_pars[i] for i in free],
            jac=with_gradient,
            bounds=[par_bounds[i] for i in free],
            method=options.pop("method", "SLSQP"),
            tol=options.pop("tolerance", self.tolerance),
            options={
                "maxiter": options.pop("maxiter", self.maxiter),
                "disp": bool(options.pop("verbose", self.verbose)),
                **options.pop("solver_options", self.solver_options),
            },
        )
        if options:
            raise pyhf.exceptions.Unsupported(f"Unsupported options were passed in: {list(options)}.")
        if not result.success:
            raise pyhf.exceptions.FailedMinimization(result)
        result.x = _assembled(backend.xp, backend.astensor(result.x), arguments[0], free, tuple(fixed))
        result.fun, result.unc, result.corr = backend.astensor(result.fun), None, None
        found = [result.x]
        found += [result.corr] if return_correlations else []
        found += [result.fun] if return_fitted_val else []
        found += [result] if return_result_obj else []
        return tuple(found) if len(found) > 1 else result.x


@lru_cache(maxsize=64)
def _program(
    backend: Backend,
    objective: Callable[..., Array],
    pdf: Any,
    fixed: tuple[int, ...],
    free: tuple[int, ...],
    with_gradient: bool,
    compiled: bool,
) -> Callable[..., Any]:
    """Make the function of the free parameters that a fit minimizes, once for all data."""

    def value(x: Array, fixed_values: Array, data: Array) -> Array:
        with _backend_of(backend, x) as xp:
            return xp.reshape(objective(_assembled(xp, x, fixed_values, free, fixed), data, pdf), ())

    function = autodiff.value_and_grad(value) if with_gradient else value
    return jit.jit(function) if compiled else function


@contextmanager
def _backend_of(backend: Backend, x: Array) -> Iterator[Any]:
    """Use a backend for arrays that are traced, where their namespace is another one."""
    xp = xpand.array_namespace(x)
    if xp is backend.xp:
        yield xp
        return
    _, optimizer = pyhf.get_backend()
    pyhf.set_backend(Backend(xp, backend.precision, name=backend.name), optimizer)
    try:
        yield xp
    finally:
        pyhf.set_backend(backend, optimizer)


def _assembled(xp: Any, x: Array, fixed_values: Array, free: tuple[int, ...], fixed: tuple[int, ...]) -> Array:
    """Put free and fixed parameters in order."""
    if not fixed:
        return x
    order = np.argsort(np.asarray(free + fixed))
    return xp.take(xp.concat([x, fixed_values]), xp.asarray(order, device=device_of(x)), axis=0)
